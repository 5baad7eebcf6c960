"""Say what is asked of an executor and what it answers.

A *request* is what a caller has in mind, a *spec* is what the executor will do. The difference matters
most for the owner. A caller may leave it out; once resolved it is always there, if only as ``None``, so
that an owner that somebody forgot to pass on is seen in the code and not guessed from its absence.

The owner is an opaque token. The executor keeps it and gives it back, and never looks into it: what it
entitles to is decided by whoever put it there. That is also why a task does not show it. There is one
way to ask, :meth:`~probate_reference.tasks.Executor.owner_of`, and it answers for tasks that have ended
as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from probate_reference.refusals import Refusal

if TYPE_CHECKING:
    from probate_reference.calls import Call

__all__ = (
    "AbortSignal",
    "Completed",
    "ExecutorInactive",
    "Exit",
    "InvalidRequest",
    "Request",
    "SpawnFailed",
    "Spec",
    "Stoppable",
    "Task",
    "TaskOutput",
    "TaskStatus",
    "UnknownTask",
)


class UnknownTask(Refusal):
    """Raised when there is no task of this id: there never was one, or its executor was disposed."""

    code = "unknown-task"


class ExecutorInactive(Refusal):
    """Raised when the executor is not loaded, or was disposed."""

    code = "executor-inactive"


class InvalidRequest(Refusal):
    """Raised when a request cannot be resolved, for example because its timeout is no positive number."""

    code = "invalid-request"


class SpawnFailed(Refusal):
    """Raised when a command cannot be run at all: no such directory, no shell."""

    code = "spawn-failed"


class Stoppable(Protocol):
    """Something that may say that work is no longer wanted; the :class:`~probate_reference.Signal` of a turn is one."""

    @property
    def aborted(self) -> bool:
        """Whether it has said so."""
        ...

    def subscribe(self, callback: Callable[[Any], object]) -> Callable[[], None]:
        """Call something when it says so, and return a function that takes the subscription back."""
        ...


class AbortSignal:
    """Lets a caller call its commands off: those it has started and those it starts later."""

    __slots__ = ("_aborted", "_callbacks")

    def __init__(self) -> None:
        self._aborted = False
        self._callbacks: dict[object, Callable[[None], object]] = {}

    @property
    def aborted(self) -> bool:
        """Whether :meth:`abort` was called."""
        return self._aborted

    def abort(self) -> None:
        """Call everything off, now."""
        self._aborted = True
        while self._callbacks:
            self._callbacks.pop(next(iter(self._callbacks)))(None)

    def subscribe(self, callback: Callable[[None], object]) -> Callable[[], None]:
        """Call something at the abort, synchronously; at once if there was one."""
        key = object()
        self._callbacks[key] = callback
        if self._aborted:
            self.abort()

        def unsubscribe() -> None:
            self._callbacks.pop(key, None)

        return unsubscribe


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller wants to run.

    :ivar command: a line for the shell
    :ivar workdir: where to run it; where the executor runs things if ``None``
    :ivar timeout: seconds after which a foreground run is ended; a background task knows no timeout
    :ivar owner: whose task it is to be; the empty text is an owner like any other
    :ivar signal: calls it off
    """

    command: str
    workdir: str | Path | None = None
    timeout: float | None = None
    owner: str | None = None
    signal: Stoppable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What the executor will run: a request with nothing left open. The owner is ``None`` or it is somebody."""

    command: str
    workdir: Path
    timeout: float
    owner: str | None
    signal: Stoppable | None


class TaskStatus(StrEnum):
    """What a task is doing; the other two are never left."""

    RUNNING = "running"
    COMPLETED = "completed"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: by itself, with a code, or by a signal.

    :ivar code: what it returned, or ``None``
    :ivar signal: the number of the signal that ended it, or ``None``
    """

    code: int | None = None
    signal: int | None = None

    def __str__(self) -> str:
        return f"signal {self.signal}" if self.signal is not None else f"exit code {self.code}"


class Task:
    """A command in the background. Whose it is, the executor tells."""

    __slots__ = ("_command", "_done", "_exit", "_id", "_pid", "_status")

    def __init__(self, id: str, command: str, done: Call[None]) -> None:
        self._id = id
        self._command = command
        self._done = done
        self._pid: int | None = None
        self._status = TaskStatus.RUNNING
        self._exit: Exit | None = None

    @property
    def id(self) -> str:
        """What it is called by; no other task of this executor ever has the same."""
        return self._id

    @property
    def command(self) -> str:
        """The line that the shell was given."""
        return self._command

    @property
    def pid(self) -> int | None:
        """The number of its process and of the process group; ``None`` if the command could not be run."""
        return self._pid

    @property
    def status(self) -> TaskStatus:
        """What it is doing. A task that was killed is ``killed`` at once, though its process may take its time."""
        return self._status

    @property
    def exit(self) -> Exit | None:
        """How its process ended; ``None`` as long as it has not, and for ever if there never was one."""
        return self._exit

    @property
    def done(self) -> Call[None]:
        """Returns when the process is gone and every listener has been told; never raises."""
        return self._done

    def __repr__(self) -> str:
        return f"<Task {self._id} {self._status.value}>"


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """What a command has written.

    :ivar lossy: whether some of it is missing here, since there was more than is kept
    :ivar spilled: the files that hold all of it, as far as there are any; they go with the executor
    """

    stdout: str
    stderr: str
    lossy: bool = False
    spilled: tuple[Path, ...] = ()

    #: What stands between the two in :attr:`text`.
    MARK: ClassVar[str] = "[stderr]"

    @property
    def text(self) -> str:
        """Both, as a model reads them: what was written to the standard output, then a marked rest."""
        parts = [self.stdout] if self.stdout else []
        if self.stderr:
            parts.append(f"{self.MARK}\n{self.stderr}")
        if self.lossy:
            where = ", ".join(map(str, self.spilled))
            parts.append(f"[some output is left out here{f'; all of it is in {where}' if where else ''}]")
        return "\n".join(part.removesuffix("\n") for part in parts)


@dataclass(frozen=True, slots=True)
class Completed:
    """What came of a foreground run. The three facts are told apart: a command may trap the end and still return 0.

    :ivar exit: how the process ended
    :ivar timed_out: whether its time was up before it ended
    :ivar aborted: whether it was called off before it ended
    """

    exit: Exit
    timed_out: bool
    aborted: bool
    output: TaskOutput
