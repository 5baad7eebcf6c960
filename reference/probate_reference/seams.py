"""Say what an embedder plugs in: the model, the tools, a preparation, flush listeners and setups.

A seam is a plain async callable with one frozen request. Model, tools and preparation also get the
turn's signal; a flush and a cleanup do not, because they are what makes an end orderly and must not
be told to hurry. What the callable raises decides only what the request is about, never the life of
the agent: a model's failure ends the turn, a tool's failure is a result, a flush's failure is
reported.

A tool is the one seam with a face: a model has to be told its name, what it is for and what it can be
called with. So it is an object and not a function, and the runtime keeps all of them in one
:class:`~probate_reference.Toolbox`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

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
    "FunctionTool",
    "Model",
    "ModelRequest",
    "Prepare",
    "Reply",
    "Setup",
    "StopReason",
    "Tool",
    "ToolCall",
    "ToolContext",
)


def _check_type(what: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{what} must be a {wanted.__name__}, not {type(value).__name__}")


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    MAX_TOKENS = "max-tokens"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    :ivar name: the tool
    :ivar arguments: what to call it with, as the text of a JSON object; the empty text is the empty object
    """

    name: str
    arguments: str = ""

    def __post_init__(self) -> None:
        """Let nothing into a log that could not be read back."""
        _check_type("the name of a ToolCall", self.name, str)
        _check_type("the arguments of a ToolCall", self.arguments, str)


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

    def __post_init__(self) -> None:
        """Let nothing into a log that could not be read back."""
        _check_type("the text of a Reply", self.text, str)
        for call in self.tool_calls:
            _check_type("a tool call of a Reply", call, ToolCall)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model or a preparation is asked; the conversation is in the session's log.

    :ivar step: the step that opens, counted from 1 within the turn
    :ivar tools: what the model may call, one of each name
    """

    agent: Agent
    session: Session
    turn: int
    step: int
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Who calls a tool, and from where.

    :ivar agent: the calling agent; ``None`` if somebody calls who is no agent
    :ivar signal: the turn's signal; ``None`` outside a turn
    :ivar turn: the turn, or 0 outside a turn
    :ivar step: the step of the turn, or 0
    :ivar number: the place of the call within its step, counted from 1, or 0
    """

    agent: Agent | None = None
    signal: Signal | None = None
    turn: int = 0
    step: int = 0
    number: int = 0


class Tool(Protocol):
    """Something that a model can call."""

    @property
    def name(self) -> str:
        """What a model calls it by."""
        ...

    @property
    def description(self) -> str:
        """What it is for, in words for a model."""
        ...

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON Schema of its arguments, which are one object."""
        ...

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        """Carry out one call.

        It is not cancelled when the turn is stopped; ``context.signal`` says so, and what it then returns is discarded.

        :param arguments: what it is called with; it agrees with :attr:`parameters`
        :param context: who calls
        :return: the result, as the model will read it
        :raises Exception: for a result that is an error; its text is what the model will read
        """
        ...


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that is an async function with a face; see :class:`Tool`.

    :ivar function: is called with the arguments and the context
    """

    name: str
    function: Callable[[Mapping[str, object], ToolContext], Awaitable[str]]
    description: str = ""
    parameters: Mapping[str, object] = field(default_factory=lambda: {"type": "object", "properties": {}})

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        """Call the function."""
        return await self.function(arguments, context)


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
