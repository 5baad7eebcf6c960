"""What a session's log consists of.

The log is the only history. Whether a turn is open, and which number the next one gets, is read
from it and not from flags beside it, so an injection that opened a turn of its own cannot collide
with the driver. Every record is frozen and knows its ``kind``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

__all__ = (
    "AssistantMessage",
    "ContextMessage",
    "Record",
    "StepEnd",
    "StepStart",
    "ToolCalled",
    "ToolOutcome",
    "ToolResult",
    "TurnEnd",
    "TurnReason",
    "TurnStart",
    "TurnTrigger",
    "UserMessage",
)


class TurnTrigger(StrEnum):
    """What opened a turn."""

    MESSAGE = "message"
    INJECTION = "injection"


class TurnReason(StrEnum):
    """How a turn ended. Where several apply, the later one in this list wins.

    ``interrupted`` is never logged by an agent: it is what a resume finds that no agent lived to log.
    """

    COMPLETED = "completed"
    MAX_TOKENS = "max-tokens"
    ERROR = "error"
    ABORTED = "aborted"
    DISPOSED = "disposed"
    INTERRUPTED = "interrupted"


class ToolOutcome(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn opens."""

    kind: ClassVar[str] = "turn/start"
    turn: int
    trigger: TurnTrigger


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A prompt, or a steering message, enters the conversation."""

    kind: ClassVar[str] = "user/message"
    text: str


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """An injected text enters the conversation."""

    kind: ClassVar[str] = "context/message"
    text: str


@dataclass(frozen=True, slots=True)
class StepStart:
    """A step of a turn opens: one model call and the tools that it asks for."""

    kind: ClassVar[str] = "step/start"
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model returned."""

    kind: ClassVar[str] = "assistant/message"
    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool call is about to begin, or was never begun if its result says that it was aborted.

    :ivar number: counts the calls of one step from 1
    """

    kind: ClassVar[str] = "tool/call"
    number: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool call has ended."""

    kind: ClassVar[str] = "tool/result"
    number: int
    outcome: ToolOutcome
    text: str


@dataclass(frozen=True, slots=True)
class StepEnd:
    """A step closes."""

    kind: ClassVar[str] = "step/end"
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """A turn closes."""

    kind: ClassVar[str] = "turn/end"
    turn: int
    reason: TurnReason


Record: TypeAlias = (
    TurnStart
    | UserMessage
    | ContextMessage
    | StepStart
    | AssistantMessage
    | ToolCalled
    | ToolResult
    | StepEnd
    | TurnEnd
)
"""Any record of a session's log."""
