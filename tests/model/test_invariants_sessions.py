"""The invariants L13 to L15: they hold of random runs with resumes, crashes and reloads, and each of them can fail."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from probate_conformance.generation import generate
from probate_model.alphabet.events import Event
from probate_model.invariants import INVARIANTS
from probate_model.sessions.invariants import l13_attached, l14_prefix, l15_grows
from probate_model.sessions.state import Sessions
from probate_model.world import World
from tests.model.running import play_trace
from tests.model.test_cases_sessions import keeping

TRACES = 60


@pytest.mark.parametrize("part", range(3))
def test_random_runs_keep_them(part: int) -> None:
    for number in range(part * TRACES // 3, (part + 1) * TRACES // 3):
        found: list[str] = []

        def visit(before: World, after: World, seen: Sequence[Event], found: list[str] = found) -> None:
            for check in (*INVARIANTS, l13_attached, l14_prefix):
                found += check(after)
            found += l15_grows(before, after)

        play_trace(generate(17, number, profile="sessions"), random.Random(number), visit)
        assert found == [], f"trace {number}"


def kept() -> tuple[World, Sessions]:
    """Give a world with one live session whose log has 6 records, and its room."""
    play = keeping()
    play.run("send c A")
    room = play.world.rooms.sessions
    assert room is not None
    assert [*l13_attached(play.world), *l14_prefix(play.world), *l15_grows(play.world, play.world)] == []
    return play.world, room


def with_room(world: World, room: Sessions) -> World:
    return world._replace(rooms=world.rooms._replace(sessions=room))


def test_a_session_that_nobody_keeps_breaks_l13() -> None:
    world, room = kept()
    assert list(l13_attached(with_room(world, room._replace(kept=())))) == ["L13: c is live, at LIVE, and not kept"]


@pytest.mark.parametrize(("records", "breaks"), [(5, True), (6, False), (7, True)])
def test_a_log_that_is_no_prefix_breaks_l14(records: int, breaks: bool) -> None:
    world, room = kept()
    (log,) = room.logs
    assert bool(list(l14_prefix(with_room(world, room._replace(logs=(log._replace(records=records),)))))) == breaks


def test_a_claimed_log_that_is_gone_breaks_l14() -> None:
    world, room = kept()
    assert list(l14_prefix(with_room(world, room._replace(logs=())))) == ["L14: c has claimed a log that is not there"]


def test_a_log_that_shrinks_or_vanishes_breaks_l15() -> None:
    world, room = kept()
    (log,) = room.logs
    shorter = with_room(world, room._replace(logs=(log._replace(records=3),)))
    assert list(l15_grows(world, shorter)) == ["L15: the log of a had 6 records, and has 3"]
    assert list(l15_grows(world, with_room(world, room._replace(logs=())))) == [
        "L15: the log of a had 6 records, and has 0"
    ]
