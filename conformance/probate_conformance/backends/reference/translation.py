"""What the reference says, in the words of the alphabet."""

from __future__ import annotations

import probate_reference as reference
from probate_model.alphabet import events
from probate_model.alphabet.names import AgentRef, Code, Tag, Text
from probate_model.alphabet.ops import Cause
from probate_model.alphabet.refusals import thrown


class Thrown(Exception):
    """What a scripted setup, listener or body throws."""

    def __init__(self, tag: Tag) -> None:
        super().__init__(tag)
        self.tag = tag


def event_of(ref: AgentRef, event: reference.Event) -> events.AgentEvent:
    """Give an event of the reference's bus as an event of the alphabet."""
    match event:
        case reference.LogAppended():
            return events.Logged(ref, event.seq, record_of(event.record))
        case reference.AgentStatus():
            return events.StatusChanged(ref, events.Status(event.status.value))
        case reference.AgentQueued():
            return events.Queued(ref, Text(event.text), event.steering)
        case reference.SessionFlush():
            return events.Flushed(ref, event.upto)
        case reference.SessionCreated():
            return events.SessionCreated(ref)
        case reference.AgentCreated():
            return events.AgentCreated(ref)
        case reference.SessionStart():
            return events.SessionStarted(ref, events.StartSource(event.source.value))
        case reference.AgentDisposed():
            return events.AgentDisposed(ref)
        case reference.SessionDisposed():
            return events.SessionDisposed(ref)
        case reference.CancelRequested():
            return events.CancelRequested(ref, Cause(event.cause.value))
        case reference.AgentError():
            return events.AgentError(ref, event.step, events.ErrorSource(event.source.value))


def record_of(record: reference.Record) -> events.Record:
    """Give a record of the reference's log as a record of the alphabet."""
    match record:
        case reference.TurnStart():
            return events.TurnStart(record.turn, events.Trigger(record.trigger.value))
        case reference.UserMessage():
            return events.UserMessage(Text(record.text))
        case reference.ContextMessage():
            return events.ContextMessage(Text(record.text))
        case reference.StepStart():
            return events.StepStart(record.turn, record.step)
        case reference.AssistantMessage():
            return events.AssistantMessage(Text(record.text))
        case reference.ToolCalled():
            return events.ToolCall(record.number)
        case reference.ToolResult():
            return events.ToolResult(record.number, events.ToolOutcome(record.outcome.value))
        case reference.StepEnd():
            return events.StepEnd(record.turn, record.step)
        case reference.TurnEnd():
            return events.TurnEnd(record.turn, events.TurnOutcome(record.reason.value))


def code_of(failure: BaseException) -> Code:
    """Give what a call raised as a code."""
    match failure:
        case Thrown():
            return thrown(failure.tag)
        case reference.Refusal():
            return Code(failure.code)
        case _:
            return thrown(Tag(type(failure).__name__))


def cause_of(cause: reference.AbortCause) -> events.StopCause:
    """Give why a turn's signal fired."""
    return events.StopCause(cause.value)
