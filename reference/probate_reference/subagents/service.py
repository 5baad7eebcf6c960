"""Hold the providers of subagents by name, start runs, and tell of each that it began and that it ended.

Providers coexist: one that spawns an agent, one that forks the parent, any number that start some program. What a
request needs is checked before anything exists, and refused aloud: a child that does not hold itself to a
depth or to a choice of tools would be worse than none.

Taking a provider out frees its name, and no more than that. Runs that it has begun go on, and belong to whoever
began them. What belongs to the service is their tasks, so that a run does not end half-way when the task that
began it is cancelled; leaving the service's block disposes every run that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from anyio import CancelScope, create_task_group

from probate_reference.calls import leave_frames
from probate_reference.refusals import Refusal
from probate_reference.reports import contained, log_report

from .runs import Provider, Run, RunRequest, RunResult, RunStop

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from probate_reference.agent import Agent
    from probate_reference.reports import Report

__all__ = (
    "DepthExceeded",
    "DuplicateProvider",
    "NoProvider",
    "SubagentEnded",
    "SubagentEvent",
    "SubagentStarted",
    "Subagents",
    "UnsupportedCapability",
)


class NoProvider(Refusal):
    """Raised when there is no provider of a name."""

    code = "no-provider"


class DuplicateProvider(Refusal):
    """Raised when there is a provider of this name already."""

    code = "duplicate-provider"


class UnsupportedCapability(Refusal):
    """Raised when a request needs what its provider cannot do; nothing was started."""

    code = "unsupported-capability"


class DepthExceeded(Refusal):
    """Raised when the child would be too deep; nothing was started."""

    code = "depth-exceeded"


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """A run has begun."""

    kind: ClassVar[str] = "subagent/start"
    run: str
    provider: str
    parent: Agent | None


@dataclass(frozen=True, slots=True)
class SubagentEnded:
    """The result of a run has settled."""

    kind: ClassVar[str] = "subagent/end"
    run: str
    provider: str
    parent: Agent | None
    stop: RunStop
    output: tuple[str, ...] = ()


SubagentEvent: TypeAlias = SubagentStarted | SubagentEnded


class Subagents:
    """The service. It is an asynchronous context; outside of it nothing can be started.

    :param report: called with what a listener has raised
    """

    def __init__(self, report: Report = log_report) -> None:
        self._report = contained(report)
        self._providers: dict[str, Provider] = {}
        self._listeners: dict[object, Callable[[SubagentEvent], object]] = {}
        self._runs: dict[Run, None] = {}
        self._tasks: TaskGroup | None = None
        self._closing = False

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers, in the order in which they came."""
        return tuple(self._providers)

    @property
    def runs(self) -> int:
        """How many runs have not been disposed."""
        return len(self._runs)

    def on(self, listener: Callable[[SubagentEvent], object]) -> Callable[[], None]:
        """Install a listener, which is called synchronously.

        :return: a function that removes it
        """
        key = object()
        self._listeners[key] = listener

        def remove() -> None:
            self._listeners.pop(key, None)

        return remove

    def register(self, name: str, provider: Provider) -> Callable[[], None]:
        """Add a provider.

        :return: a function that takes it out; what it has begun goes on
        :raises DuplicateProvider: if there is one of this name
        """
        if name in self._providers:
            raise DuplicateProvider(f"there is a provider {name!r} already")
        self._providers[name] = provider

        def remove() -> None:
            if self._providers.get(name) is provider:
                del self._providers[name]

        return remove

    def start(self, name: str, request: RunRequest) -> Run:
        """Begin a run; whoever does must dispose it.

        :param name: the provider
        :raises NoProvider: if there is none of this name
        :raises UnsupportedCapability: if it cannot do what the request needs
        :raises Refusal: what the provider raises; there is no child and no event then
        :raises RuntimeError: outside of the service's block
        """
        if self._tasks is None or self._closing:
            raise RuntimeError("the service of subagents is not running")
        provider = self._providers.get(name)
        if provider is None:
            known = ", ".join(map(repr, self._providers)) or "none"
            raise NoProvider(f"there is no provider {name!r} of subagents; there are {known}")
        missing = request.needs() - provider.capabilities
        if missing:
            raise UnsupportedCapability(f"provider {name!r} cannot do {', '.join(sorted(missing))}")
        run = provider.start(request, self._start)
        self._runs[run] = None
        self._emit(SubagentStarted(run.id, name, request.parent))
        self._start(lambda: self._follow(run, name, request.parent))
        return run

    def _start(self, function: Callable[[], Coroutine[Any, Any, object]], /) -> None:
        assert self._tasks is not None
        self._tasks.start_soon(_outside_frames, function)

    async def _follow(self, run: Run, name: str, parent: Agent | None) -> None:
        """Tell of the end of a run, and let go of it when it is disposed; also while everything is being cancelled."""
        with CancelScope(shield=True):
            try:
                result = await run.result
            except Exception as failure:
                self._report("subagent result", failure)
                result = RunResult(RunStop.ERROR)
            self._emit(SubagentEnded(run.id, name, parent, result.stop, result.output))
            await run.gone
        del self._runs[run]

    def _emit(self, event: SubagentEvent) -> None:
        for listener in tuple(self._listeners.values()):
            try:
                listener(event)
            except Exception as failure:
                self._report(f"listener {event.kind}", failure)

    async def __aenter__(self) -> Self:
        """Begin."""
        tasks = create_task_group()
        await tasks.__aenter__()
        self._tasks = tasks
        self._closing = False
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Dispose every run that is left, and wait for all of it, also while this is cancelled."""
        tasks = self._tasks
        assert tasks is not None
        self._closing = True
        try:
            with CancelScope(shield=True):
                for end in [run.dispose() for run in self._runs]:
                    await end._join()
            return await tasks.__aexit__(exc_type, exc_value, traceback)
        finally:
            self._tasks = None


async def _outside_frames(function: Callable[[], Coroutine[Any, Any, object]]) -> None:
    leave_frames()
    await function()
