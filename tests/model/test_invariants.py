"""The invariants L1 to L12, L22 and L24 to L28: they hold of what the model does, and each of them can fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from probate_conformance.generation import generate
from probate_conformance.trace import Trace
from probate_model import cancel, creation, invariants, machine, monitors, registry
from probate_model.alphabet.events import Event, Returned, Settled, Status
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.items import BurstItem, Hold, Open, Pattern, React, Reject, Release, Throw
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.ops import Cancel, Look
from probate_model.clauses import demand
from probate_model.machine import apply, bind, enabled, fire
from probate_model.monitors import Monitor, Recording
from probate_model.run import Run
from probate_model.world import Aside, Driver, Stage, Teardown, Wait, World, new_world
from tests.model.helpers import burst, events, playing
from tests.model.running import play_out, play_trace, trace_of

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

TRACES = 500

ANNOUNCEMENTS = ("session/created", "agent/created", "agent/session-start", "agent/disposed", "session/disposed")


def probes() -> list[BurstItem]:
    """Give listeners that look at the registries in the first announcements of each kind."""
    return [
        React(label := Label(f"p{number}"), Pattern(kind), (Look(Label(f"{label}.0")),), nth)
        for number, (kind, nth) in enumerate((kind, nth) for kind in ANNOUNCEMENTS for nth in range(1, 7))
    ]


def breaches(checks: Sequence[Monitor], recording: Recording) -> list[str]:
    """Give what the monitors find."""
    return [breach for check in checks for breach in check(recording)]


# They hold.


@pytest.mark.parametrize("part", range(10))
def test_every_world_and_every_recording_of_random_runs_keeps_them(part: int) -> None:
    for number in range(part * TRACES // 10, (part + 1) * TRACES // 10):
        trace = generate(11, number)
        trace = trace_of([*probes(), *trace.items], trace)
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

        played = play_trace(trace, random.Random(number), visit, rest)
        found += invariants.is_over(played.end)
        found += breaches((*monitors.MONITORS, *monitors.AT_THE_END), played.recording())
        assert found == [], number


def opened(trace: Trace) -> list[tuple[BurstItem, ...]]:
    """Give the bursts of a trace, and one that opens all of its gates instead of the epilogue."""
    return [*trace.bursts()[:-1], tuple(item for item in trace.epilogue() if isinstance(item, Open))]


def test_with_all_gates_open_every_waiter_returns_and_every_prompt_runs() -> None:
    prompts = 0
    for number in range(TRACES):
        trace = generate(12, number)
        played = play_out(opened(trace), new_world(trace.world), random.Random(number))
        checks = (monitors.l24_waiters_return, monitors.l25_disposers_return, monitors.l26_prompts_run)
        assert breaches(checks, played.recording()) == [], number
        prompts += sum(event.event == "agent/queued" for event in played.events)
    assert prompts > TRACES


def only_setups(trace: Trace) -> list[tuple[BurstItem, ...]]:
    """Give the bursts of a trace without its epilogue, in which setups are held for ever and nothing else is held."""

    def keeps(item: BurstItem) -> bool:
        if isinstance(item, Hold):
            return item.gate.kind is GateKind.SETUP
        return not isinstance(item, Release | Open)

    return [tuple(item for item in items if keeps(item)) for items in trace.bursts()[:-1]]


def test_unloads_return_while_setups_never_do() -> None:
    held = unloads = 0
    for number in range(TRACES):
        trace = generate(13, number)
        played = play_out(only_setups(trace), new_world(trace.world), random.Random(number))
        recording = played.recording()
        assert breaches((monitors.l27_unloads_return,), recording) == [], number
        held += any(agent.stage is Stage.IN_SETUP for agent in played.end.agents)
        unloads += sum(call.op.item.startswith("unload") for call in recording.calls.values())
    assert held > 10
    assert unloads > TRACES // 4


def test_an_idle_cancel_changes_no_later_outcome() -> None:
    """L5: cancels that announce nothing are taken out of a trace, and nothing else of it changes."""
    compared = 0
    for number in range(200):
        trace = generate(14, number)
        cancels = {item.label for item in trace.items if isinstance(item, Cancel)}
        silent: list[Label] = []

        def visit(before: World, after: World, seen: Sequence[Event], silent: list[Label] = silent) -> None:
            silent += [event.call for event in seen if len(seen) == 1 and isinstance(event, Settled)]

        played = play_trace(trace, visit=visit)
        for call in cancels.intersection(silent):
            others = [item for item in trace.items if getattr(item, "label", None) != call]
            without = play_trace(trace_of(others, trace))
            found = list(monitors.l5_idle_cancel(played.recording(), without.recording(), call))
            assert found == [], (number, call)
            compared += 1
    assert compared > 50


def without_asides(world: World) -> World:
    """Give a world that remembers nothing of what only names clauses."""
    return world._replace(agents=tuple(agent._replace(aside=Aside()) for agent in world.agents))


def test_an_aside_changes_no_event_and_no_world() -> None:
    """Worlds that differ in nothing but asides are one world, so nothing may depend on them."""
    compared = 0
    for number in range(60):
        trace = generate(16, number)
        order = random.Random(number)
        world = new_world(trace.world)
        for items in trace.bursts():
            for item in items:
                world = apply(world, item).world
            while steps := enabled(world):
                bare = without_asides(world)
                assert bare == world
                assert enabled(bare) == steps
                step = order.choice(steps)
                outcome = fire(world, step)
                if any(agent.aside.cancelled or agent.aside.swept for agent in world.agents):
                    plain = fire(bare, step)
                    assert plain.events == outcome.events
                    assert plain.world == outcome.world
                    compared += 1
                world = outcome.world
            world = bind(world)
    assert compared > 500


def test_a_contained_failure_changes_nothing() -> None:
    """L22: listeners that throw or reject where they can veto nothing do the same without it."""
    compared = 0
    for number in range(TRACES):
        trace = generate(15, number)
        tamed = [tame(item) if isinstance(item, React) else item for item in trace.items]
        if tuple(tamed) == trace.items:
            continue
        with_failures = play_trace(trace).recording()
        assert list(monitors.l22_contained(with_failures, play_trace(trace_of(tamed, trace)).recording())) == []
        compared += 1
    assert compared > 50


def tame(item: React) -> React:
    """Give a reaction without its failures, except for a veto."""
    vetoes = item.on.event in ("session/created", "agent/created")
    kept = [a for a in item.do if not isinstance(a, Reject) and (vetoes or not isinstance(a, Throw))]
    return replace(item, do=tuple(kept))


# Each monitor can fail.

GOOD = """
    session/created a#1
    agent/created a#1
    agent/session-start a#1 startup
    settled c returned a#1
    agent/queued a#1 A
    settled A returned
    agent/status a#1 running
    log a#1 0 turn/start turn=1 trigger=message
    log a#1 1 user/message A
    log a#1 2 step/start turn=1 step=1
    log a#1 3 assistant/message c:1
    log a#1 4 tool/call n=1
    log a#1 5 tool/result n=1 ok
    log a#1 6 step/end turn=1 step=1
    log a#1 7 turn/end turn=1 completed
    session/flush a#1 upto=8
    agent/status a#1 idle
    agent/queued a#1 B
    settled B returned
    agent/queued a#1 C
    settled C returned
    agent/status a#1 running
    log a#1 8 turn/start turn=2 trigger=message
    log a#1 9 user/message B
    log a#1 10 step/start turn=2 step=1
    agent/cancel-requested a#1 user
    signal a#1 turn=2 user
    settled cancel returned
    log a#1 11 step/end turn=2 step=1
    log a#1 12 turn/end turn=2 aborted
    session/flush a#1 upto=13
    agent/status a#1 idle
    settled idle returned
    agent/status a#1 disposed
    agent/disposed a#1
    session/disposed a#1
    scope/cleanup c
    settled dispose returned
    settled unload returned
