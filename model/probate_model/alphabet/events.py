"""Events: all that an outside observer can see, in the order in which it is seen.

``agent`` is always ``id#n``, the n-th session object of that id that reached ``session/created``. What is not in this
file is not observed: stream chunks, request headers, the end of a flush, reports of contained failures.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from probate_model.alphabet.fibers import FIBER_EVENTS, FiberEvent
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentRef, Code, Label, Text
from probate_model.alphabet.ops import Cause
from probate_model.alphabet.rooms import InRoom
from probate_model.alphabet.sessions import StoredLog
from probate_model.alphabet.subagents import CHILD_EVENTS, SUBAGENT_EVENTS, ChildEvent, Delegated, SubagentEvent
from probate_model.alphabet.tasks import TASK_EVENTS, TaskEvent, TaskRef, TaskValue
from probate_model.alphabet.values import value


@plain
class Status(StrEnum):
    """What an agent is doing, as announced. ``disposed`` is final."""

    IDLE = "idle"
    RUNNING = "running"
    DISPOSED = "disposed"


@plain
class StartSource(StrEnum):
    """How a session came to be live."""

    STARTUP = "startup"
    RESUME = "resume"


@plain
class StopCause(StrEnum):
    """What a turn's signal carries when it fires."""

    USER = "user"
    PARENT = "parent"
    DISPOSED = "disposed"
    HOOK = "hook"
    """Somebody who hooked into the turn; only where a cancel has to name its cause."""


class InboxQueue(StrEnum):
    """The two lists of an inbox whose changes are records."""

    NEXT_TURN = "next-turn"
    """Prompts, of which the first step of a turn takes in one."""
    NEXT_STEP = "next-step"
    """Steering and injected context, all of which the next step takes in."""


@plain
class ErrorSource(StrEnum):
    """Where an error of an agent came from."""

    MODEL = "model"
    FLUSH = "flush"
    INTERNAL = "internal"


@plain
class Trigger(StrEnum):
    """What opened a turn."""

    MESSAGE = "message"
    INJECTION = "injection"


