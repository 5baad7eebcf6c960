"""A clause that nothing can trip is a defect: each has a known-bad backend or a lie that is reported by it.

The known-bad backends have defects that somebody could make. What they leave is shown by lies: the model's own run of
a burst with one event dropped, doubled, changed in a field, put before the one ahead of it, or added where the contract
is silent, or with the rest cut off.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from probate_conformance.backends.reference.known_bad import VARIANTS
from probate_conformance.backends.telling import Telling, broken, otherwise
from probate_conformance.generation import generate_rehearsed
from probate_model import registry
from probate_model.alphabet.editions import EDITION_2026_06, VARIATIONS, Edition
from probate_model.alphabet.events import EVENT_KINDS, Snapshot
from probate_model.clauses import AT_REST, CLAUSES, extra_clause
from probate_model.rehearsal import Rehearsal
from probate_model.world import new_world
from probate_model.worlds import Divergence, TooManyWorlds, Worlds

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

MOST_TRACES = 400
LIES_OF_A_BURST = 12
LOOKED_AT = (
    ("core", EDITION_2026_06),
    ("sessions", EDITION_2026_06),
    ("fibers", EDITION_2026_06),
    ("bridge", EDITION_2026_06),
    ("tasks", EDITION_2026_06),
    ("tasks", EDITION_2026_06.flipped(["fence"])),
    ("fibers", EDITION_2026_06.flipped(VARIATIONS)),
)
"""The profiles and editions whose clauses are looked for."""


def lies(rehearsal: Rehearsal, left: set[str]) -> Iterator[Telling]:
    """Give what could be told instead of what happened in a burst, of the events that the clauses left demand."""
    told = _told(rehearsal)
    for place, entry in enumerate(rehearsal.expected):
        if not left.isdisjoint(entry.demand.clauses):
            yield from (telling for _, telling in otherwise(told, place))


def reported(worlds: Worlds, told: Telling, seen: Snapshot | None = None) -> str | None:
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
    """Lies are only needed for what no known-bad backend shows. (Those of ``2026-08`` have a selftest of their own.)"""
    left = {clause.id for clause in CLAUSES.values() if clause.profile == profile and clause.holds_in(edition)}
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
            silences = [silence for silence in rehearsal.silences if silence.clause in left]
            rare = [lie for silence in silences for lie in broken(silence, _told(rehearsal))]
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


def _told(rehearsal: Rehearsal) -> Telling:
    return tuple(expected.event for expected in rehearsal.expected)
