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

from probate_conformance.backends.reference.known_bad import VARIANTS
from probate_conformance.generation import generate_rehearsed
from probate_conformance.rehearsal import Rehearsal
from probate_model.alphabet.editions import EDITION_2026_06, EDITION_2026_08, VARIATIONS
from probate_model.alphabet.events import (
    AgentError,
    AssistantMessage,
    CancelRequested,
    Event,
    Flushed,
    Logged,
    Queued,
    Raised,
    Record,
    Returned,
    SessionCreated,
    SessionStarted,
    Settled,
    Signalled,
    Status,
    StatusChanged,
    StepEnd,
)
from probate_model.alphabet.fibers import DisposerCalled, FiberChanged, FiberState
from probate_model.alphabet.names import AgentRef, Code, Text
from probate_model.clauses import CLAUSES
from probate_model.run import Silence
from probate_model.world import new_world
from probate_model.worlds import Divergence, TooManyWorlds, Worlds

MOST_TRACES = 400
LIES_OF_A_BURST = 12
LOOKED_AT = (
    ("core", EDITION_2026_06),
    ("core", EDITION_2026_08),
    ("fibers", EDITION_2026_06),
    ("fibers", EDITION_2026_06.flipped(VARIATIONS)),
)
"""The profiles and editions whose clauses are looked for."""

Lie = list[Event]


def lies(rehearsal: Rehearsal) -> Iterator[Lie]:
    """Give what could be told instead of what happened in a burst."""
    told = [expected.event for expected in rehearsal.expected]
    for place, event in enumerate(told):
        before, after = told[:place], told[place + 1 :]
        yield [*before, *after]
        yield [*before, event, event, *after]
        yield before
        yield from ([*before, other, *after] for other in changed(event))
        if before:
            yield [*before[:-1], event, before[-1], *after]
    for silence in rehearsal.silences:
        yield from broken(silence, told)


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


def broken(silence: Silence, told: Lie) -> Iterator[Lie]:
    """Give the burst with the one thing added that must not be: for the two silences that nothing else breaks."""
    for place, event in enumerate(told):
        if silence.clause == "PUBLISH-08" and event == SessionCreated(AgentRef(silence.agent)):
            status = StatusChanged(AgentRef(silence.agent), Status.DISPOSED)
            yield [*told[: place + 1], status, *told[place + 1 :]]
        ends = isinstance(event, Logged) and isinstance(event.record, StepEnd) and event.agent == silence.agent
        if silence.clause == "CANCEL-12" and ends:
            assert isinstance(event, Logged)
            answer = replace(event, record=AssistantMessage(Text("half an answer")))
            yield [*told[:place], answer, *told[place:]]


def reported(worlds: Worlds, told: Lie) -> str | None:
    """Give the clause by which a telling of a burst is rejected; none if it is a legal run."""
    try:
        for event in told:
            advanced = worlds.observe(event)
            if isinstance(advanced, Divergence):
                return advanced.clause
            worlds = advanced[0]
        rested = worlds.rest()
    except TooManyWorlds:
        return None
    return rested.clause if isinstance(rested, Divergence) else None


def test_every_clause_is_reported_of_something() -> None:
    left = set(CLAUSES) - {variant.clause for variant in VARIANTS.values()}
    for profile, edition in LOOKED_AT:
        wanted = {name for name in left if CLAUSES[name].profile == profile and CLAUSES[name].holds_in(edition)}
        for number in range(MOST_TRACES):
            wanted &= left
            if not wanted:
                break
            trace, rehearsals = generate_rehearsed(5, number, profile=profile, edition=edition)
            order = random.Random(number)
            worlds = Worlds.of(new_world(trace.world, edition, profile))
            for rehearsal in rehearsals:
                candidates = list(lies(rehearsal))
                rare = [lie for silence in rehearsal.silences for lie in broken(silence, _told(rehearsal))]
                drawn = order.sample(candidates, min(LIES_OF_A_BURST, len(candidates)))
                for lie in (*drawn, *rare):
                    left.discard(reported(worlds.begin(rehearsal.sent), lie) or "")
                worlds = Worlds.of(rehearsal.world)
    assert left == set()


def _told(rehearsal: Rehearsal) -> Lie:
    return [expected.event for expected in rehearsal.expected]
