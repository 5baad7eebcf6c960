"""L18, L19 and L29: they hold on every way through generated traces of the bridge, and a breach is found."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from probate_conformance.generation import generate
from probate_model.alphabet.events import Event
from probate_model.alphabet.names import Label, Text
from probate_model.bridge.invariants import l18_one_slot, l18_own_turn, l19_nothing_left, l29_always_answered
from probate_model.bridge.state import Closing, Holding, Slot
from probate_model.monitors import Recording
from probate_model.world import World
from tests.model.helpers import burst, events
from tests.model.running import play_trace
from tests.model.test_cases_bridge import served


@pytest.mark.parametrize("number", range(30))
def test_they_hold_whatever_runs_first(number: int) -> None:
    found: list[str] = []

    def look(_before: World, after: World, _events: Sequence[Event]) -> None:
        found.extend((*l18_one_slot(after), *l19_nothing_left(after)))

    def rest(world: World) -> None:
        found.extend(l29_always_answered(world))

    played = play_trace(generate(3, number, profile="bridge"), random.Random(number), look, rest)
    found.extend(l18_own_turn(played.recording()))
    assert found == []
    assert played.end.rooms.bridge is not None
    assert played.end.rooms.bridge.closing is Closing.DONE


def test_a_breach_of_the_slot_is_found() -> None:
    play = served("connect k\nnew n k\nsettle\nhold model n\nprompt n A")
    world = play.world
    room = world.rooms.bridge
    assert room is not None
    (session,) = room.sessions
    for changed in (session._replace(holding=Holding.GONE), session):
        sessions = (changed,) if changed is not session else (session, session)
        bad = world._replace(rooms=world.rooms._replace(bridge=room._replace(sessions=sessions)))
        assert list(l18_one_slot(bad))
    assert list(l18_one_slot(world)) == []


def test_an_answer_by_another_turn_is_found() -> None:
    items = burst("connect k\nnew n k\nprompt n A\nprompt n B")
    seen = events("""
        settled n returned n#1
        log n#1 0 turn/start turn=1 trigger=message
        log n#1 1 user/message A
        log n#1 2 turn/end turn=1 completed
        settled B returned end_turn
    """)
    assert list(l18_own_turn(Recording(seen, items))) == ["L18: B is answered, and no turn of its own has ended"]
    twice = [*events("settled n returned n#1\nsettled A returned cancelled\nsettled A returned cancelled")]
    assert list(l18_own_turn(Recording(twice, items))) == ["L18: A is answered 2 times"]


def test_what_is_left_is_found() -> None:
    play = served()
    room = play.world.rooms.bridge
    assert room is not None
    ended = room._replace(closing=Closing.DONE)
    bad = play.world._replace(rooms=play.world.rooms._replace(bridge=ended))
    assert list(l19_nothing_left(bad)) == ["L19: n is registered, and the bridge has ended"]


def test_a_prompt_that_nothing_settles_is_found() -> None:
    play = served()
    room = play.world.rooms.bridge
    assert room is not None
    (session,) = room.sessions
    # Nobody holds the session, so neither a cancel nor the client's end finds it; the end of its agent does.
    lost = session._replace(slot=Slot(Label("A"), Text("A"), 1), holding=Holding.CLOSING)
    bad = play.world._replace(rooms=play.world.rooms._replace(bridge=room._replace(sessions=(lost,))))
    assert list(l29_always_answered(bad)) == [
        "L29: A is not answered after cancel_session",
        "L29: A is not answered after disconnect",
    ]
