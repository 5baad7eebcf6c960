"""Invariant L23: it holds of random runs of the model in profile ``fibers``, and it can be broken."""

from __future__ import annotations

import random

import pytest

from probate_conformance.generation import generate
from probate_model.alphabet.items import BurstItem, Settle
from probate_model.monitors import AT_THE_END, MONITORS, Recording, l23_effects
from probate_model.world import new_world
from tests.model.helpers import events, items
from tests.model.running import play_out


@pytest.mark.parametrize("number", range(25))
def test_no_monitor_speaks_up_whatever_order_is_drawn(number: int) -> None:
    trace = generate(7, number, profile="fibers")
    played = play_out(trace.bursts(), new_world(trace.world, profile="fibers"), random.Random(number))
    recording = played.recording()
    assert [breach for monitor in (*MONITORS, *AT_THE_END) for breach in monitor(recording)] == []


def burst(text: str) -> list[BurstItem]:
    return [item for item in items(text) if not isinstance(item, Settle)]


BROKEN = {
    "effect/dispose f.0 2\neffect/dispose f.0 1": "before member 2 has been",
    "effect/dispose f.0 2\neffect/disposed f.0 2 ok\neffect/dispose f.0 2": "after member 2",
    "effect/disposed f.0 1 ok": "it did not run",
    "effect/dispose e 1\nfiber/state f disposed": "f is disposed while a member of e",
    "effect/dispose f.0 1\nfiber/state f pending": "f is pending while a member of f.0",
}


@pytest.mark.parametrize("shown", BROKEN)
def test_it_speaks_up_when_it_is_broken(shown: str) -> None:
    recording = Recording(events(shown), burst("plug f effects=2\neffect e on=f"), {})
    assert [BROKEN[shown] in breach for breach in l23_effects(recording)] == [True]


def test_a_failing_member_ends_the_chain_and_the_next_load_begins_anew() -> None:
    shown = "effect/dispose f.0 2\neffect/disposed f.0 2 fail\neffect/dispose f.0 2\neffect/disposed f.0 2 ok"
    assert list(l23_effects(Recording(events(shown), burst("plug f effects=2"), {}))) == []
