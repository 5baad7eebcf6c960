"""What an observer can hear, and the bus that tells it.

A dispatch is synchronous: listeners are called in the order of their installation, in the middle of
the operation that they hear about, and may call any operation themselves. That is what makes an
observer able to veto, to cancel before a turn opens, or to dispose an agent that is being
announced; it is also why every emitter looks at its state again afterwards.

A listener's failure is contained, for an observer must not decide what happens. There are two
exceptions, both announcements of something that can still be taken back: a synchronous raise in
``session/created`` or ``agent/created`` is a *veto*. It ends the dispatch, and the creation with
it. A listener may return an awaitable; it then runs in the background, nobody waits for it, and its
failure comes too late to veto anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from .calls import close_unawaited, leave_frames
from .records import Record
from .reports import is_failure
from .signals import CancelCause

if TYPE_CHECKING:
    from .agent import Agent
    from .kernel import Kernel

__all__ = (
    "AgentCreated",
    "AgentDisposed",
    "AgentError",
    "AgentQueued",
    "AgentStatus",
    "CancelRequested",
    "ErrorSource",
    "Event",
    "EventBus",
    "Listener",
    "LogAppended",
    "SessionCreated",
    "SessionDisposed",
    "SessionFlush",
    "SessionStart",
    "StartSource",
    "Status",
)


class Status(StrEnum):
    """What an agent is doing; ``disposed`` is never left."""

    IDLE = "idle"
    RUNNING = "running"
    DISPOSED = "disposed"


class StartSource(StrEnum):
    """Where a session comes from."""

    STARTUP = "startup"
    RESUME = "resume"


class ErrorSource(StrEnum):
    """Which part failed."""

    MODEL = "model"
    FLUSH = "flush"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """A session is announced; both registries hold the pair already. May be vetoed."""

    kind: ClassVar[str] = "session/created"
    agent: Agent


@dataclass(frozen=True, slots=True)
class AgentCreated:
    """An agent is announced. May be vetoed."""

    kind: ClassVar[str] = "agent/created"
    agent: Agent


@dataclass(frozen=True, slots=True)
class SessionStart:
    """An agent is published and about to be started."""

    kind: ClassVar[str] = "agent/session-start"
    agent: Agent
    source: StartSource


@dataclass(frozen=True, slots=True)
class AgentDisposed:
    """An announced agent has left the registry; its session is still stored."""

    kind: ClassVar[str] = "agent/disposed"
    agent: Agent


@dataclass(frozen=True, slots=True)
class SessionDisposed:
    """An announced session has left the store; its id is free."""

    kind: ClassVar[str] = "session/disposed"
    agent: Agent


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """An agent's status has changed."""

    kind: ClassVar[str] = "agent/status"
    agent: Agent
    status: Status


@dataclass(frozen=True, slots=True)
class AgentQueued:
    """A message was accepted."""

    kind: ClassVar[str] = "agent/queued"
    agent: Agent
    text: str
    steering: bool


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A cancel that has something to cancel is about to take effect."""

    kind: ClassVar[str] = "agent/cancel-requested"
    agent: Agent
    cause: CancelCause


@dataclass(frozen=True, slots=True)
class AgentError:
    """A turn or a flush failed; the agent goes on.

    :ivar step: the step that was open, or 0
    :ivar error: the failure itself
    """

    kind: ClassVar[str] = "agent/error"
    agent: Agent
    step: int
    source: ErrorSource
    error: BaseException


@dataclass(frozen=True, slots=True)
class SessionFlush:
    """A flush of the session's log begins.

    :ivar upto: how many records the log has now
    """

    kind: ClassVar[str] = "session/flush"
    agent: Agent
    upto: int


@dataclass(frozen=True, slots=True)
class LogAppended:
    """A record was committed to the session's log.

    :ivar seq: its place in the log
    """

    kind: ClassVar[str] = "log"
    agent: Agent
    seq: int
    record: Record


Event: TypeAlias = (
    SessionCreated
    | AgentCreated
    | SessionStart
    | AgentDisposed
    | SessionDisposed
    | AgentStatus
    | AgentQueued
    | CancelRequested
    | AgentError
    | SessionFlush
    | LogAppended
)
"""Anything that the bus can tell."""

Listener: TypeAlias = Callable[[Event], object]
"""Called with an event; what it returns matters only if it can be awaited."""


class EventBus:
    """Tells listeners what happens."""

    __slots__ = ("_by_kind", "_installed", "_kernel")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._installed: dict[object, tuple[str | None, Listener]] = {}
        self._by_kind: dict[str, tuple[Listener, ...]] = {}

    def on(self, listener: Listener, kind: str | None = None) -> Callable[[], None]:
        """Install a listener; it hears every event that begins to be told from now on.

        :param listener: called synchronously, after all listeners installed before it
        :param kind: the kind of event that it wants, such as ``agent/status``; all kinds if ``None``
        :return: a function that removes it; a dispatch that is on the stack may still reach it
        """
        key = object()
        self._installed[key] = (kind, listener)
        self._by_kind.clear()

        def remove() -> None:
            self._installed.pop(key, None)
            self._by_kind.clear()

        return remove

    def _listeners(self, kind: str) -> tuple[Listener, ...]:
        listeners = self._by_kind.get(kind)
        if listeners is None:
            listeners = tuple(
                listener for wanted, listener in self._installed.values() if wanted is None or wanted == kind
            )
            self._by_kind[kind] = listeners
        return listeners

    def _emit(self, event: Event) -> None:
        """Tell an event; nothing that a listener raises escapes."""
        for listener in self._listeners(event.kind):
            try:
                answer = listener(event)
            except BaseException as raised:
                self._kernel.contain(f"listener {event.kind}", raised)
            else:
                if answer is not None and isawaitable(answer):
                    self._detach(event.kind, answer)

    def _announce(self, event: Event) -> None:
        """Tell an event that may be vetoed: the first raise escapes and ends the dispatch."""
        for listener in self._listeners(event.kind):
            answer = listener(event)
            if answer is not None and isawaitable(answer):
                self._detach(event.kind, answer)

    def _detach(self, kind: str, answer: Awaitable[object]) -> None:
        if not self._kernel.spawn(self._background, kind, answer):
            close_unawaited(answer)
            self._kernel.report(f"listener {kind}", RuntimeError("the runtime has ended"))

    async def _background(self, kind: str, answer: Awaitable[object]) -> None:
        leave_frames()
        try:
            await answer
        except BaseException as raised:
            if not is_failure(raised):
                raise
            self._kernel.report(f"listener {kind}", raised)
