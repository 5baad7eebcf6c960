"""The set of worlds is neither deaf nor blind, and what a trace means is the same however its steps are ordered."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from probate_conformance.generation import generate
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.trace import Trace, faults
from probate_conformance.wire import Burst, Closed, Open, Opened, Quiet
from probate_model import worlds
from probate_model.alphabet.events import Event
from probate_model.following import follow
from probate_model.machine import apply
from probate_model.monitors import Recording
from probate_model.run import Expected
from probate_model.world import Teardown, new_world
from probate_model.worlds import EVERYTHING, Divergence, TooManyWorlds, Worlds
from tests.model.helpers import Play, burst, event, line, lines, playing, turn
from tests.model.judging import judge
from tests.model.mutations import MUTATIONS, Mutation
from tests.model.running import Burst as Part
from tests.model.running import Played, play_trace, trace_of

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover


def replay(trace: Trace, parts: list[Part]) -> Examined:
    """Judge a trace as the kit does, on a backend that shows these parts, whatever it is told."""
    conversation = examine(trace, EVERYTHING)
    answers = iter(parts)
    try:
        command = next(conversation)
        while True:
            match command:
                case Open():
                    command = conversation.send(Opened())
                case Burst(items=items):
                    part = next(answers)
                    assert items == part.sent
                    command = conversation.send(Quiet.model_construct(events=part.events, snapshot=part.seen))
                case _:
                    command = conversation.send(Closed())
    except StopIteration as stop:
        examined: Examined = stop.value
        return examined


def accepts(start: Worlds, played: Played) -> Worlds | Divergence:
    """Judge all parts of a run by the set of worlds alone."""
    judged: Worlds | Divergence = start
    for part in played.bursts:
        if isinstance(judged, Divergence):
            break
        judged = judge(judged, part.sent, part.events, part.seen)
    return judged


# Not deaf.


@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_run_is_accepted(seed: int) -> None:
    searched = 0
    for number in range(300):
        trace = generate(seed, number)
        played = play_trace(trace, random.Random(seed * 1000 + number))
        examined = replay(trace, played.bursts)
        assert examined.verdict is Verdict.PASS, (number, examined.reason, examined.divergence)
        searched += examined.searched
    assert searched == 0 or searched < 300


def test_a_random_run_is_accepted_by_the_whole_set_alone() -> None:
    too_many = 0
    for number in range(150):
        trace = generate(3, number)
        played = play_trace(trace, random.Random(number))
        try:
            assert isinstance(accepts(Worlds.of(new_world(trace.world)), played), Worlds), number
        except TooManyWorlds:
            too_many += 1
    assert too_many <= 3


# Not blind.


def mutated(seed: int, mutation: Mutation, count: int) -> Iterator[tuple[Trace, list[Part], int, list[Event]]]:
    """Give random runs with one burst changed: the trace, the parts, which one is changed, and what it was."""
    order = random.Random(seed)
    number = made = 0
    while made < count:
        trace = generate(seed, number)
        number += 1
        played = play_trace(trace, random.Random(order.randrange(1 << 30)))
        full = [place for place, part in enumerate(played.bursts) if len(part.events) > 1]
        place = order.choice(full)
        part = played.bursts[place]
        calls = Recording((), [item for part in played.bursts for item in part.sent]).calls
        changed = mutation(list(part.events), order, calls)
        if changed is None or tuple(changed) == part.events:
            continue
        parts = list(played.bursts)
        parts[place] = Part(part.sent, tuple(changed), part.seen)
        made += 1
        yield trace, parts, place, list(part.events)


@pytest.mark.parametrize(("seed", "name"), list(enumerate(MUTATIONS, start=21)))
def test_a_changed_run_is_rejected(seed: int, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    count, passed = 150, []
    for trace, parts, place, were in mutated(seed, MUTATIONS[name], count):
        examined = replay(trace, parts)
        if examined.verdict is not Verdict.FAIL:
            shown = [line(event) for event in parts[place].events]
            passed.append(f"{examined.verdict} {examined.reason}: {shown} was {[line(event) for event in were]}")
    if passed:
        with capsys.disabled():
            sys.stdout.write("\n" + "".join(f"a {name} that was not rejected: {one}\n" for one in passed))
    assert len(passed) <= count // 100


# The quick ways lose nothing.


def test_the_reduction_loses_nothing() -> None:
    compared = rejected = too_many = 0
    for number in range(360):
        trace = generate(4, number)
        small = trace_of(trace.items[:8], trace)
        order = random.Random(number)
        played = play_trace(small, order)
        if number % 2:
            full = [place for place, part in enumerate(played.bursts) if part.events]
            if not full:
                continue
            place = order.choice(full)
            part = played.bursts[place]
            changed = order.choice(list(MUTATIONS.values()))(list(part.events), order, {})
            played.bursts[place] = Part(part.sent, tuple(changed or ()), part.seen)
        start = new_world(small.world)
        try:
            whole = accepts(Worlds.of(start, reduced=False), played)
        except TooManyWorlds:
            too_many += 1
            continue
        reduced = accepts(Worlds.of(start), played)
        assert isinstance(whole, Worlds) == isinstance(reduced, Worlds), number
        compared += 1
        rejected += isinstance(reduced, Divergence)
    assert compared > 300
    assert rejected > 100
    assert too_many < 20


def test_the_quick_way_accepts_nothing_that_the_set_rejects() -> None:
    """``follow`` may say nothing; what it accepts must be a run that the set of worlds accepts."""
    followed = 0
    for number in range(150):
        trace = generate(5, number)
        order = random.Random(number)
        played = play_trace(trace, order)
        possible = Worlds.of(new_world(trace.world))
        for part in played.bursts:
            events = list(part.events)
            if events and order.randrange(3) == 0:
                events = order.choice(list(MUTATIONS.values()))(events, order, {}) or events
            world, begun = possible.first, list[Expected]()
            for item in part.sent:
                outcome = apply(world, item)
                world = outcome.world
                begun += outcome.expected
            run = follow(world, begun, events, possible.show)
            judged = judge(possible, part.sent, events)
            if run is not None:
                assert isinstance(judged, Worlds), number
                followed += 1
            if isinstance(judged, Divergence):
                break
            possible = Worlds.of(judged.first)
    assert followed > 300


# The bound.


def test_more_worlds_than_the_bound_allows_are_neither_accepted_nor_rejected() -> None:
    assert worlds.BOUND == 4096
    count = 7
    play = Play()
    play.run("\n".join(f"create c{n} a{n}" for n in range(count)))
    play.run("\n".join(f"hold model c{n}" for n in range(count)))
    sent = burst("\n".join(f"send c{n} T{n}" for n in range(count)))
    seen = [shown for n in range(count) for shown in (f"agent/queued a{n}#1 T{n}", f"settled T{n} returned")]
    for number in range(count):
        seen += lines(f"""
            agent/status a{number}#1 running
            log a{number}#1 0 turn/start turn=1 trigger=message
            log a{number}#1 1 user/message T{number}
            log a{number}#1 2 step/start turn=1 step=1
        """)
    # Each of them may or may not have entered its model by now: 2 ** 7 worlds.
    with pytest.raises(TooManyWorlds) as raised:
        judge(Worlds.of(play.world, bound=64), sent, [event(shown) for shown in seen])
    assert raised.value.worlds == 65
    assert str(raised.value) == "one event leaves 65 worlds possible, and the bound is 64"


# References, voids, and the epilogue.


def test_a_reference_is_bound_at_the_settle_after_the_return() -> None:
    play = Play()
    play("""
        create c a
        send c A
        idle c
        dispose c
    """)
    assert [item.item for item in play.void] == ["send", "await_idle", "dispose"]
    play("settle")
    assert play("send c B") == ["agent/queued a#1 B", "settled B returned"]


def test_a_creation_that_returns_in_a_burst_is_not_bound_in_it() -> None:
    play = playing("hold setup c\ncreate c a setup")
    play("release setup c ok")
    play("send c A")
    assert len(play.void) == 1


def test_a_creation_that_failed_is_never_bound() -> None:
    play = playing("react session/created do throw V\ncreate c a")
    assert play.run("send c A\ncancel c\nidle c\ndispose c\ncreate k b by=agent:c") == []
    assert len(play.void) == 5


def test_an_abort_and_a_withdrawal_are_bound_from_the_item_of_the_creation_on() -> None:
    play = Play()
    assert play.run("""
        create c a signal
        abort c
        withdraw c
    """) == ["settled abort returned", "settled withdraw returned", "settled c raised aborted"]
    assert play.void == []


@pytest.mark.parametrize(
    "item", ["abort c", "withdraw c", "release setup c", "release flush c", "load host", "send c A"]
)
def test_what_means_nothing_is_void_and_changes_nothing(item: str) -> None:
    play = Play()
    before = play.world
    assert play(item) == []
    assert len(play.void) == 1
    assert play.world == before


def test_this_makes_an_agent_usable_before_its_creation_has_returned() -> None:
    """Decision 25: for send, steer, inject, cancel, await_idle, abort and withdraw; not for dispose."""
    assert Play().run("""
        react agent/created do send this A; steer this S; inject this X; cancel this; idle this; abort this
        react agent/created do dispose this; look
        create c a signal
    """) == lines("""
        session/created a#1
        agent/created a#1
        agent/queued a#1 A
        settled r1.0 returned
        agent/queued a#1 S
        settled r1.1 returned
        log a#1 0 turn/start turn=1 trigger=injection
        log a#1 1 context/message X
        log a#1 2 turn/end turn=1 completed
        session/flush a#1 upto=3
        settled r1.2 returned
        agent/cancel-requested a#1 user
        settled r1.3 returned
        settled r1.5 returned
        settled r2.1 returned agents=a#1:idle roots=a#1 sessions=a#1
        settled r1.4 returned
        agent/disposed a#1
        session/disposed a#1
        settled c raised aborted
    """)


def test_an_action_that_is_void_lets_the_others_of_its_reaction_happen() -> None:
    play = playing("create c a")
    assert play.run(
        """
        react agent/queued do abort this; dispose other; look
        send c A
    """
    ) == [
        "agent/queued a#1 A",
        "settled r1.2 returned agents=a#1:idle roots=a#1 sessions=a#1",
        "settled A returned",
        "agent/status a#1 running",
        *turn(1, 0, "A", "c:1"),
        "agent/status a#1 idle",
    ]


def test_listeners_stand_in_order_of_installation_and_fire_once() -> None:
    play = playing()
    assert play("""
        react agent/queued text=B do look
        react agent/queued nth=2 do cancel this parent
        react agent/queued do look
        send c A
        send c B
        send c C
    """) == lines("""
        agent/queued a#1 A
        settled r3.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        settled A returned
        agent/queued a#1 B
        settled r1.0 returned agents=a#1:idle roots=a#1 sessions=a#1
        agent/cancel-requested a#1 parent
        settled r2.0 returned
        settled B returned
        agent/queued a#1 C
        settled C returned
    """)


def test_after_the_epilogue_everything_is_settled_and_both_stores_are_empty() -> None:
    for number in range(300):
        trace = generate(6, number)
        played = play_trace(trace, random.Random(number))
        begun = set(played.recording().begun)
        settled = Counter(e.call for e in played.events if e.event == "settled")
        assert begun <= set(settled)
        assert set(settled.values()) <= {1}
        assert (played.end.registry, played.end.sessions) == ((), ())
        assert all(agent.teardown is Teardown.DONE and not agent.flushes for agent in played.end.agents)


def test_any_sublist_of_a_trace_is_a_trace() -> None:
    carried_out = 0
    for number in range(300):
        order = random.Random(number)
        trace = generate(7, number)
        part = [item for item in trace.items if order.randrange(3)]
        order_kept = trace_of(part, trace)
        assert list(faults(part)) == []
        played = play_trace(order_kept, order)
        carried_out += sum(len(part.sent) for part in played.bursts)
        assert (played.end.registry, played.end.sessions) == ((), ())
        assert replay(order_kept, played.bursts).verdict is Verdict.PASS
    assert carried_out > 2000
