"""L20: it holds on every way through generated traces of subagents, and a breach is found."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from probate_conformance.generation import generate
from probate_model.alphabet.events import Event, Raised, Settled
from probate_model.alphabet.names import Code, Label, Text
from probate_model.alphabet.subagents import RunEnded, RunStop
from probate_model.subagents.invariants import l20_one_result, l20_settled
from probate_model.world import World
from tests.model.helpers import Play
from tests.model.running import play_trace


@pytest.mark.parametrize("number", range(25))
def test_it_holds_whatever_runs_first(number: int) -> None:
    found: list[str] = []

    def look(before: World, after: World, events: Sequence[Event]) -> None:
        found.extend(l20_one_result(before, after, events))

    played = play_trace(generate(3, number, profile="subagents"), random.Random(number), look)
    assert found == []
    assert list(l20_settled(played.end)) == []


def test_a_breach_is_found() -> None:
    play = Play(profile="subagents")
    play.run("hold answer s\nrun r acp T\nrun s acp U\nsettle\nawait_run s")
    world = play.world
    room = world.rooms.subagents
    assert room is not None
    run, other = room.runs

    def with_run(**fields: object) -> World:
        changed = room._replace(runs=(run._replace(**fields), other))  # type: ignore[arg-type]
        return world._replace(rooms=world.rooms._replace(subagents=changed))

    ended = RunEnded(Label("r"), RunStop.COMPLETED, ())
    untold = with_run(announced=False)
    assert list(l20_one_result(untold, world, [ended])) == []
    assert len(list(l20_one_result(world, with_run(stop=RunStop.ERROR), []))) == 1
    assert len(list(l20_one_result(world, with_run(output=(Text("w"),)), []))) == 1
    assert len(list(l20_one_result(world, world, [ended]))) == 1
    assert len(list(l20_one_result(untold, world, [ended, ended]))) == 1
    assert len(list(l20_one_result(untold, world, [RunEnded(Label("r"), RunStop.ERROR, ())]))) == 1
    raised = Settled(Label("await_run-s"), Raised(Code("aborted")))
    assert len(list(l20_one_result(world, world, [raised]))) == 1
    assert list(l20_one_result(Play().world, Play().world, [])) == []
    assert len(list(l20_settled(world))) == 1
    assert len(list(l20_settled(untold))) == 2
    assert list(l20_settled(Play().world)) == []
