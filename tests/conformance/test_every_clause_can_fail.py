"""A clause that nothing can trip is a defect: each has a known-bad backend or a lie that is reported by it.

The known-bad backends have defects that somebody could make. What they leave is shown by lies: the model's own run of
a burst with one event dropped, doubled, changed in a field, put before the one ahead of it, or added where the contract
is silent, or with the rest cut off.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from enum import Enum
from typing import Any, TypeVar

import pytest

from probate_conformance.backends.reference.known_bad import VARIANTS
from probate_conformance.generation import generate_rehearsed
from probate_conformance.rehearsal import Rehearsal
from probate_model import registry
from probate_model.alphabet.editions import EDITION_2026_06, EDITION_2026_08, VARIATIONS, Edition
from probate_model.alphabet.events import (
    EVENT_KINDS,
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
    Snapshot,
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
from probate_model.clauses import AT_REST, CLAUSES, extra_clause
from probate_model.run import Silence
from probate_model.world import new_world
from probate_model.worlds import Divergence, TooManyWorlds, Worlds

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

MOST_TRACES = 400
LIES_OF_A_BURST = 12
LOOKED_AT = (
    ("core", EDITION_2026_06),
    ("core", EDITION_2026_08),
    ("sessions", EDITION_2026_06),
    ("fibers", EDITION_2026_06),
    ("bridge", EDITION_2026_06),
    ("fibers", EDITION_2026_06.flipped(VARIATIONS)),
)
"""The profiles and editions whose clauses are looked for."""

Lie = list[Event]


def lies(rehearsal: Rehearsal, left: set[str]) -> Iterator[Lie]:
    """Give what could be told instead of what happened in a burst, of what the clauses that are left speak of."""
    told = [expected.event for expected in rehearsal.expected]
    spoken_of = {kind for clause in left for kind in CLAUSES[clause].seen}
    for place, event in enumerate(told):
        if event.event not in spoken_of:
            continue
        before, after = told[:place], told[place + 1 :]
        yield [*before, *after]
        yield [*before, event, event, *after]
        yield before
        yield from ([*before, other, *after] for other in changed(event))
        if before:
            yield [*before[:-1], event, before[-1], *after]


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


def broken(silence: Silence, told: Lie, left: set[str]) -> Iterator[Lie]:
    """Give the burst with the one thing added that must not be, if its clause is one of those that are left.

    It is added wherever something happens to the agent.
    """
    if silence.clause not in left:
        return
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
            yield [*told[:place], said, *told[place:]]
            yield [*told[: place + 1], said, *told[place + 1 :]]


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


def reported(worlds: Worlds, told: Lie, seen: Snapshot | None = None) -> str | None:
    """Give the clause by which a telling of a burst, and of the registries, is rejected; none if it is a legal run."""
    try:
        for event in told:
            advanced = worlds.observe(event)
            if isinstance(advanced, Divergence):
                return advanced.clause
            worlds = advanced[0]
        rested = worlds.rest(seen)
    except TooManyWorlds:
        return None
    return rested.clause if isinstance(rested, Divergence) else None


@pytest.mark.parametrize(("profile", "edition"), LOOKED_AT)
def test_every_clause_is_reported_of_something(profile: str, edition: Edition) -> None:
    """In the edition of the seeds, lies are only needed for what no known-bad backend shows."""
    left = {clause.id for clause in CLAUSES.values() if clause.profile == profile and clause.holds_in(edition)}
    if edition is not EDITION_2026_08:
        left -= {variant.clause for variant in VARIANTS.values()}
    for number in range(MOST_TRACES):
        if not left:
            break
        trace, rehearsals = generate_rehearsed(5, number, profile=profile, edition=edition)
        order = random.Random(number)
        worlds = Worlds.of(new_world(trace.world, edition, profile))
        for rehearsal in rehearsals:
            if not left & demanded_in(rehearsal):
                worlds = Worlds.of(rehearsal.world)
                continue
            candidates = list(lies(rehearsal, left))
            rare = [lie for silence in rehearsal.silences for lie in broken(silence, _told(rehearsal), left)]
            drawn = order.sample(candidates, min(LIES_OF_A_BURST, len(candidates)))
            for lie in (*drawn, *rare):
                left.discard(reported(worlds.begin(rehearsal.sent), lie) or "")
            if AT_REST in left and _told(rehearsal) and registry.snapshot(rehearsal.world) != Snapshot():
                rested = reported(worlds.begin(rehearsal.sent), _told(rehearsal), Snapshot())
                left.discard(rested or "")
            worlds = Worlds.of(rehearsal.world)
    assert left == set()


def demanded_in(rehearsal: Rehearsal) -> set[str]:
    """Give the clauses that a burst could break: those that demand an event of it, or a silence; some, anywhere."""
    of_events = {clause for expected in rehearsal.expected for clause in expected.demand.clauses}
    anywhere = {extra_clause(kind, rehearsal.world.edition) for kind in EVENT_KINDS}
    return {AT_REST, *anywhere, *of_events, *(silence.clause for silence in rehearsal.silences)}


def _told(rehearsal: Rehearsal) -> Lie:
    return [expected.event for expected in rehearsal.expected]