@plain
class ToolOutcome(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    ABORTED = "aborted"


@plain
class TurnOutcome(StrEnum):
    """How a turn ended."""

    COMPLETED = "completed"
    MAX_TOKENS = "max-tokens"
    ABORTED = "aborted"
    DISPOSED = "disposed"
    ERROR = "error"


# Records of the session log.


@value(frozen=True, slots=True)
class TurnStart:
    """A turn opened."""

    turn: int
    trigger: Trigger
    record: Literal["turn/start"] = "turn/start"


@value(frozen=True, slots=True)
class UserMessage:
    """A prompt, or steering, joined the turn."""

    text: Text
    record: Literal["user/message"] = "user/message"


@value(frozen=True, slots=True)
class ContextMessage:
    """Injected context joined the turn."""

    text: Text
    record: Literal["context/message"] = "context/message"


@value(frozen=True, slots=True)
class StepStart:
    """A step of the turn opened."""

    turn: int
    step: int
    record: Literal["step/start"] = "step/start"


@value(frozen=True, slots=True)
class AssistantMessage:
    """The model answered."""

    text: Text
    record: Literal["assistant/message"] = "assistant/message"


@value(frozen=True, slots=True)
class ToolCall:
    """The n-th call of the step's batch began, or would have begun."""

    n: int
    record: Literal["tool/call"] = "tool/call"


@value(frozen=True, slots=True)
class ToolResult:
    """The n-th call of the step's batch ended."""

    n: int
    outcome: ToolOutcome
    record: Literal["tool/result"] = "tool/result"


@value(frozen=True, slots=True)
class StepEnd:
    """The step closed."""

    turn: int
    step: int
    record: Literal["step/end"] = "step/end"


@value(frozen=True, slots=True)
class TurnEnd:
    """The turn closed."""

    turn: int
    outcome: TurnOutcome
    cause: StopCause | None = None
    """Why it was aborted, where a cancel has to name its cause; else none."""
    record: Literal["turn/end"] = "turn/end"


@value(frozen=True, slots=True)
class InboxInserted:
    """Input was accepted, where the inbox is kept as records: it is at the tail of the list."""

    queue: InboxQueue
    text: Text
    record: Literal["inbox/inserted"] = "inbox/inserted"


@value(frozen=True, slots=True)
class InboxClaimed:
    """A step took in so many from the head of the list."""

    queue: InboxQueue
    count: int
    record: Literal["inbox/claimed"] = "inbox/claimed"


@value(frozen=True, slots=True)
class InboxDiscarded:
    """So many were dropped from the head of the list, unrun: by a cancel, or by the end of the agent."""

    queue: InboxQueue
    count: int
    record: Literal["inbox/discarded"] = "inbox/discarded"


InboxRecord: TypeAlias = InboxInserted | InboxClaimed | InboxDiscarded
"""The records of an inbox; an edition that announces input as ``agent/queued`` has none."""

Record: TypeAlias = (
    TurnStart
    | UserMessage
    | ContextMessage
    | StepStart
    | AssistantMessage
    | ToolCall
    | ToolResult
    | StepEnd
    | TurnEnd
    | InboxInserted
    | InboxClaimed
    | InboxDiscarded
)

# What a call settles with.


@value(frozen=True, slots=True)
class Listed:
    """One registry entry as a snapshot shows it."""

    agent: AgentRef
    status: Status
    owner: AgentRef | None = None
    """The agent on whose behalf it was created; none for one that an owner created."""


@value(frozen=True, slots=True)
class Snapshot:
    """The registries at one moment, in the order of their entries."""

    agents: tuple[Listed, ...] = ()
    roots: tuple[AgentRef, ...] = ()
    sessions: tuple[AgentRef, ...] = ()


@value(frozen=True, slots=True)
class Returned:
    """The call returned: a create with its agent, a look with its snapshot, some with more, others with nothing."""

    value: AgentRef | Label | TaskRef | bool | Snapshot | StoredLog | TaskValue | Delegated | None = None
    settlement: Literal["returned"] = "returned"


RETURNED: Final = Returned()
"""The call returned, and there is nothing more to say."""


@value(frozen=True, slots=True)
class Raised:
    """The call raised."""

    code: Code
    settlement: Literal["raised"] = "raised"


Settlement: TypeAlias = Returned | Raised

# The events.


@value(frozen=True, slots=True)
class SessionCreated:
    """The session is announced; both registries already hold the pair. A throw here vetoes the creation."""

    agent: AgentRef
    event: Literal["session/created"] = "session/created"


@value(frozen=True, slots=True)
class AgentCreated:
    """The agent is announced. A throw here vetoes the creation."""

    agent: AgentRef
    event: Literal["agent/created"] = "agent/created"


@value(frozen=True, slots=True)
class SessionStarted:
    """The agent is published and its session starts."""

    agent: AgentRef
    source: StartSource
    event: Literal["agent/session-start"] = "agent/session-start"


@value(frozen=True, slots=True)
class AgentDisposed:
    """The agent's entry was removed."""

    agent: AgentRef
    event: Literal["agent/disposed"] = "agent/disposed"


@value(frozen=True, slots=True)
class SessionDisposed:
    """The session's entry was removed."""

    agent: AgentRef
    event: Literal["session/disposed"] = "session/disposed"


@value(frozen=True, slots=True)
class ScopeCleanup:
    """A cleanup registered in the agent's scope began."""

    creation: Label
    event: Literal["scope/cleanup"] = "scope/cleanup"


@value(frozen=True, slots=True)
class StatusChanged:
    """The status changed."""

    agent: AgentRef
    status: Status
    event: Literal["agent/status"] = "agent/status"


@value(frozen=True, slots=True)
class Queued:
    """Input was accepted."""

    agent: AgentRef
    text: Text
    steering: bool
    event: Literal["agent/queued"] = "agent/queued"


@value(frozen=True, slots=True)
class CancelRequested:
    """A cancel that finds something to stop is about to stop it."""

    agent: AgentRef
    cause: Cause
    event: Literal["agent/cancel-requested"] = "agent/cancel-requested"


@value(frozen=True, slots=True)
class AgentError:
    """Something failed. ``step`` is 0 for a flush, and when no step was open."""

    agent: AgentRef
    step: int
    source: ErrorSource
    event: Literal["agent/error"] = "agent/error"


@value(frozen=True, slots=True)
class Signalled:
    """The turn's signal as a model or tool body in flight hears it. No body in flight, no event."""

    agent: AgentRef
    turn: int
    cause: StopCause
    event: Literal["signal"] = "signal"


@value(frozen=True, slots=True)
class Flushed:
    """The flush listeners are called. ``upto`` is the number of records in the log then."""

    agent: AgentRef
    upto: int
    event: Literal["session/flush"] = "session/flush"


@value(frozen=True, slots=True)
class Logged:
    """A record was committed to the session's log, as number ``seq`` from 0."""

    agent: AgentRef
    seq: int
    record: Record
    event: Literal["log"] = "log"


@value(frozen=True, slots=True)
class Settled:
    """A call settled."""

    call: Label
    outcome: Settlement
    event: Literal["settled"] = "settled"


AgentEvent: TypeAlias = (
    SessionCreated
    | AgentCreated
    | SessionStarted
    | AgentDisposed
    | SessionDisposed
    | StatusChanged
    | Queued
    | CancelRequested
    | AgentError
    | Signalled
    | Flushed
    | Logged
)
"""Events of one agent."""

HeardEvent: TypeAlias = AgentEvent | FiberEvent | TaskEvent | SubagentEvent
"""Events that an ordinary listener can hear and react to: those of agents, and those of the rooms."""

Event: TypeAlias = HeardEvent | ScopeCleanup | ChildEvent | Settled

OfNoAgent: TypeAlias = ScopeCleanup | Settled | InRoom
"""Events that are about something else than an agent."""


def subject_of(event: Event) -> str:
    """Give what an event is about: its agent, its creation, its call, or what its room says."""
    match event:
        case Settled():
            return event.call
        case ScopeCleanup():
            return event.creation
        case InRoom():
            return event.about
        case _:
            return event.agent


EVENT_KINDS: tuple[str, ...] = (
    "session/created",
    "agent/created",
    "agent/session-start",
    "agent/status",
    "agent/queued",
    "agent/cancel-requested",
    "agent/error",
    "signal",
    "log",
    "session/flush",
    "agent/disposed",
    "session/disposed",
    *FIBER_EVENTS,
    "scope/cleanup",
    *TASK_EVENTS,
    *SUBAGENT_EVENTS,
    *CHILD_EVENTS,
    "settled",
)
"""All kinds of event, in the order in which an agent's life meets them first."""

VETOABLE: frozenset[str] = frozenset({"session/created", "agent/created"})
"""The two kinds whose dispatch a throw ends; everywhere else a listener's failure is contained."""
