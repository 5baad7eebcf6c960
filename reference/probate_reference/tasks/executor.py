"""Run commands, in the background or to their end, and remember whose they are.

The executor is loaded and disposed on its own, and so are the tools that use it. That is the whole point of
its keeping the owner of a task: a tool that is loaded anew knows nothing, and if it were the one to
remember, every old task would be nobody's, and open to all. What the executor keeps, it does not
interpret. It hands the token out, to anybody who asks and for as long as the task is remembered, which is
until the executor is disposed; whether the task runs or has ended makes no difference.

A task ends once. Its status may have changed before, when it was killed; then its process ends, and in
this order the facts are put down, the listeners are called, each of them contained, and ``done``
returns. When a task is started, nothing can refuse any more but a signal that was fired before: a
command that cannot be run is a task that was killed, with the reason on its standard error.

To dispose the executor is to end every process. From the first moment there is no task any more, for
whoever asks, and no listener: what ends now is nobody's news. The call returns when every process is
gone. The executor may be loaded again at once, while the old processes still end; an id is never used
again.

A process is ended with its group. What has left that is nobody's, and no task waits for it. Whoever wants
nothing of it left when the executor has been left for good gives the executor a mark.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from anyio import create_task_group
from anyio.lowlevel import checkpoint

from probate_reference.calls import Call, returned
from probate_reference.environment import child_environment
from probate_reference.processes import kill_marked, mark_for
from probate_reference.refusals import Aborted
from probate_reference.reports import Report, contained, log_report

from .output import Stream
from .processes import Clock, Process, SystemClock
from .specs import (
    Completed,
    ExecutorInactive,
    InvalidRequest,
    Request,
    SpawnFailed,
    Spec,
    Stoppable,
    Task,
    TaskOutput,
    TaskStatus,
    UnknownTask,
)

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

__all__ = ("DISPLAY", "MARK", "Executor", "ExecutorStatistics")

DISPLAY: Final[Mapping[str, str | None]] = {"NO_COLOR": "1", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
"""What a command is told of its display by default: that there is none."""

MARK: Final = "PROBATE_EXECUTOR"
"""The variable by which the commands of an executor, and what they start, can be told: the marks of those around it."""


@dataclass(frozen=True, slots=True)
class ExecutorStatistics:
    """An executor at one moment.

    :ivar tasks: how many tasks are remembered
    :ivar processes: how many processes have not ended, those of foreground runs and of a past life included
    :ivar listeners: how many listeners hear of completions
    """

    tasks: int
    processes: int
    listeners: int


class _Entry:
    """What is known of one command. A foreground run is one without a task."""

    __slots__ = ("aborted", "owner", "process", "streams", "task", "unsubscribe")

    def __init__(self, task: Task | None, owner: str | None, streams: tuple[Stream, Stream]) -> None:
        self.task = task
        self.owner = owner
        self.streams = streams
        self.process: Process | None = None
        self.aborted = False
        self.unsubscribe: Callable[[], None] | None = None

    def kill(self) -> bool:
        """Let it end; return whether that was news."""
        if self.task is not None:
            if self.task._status is not TaskStatus.RUNNING:
                return False
            self.task._status = TaskStatus.KILLED
        if self.process is not None:
            self.process.terminate()
        return True

    def watch(self, signal: Stoppable | None) -> None:
        """Let it end when a signal says so."""

        def stop(_: object) -> None:
            self.aborted = True
            self.kill()

        if signal is not None:
            self.unsubscribe = signal.subscribe(stop)

    def unwatch(self) -> None:
        """Listen to the signal no longer."""
        if self.unsubscribe is not None:
            self.unsubscribe()
            self.unsubscribe = None

    def read(self) -> TaskOutput:
        """Take what is new."""
        (out, lost_out), (error, lost_error) = (stream.read() for stream in self.streams)
        if self.task is None or self.task._exit is not None:
            out += self.streams[0].rest()
            error += self.streams[1].rest()
        spilled = tuple(stream.spilled for stream in self.streams if stream.spilled is not None)
        return TaskOutput(out, error, lost_out or lost_error, spilled)


class _Life:
    """What belongs to the executor from one load to the next disposal."""

    __slots__ = ("disposal", "entries", "listeners", "open", "spool")

    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}
        self.listeners: dict[object, Callable[[Task], object]] = {}
        self.open: dict[_Entry, None] = {}
        self.spool: Path | None = None
        self.disposal: Call[None] | None = None

    def end_if_empty(self) -> None:
        """Let the disposal return if it was asked for and every process has ended."""
        if self.disposal is None or self.open or self.disposal.done:
            return
        if self.spool is not None:
            shutil.rmtree(self.spool, ignore_errors=True)
        self.disposal._return(None)


class Executor:
    """Runs shell commands. It is an asynchronous context: leaving it disposes it.

    :param shell: what reads the command lines
    :param workdir: where commands run that say nothing else; the directory of this process if ``None``
    :param overlay: what a command finds in its environment besides what it inherits; ``None`` removes a name
    :param mark: a word of its own that commands find in the variable :data:`MARK`; what still has it there when the
        executor has been left is killed, wherever it is. Without it there is no such variable
    :param timeout: seconds for a foreground run that says nothing else
    :param most_timeout: the most that a request may ask for
    :param grace: seconds between the two ways to end a process, to ask and to make it
    :param keep: how many bytes of each stream of a command are kept in memory
    :param spill: how many bytes of each stream are kept in a file, once there are more
    :param clock: measures the grace and the timeouts
    :param report: called with what a listener has raised
    """

    def __init__(
        self,
        *,
        shell: str | None = None,
        workdir: str | Path | None = None,
        overlay: Mapping[str, str | None] = DISPLAY,
        mark: str = "",
        timeout: float = 120.0,
        most_timeout: float = 600.0,
        grace: float = 2.0,
        keep: int = 64 * 1024,
        spill: int = 64 * 1024 * 1024,
        clock: Clock | None = None,
        report: Report = log_report,
    ) -> None:
        self._shell = shell or shutil.which("bash") or "/bin/sh"
        self._workdir = Path(workdir) if workdir is not None else Path.cwd()
        self._overlay = dict(overlay)
        self._mark = mark
        self._timeout = timeout
        self._most_timeout = most_timeout
        self._grace = grace
        self._keep = keep
        self._spill = spill
        self._clock = clock or SystemClock()
        self._report = contained(report)
        self._task_group: TaskGroup | None = None
        self._life: _Life | None = None
        self._past: list[_Life] = []
        self._started = 0
        self._files = 0
        self._dependents: dict[object, tuple[Callable[[], Callable[[], None]], Callable[[], None] | None]] = {}

    # Its own life.

    @property
    def active(self) -> bool:
        """Whether it can run something."""
        return self._life is not None

    def load(self) -> None:
        """Become active again, with no tasks; nothing happens if it is active.

        :raises RuntimeError: outside its asynchronous context
        """
        if self._task_group is None:
            raise RuntimeError("the executor is not running")
        if self._life is not None:
            return
        self._life = _Life()
        for key, (activate, _) in tuple(self._dependents.items()):
            if key in self._dependents:
                self._dependents[key] = activate, activate()

    def dispose(self) -> Call[None]:
        """End every process, and forget every task. Every call joins the first.

        :return: a call that returns when all processes are gone; it never raises
        """
        life = self._life
        if life is None:
            last = self._past[-1].disposal if self._past else None
            return last or returned(None)
        for key, (activate, deactivate) in reversed(tuple(self._dependents.items())):
            if deactivate is not None and key in self._dependents:
                self._dependents[key] = activate, None
                deactivate()
        self._life = None
        self._past = [past for past in self._past if past.open]
        self._past.append(life)
        life.disposal = Call()
        life.listeners.clear()
        life.entries.clear()
        for entry in tuple(life.open):
            entry.kill()
        life.end_if_empty()
        return life.disposal

    def depend(self, activate: Callable[[], Callable[[], None]]) -> Callable[[], None]:
        """Live with the executor: be activated whenever it is loaded, and deactivated before it is disposed.

        :param activate: called now if it is loaded, and at each later load; it returns what deactivates it again
        :return: a function that deactivates it for good
        """
        key = object()
        self._dependents[key] = activate, activate() if self._life is not None else None

        def remove() -> None:
            _, deactivate = self._dependents.pop(key, (activate, None))
            if deactivate is not None:
                deactivate()

        return remove

    def statistics(self) -> ExecutorStatistics:
        """Return the state of the executor at this moment."""
        lives = [*self._past, *([self._life] if self._life is not None else [])]
        return ExecutorStatistics(
            tasks=0 if self._life is None else len(self._life.entries),
            processes=sum(len(life.open) for life in lives),
            listeners=0 if self._life is None else len(self._life.listeners),
        )

    async def __aenter__(self) -> Self:
        """Start the executor, and load it."""
        if self._task_group is not None:
            raise RuntimeError("the executor is running already")
        self._task_group = create_task_group()
        await self._task_group.__aenter__()
        self.load()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Dispose it, and wait until every process is gone. If the block failed, they are killed without a grace."""
        task_group = self._task_group
        assert task_group is not None
        _ = self.dispose()
        try:
            if isinstance(exc_value, Exception):
                # A task group would wrap what the block raised.
                task_group.cancel_scope.cancel()
                await task_group.__aexit__(None, None, None)
                return None
            return await task_group.__aexit__(exc_type, exc_value, traceback)
        finally:
            self._task_group = None
            if self._mark:
                kill_marked(MARK, self._mark)

    # Commands.

    def resolve(self, request: Request) -> Spec:
        """Leave nothing open in a request. The owner is copied as it is.

        :raises InvalidRequest: if the timeout is no positive finite number
        """
        timeout = self._timeout if request.timeout is None else request.timeout
        if not math.isfinite(timeout) or timeout <= 0:
            raise InvalidRequest(f"a timeout must be a positive number of seconds, not {timeout!r}")
        return Spec(
            command=request.command,
            workdir=self._workdir if request.workdir is None else self._workdir / request.workdir,
            timeout=min(timeout, self._most_timeout),
            owner=request.owner,
            signal=request.signal,
        )

    async def run(self, spec: Spec) -> Completed:
        """Run a command to its end. How it ends is no failure, whatever it is.

        Cancelling the call kills the command and waits until it is gone.

        :raises ExecutorInactive: if the executor is not loaded
        :raises Aborted: if the signal had fired before
        :raises SpawnFailed: if the command cannot be run at all
        """
        life = self._begin(spec)
        entry = _Entry(None, spec.owner, self._streams(life))
        try:
            process = self._spawn(entry, spec)
        except (OSError, ValueError) as failure:
            raise SpawnFailed(f"the command cannot be run: {failure}") from failure
        timed_out = False

        async def end_in_time() -> None:
            nonlocal timed_out
            await self._clock.sleep(spec.timeout)
            timed_out = True
            process.terminate()

        life.open[entry] = None
        entry.watch(spec.signal)
        try:
            async with create_task_group() as timer:
                timer.start_soon(end_in_time)
                how = await process.run()
                timer.cancel_scope.cancel()
        finally:
            entry.unwatch()
            del life.open[entry]
            life.end_if_empty()
        return Completed(how, timed_out, entry.aborted, entry.read())

    def start(self, spec: Spec) -> Task:
        """Start a command in the background, and return at once. It has no timeout.

        :raises ExecutorInactive: if the executor is not loaded
        :raises Aborted: if the signal had fired before; there is no task then, and no id is used
        """
        life = self._begin(spec)
        assert self._task_group is not None
        self._started += 1
        task = Task(f"bash-{self._started}", spec.command, Call())
        entry = _Entry(task, spec.owner, self._streams(life))
        try:
            task._pid = self._spawn(entry, spec).pid
        except (OSError, ValueError) as failure:
            entry.streams[1].write(f"the command cannot be run: {failure}\n".encode(errors="replace"))
        life.entries[task.id] = entry
        life.open[entry] = None
        entry.watch(spec.signal)
        self._task_group.start_soon(self._live, life, entry, task)
        return task

    def read(self, id: str) -> TaskOutput:
        """Return what the task has written since it was read last.

        :raises UnknownTask: if there is no such task
        """
        return self._entry(id).read()

    def kill(self, id: str) -> bool:
        """End a task: its status changes now, its process has a grace.

        :return: whether it was running
        :raises UnknownTask: if there is no such task
        """
        return self._entry(id).kill()

    def owner_of(self, id: str) -> str | None:
        """Return the owner's token; ``None`` if the task has no owner, and if there is no such task."""
        entry = None if self._life is None else self._life.entries.get(id)
        return None if entry is None else entry.owner

    def get(self, id: str) -> Task | None:
        """Return the task with this id, or ``None``."""
        entry = None if self._life is None else self._life.entries.get(id)
        return None if entry is None else entry.task

    def list(self) -> tuple[Task, ...]:
        """Return the tasks in the order of their start, those included that have ended."""
        if self._life is None:
            return ()
        return tuple(entry.task for entry in self._life.entries.values() if entry.task is not None)

    def on_done(self, listener: Callable[[Task], object]) -> Callable[[], None]:
        """Install a listener; it hears of every task that ends, until it is removed or the executor is disposed.

        :param listener: called synchronously after all that were installed before it; what it raises is reported
        :return: a function that removes it
        :raises ExecutorInactive: if the executor is not loaded
        """
        if self._life is None:
            raise ExecutorInactive("the executor is not loaded")
        listeners = self._life.listeners
        key = object()
        listeners[key] = listener

        def remove() -> None:
            listeners.pop(key, None)

        return remove

    # Within.

    def _entry(self, id: str) -> _Entry:
        entry = None if self._life is None else self._life.entries.get(id)
        if entry is None:
            raise UnknownTask(f"unknown bash task {id!r}")
        return entry

    def _begin(self, spec: Spec) -> _Life:
        if self._life is None:
            raise ExecutorInactive("the executor is not loaded")
        if spec.signal is not None and spec.signal.aborted:
            raise Aborted("aborted before spawn")
        return self._life

    def _streams(self, life: _Life) -> tuple[Stream, Stream]:
        def path() -> Path:
            if life.spool is None:
                life.spool = Path(tempfile.mkdtemp(prefix="probate-tasks-"))
            self._files += 1
            return life.spool / f"output-{self._files}"

        return Stream(self._keep, self._spill, path), Stream(self._keep, self._spill, path)

    def _spawn(self, entry: _Entry, spec: Spec) -> Process:
        overlay = {**self._overlay, MARK: mark_for(os.environ, MARK, self._mark)} if self._mark else self._overlay
        environment = child_environment(os.environ, overlay)
        argv = [self._shell, "-c", spec.command]
        entry.process = Process(argv, spec.workdir, environment, entry.streams, self._grace, self._clock)
        return entry.process

    async def _live(self, life: _Life, entry: _Entry, task: Task) -> None:
        """Wait for the end of a task, and tell it."""
        try:
            if entry.process is None:
                await checkpoint()
            else:
                task._exit = await entry.process.run()
        finally:
            entry.unwatch()
            if task._status is TaskStatus.RUNNING:
                ended = entry.process is not None and task._exit is not None
                task._status = TaskStatus.COMPLETED if ended else TaskStatus.KILLED
            for key in tuple(life.listeners):
                # One of them may have taken another one out, or disposed the executor.
                listener = life.listeners.get(key)
                if listener is not None:
                    self._call(listener, task)
            task._done._return(None)
            del life.open[entry]
            life.end_if_empty()

    def _call(self, listener: Callable[[Task], object], task: Task) -> None:
        try:
            listener(task)
        except Exception as failure:
            self._report("task listener", failure)
