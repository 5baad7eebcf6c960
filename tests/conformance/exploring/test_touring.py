"""Tours take every transition, and take a backend through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from probate_conformance.backends.registry import make_backend
from probate_conformance.checking import check
from probate_conformance.exploring import touring
from probate_conformance.exploring.bounds import CANCEL, VETO
from probate_conformance.exploring.touring import TOURS, Tour, Transition, graph, tour
from probate_conformance.generation import Palette
from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.plan import Plan
from probate_conformance.tally import Checked
from probate_conformance.trace import dangling, faults
from probate_model.alphabet.gates import tool_count
from probate_model.alphabet.items import Hold, Open, Release, Settle

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

BOUND, _ = TOURS["brief"]
LITTLE = replace(BOUND, name="little", prompts=1, calls=0, holds=0, ops=frozenset({"create", "send", "dispose"}))


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Tour:
    monkeypatch.setitem(touring.TOURS, "little", (LITTLE, 2))
    return tour("little")


def checked_on(backend: str, plan: Plan, manifest: Manifest | None = None) -> Checked:
    made = make_backend(backend)
    checked = Checked()
    with made:
        made.converse(check(manifest or made.manifest, plan, checked=checked))
    return checked


@pytest.mark.parametrize("name", ["brief", pytest.param("children", marks=pytest.mark.slow)])
def test_a_tour_takes_every_transition(name: str) -> None:
    planned = tour(name)
    assert {number for walk in planned.walks for number in walk.transitions} == set(range(planned.transitions))
    for walk in planned.walks:
        assert not list(faults(walk.trace.items))
        assert not list(dangling(walk.trace))
        assert sum(isinstance(item, Settle) for item in walk.trace.items) == len(walk.transitions)
    assert planned.steps < 6 * planned.transitions


def test_it_is_the_same_each_time(little: Tour) -> None:
    assert tour("little") == little


def test_a_graph_holds_every_state_once() -> None:
    found = graph(LITTLE, 2)
    targets = {transition.target for transitions in found for transition in transitions}
    assert targets | {0} == set(range(len(found)))
    bursts = [[begun.choice for begun in transition.burst] for transition in found[0]]
    assert len(bursts) == len({str(burst) for burst in bursts})


@pytest.mark.parametrize("backend", ["model", "reference", "reference-trio"])
def test_a_backend_is_driven_through_all(backend: str, little: Tour) -> None:
    checked = checked_on(backend, Plan(seed=0, cases=0, schedules=2 if backend == "reference" else 1, tour=little))
    assert checked.driven == set(range(little.transitions))
    assert not checked.failed
    assert checked.traces == len(little.walks) * (2 if backend == "reference" else 1)


def test_walks_come_after_the_generated_traces(little: Tour) -> None:
    plan = Plan(seed=0, cases=3, schedules=2, tour=little)
    assert plan.runs == (3 + len(little.walks)) * 2
    assert [plan.walk(number) is None for number in (0, 5, 6)] == [True, True, False]
    manifest = Manifest(name="any", version="0", language="any")
    assert plan.trace(6, manifest).items == plan.trace(7, manifest).items == little.walks[0].trace.items
    assert plan.trace(7, manifest).schedule == 1


def test_what_is_not_claimed_is_not_driven(little: Tour) -> None:
    manifest = Manifest(name="any", version="0", language="any", unclaimed=Unclaimed(ops=("send",)))
    checked = checked_on("model", Plan(seed=0, cases=0, tour=little), manifest)
    needing = {number for walk in little.walks if "send" not in walk.needs for number in walk.transitions}
    assert checked.driven == needing
    assert len(needing) < little.transitions


def test_who_has_no_tools_is_asked_for_none() -> None:
    planned = tour("brief")
    manifest = Manifest(name="any", version="0", language="any", unclaimed=Unclaimed(gates=("tool",)))
    checked = checked_on("model", Plan(seed=0, cases=0, tour=planned), manifest)
    assert len(checked.driven) == planned.within(Palette.of(manifest.unclaimed).words)
    assert 0 < len(checked.driven) < planned.transitions
    asked = {
        item.outcome
        for number in range(len(planned.walks))
        for item in Plan(seed=0, cases=0, tour=planned).trace(number, manifest).items
        if isinstance(item, Release)
    }
    assert asked
    assert not any(map(tool_count, asked))


@pytest.mark.parametrize("gates", [("tool",), ("flush",), ("tool", "flush")])
def test_what_can_be_driven_without_a_gate_is(gates: tuple[str, ...]) -> None:
    planned = tour("brief")
    found = graph(*TOURS["brief"])

    def without(transition: Transition) -> bool:
        items = [begun.choice for begun in transition.burst]
        spoken = {item.gate.kind for item in items if isinstance(item, Hold | Open | Release)}
        tools = any(isinstance(item, Release) and tool_count(item.outcome) for item in items)
        return not spoken & set(gates) and not (tools and "tool" in gates)

    reached, ahead = {0}, [0]
    while ahead:
        for transition in found[ahead.pop()]:
            if without(transition) and transition.target not in reached:
                reached.add(transition.target)
                ahead.append(transition.target)
    able = sum(without(transition) for state in reached for transition in found[state])
    assert planned.within(Palette.of(Unclaimed(gates=gates)).words) == able < planned.transitions


def test_a_defect_is_found_on_a_walk() -> None:
    planned = tour("brief")
    checked = checked_on("bad:cancel-forgets-queue", Plan(seed=0, cases=0, tour=planned, stop_at_first=True))
    assert list(checked.failed) == ["CANCEL-03"]
    assert len(checked.cases[0].trace.items) <= 8
    assert checked.driven < set(range(planned.transitions))


@pytest.mark.parametrize("listeners", [(CANCEL,), (VETO,)])
def test_reactions_are_walked_too(listeners: Sequence[object], monkeypatch: pytest.MonkeyPatch) -> None:
    bound = replace(LITTLE, reactions=1, listeners=listeners)  # type: ignore[arg-type]
    monkeypatch.setitem(touring.TOURS, "little", (bound, 1))
    planned = tour("little")
    checked = checked_on("reference", Plan(seed=0, cases=0, tour=planned))
    assert checked.driven == set(range(planned.transitions))
    assert not checked.failed
