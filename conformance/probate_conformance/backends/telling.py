"""Telling: what could be told of a burst instead of what happened in it.

Each way is one that somebody's runtime could err in: one thing left out, done twice, too early or otherwise, nothing
more done from there on, or something done that was not to be done. Where it is put follows from what the model demands
of the burst, and from where it is silent on purpose; by which clause it is reported is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from enum import Enum, StrEnum
from typing import Any, TypeVar

from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentError,
    AssistantMessage,
    CancelRequested,
    Event,
    Flushed,
    InboxInserted,
    InboxQueue,
    Logged,
    Queued,
    Raised,
    Record,
    Returned,
    SessionStarted,
    Settled,
    Signalled,
    StartSource,
    Status,
    StatusChanged,
    StopCause,
    Trigger,
    TurnStart,
    UserMessage,
)
from probate_model.alphabet.fibers import DisposerCalled, FiberChanged, FiberState
from probate_model.alphabet.names import AgentRef, Code, Text
from probate_model.alphabet.ops import Cause
from probate_model.alphabet.tasks import TaskDone, TaskStatus
from probate_model.run import Expected, Silence


class How(StrEnum):
    """How a lie differs from what happened."""

    DROPS = "leaves out what is due"
    DOUBLES = "does what is due twice"
    HURRIES = "does what is due before what comes ahead of it"
    STOPS = "does nothing more from where it is due on"
    ALTERS = "does what is due otherwise"
    ADDS = "does what is not to be done"
    FORGETS = "has nothing in its registries"


Telling = tuple[Event, ...]
"""The events of a burst, as they are told."""


def tellings(how: How, clause: str, expected: Sequence[Expected], silences: Sequence[Silence]) -> Iterator[Telling]:
    """Give the lies of a kind about a clause that can be told of a burst."""
    told = tuple(entry.event for entry in expected)
    if how is How.ADDS:
        yield from (lie for silence in silences if silence.clause == clause for lie in broken(silence, told))
        return
    for place, entry in enumerate(expected):
        if clause in entry.demand.clauses:
            yield from (telling for kind, telling in otherwise(told, place) if kind is how)


def otherwise(told: Telling, place: int) -> Iterator[tuple[How, Telling]]:
    """Give each way to tell one event of a burst otherwise than it happened."""
    event, before, after = told[place], told[:place], told[place + 1 :]
    yield How.DROPS, (*before, *after)
    yield How.DOUBLES, (*before, event, event, *after)
    yield How.STOPS, before
    yield from ((How.ALTERS, (*before, other, *after)) for other in changed(event))
    if before:
        yield How.HURRIES, (*before[:-1], event, before[-1], *after)


def changed(event: Event) -> Iterator[Event]:
    """Give an event with another value in one field."""
    match event:
        case Logged():
            yield replace(event, seq=event.seq + 1)
            yield from (replace(event, record=record) for record in with_others(event.record))
        case Settled(outcome=Raised()):
            yield Settled(event.call, Raised(Code("thrown:something else")))
            yield Settled(event.call, Returned())
        case Settled():
            yield Settled(event.call, Raised(Code("aborted")))
        case Flushed():
            yield replace(event, upto=event.upto - 1)
        case Queued():
            yield replace(event, steering=not event.steering)
        case CancelRequested():
            yield from with_others(event)
        case Signalled():
            yield from with_others(event)
        case StatusChanged():
            yield from (replace(event, status=other) for other in Status if other is not event.status)
        case AgentError():
            yield replace(event, step=event.step + 1)
        case SessionStarted():
            yield from (replace(event, source=other) for other in type(event.source) if other is not event.source)
        case FiberChanged():
            yield replace(event, state=FiberState.FAILED)
        case DisposerCalled():
            yield replace(event, member=event.member + 1)
        case TaskDone():
            yield replace(event, exit="code:2")
            yield from (replace(event, status=other) for other in TaskStatus if other is not event.status)
        case _:
            pass


T = TypeVar("T", Record, CancelRequested, Signalled)


def with_others(part: T) -> Iterator[T]:
    """Give a record, or an event, with another number, word or text in one field."""
    for field in fields(part):
        value = getattr(part, field.name)
        others: list[object] = []
        if isinstance(value, Enum):
            others = [other for other in type(value) if other is not value]
        elif isinstance(value, int):
            others = [value + 1]
        elif field.name == "text":
            others = ["something else"]
        for other in others:
            change: dict[str, Any] = {field.name: other}
            yield replace(part, **change)


def broken(silence: Silence, told: Telling) -> Iterator[Telling]:
    """Give the burst with the one thing added that must not be, wherever something happens to the agent."""
    unwanted = said_of(silence)
    if unwanted is None:
        return
    for place, event in enumerate(told):
        if getattr(event, "agent", None) == silence.agent:
            said = (
                replace(unwanted, seq=event.seq)
                if isinstance(unwanted, Logged) and isinstance(event, Logged)
                else unwanted
            )
            yield (*told[:place], said, *told[place:])
            yield (*told[: place + 1], said, *told[place + 1 :])


def said_of(silence: Silence) -> Event | None:
    """Give an event that breaks a silence; none for a kind that is shown to break otherwise."""
    agent = AgentRef(silence.agent)
    where = dict(silence.pattern.where)
    match silence.pattern.event:
        case "agent/status":
            return StatusChanged(agent, Status(str(where.get("status", "idle"))))
        case "agent/cancel-requested":
            return CancelRequested(agent, Cause.USER)
        case "session/flush":
            return Flushed(agent, 0)
        case "agent/created":
            return AgentCreated(agent)
        case "agent/session-start":
            return SessionStarted(agent, StartSource.STARTUP)
        case "agent/disposed":
            return AgentDisposed(agent)
        case "log" if where.get("record") == "assistant/message":
            return Logged(agent, 0, AssistantMessage(Text("half an answer")))
        case "log" if where.get("record") == "turn/start":
            return Logged(agent, 0, TurnStart(1, Trigger.MESSAGE))
        case "log" if where.get("record") in (None, "user/message") and "text" in where:
            return Logged(agent, 0, UserMessage(Text(str(where["text"]))))
        case "log" if where.get("record") == "inbox/inserted":
            return Logged(agent, 0, InboxInserted(InboxQueue.NEXT_TURN, Text(str(where["text"]))))
        case "signal":
            return Signalled(agent, 1, StopCause.USER)
        case _:
            return None
