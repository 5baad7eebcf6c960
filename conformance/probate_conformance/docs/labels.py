"""What stands beside a mark of a picture: items, events and waits in a few words.

A picture with one creation need not say of each event whose it is, so it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from probate_conformance.story import event_line, item_line
from probate_model.alphabet.bridge import BridgeOp
from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentError,
    AssistantMessage,
    CancelRequested,
    ContextMessage,
    Event,
    Flushed,
    InboxClaimed,
    InboxDiscarded,
    InboxInserted,
    Logged,
    Queued,
    Raised,
    Record,
    Returned,
    ScopeCleanup,
    SessionCreated,
    SessionDisposed,
    SessionStarted,
    Settled,
    Settlement,
    Signalled,
    Snapshot,
    StatusChanged,
    StepEnd,
    StepStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from probate_model.alphabet.fibers import FiberOp
from probate_model.alphabet.gates import Gate, default_outcome
from probate_model.alphabet.items import BurstItem, Hold, Open, Pattern, Plan, React, Reject, Release, Throw
from probate_model.alphabet.names import THIS, Label
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    Cancel,
    Cause,
    Create,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Look,
    Op,
    Resume,
    Send,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.alphabet.rooms import InRoom
from probate_model.alphabet.sessions import Crash, Reload, Stored, StoredLog
from probate_model.alphabet.subagents import SubagentOp
from probate_model.alphabet.tasks import TaskOp


@dataclass(frozen=True, slots=True)
class Naming:
    """How much has to be said for it to be clear who is meant."""

    creations: bool
    """Whether there are several creations, so that an op or a gate has to name one."""
    agents: bool
    """Whether there are several agents, so that an event has to name one."""
    numbers: bool
    """Whether several agents have one id, so that it takes a number to tell them apart."""

    def item(self, item: BurstItem) -> str:
        """Name an item."""
        match item:
            case React():
                return f"{item.label} on {self.pattern(item.on)}"
            case Plan():
                return f"plan {self.gate(item.gate)}: {', '.join(item.outcomes)}"
            case Hold():
                return f"hold {self.gate(item.gate)}"
            case Release():
                outcome = "" if item.outcome == default_outcome(item.gate.kind) else f": {item.outcome}"
                return f"release {self.gate(item.gate)}{outcome}"
            case Open():
                return f"open {self.gate(item.gate)}"
            case _:
                return self.op(item)

    def pattern(self, pattern: Pattern) -> str:
        """Name what a listener waits for, by its last part and the values that it must have."""
        return " ".join([pattern.event, *(str(value) for _, value in pattern.where)])

    def action(self, action: Op | Throw | Reject) -> str:
        """Name what a reaction does."""
        match action:
            case Throw(tag):
                return f"throws {tag!r}"
            case Reject(tag):
                return f"fails {tag!r} later"
            case Create(id=agent_id):
                return f"create {agent_id}"
            case Abort() | Withdraw():
                return str(action.item)
            case _:
                words = self.op(action)
                return words.rpartition(" → ")[0] or words

    def gate(self, gate: Gate) -> str:
        """Name a gate."""
        return f"{gate.kind}{self._whose(gate.creation)}"

    def op(self, op: Op) -> str:
        """Name an op, and its call where that is named otherwise."""
        match op:
            case Create() | Resume():
                by = f" for {op.by.agent}" if isinstance(op.by, ByAgent) else ""
                return f"{op.item} {op.id}{by} → {op.label}" if self.creations else f"{op.item} {op.id}"
            case Send() | Steer() | Inject():
                return f"{op.item}{self._whose(op.agent)} {op.text}"
            case Cancel():
                words = f"cancel{self._whose(op.agent)}"
                return words if op.cause is Cause.USER else f"{words} as {op.cause}"
            case AwaitIdle():
                return _called(f"await idle{self._whose(op.agent)}", op.label, "idle")
            case Dispose():
                return _called(f"dispose{self._whose(op.agent)}", op.label, "dispose")
            case Abort() | Withdraw():
                return f"{op.item}{self._whose(op.creation)}"
            case UnloadOwner() | LoadOwner():
                return _called(f"{op.item.partition('_')[0]} {op.owner}", op.label, "unload")
            case UnloadProvider() | LoadProvider():
                return _called(f"{op.item.partition('_')[0]} provider", op.label, "unload")
            case Look() | Reload():
                return _called(str(op.item), op.label, str(op.item))
            case Stored():
                return _called(f"stored {op.id}", op.label, "stored")
            case Crash():
                return f"crash, {op.tail}"
            case _ if isinstance(op, FiberOp | TaskOp | BridgeOp | SubagentOp):
                return item_line(op)
            case _:
                assert_never(op)

    def settled(self, call: Label, op: Op | None, outcome: Settlement) -> str:
        """Tell how a call settled."""
        listener, in_reaction, _ = call.partition(".")
        name = op.item if isinstance(op, Create) and not self.creations else listener if in_reaction else call
        match outcome:
            case Returned(None):
                return f"{name} returned"
            case Returned(Snapshot() as seen):
                return f"{name} shows {', '.join(entry.agent for entry in seen.agents) or 'nobody'}"
            case Returned(StoredLog() as log):
                return f"{name}: {log.stored} records"
            case Returned(value):
                return f"{name} returned {value}"
            case Raised(code):
                return f"{name}: {code}"
            case _:
                assert_never(outcome)

    def event(self, event: Event) -> str:
        """Name an event; a lane's own prefix is left out."""
        words: str
        match event:
            case SessionCreated() | AgentCreated() | AgentDisposed() | SessionDisposed():
                words = event.event
            case SessionStarted():
                words = "session-start"
            case StatusChanged(status=status):
                words = f"status {status}"
            case Queued(text=text, steering=steering):
                words = f"queued {text}{', steering' if steering else ''}"
            case CancelRequested(cause=cause):
                words = f"cancel-requested {cause}"
            case AgentError(step=step, source=source):
                words = f"error {source}{f', step {step}' if step else ''}"
            case Signalled(cause=stop_cause):
                words = f"signal {stop_cause}"
            case Flushed(upto=upto):
                words = f"session/flush upto {upto}"
            case Logged(seq=seq, record=record):
                words = f"{seq} {_record(record)}"
            case InRoom():
                return event_line(event)
            case ScopeCleanup(creation):
                return f"scope/cleanup{self._whose(creation)}"
            case Settled(call, outcome):
                return self.settled(call, None, outcome)
            case _:
                assert_never(event)
        if not self.agents:
            return words
        return f"{words} · {event.agent if self.numbers else event.agent.partition('#')[0]}"

    def silence(self, pattern: Pattern) -> str:
        """Name what is not said."""
        where = dict(pattern.where)
        if pattern.event == "log" and "record" not in where:
            return f"no record of {where['text']}"
        kind = where.pop("record", pattern.event)
        return " ".join(["no", *map(str, (kind, *where.values()))])

    def _whose(self, label: Label) -> str:
        return f" {label}" if self.creations and label != THIS else ""


def _called(words: str, label: Label, usual: str) -> str:
    return words if label == usual or "." in label else f"{words} → {label}"


def _record(record: Record) -> str:
    match record:
        case TurnStart(turn, trigger):
            return f"{record.record} {turn} {trigger}"
        case UserMessage(text) | ContextMessage(text):
            return f"{record.record} {text}"
        case AssistantMessage():
            return record.record
        case StepStart(turn, step) | StepEnd(turn, step):
            return f"{record.record} {turn}.{step}"
        case ToolCall(n):
            return f"{record.record} {n}"
        case ToolResult(n, outcome):
            return f"{record.record} {n} {outcome}"
        case TurnEnd(turn, turn_outcome, cause):
            return f"{record.record} {turn} {turn_outcome}{f' {cause}' if cause else ''}"
        case InboxInserted(_, text):
            return f"{record.record} {text}"
        case InboxClaimed(queue, count) | InboxDiscarded(queue, count):
            return f"{record.record} {count} of {queue}"
        case _:
            assert_never(record)
