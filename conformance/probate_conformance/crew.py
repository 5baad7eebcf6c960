"""A crew: processes that are given tasks, and say what comes of them.

A worker is started anew (``spawn``), so it has nothing of this process but what it is given. If this process ends,
however that happens, so does the worker, whatever it is at: a thread of its own sees to that. If a worker ends, however
that happens, that is heard as a message like any other, so nobody waits for it.

Ctrl-C at a terminal reaches every process of the group. A worker takes no notice of it: the one who knows what is to
become of the run is this process, and it asks the workers to stop, by SIGTERM. A worker's own work then looks between
two traces whether to stop, or is broken off where waiting would be long; see ``Interrupt``.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Final, Self

from probate_conformance.errors import DEBUG, ProbateError, trace_if_debugging
from probate_conformance.interrupts import Interrupt

GRACE: Final = 5.0
"""How many seconds a worker that was asked to stop has for it."""
_LOOK: Final = 1.0
"""How many seconds are at most between two looks whether a worker lives whose pipe something else holds open."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The message that a worker will say nothing more."""

    code: int | None
    """Its exit code; the negative number of the signal that ended it."""

    def __str__(self) -> str:
        if self.code is not None and self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"


@dataclass(frozen=True, slots=True)
class Failed:
    """The message that a worker ended by what is a defect of ours."""

    said: str
    notes: tuple[str, ...]
    trace: str


class WorkerFailed(Exception):
    """Raised here for what a worker raised there, and nobody foresaw."""


class Link:
    """A worker's side: it is given tasks and says messages."""

    def __init__(self, connection: Connection, interrupt: Interrupt) -> None:
        self._connection = connection
        self.interrupt = interrupt

    def tasks(self) -> Iterator[object]:
        """Give the tasks, as they come, until there are to be no more."""
        while not self.interrupt.requested and (task := self._connection.recv()) is not None:
            yield task

    def say(self, message: object) -> None:
        """Say something to whoever gave the task."""
        _send(self._connection, message)


Work = Callable[[Link], None]


def _send(connection: Connection, message: object) -> None:
    """Send a message that ``recv`` takes.

    Not by ``send``, whose buffer some Pythons complain of on standard error when the other end has gone meanwhile.
    """
    connection.send_bytes(pickle.dumps(message))


def _end_with_parent() -> None:
    """End when whoever has started us is gone, even if what we work on never ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _live(connection: Connection, work: Work) -> None:
    """Live as a worker."""
    # The thread takes no signals: one that it took while the main thread sets handlers would be complained of.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    interrupt = Interrupt()
    try:
        with interrupt.taken(signal.SIGTERM):
            try:
                work(Link(connection, interrupt))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                raise
            except ProbateError as error:
                trace_if_debugging(error)
                _send(connection, error)
            except Exception as error:
                notes = tuple(getattr(error, "__notes__", ()))
                _send(connection, Failed(f"{type(error).__name__}: {error}", notes, traceback.format_exc()))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        pass  # whoever would hear it has gone, or has asked for this


@dataclass(eq=False, slots=True)
class Worker:
    """One process of a crew."""

    process: SpawnProcess
    connection: Connection
    idle: bool = field(default=True, init=False)
    """Whether it has no task; for whoever gives tasks to keep."""
    gone: bool = field(default=False, init=False)

    def give(self, task: object) -> None:
        """Give it a task. One that has gone is heard of as such, so that is no error."""
        self.idle = False
        with contextlib.suppress(OSError):
            _send(self.connection, task)

    def message(self) -> object:
        """Take one message, if there is one to come; else it has gone."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.process.join(GRACE)
            self.gone = True
            return Gone(self.process.exitcode)


class Crew:
    """Some workers, which live as long as this is entered.

    :param size: how many
    :param work: what each does; it must be known by name in a module, or be a ``partial`` of such a function
    :param interrupt: what may end the waiting for them
    """

    def __init__(self, size: int, work: Work, interrupt: Interrupt) -> None:
        self.size = size
        self._work = work
        self._interrupt = interrupt
        self.workers: list[Worker] = []

    def __enter__(self) -> Self:
        context = multiprocessing.get_context("spawn")
        # It unblocks what we block, once, when it starts.
        resource_tracker.ensure_running()
        try:
            for _ in range(self.size):
                ours, theirs = context.Pipe()
                process = context.Process(target=_live, args=(theirs, self._work), name="probate worker")
                # A Ctrl-C while it starts must not reach it either.
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                try:
                    process.start()
                    self.workers.append(Worker(process, ours))
                finally:
                    theirs.close()
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    @property
    def idle(self) -> list[Worker]:
        """The workers that could be given a task."""
        return [worker for worker in self.workers if worker.idle and not worker.gone]

    @property
    def over(self) -> bool:
        """Whether all workers have gone."""
        return all(worker.gone for worker in self.workers)

    def hear(self, *, breaking_off: bool = True) -> Iterator[tuple[Worker, object]]:
        """Wait for workers to say something, and give that; nothing if that takes long.

        :param breaking_off: whether an interrupt ends the waiting
        :raises KeyboardInterrupt: if it does
        :raises ProbateError: if a worker ended by one
        :raises WorkerFailed: if a worker ended by a defect of ours
        """
        living = [worker for worker in self.workers if not worker.gone]
        connections = [worker.connection for worker in living]
        with self._interrupt.breaking_off() if breaking_off else contextlib.nullcontext():
            ready = wait(connections, _LOOK)
        for worker in living:
            if worker.connection in ready:
                message = worker.message()
                if isinstance(message, Failed):
                    raise _failed(message)
                yield worker, message
            elif worker.process.exitcode is not None and not worker.connection.poll():
                worker.gone = True
                yield worker, Gone(worker.process.exitcode)

    def dismiss(self) -> None:
        """Tell all that there are no more tasks."""
        for worker in self.workers:
            worker.give(None)

    def stop(self) -> None:
        """Ask all to stop, whatever they do."""
        for worker in self.workers:
            worker.process.terminate()

    def _end(self) -> None:
        """Let none of them live on."""
        try:
            for worker in self.workers:
                worker.connection.close()
                worker.process.terminate()
            until = time.monotonic() + GRACE
            for worker in self.workers:
                worker.process.join(max(0.0, until - time.monotonic()))
        finally:
            for worker in self.workers:
                worker.process.kill()
                worker.process.join()
                worker.process.close()


def _failed(message: Failed) -> WorkerFailed:
    error = WorkerFailed(message.said)
    for note in message.notes:
        error.add_note(note)
    if os.environ.get(DEBUG):
        error.add_note(message.trace)
    return error
