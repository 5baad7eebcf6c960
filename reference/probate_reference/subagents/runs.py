"""Say what a subagent is asked for, and what it gives.

A run has two things that one can wait for, and they are kept apart. Its *result* is what became of the work:
it settles once, and a child that fails, dies or never existed is a result and no exception. Its *end* is that
nothing of the child is left, which takes :meth:`Run.dispose`, by whoever began the run, on every path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from probate_reference.calls import Call

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from probate_reference.agent import Agent

__all__ = ("Capability", "Provider", "Run", "RunRequest", "RunResult", "RunStop", "Start", "Stoppable")


class Capability(StrEnum):
    """What a request may need of a provider."""

    OUTPUT_SCHEMA = "output-schema"
    DEPTH_LIMIT = "depth-limit"
    TOOL_FILTER = "tool-filter"


class RunStop(StrEnum):
    """Why a run stopped. Whoever meets another word takes it for a failure."""

    COMPLETED = "completed"
    MAX_TOKENS = "max-tokens"
    REFUSAL = "refusal"
    ABORTED = "aborted"
    ERROR = "error"


class Stoppable(Protocol):
    """Something that may say that the work is no longer wanted, such as the signal of the caller's turn."""

    @property
    def aborted(self) -> bool:
        """Whether it has said so."""
        ...

    def subscribe(self, callback: Callable[[Any], object]) -> Callable[[], None]:
        """Call something when it says so, and return a function that takes the subscription back."""
        ...


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is wanted of a subagent.

    :ivar prompt: what it is to do
    :ivar parent: on whose behalf; a provider that starts a process knows nothing of it
    :ivar signal: calls the run off
    :ivar output_schema: what the output must agree with, as JSON Schema; needs a provider that can see to it
    :ivar depth_limit: how deep below an agent without a parent the child may be; needs a provider that can see to it
    :ivar tools: which tools the child may use; needs a provider that can see to it
    """

    prompt: str
    parent: Agent | None = None
    signal: Stoppable | None = None
    output_schema: object = None
    depth_limit: int | None = None
    tools: frozenset[str] | None = None

    def needs(self) -> frozenset[Capability]:
        """Return what a provider must be able to do."""
        needed = {
            Capability.OUTPUT_SCHEMA: self.output_schema is not None,
            Capability.DEPTH_LIMIT: self.depth_limit is not None,
            Capability.TOOL_FILTER: self.tools is not None,
        }
        return frozenset(capability for capability, wanted in needed.items() if wanted)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of a run.

    :ivar output: what the child said, in blocks; none if it said nothing
    :ivar failure: why it is an error, for people; ``None`` if it is none
    """

    stop: RunStop
    output: tuple[str, ...] = ()
    failure: str | None = None


class Run(ABC):
    """A subagent at work.

    :ivar id: a fresh id, whatever the provider; of a child in this process it is the agent's
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self._result: Call[RunResult] = Call()
        self._gone: Call[None] = Call()
        self._disposing = False
        self._unsubscribe: Callable[[], None] | None = None

    @property
    def result(self) -> Call[RunResult]:
        """A call that returns what became of it, once; never raises for what the child did."""
        return self._result

    @property
    def gone(self) -> Call[None]:
        """A call that returns when nothing of the child is left, which takes somebody to dispose the run."""
        return self._gone

    @abstractmethod
    def cancel(self) -> None:
        """Ask the child to stop, as its parent. The result still comes from the child; synchronous, never raises."""

    def dispose(self) -> Call[None]:
        """End the child, whatever it does. Every call joins the first.

        :return: a call that never raises and returns when nothing of the child is left; the result has settled then
        """
        if not self._disposing:
            self._disposing = True
            self._forget_signal()
            self._begin_end()
        return self._gone

    @abstractmethod
    def _begin_end(self) -> None:
        """Begin to end the child; what it leads to calls :meth:`_settle` and :meth:`_end`."""

    def _settle(self, result: RunResult) -> None:
        """Settle the result, if it has not settled."""
        if not self._result.done:
            self._forget_signal()
            self._result._return(result)

    def _heed(self, signal: Stoppable) -> None:
        """Cancel when a signal says so, until the result has settled or somebody disposes the run."""
        self._unsubscribe = signal.subscribe(lambda _cause: self.cancel())

    def _forget_signal(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _end(self) -> None:
        """Say that nothing of the child is left."""
        if not self._gone.done:
            self._gone._return(None)


class Start(Protocol):
    """Starts a task that belongs to the service, and not to whoever began the run."""

    def __call__(self, function: Callable[[], Coroutine[Any, Any, object]], /) -> None:
        """Start it."""
        ...


class Provider(Protocol):
    """Makes subagents of one kind."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What a request may need."""
        ...

    def start(self, request: RunRequest, tasks: Start) -> Run:
        """Begin a run; what is synchronous of that has happened when this returns.

        :param tasks: starts what is asynchronous
        :raises Refusal: if there is to be no child; then none exists
        """
        ...
