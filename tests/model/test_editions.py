"""Editions: every combination of choices runs, is accepted by itself, and demands only clauses that hold in it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from probate_conformance.generation import generate
from probate_model import invariants, monitors
from probate_model.alphabet.editions import CHOICES, EDITION_2026_06, EDITION_2026_08, EDITIONS, Edition
from probate_model.alphabet.events import Event
from probate_model.clauses import CLAUSES
from probate_model.machine import apply, bind, enabled, fire
from probate_model.registry import snapshot
from probate_model.run import Expected, Silence
from probate_model.world import World, new_world
from probate_model.worlds import Divergence, Worlds
from tests.model.running import play_out

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

COMBINATIONS = 120


def drawn(number: int) -> Edition:
    """Give an edition with half of its choices flipped, by lot."""
    order = random.Random(f"edition {number}")
    return EDITION_2026_06.flipped(name for name in CHOICES if order.random() < 0.5)


def fired_at_random(
    world: World, items: Sequence[object], order: random.Random
) -> tuple[World, list[object], list[Expected], list[Silence]]:
    """Run one burst: its begins in order, then steps as they are drawn."""
    sent: list[object] = []
    expected: list[Expected] = []
    silences: list[Silence] = []
    for item in items:
        outcome = apply(world, item)  # type: ignore[arg-type]
        if not outcome.void:
            sent.append(item)
            world = outcome.world
            expected += outcome.expected
            silences += outcome.silences
    while steps := enabled(world):
        outcome = fire(world, order.choice(steps))
        world = outcome.world
        expected += outcome.expected
        silences += outcome.silences
    return bind(world), sent, expected, silences


@pytest.mark.parametrize("part", range(4))
def test_every_combination_of_choices_accepts_itself_and_demands_what_holds_in_it(part: int) -> None:
    for number in range(part, COMBINATIONS, 4):
        edition = drawn(number)
        order = random.Random(number)
        trace = generate(31, number, edition=EDITIONS["2026-08" if number % 2 else "2026-06"])
        world = new_world(trace.world, edition)
        worlds = Worlds.of(world)
        for items in trace.bursts():
            world, sent, expected, silences = fired_at_random(world, items, order)
            assert {
                clause
                for clause in (
                    *(clause for entry in expected for clause in entry.demand.clauses),
                    *(silence.clause for silence in silences),
                )
                if not CLAUSES[clause].holds_in(edition)
            } == set(), number
            worlds = worlds.begin(sent)  # type: ignore[arg-type]
            for entry in expected:
                advanced = worlds.observe(entry.event)
                assert not isinstance(advanced, Divergence), (number, edition.choices(), advanced)
                worlds = advanced[0]
            rested = worlds.rest(snapshot(world))
            assert not isinstance(rested, Divergence), (number, edition.choices(), rested)
            worlds = rested
        assert list(invariants.is_over(world)) == [], number


@pytest.mark.parametrize("part", range(4))
def test_every_combination_of_choices_keeps_what_holds_of_all(part: int) -> None:
    """The invariants that no choice touches."""
    for number in range(part, COMBINATIONS, 4):
        edition = drawn(number)
        trace = generate(32, number)
        found: list[str] = []

        def visit(before: World, after: World, seen: Sequence[Event], found: list[str] = found) -> None:
            for check in invariants.INVARIANTS:
                found += check(after)
            found += invariants.l3_conserved(before, after, seen)
            found += invariants.l4_fifo(before, after)
            found += invariants.l12_no_zombie(before, after)

        def rest(world: World, found: list[str] = found) -> None:
            for check in (*invariants.PROBES, *invariants.AT_REST):
                found += check(world)

        played = play_out(trace.bursts(), new_world(trace.world, edition), random.Random(number), visit, rest)
        found += invariants.is_over(played.end)
        for monitor in (*monitors.MONITORS, *monitors.AT_THE_END):
            found += monitor(played.recording())
        assert found == [], (number, edition.choices())


def test_flips_are_their_own_opposite_and_the_same_object_each_time() -> None:
    for name in CHOICES:
        flipped = EDITION_2026_06.flipped([name])
        assert flipped is EDITION_2026_06.flipped((name,))
        assert flipped.differs(EDITION_2026_06) == (name,)
        assert flipped.name == "2026-06"
    assert EDITION_2026_06.flipped([]) is EDITION_2026_06
    different = EDITION_2026_06.differs(EDITION_2026_08)
    assert EDITION_2026_06.flipped(different).choices() == EDITION_2026_08.choices()
    with pytest.raises(KeyError, match="no-such"):
        EDITION_2026_06.flipped(["no-such"])
