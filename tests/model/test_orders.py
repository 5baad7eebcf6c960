"""An order that is allowed without being run is a run of the model, and it ends in the very same world."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest

from probate_conformance.generation import EVERYTHING, generate_rehearsed
from probate_model.alphabet.editions import EDITION_2026_06, EDITION_2026_08, Edition
from probate_model.alphabet.events import Event
from probate_model.machine import Step, enabled, fire
from probate_model.orders import Names, Orders
from probate_model.rehearsal import Rehearsal
from probate_model.run import Outcome
from probate_model.world import Due, World
from probate_model.worlds import Divergence, TooManyWorlds, Worlds

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover


def another_order(rehearsal: Rehearsal, chance: random.Random) -> list[Event]:
    """Run a burst with its steps in any order."""
    world = rehearsal.begun_world
    events = [entry.event for entry in rehearsal.expected[: rehearsal.begun]]
    while steps := enabled(world):
        outcome = fire(world, chance.choice(steps))
        world = outcome.world
        events += outcome.events
    return events


def swapped(events: list[Event], chance: random.Random) -> list[Event]:
    """Swap two neighbours, which mostly gives what no run shows."""
    place = chance.randrange(len(events) - 1)
    return [*events[:place], events[place + 1], events[place], *events[place + 2 :]]


def leads_there(rehearsal: Rehearsal, events: list[Event]) -> bool:
    """Tell whether some run of the model shows these events and ends where the rehearsal does."""
    worlds = Worlds.of(rehearsal.start, reduced=False).begin(rehearsal.sent)
    for event in events:
        advanced = worlds.observe(event)
        if isinstance(advanced, Divergence):
            return False
        worlds, _ = advanced
    rested = worlds.rest()
    return not isinstance(rested, Divergence) and rehearsal.world in [branch.world for branch in rested.branches]


def moved(rehearsal: Rehearsal) -> int:
    """Move each stretch to the front of all that it commutes with: nothing may come of that. Gives how many moved."""
    orders = Orders(rehearsal.expected, rehearsal.stretches, rehearsal.world)
    steps = [stretch.step for stretch in rehearsal.stretches if stretch.step is not None]
    names = [orders.names(number) for number in range(1, len(rehearsal.stretches))]
    worlds, shown = [rehearsal.begun_world], []
    for step in steps:
        outcome = _fire(worlds[-1], step)
        worlds.append(outcome.world)
        shown.append(outcome.events)
    count = 0
    for place, (step, own) in enumerate(zip(steps, names, strict=True)):
        if own is None or step.activity == "settlement":
            continue
        front = place
        while front and _commute(steps[front - 1], names[front - 1], own):
            front -= 1
        if front == place:
            continue
        count += 1
        world = worlds[front]
        for other in (place, *range(front, place)):
            outcome = _fire(world, steps[other])
            assert outcome.events == shown[other], (step, steps[other])
            world = outcome.world
        assert _alike(world) == _alike(worlds[place + 1]), (step, steps[front:place])
    return count


def _fire(world: World, step: Step) -> Outcome:
    """Take a step of another run in a world, where it must be enabled."""
    here = next((one for one in enabled(world) if _same(one) == _same(step)), None)
    assert here is not None, step
    return fire(world, here)


def _same(step: Step) -> Step:
    """Give a step without the clause by which a settlement is due, which a listener that failed before may change."""
    subject = step.subject
    return step._replace(subject=subject._replace(clause="")) if isinstance(subject, Due) else step


def _commute(other: Step, others: Names, own: frozenset[Hashable]) -> bool:
    return other.activity == "settlement" or (others is not None and others.isdisjoint(own))


def _alike(world: World) -> World:
    """Give a world in which it makes no difference in what order settlements became due, and by which clause."""
    return world._replace(due=tuple(sorted((due._replace(clause="") for due in world.due), key=lambda due: due.call)))


@pytest.mark.parametrize("edition", [EDITION_2026_06, EDITION_2026_08], ids=lambda edition: edition.name)
def test_stretches_that_share_no_name_commute(edition: Edition) -> None:
    count = 0
    for number in range(120):
        _, rehearsals = generate_rehearsed(8, number, edition=edition)
        count += sum(map(moved, rehearsals))
    assert count > 500


def test_stretches_stay_where_they_are_where_a_room_is_entered() -> None:
    for number in range(3):
        _, rehearsals = generate_rehearsed(8, number, profile="bridge")
        assert not any(map(moved, rehearsals))


@pytest.mark.parametrize("profile", ["core", "bridge"])
@pytest.mark.parametrize("edition", [EDITION_2026_06, EDITION_2026_08], ids=lambda edition: edition.name)
def test_what_is_allowed_leads_to_the_same_world(edition: Edition, profile: str) -> None:
    allowed = refused = forged = 0
    for number in range(30 if profile == "core" else 8):
        chance = random.Random(number)
        _, rehearsals = generate_rehearsed(7, number, EVERYTHING, profile, edition)
        for rehearsal in rehearsals:
            canonical = [entry.event for entry in rehearsal.expected]
            assert rehearsal.allows(canonical)
            events = another_order(rehearsal, chance)
            for seen in (events, swapped(events, chance)) if len(events) > 1 else ():
                if seen == canonical or not rehearsal.allows(seen):
                    refused += seen != canonical
                    continue
                allowed += 1
                forged += seen is not events
                try:
                    assert leads_there(rehearsal, seen), (number, rehearsal.sent, seen)
                except TooManyWorlds:
                    continue
    assert allowed > 10, "hardly any order is allowed"
    assert refused > 10, "hardly any order is refused"
    assert forged, "no neighbours that commute were swapped"


def test_an_order_lacks_nothing_and_repeats_nothing() -> None:
    _, rehearsals = generate_rehearsed(7, 0)
    rehearsal = max(rehearsals, key=lambda one: len(one.expected))
    canonical = [entry.event for entry in rehearsal.expected]
    for place, event in enumerate(canonical):
        assert not rehearsal.allows([*canonical[:place], *canonical[place + 1 :]])
        assert not rehearsal.allows([*canonical[: place + 1], event, *canonical[place + 1 :]])
        for other in canonical:
            assert other == event or not rehearsal.allows([*canonical[:place], other, *canonical[place + 1 :]])
