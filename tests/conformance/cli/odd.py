"""Backends in process that are odd, each in one way: what ``module:factory`` names in these tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any, Self, TypeVar

from probate_conformance.backends.base import Backend
from probate_conformance.backends.model import ModelBackend
from probate_conformance.errors import BackendBroke
from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.wire import Burst, Command, Conversation, Open, Quiet, Reply
from probate_model.alphabet.editions import EDITION_2026_08
from probate_model.alphabet.events import AgentDisposed

T = TypeVar("T")


class Forgetful(ModelBackend):
    """Never announces that an agent is disposed."""

    def __init__(self) -> None:
        super().__init__()
        self.manifest = Manifest(name="forgetful", version="1", language="python")

    def answer(self, command: Command) -> Reply:
        reply = super().answer(command)
        if isinstance(reply, Quiet):
            events = tuple(event for event in reply.events if not isinstance(event, AgentDisposed))
            return Quiet(events=events, snapshot=reply.snapshot)
        return reply


class Drifted(Forgetful):
    """Follows another edition than it is asked for, and is forgetful behind that."""

    def __init__(self) -> None:
        super().__init__()
        self._edition = EDITION_2026_08


class Wavering(Forgetful):
    """Forgets once only, so that no failure is confirmed."""

    def __init__(self) -> None:
        super().__init__()
        self.forgot = False

    def answer(self, command: Command) -> Reply:
        reply = ModelBackend.answer(self, command)
        if isinstance(reply, Quiet) and not self.forgot:
            events = tuple(event for event in reply.events if not isinstance(event, AgentDisposed))
            self.forgot = events != reply.events
            return Quiet(events=events, snapshot=reply.snapshot)
        return reply


class Chatty(ModelBackend):
    """Names events that nobody knows, and would like to write to the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.manifest = Manifest(name="chat\x1b[31mty", version="1\n2", language="python", notes=("a\x07b",))

    def answer(self, command: Command) -> Reply:
        reply = super().answer(command)
        if isinstance(reply, Quiet):
            return reply.model_copy(update={"unknown": ("weather/changed", "\x1b[2J")})
        return reply


class Raising(ModelBackend):
    """Raises something of its own in the middle."""

    def answer(self, command: Command) -> Reply:
        if isinstance(command, Burst):
            raise ZeroDivisionError("nobody expects this")
        return super().answer(command)


class Breaking(ModelBackend):
    """Says that it can't go on, as it should, in every world."""

    def converse(self, conversation: Conversation[T]) -> T:
        try:
            command = next(conversation)
            while True:
                if isinstance(command, Burst):
                    command = conversation.throw(BackendBroke("ran out of luck", where="breaking"))
                else:
                    command = conversation.send(self.answer(command))
        except StopIteration as stop:
            result: T = stop.value
            return result


class Confused(ModelBackend):
    """Answers everything with something else."""

    def answer(self, command: Command) -> Any:
        return {"message": "quiet"}


class Leaving(ModelBackend):
    """Comes back before the conversation is over."""

    def converse(self, conversation: Conversation[T]) -> Any:
        conversation.send(self.answer(next(conversation)))


class Closed(ModelBackend):
    """Can't be entered."""

    def __enter__(self) -> Self:
        raise ZeroDivisionError("closed today")


class Sticky(Raising):
    """Can't be left, and would hide what happened meanwhile."""

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            raise ZeroDivisionError("stuck")


class Interrupting(ModelBackend):
    """Has the user press Ctrl-C in the second world; ``times`` are how often."""

    times = 1
    signal = signal.SIGINT

    def __init__(self) -> None:
        super().__init__()
        self.bursts = 0

    def answer(self, command: Command) -> Reply:
        self.bursts += isinstance(command, Burst)
        if self.bursts == 20:
            for _ in range(self.times):
                os.kill(os.getpid(), self.signal)
        return super().answer(command)


class Pressing(Interrupting):
    times = 2


class Terminated(Interrupting):
    """Has the kit told to end, as by a supervisor."""

    signal = signal.SIGTERM


class Diligent(Interrupting):
    """Says that there is more to come, and is interrupted before."""

    def __init__(self) -> None:
        super().__init__()
        self.manifest = self.manifest.model_copy(update={"profiles": ("core", "sessions", "tasks")})


class Dying(Interrupting):
    """Has its process end in the second world."""

    def answer(self, command: Command) -> Reply:
        self.bursts += isinstance(command, Burst)
        if self.bursts == 20:
            self.end()
        return ModelBackend.answer(self, command)

    def end(self) -> None:
        os._exit(9)


class Killed(Dying):
    """Has its process killed in the second world."""

    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Interrupted(Forgetful):
    """Has the kit interrupted after some traces, or while a failure is being shrunk; else it is as the model."""

    def __init__(self) -> None:
        super().__init__()
        self.how = os.environ.get("PROBATE_ODD_HOW", "")
        self.worlds = 0

    def answer(self, command: Command) -> Reply:
        self.worlds += isinstance(command, Open)
        # Two failing traces, each run twice, are four worlds; all others are for shrinking.
        if isinstance(command, Open) and self.worlds == (36 if self.how == "shrinking" else 5):
            (os.killpg if self.how == "everybody" else os.kill)(kit_of(os.getpid()), signal.SIGINT)
        return super().answer(command) if self.how == "shrinking" else ModelBackend.answer(self, command)


def kit_of(worker: int) -> int:
    """Give the process that started a worker, which a session of its own has for its leader here."""
    return os.getppid() if worker == os.getpid() else int(Path(f"/proc/{worker}/stat").read_text().split()[3])


def exiting() -> Backend:
    """Give a backend where the kit lives, and end any other process."""
    if multiprocessing.parent_process() is not None:
        os._exit(9)
    return ModelBackend()


def with_manifest(**changes: Any) -> ModelBackend:
    backend = ModelBackend()
    backend.manifest = backend.manifest.model_copy(update=changes)
    return backend


def other_profile() -> ModelBackend:
    return with_manifest(profiles=("acp",))


def other_edition() -> ModelBackend:
    return with_manifest(edition="2026-08")


def strange_fields() -> ModelBackend:
    return with_manifest(unclaimed=Unclaimed(fields=("agent/status:mood",)))


def no_tools() -> ModelBackend:
    return with_manifest(unclaimed=Unclaimed(gates=("tool",), ops=("steer",)))


def one_at_a_time() -> ModelBackend:
    return with_manifest(bursts="no")


def no_manifest() -> ModelBackend:
    backend = ModelBackend()
    backend.manifest = {"name": "none"}  # type: ignore[assignment]
    return backend


def raising() -> Backend:
    raise ZeroDivisionError("no luck today")


def leaving() -> Backend:
    sys.exit(0)


def nothing() -> None:
    return None


NUMBER = 7
