"""Real processes that wait to be told how to end.

Each task of a trace runs one: a shell that reads words from a pipe with a name. It writes something, stops heeding the
signal, or ends, with a code or by a signal, exactly when the subject says so; and the subject goes on when it has
happened, which the process acknowledges on another pipe, or shows by being gone. So nothing here is left to the speed
of a process, and nothing waits for time to pass. The one deadline is there for a process that never answers, which is a
defect and not a slow machine.

A process that the runtime asks to end would go some time later, while others run. So it stays when the signal comes,
and goes by it when the subject lets it, which is when nothing else can run. It must not be asked before it knows that
it is to stay: whoever starts one waits for its first answer. And it does not stay for ever: when whoever tells it has
gone, it goes too.

That a process is gone is one thing, and that the event loop has seen it is another: the latter is a step like any
other, and comes when the loop gets to it.
"""

from __future__ import annotations

import os
import select
import shlex
import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Final

from probate_conformance.errors import BackendBroke
from probate_model.alphabet.gates import FAIL, SIGNAL, GateOutcome
from probate_model.alphabet.names import Label
from probate_reference.tasks import Task, TaskStatus

SHELL: Final = "/bin/sh"

_PATIENCE: Final = 120_000
"""After how many milliseconds a process that does not answer is a defect."""

_SCRIPT: Final = """\
exec 3<{told} 4>{answer}
trap 'asked=yes' TERM
echo >&4
while asked=; read -r word rest <&3 || [ "$asked" ]; do
  case $word in
    say) echo "$rest"; echo >&4;;
    deaf) trap '' TERM; echo >&4;;
    exit) exit "$rest";;
    die) kill -9 $$;;
    go) trap - TERM; kill $$;;
  esac
done
"""
"""A signal may interrupt the reading, and then there is no word; without one it was the end, and nobody is there."""


class Pipes:
    """The pipes of one world, in a directory of its own."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="probate-"))
        self._answer = self._directory / "answer"
        self._answers = opened(self._answer)
        self._open = [self._answers]
        self._made = 0

    def command(self) -> tuple[str, int]:
        """Give the command line of one more process, and what it is told through."""
        self._made += 1
        path = self._directory / str(self._made)
        told = opened(path)
        self._open.append(told)
        return _SCRIPT.format(told=shlex.quote(str(path)), answer=shlex.quote(str(self._answer))), told

    def answered(self) -> None:
        """Wait until the one that was told something has done it.

        :raises BackendBroke: if it never does
        """
        if not readable(self._answers):
            raise BackendBroke("the process of a task does not answer")
        os.read(self._answers, 1)

    def close(self) -> None:
        """Close and remove all of them."""
        for descriptor in self._open:
            os.close(descriptor)
        rmtree(self._directory, ignore_errors=True)


class Process:
    """The process of one task, as the subject knows it."""

    __slots__ = ("_gone", "_pipes", "_told", "deaf", "label", "over", "task")

    def __init__(self, label: Label, task: Task, pipes: Pipes, told: int) -> None:
        self.label = label
        self.task = task
        self.deaf = False
        self.over = False
        """Whether it was told to end, or is known to be gone."""
        self._pipes = pipes
        self._told = told
        self._gone: int | None = None if task.pid is None else os.pidfd_open(task.pid)

    @property
    def alive(self) -> bool:
        """Whether it does what it is told: it was not told to end, and no signal that it heeds was sent to it."""
        killed = self.task.status is not TaskStatus.RUNNING and not self.deaf
        return self._gone is not None and not self.over and not killed and self.task.exit is None

    def say(self, text: str) -> None:
        """Let it write a line."""
        self._tell(f"say {text}")
        self._pipes.answered()

    def heed_nothing(self) -> None:
        """Let it stay when it is asked to end."""
        self._tell("deaf")
        self._pipes.answered()
        self.deaf = True

    def end(self, outcome: GateOutcome) -> None:
        """Let it end, and wait until it is gone."""
        self._tell("die" if outcome == SIGNAL else "exit 1" if outcome == FAIL else "exit 0")
        self.wait()

    def let_go(self) -> None:
        """Let it end by the signal that has told it to, if no other has ended it; and wait until it is gone."""
        self._tell("go")
        self.wait()

    def wait(self) -> None:
        """Wait until it is gone, since it was told to end one way or another.

        :raises BackendBroke: if it stays
        """
        self.over = True
        if self._gone is not None and not readable(self._gone):
            raise BackendBroke("the process of a task that is to end does not end")

    def close(self) -> None:
        """Let go of it."""
        if self._gone is not None:
            os.close(self._gone)
            self._gone = None

    def _tell(self, words: str) -> None:
        os.write(self._told, f"{words}\n".encode())


def opened(path: Path) -> int:
    """Make a pipe with a name, and open it at both ends, so that neither side ever waits for the other to open it."""
    os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_CLOEXEC)


def readable(descriptor: int) -> bool:
    """Wait until there is something to read; false if nothing comes, which is a defect and not a slow machine."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(_PATIENCE))