"""

DONE = """
    create c a cleanup
    send c A
    send c B
    send c C
    cancel c
    idle c
    dispose c
    unload host
"""

ALL = (
    *monitors.MONITORS,
    *monitors.AT_THE_END,
    monitors.l26_prompts_run,
    monitors.l27_unloads_return,
)


def recording_of(shown: str, done: str = DONE) -> Recording:
    """Give a recording of typed events and items."""
    items = burst(done)
    begun = {item.label: 0 for item in items if item.item not in ("plan", "hold", "release", "open", "react")}  # type: ignore[union-attr]
    return Recording(events(shown), items, begun)


def test_the_good_list_is_good() -> None:
    assert breaches(ALL, recording_of(GOOD)) == []


BAD: list[tuple[Monitor, str, str, str]] = [
    (monitors.l1_balanced_log, "log a#1 7 turn/end turn=1 completed", "", "turn 2 starts"),
    (monitors.l1_balanced_log, "log a#1 6 step/end turn=1 step=1", "", "ends inside its step"),
    (monitors.l1_balanced_log, "log a#1 0 turn/start turn=1 trigger=message", "", "never started"),
    (monitors.l1_balanced_log, "log a#1 5 tool/result n=1 ok", "", "has no result"),
    (monitors.l1_balanced_log, "log a#1 4 tool/call n=1", "", "is not open"),
    (
        monitors.l1_balanced_log,
        "agent/queued a#1 B",
        "log a#1 8 context/message X\nagent/queued a#1 B",
        "outside of any turn",
    ),
    (monitors.l1_balanced_log, "log a#1 2 step/start turn=1 step=1", "", "outside of any step"),
    (monitors.l1_balanced_log, "turn=2", "turn=1", "starts twice"),
    (monitors.l2_turn_numbers, "turn=2", "turn=3", "turn 3 follows turn 1"),
    (monitors.l3_one_fate, "log a#1 9 user/message B", "log a#1 9 user/message A", "A is logged twice"),
    (monitors.l3_one_fate, "log a#1 9 user/message B", "log a#1 9 user/message X", "X was never accepted"),
    (
        monitors.l3_one_fate,
        "log a#1 11 step/end turn=2 step=1",
        "log a#1 11 user/message C\nlog a#1 12 step/end turn=2 step=1",
        "C was discarded",
    ),
    (
        monitors.l4_fifo,
        "log a#1 9 user/message B",
        "log a#1 9 user/message C\nlog a#1 10 user/message B",
        "B is claimed after C",
    ),
    (monitors.l6_announced_cancel, "agent/cancel-requested a#1 user", "", "comes before any such cancel"),
    (monitors.l6_announced_cancel, "agent/cancel-requested a#1 user", "", "is aborted before any cancel"),
    (monitors.l6_announced_cancel, "cancel-requested a#1 user", "cancel-requested a#1 parent", "comes before"),
    (
        monitors.l6_announced_cancel,
        "signal a#1 turn=2 user",
        "signal a#1 turn=2 user\nagent/cancel-requested a#1 user",
        "2 announcements of 1 cancels",
    ),
    (
        monitors.l7_one_driver,
        "log a#1 1 user/message A",
        "log a#1 1 turn/start turn=2 trigger=injection",
        "turn 2 starts while turn 1 is open",
    ),
    (monitors.l7_one_driver, "signal a#1 turn=2 user", "signal a#1 turn=1 user", "the signal of turn 1"),
    (monitors.l8_status, "session/flush a#1 upto=8\n    agent/status a#1 idle", "", "running follows running"),
    (monitors.l8_status, "settled A returned\n    agent/status a#1 running", "", "starts while the agent is idle"),
    (
        monitors.l8_status,
        "session/disposed a#1",
        "agent/status a#1 idle\nsession/disposed a#1",
        "idle follows disposed",
    ),
    (monitors.l9_pairs, "agent/created a#1", "", "agent/disposed, and it was never created"),
    (monitors.l9_pairs, "session/created a#1", "session/created a#1\nsession/created a#1", "twice"),
    (monitors.l9_pairs, "session/disposed a#1", "session/disposed a#1\nsession/disposed a#1", "twice"),
    (monitors.l9_ends, "agent/disposed a#1", "", "its end was never announced"),
    (
        monitors.l11_one_entry,
        "settled unload returned",
        "settled look returned agents=a#1:idle,a#2:idle roots= sessions=a#2",
        "agents hold an id twice",
    ),
    (
        monitors.l11_one_entry,
        "settled unload returned",
        "settled look returned agents= roots= sessions=a#1,a#2",
        "sessions hold an id twice",
    ),
    (monitors.l12_no_zombie, "agent/created a#1", "session/disposed a#1\nagent/created a#1", "deactivated"),
    (monitors.l24_waiters_return, "settled idle returned", "", "idle never returns"),
    (monitors.l25_disposers_return, "settled dispose returned", "", "dispose never returns"),
    (
        monitors.l25_disposers_return,
        "scope/cleanup c\n    settled dispose returned",
        "settled dispose returned\nscope/cleanup c",
        "returns before scope/cleanup",
    ),
    (monitors.l25_disposers_return, "session/disposed a#1", "settled dispose returned\nsession/disposed a#1", "before"),
    (monitors.l26_prompts_run, "log a#1 1 user/message A", "", "A of a#1 never runs"),
    (monitors.l27_unloads_return, "settled unload returned", "", "unload never returns"),
    (monitors.l28_ids_come_free, "session/created a#1", "settled c raised id-exists", "no session of the id a"),
]


@pytest.mark.parametrize(("monitor", "old", "new", "breach"), BAD)
def test_a_bad_recording_is_found(monitor: Monitor, old: str, new: str, breach: str) -> None:
    assert old in GOOD
    shown = GOOD.replace(old, new)
    if monitor is monitors.l26_prompts_run:
        shown = shown.partition("agent/cancel-requested")[0]
    if monitor is monitors.l28_ids_come_free:
        shown = new
    found = list(monitor(recording_of(shown)))
    assert any(breach in one for one in found), found


@pytest.mark.parametrize(
    ("event", "look"),
    [
        ("session/created", "agents= roots= sessions=a#1"),
        ("agent/created", "agents=a#1:idle roots=a#1 sessions="),
        ("agent/disposed", "agents=a#1:idle roots=a#1 sessions=a#1"),
        ("agent/disposed", "agents= roots= sessions="),
        ("session/disposed", "agents= roots= sessions=a#1"),
    ],
)
def test_registries_that_do_not_fit_an_announcement_are_found(event: str, look: str) -> None:
    shown = f"{event} a#1\nsettled r1.0 returned {look}"
    recording = recording_of(shown, f"react {event} do look")
    assert len(list(monitors.l10_registries(recording))) == 1


def test_a_zombie_that_a_listener_ended_is_found() -> None:
    shown = """
        session/created a#1
        settled r1.0 returned
        agent/created a#1
    """
    recording = recording_of(shown, "react session/created do withdraw this")
    assert len(list(monitors.l12_no_zombie(recording))) == 1


def test_an_idle_cancel_that_changes_something_is_found() -> None:
    with_cancel = recording_of("settled cancel returned\nsettled A returned")
    kept, lost, other = (recording_of(shown) for shown in ("settled A returned", "", "settled B returned"))
    call = Label("cancel")
    assert list(monitors.l5_idle_cancel(with_cancel, kept, call)) == []
    assert len(list(monitors.l5_idle_cancel(with_cancel, lost, call))) == 1
    assert len(list(monitors.l5_idle_cancel(with_cancel, other, call))) == 1
    assert len(list(monitors.l22_contained(kept, other))) == 1


# Each invariant can fail.


def live() -> World:
    """Give a world with one live agent, ``c``, that is idle."""
    return playing().world


def with_agent(**fields: object) -> World:
    """Give a world whose one live agent has been tampered with."""
    world = live()
    return world._replace(agents=(world.agents[0]._replace(**fields),))  # type: ignore[arg-type]


def two(**fields: object) -> World:
    """Give a world with two live agents, the second of which has been tampered with."""
    world = playing("create c a\ncreate d b").world
    first, second = world.agents
    return world._replace(agents=(first, second._replace(**fields)))  # type: ignore[arg-type]


A, B = Text("A"), Text("B")

TAMPERED: list[tuple[invariants.Invariant, Callable[[], World]]] = [
    (invariants.l3_one_place, lambda: with_agent(queued=(A,), steering=(A,))),
    (invariants.l7_one_driver, lambda: with_agent(turn_open=True)),
    (invariants.l7_one_driver, lambda: with_agent(driver=Driver.OPENED)),
    (invariants.l7_one_driver, lambda: with_agent(wait=Wait())),
    (invariants.l7_one_driver, lambda: with_agent(armed=True)),
    (invariants.l8_status, lambda: with_agent(driver=Driver.FLUSHING)),
    (invariants.l8_status, lambda: with_agent(status=Status.RUNNING)),
    (invariants.l8_status, lambda: with_agent(teardown=Teardown.STOPPED)),
    (invariants.l9_announced, lambda: with_agent(published=False)),
    (invariants.l9_announced, lambda: with_agent(session_announced=False)),
    (invariants.l9_announced, lambda: with_agent(number=0)),
    (invariants.l10_pairs, lambda: live()._replace(registry=())),
    (invariants.l10_pairs, lambda: live()._replace(registry=(), sessions=())),
    (invariants.l10_pairs, lambda: with_agent(teardown=Teardown.DETACHED)),
    (invariants.l11_one_entry, lambda: two(id="a")),
    (invariants.l24_waiters, lambda: with_agent(waiters=(Label("w"),))),
    (invariants.l24_waiters, lambda: with_agent(status=Status.DISPOSED, queued=(A,), waiters=(Label("w"),))),
    (invariants.l24_waiters, lambda: with_agent(driver=Driver.EXITED, exit_waiters=(Label("w"),))),
    (invariants.l25_disposers, lambda: with_agent(disposers=(Label("d"),))),
    (invariants.l26_claimed, lambda: with_agent(queued=(A,))),
    (invariants.l26_claimed, lambda: with_agent(marker=True)),
    (invariants.is_over, live),
]


@pytest.mark.parametrize(("check", "tampered"), TAMPERED)
def test_a_bad_world_is_found(check: invariants.Invariant, tampered: Callable[[], World]) -> None:
    found = list(check(tampered()))
    assert found
    assert all(one.startswith("L") for one in found)
    assert list(check(playing("create c a\nsettle\nunload host").world)) == []


def test_a_prompt_that_is_lost_is_found() -> None:
    before, after = with_agent(queued=(A, B)), with_agent(queued=(B,))
    assert list(invariants.l3_conserved(before, after, [])) == ["L3: A of c is lost"]
    assert list(invariants.l3_conserved(before, after, events("log a#1 0 user/message A"))) == []
    assert list(invariants.l3_conserved(before, after, events("agent/cancel-requested a#1 user"))) == []


def test_a_prompt_from_nowhere_is_found() -> None:
    before, after = live(), with_agent(queued=(A,))
    assert list(invariants.l3_conserved(before, after, [])) == ["L3: A of c comes from nowhere"]
    assert list(invariants.l3_conserved(before, after, events("agent/queued a#1 A"))) == []
    found = invariants.l3_conserved(after, after, events("log a#1 0 user/message A"))
    assert list(found) == ["L3: A of c is logged and still pending"]


@pytest.mark.parametrize("queue", [(B, A), (A,)])
def test_a_queue_that_changes_in_its_middle_is_found(queue: tuple[Text, ...]) -> None:
    assert len(list(invariants.l4_fifo(with_agent(queued=(A, B)), with_agent(queued=queue)))) == 1
    assert list(invariants.l4_fifo(with_agent(queued=(A, B)), with_agent(queued=(B,)))) == []


@pytest.mark.parametrize(
    ("shown", "count"),
    [
        ("agent/cancel-requested a#1 user\nsignal a#1 turn=1 user\nsettled x returned", 0),
        ("settled x returned", 0),
        ("agent/cancel-requested a#1 user\nagent/cancel-requested a#1 user\nsettled x returned", 1),
        ("signal a#1 turn=1 user\nagent/cancel-requested a#1 user\nsettled x returned", 1),
        ("signal a#1 turn=1 user\nsettled x returned", 1),
        ("agent/cancel-requested a#1 user", 1),
        ("agent/cancel-requested a#1 user\nlog a#1 0 turn/end turn=1 aborted\nsettled x returned", 1),
    ],
)
def test_a_cancel_out_of_order_is_found(shown: str, count: int) -> None:
    assert len(list(invariants.l6_order(events(shown)))) == count


def test_a_zombie_in_a_world_is_found() -> None:
    dead = with_agent(failure="aborted", number=0, session_announced=False, published=False, stage=Stage.IN_SETUP)
    assert list(invariants.l12_no_zombie(dead, dead)) == []
    assert list(invariants.l12_no_zombie(dead, live())) == ["L12: c was deactivated and is published"]
    assert len(list(invariants.l12_no_zombie(live(), with_agent(failure="aborted")))) == 1


# Invariants about what the rules would do are shown to fail on rules that do something else.


def test_a_cancel_that_strands_the_next_prompt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def marks(run: Run, op: Cancel) -> bool:
        run.update(op.agent, marker=True)
        return cancel.cancel(run, op)

    world = live()
    assert list(invariants.l5_idle_cancel(world)) == []
    monkeypatch.setitem(machine._BEGINS, Cancel, marks)
    assert list(invariants.l5_idle_cancel(world)) == ["L5: a cancel of c finds nothing and changes something"]


def test_a_cancel_that_announces_nothing_or_clears_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def settles(run: Run, op: Cancel) -> bool:
        run.settled(op.label, Returned(), demand("CALL-02"))
        return True

    world = with_agent(queued=(A,))
    assert [*invariants.l5_idle_cancel(world), *invariants.l6_cancel(world)] == []
    monkeypatch.setitem(machine._BEGINS, Cancel, settles)
    assert list(invariants.l5_idle_cancel(world)) == [
        "L5: a cancel of c is announced, or finds something, but not both"
    ]
    assert list(invariants.l6_cancel(world)) == ["L6: a cancel of c leaves something pending"]


def test_a_setup_that_is_not_raced_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    play = playing("hold setup c\ncreate c a setup")
    play("unload host")
    assert list(invariants.l27_setups(play.world)) == []
    monkeypatch.setattr(creation, "can_advance", lambda agent: False)
    assert list(invariants.l27_setups(play.world)) == ["L27: c was deactivated and waits for its setup"]


@pytest.mark.parametrize(
    ("holds", "breach"),
    [(True, "L28: the id a is free, and cannot be created"), (False, "L28: the id a is held, and can be created")],
)
def test_an_id_that_is_kept_too_long_or_not_at_all_is_found(
    monkeypatch: pytest.MonkeyPatch, holds: bool, breach: str
) -> None:
    world = playing("create c a\nsettle\nunload host").world if holds else live()
    assert list(invariants.l28_free_ids(world)) == []
    monkeypatch.setattr(registry, "holds_session", lambda run, name: holds)
    assert list(invariants.l28_free_ids(world)) == [breach]


def test_what_is_left_at_the_end_is_found() -> None:
    over = playing("create c a\nsettle\nunload host").world
    assert list(invariants.is_over(over)) == []
    owing = apply(over, Look(Label("k"))).world
    assert list(invariants.is_over(owing)) == []
    play = playing("hold setup c\ncreate c a setup")
    play("dispose c\nunload host")
    assert "L27: an unload has not returned" in list(invariants.is_over(play.world))
