"""A canonical run is what its steps are one by one: the same events, by the same clauses, and the same worlds."""

from __future__ import annotations

import pytest

from probate_conformance.generation import WRITERS, generate_rehearsed
from probate_model.machine import bind, fire
from probate_model.world import World

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("profile", WRITERS)
def test_a_settle_names_the_clauses_that_its_steps_name_alone(profile: str) -> None:
    failed = 0
    for number in range(60):
        for rehearsal in generate_rehearsed(3, number, profile=profile)[1]:
            world: World = rehearsal.begun_world
            expected = [*rehearsal.expected[: rehearsal.begun]]
            for stretch in rehearsal.stretches[1:]:
                assert stretch.step is not None
                world, shown, *_ = fire(world, stretch.step)
                expected += shown
                assert len(expected) == stretch.end
            assert expected == list(rehearsal.expected), number
            assert bind(world) == rehearsal.world, number
            failed += sum(entry.demand.clause == "EVENT-01" for entry in expected)
    # What a failed listener leaves as it is comes up, where listeners fail.
    assert failed or profile == "subagents"
