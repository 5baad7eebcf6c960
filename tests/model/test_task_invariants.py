"""L16 and L17: they hold on every way through generated traces of tasks, and a breach is found."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from probate_conformance.generation import generate
from probate_model.alphabet.events import Event
from probate_model.alphabet.tasks import TaskDone, TaskRef, TaskStatus, Token
from probate_model.invariants import l16_ownership, l17_told_once
from probate_model.world import World
from tests.model.helpers import Play
from tests.model.running import play_trace
from tests.model.task_cases import HELD


@pytest.mark.parametrize("number", range(40))
def test_they_hold_whatever_runs_first(number: int) -> None:
    found: list[str] = []

    def look(before: World, after: World, events: Sequence[Event]) -> None:
        found.extend(l16_ownership(before, after))
        found.extend(l17_told_once(before, after, events))

    play_trace(generate(3, number, profile="tasks"), random.Random(number), look)
    assert found == []


def test_a_breach_is_found() -> None:
    play = Play(profile="tasks")
    play(HELD)
    world = play.world
    room = world.rooms.tasks
    assert room is not None
    (task,) = room.tasks

    def with_task(**fields: object) -> World:
        changed = room._replace(tasks=(task._replace(**fields),))  # type: ignore[arg-type]
        return world._replace(rooms=world.rooms._replace(tasks=changed))

    assert len(list(l16_ownership(world, with_task(owner=Token("b"))))) == 1
    assert len(list(l16_ownership(world, with_task(owner=None)))) == 1
    forgotten = world._replace(rooms=world.rooms._replace(tasks=room._replace(tasks=())))
    assert len(list(l16_ownership(world, forgotten))) == 1
    assert list(l16_ownership(world, world)) == []
    done: Event = TaskDone(TaskRef("bash-1"), TaskStatus.COMPLETED, "code:0")
    assert list(l17_told_once(world, world, [done])) == []
    assert len(list(l17_told_once(world, world, [done, done]))) == 1
    assert len(list(l17_told_once(forgotten, world, [done]))) == 1
    disposed = world._replace(rooms=world.rooms._replace(tasks=room._replace(active=False)))
    assert len(list(l17_told_once(disposed, world, [done]))) == 1
