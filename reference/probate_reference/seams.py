"""Say what an embedder plugs in: the model, the tools, a preparation, flush listeners and setups.

A seam is a plain async callable with one frozen request. Model, tools and preparation also get the
turn's signal; a flush and a cleanup do not, because they are what makes an end orderly and must not
be told to hurry. What the callable raises decides only what the request is about, never the life of
the agent: a model's failure ends the turn, a tool's failure is a result, a flush's failure is
reported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from .refusals import OwnerInactive
from .signals import Signal

if TYPE_CHECKING:
    from .agent import Agent
    from .session import Session

__all__ = (
    "AgentScope",
    "Cleanup",
    "Flush",
    "FlushRequest",
    "Model",
    "ModelRequest",
    "Prepare",
    "Reply",
    "Setup",
    "StopReason",
    "Tool",
    "ToolCall",
    "ToolRequest",
)


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    MAX_TOKENS = "max-tokens"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    :ivar name: the tool
    :ivar arguments: what to call it with, in whatever notation model and tools agree on
    """

    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model returns.

    :ivar text: what it said
    :ivar tool_calls: what it asks for; with ``max-tokens`` none of it is dispatched
    :ivar stop: why it stopped
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop: StopReason = StopReason.END


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model or a preparation is asked; the conversation is in the session's log.

    :ivar step: the step that opens, counted from 1 within the turn
    """

    agent: Agent
    session: Session
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """What a tool is asked.

    :ivar number: the place of the call within its step, counted from 1
    :ivar call: what the model asked for
    """

    agent: Agent
    turn: int
    step: int
    number: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class FlushRequest:
    """What a flush listener is asked: to make the log safe.

    :ivar upto: how many records the log had when the flush began
    """

    agent: Agent
    session: Session
    upto: int


Model: TypeAlias = Callable[[ModelRequest, Signal], Awaitable[Reply]]
"""The model of every agent of a runtime."""

Tool: TypeAlias = Callable[[ToolRequest, Signal], Awaitable[str]]
"""Carries out one tool call and returns its result; what it raises is a result too."""

Prepare: TypeAlias = Callable[[ModelRequest, Signal], Awaitable[None]]
"""Awaited before each step opens; what it raises ends the turn with an error."""

Flush: TypeAlias = Callable[[FlushRequest], Awaitable[None]]
"""Called in the moment when a log is to be made safe; what it returns is awaited in a later step."""

Cleanup: TypeAlias = Callable[[], Awaitable[None]]
"""Awaited in the last step of a teardown; a failure is reported and harms nobody."""


class AgentScope:
    """What belongs to one agent and ends with it.

    It exists from the begin of the creation to the last step of the teardown.
    """

    __slots__ = ("_cleanups", "_closed", "_id")

    def __init__(self, id: str, cleanups: tuple[Cleanup, ...] = ()) -> None:
        self._id = id
        self._cleanups: list[Cleanup] | None = list(cleanups) if cleanups else None
        self._closed = False

    @property
    def id(self) -> str:
        """The id of the agent and its session."""
        return self._id

    def on_cleanup(self, cleanup: Cleanup) -> None:
        """Register something that is awaited when the agent has ended; the newest goes first.

        :raises OwnerInactive: if the scope has ended
        """
        if self._closed:
            raise OwnerInactive(f"the scope of agent {self._id!r} has ended")
        if self._cleanups is None:
            self._cleanups = []
        self._cleanups.append(cleanup)

    def _next_cleanup(self) -> Cleanup | None:
        """Take the newest cleanup, or close the scope and return ``None``."""
        if self._cleanups:
            return self._cleanups.pop()
        self._cleanups = None
        self._closed = True
        return None


Setup: TypeAlias = Callable[[AgentScope], Awaitable[object]]
"""Runs in private before an agent is published; what it raises is what the creation raises."""
