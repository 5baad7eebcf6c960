"""Each property can fail: a defect is planted into a rule of the model, and found by the shortest way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probate_conformance.cli import main
from probate_conformance.cli.casefiles import write_case
from probate_conformance.errors import Exit
from probate_conformance.exploring.bounds import DRIFTED, FLUSH, FULL, MODEL, PLAIN, SETUP, SMALLEST, Bound
from probate_conformance.exploring.exploration import PROPERTIES, ROOM_PROPERTIES, Explored, explore
from probate_conformance.exploring.rooms import RoomBound
from probate_conformance.lockstep import Verdict
from probate_conformance.trace import load
from probate_model import (
    cancel,
    creation,
    driver,
    flushing,
    idle,
    inbox,
    log,
    machine,
    publication,
    registry,
    signals,
    teardown,
)
from probate_model.alphabet.events import AgentDisposed, Record, Status, StatusChanged, StepEnd, StopCause
from probate_model.alphabet.names import AgentId, Label, Text
from probate_model.alphabet.ops import Cancel
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.world import Agent, Driver, Teardown
from tests.conformance.exploring import room_defects
from tests.conformance.exploring.room_defects import Plant

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

BOUND = Bound(
    "planted",
    agents=1,
    ids=1,
    prompts=2,
    calls=1,
    holds=1,
    reactions=0,
    unloads=0,
    ops=frozenset({"create", "send", "cancel", "dispose", "await_idle"}),
    made=(PLAIN,),
    gates=(MODEL, FLUSH),
    listeners=(),
)
TWO = replace(BOUND, agents=2, ids=2, prompts=0, holds=0, ops=frozenset({"create", "dispose"}))
OTHER = replace(DRIFTED, agents=1, ids=1, prompts=1, unloads=0)
PENDING = replace(BOUND, prompts=0, gates=(SETUP,), made=(FULL,), ops=frozenset({"create", "withdraw"}))

DUE = demand("CALL-02")


def keeps_a_step_open(patch: pytest.MonkeyPatch) -> None:
    append = log.append

    def drops(run: Run, label: Label, record: Record, due: Demand, **fields: object) -> None:
        if isinstance(record, StepEnd):
            run.update(label, **fields)
        else:
            append(run, label, record, due, **fields)

    patch.setattr(log, "append", drops)


def skips_a_record(patch: pytest.MonkeyPatch) -> None:
    append = log.append

    def skips(run: Run, label: Label, record: Record, due: Demand, **fields: object) -> None:
        run.update(label, records=run.agents[label].records + 1)
        append(run, label, record, due, **fields)

    patch.setattr(log, "append", skips)


def queues_twice(patch: pytest.MonkeyPatch) -> None:
    queue = inbox.queue

    def twice(run: Run, label: Label, text: Text, **more: Any) -> None:
        queue(run, label, text, **more)
        run.update(label, queued=(*run.agents[label].queued, text))

    patch.setattr(inbox, "queue", twice)


def queues_at_the_head(patch: pytest.MonkeyPatch) -> None:
    queue = inbox.queue

    def first(run: Run, label: Label, text: Text, **more: Any) -> None:
        queue(run, label, text, **more)
        *others, last = run.agents[label].queued
        run.update(label, queued=(last, *others))

    patch.setattr(inbox, "queue", first)


def marks_an_idle_agent(patch: pytest.MonkeyPatch) -> None:
    def marks(run: Run, op: Cancel) -> bool:
        run.update(op.agent, marker=True)
        return cancel.cancel(run, op)

    patch.setitem(machine._BEGINS, Cancel, marks)


def fires_before_it_announces(patch: pytest.MonkeyPatch) -> None:
    def fires(run: Run, op: Cancel) -> bool:
        signals.fire(run, op.agent, StopCause.USER)
        return cancel.cancel(run, op)

    patch.setitem(machine._BEGINS, Cancel, fires)


def keeps_the_signal_armed(patch: pytest.MonkeyPatch) -> None:
    begin = flushing.begin

    def armed(run: Run, label: Label, *, closing: bool) -> None:
        run.update(label, armed=True)
        begin(run, label, closing=closing)

    patch.setattr(flushing, "begin", armed)


def is_idle_after_disposal(patch: pytest.MonkeyPatch) -> None:
    exited = idle.driver_exited

    def idles(run: Run, label: Label) -> None:
        exited(run, label)
        run.emit(label, StatusChanged(run.agents[label].ref, Status.IDLE), DUE)

    patch.setattr(idle, "driver_exited", idles)


def announces_the_end_twice(patch: pytest.MonkeyPatch) -> None:
    detach = registry.detach

    def twice(run: Run, label: Label) -> None:
        detach(run, label)
        run.emit(label, AgentDisposed(run.agents[label].ref), DUE)

    patch.setattr(registry, "detach", twice)


def enters_only_the_session(patch: pytest.MonkeyPatch) -> None:
    def enter(run: Run, label: Label) -> None:
        run.sessions = (*run.sessions, label)

    patch.setattr(registry, "enter", enter)


def enters_twice(patch: pytest.MonkeyPatch) -> None:
    enter = registry.enter

    def twice(run: Run, label: Label) -> None:
        enter(run, label)
        enter(run, label)

    patch.setattr(registry, "enter", twice)


def publishes_the_dead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(teardown, "roll_back", publication.publish)


def forgets_who_waits(patch: pytest.MonkeyPatch) -> None:
    def becomes(run: Run, label: Label, *, after_failed_flush: bool = False) -> None:
        agent = run.agents[label]
        run.update(label, status=Status.IDLE)
        if agent.status is Status.RUNNING:
            run.emit(label, StatusChanged(agent.ref, Status.IDLE), DUE)

    patch.setattr(idle, "become_idle", becomes)


def flushes_for_ever(patch: pytest.MonkeyPatch) -> None:
    def again(run: Run, label: Label) -> None:
        flushing.end(run, label, closing=True)
        flushing.begin(run, label, closing=True)

    patch.setitem(driver._STRETCHES, Driver.FLUSHING, again)


def never_drains(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(teardown, "can_advance", lambda agents, agent: agent.teardown is Teardown.DETACHED)


def sleeps_on(patch: pytest.MonkeyPatch) -> None:
    can_run = driver.can_run

    def sleeps(agent: Agent) -> bool:
        return can_run(agent) and not (agent.driver is Driver.PARKED and len(agent.queued) > 1)

    patch.setattr(driver, "can_run", sleeps)


def waits_for_its_setup(patch: pytest.MonkeyPatch) -> None:
    def waits(agent: Agent) -> bool:
        return agent.in_setup.over if agent.in_setup else creation_can(agent)

    creation_can = creation.can_advance
    patch.setattr(creation, "can_advance", waits)


def keeps_an_id(patch: pytest.MonkeyPatch) -> None:
    def holds(run: Run, name: AgentId) -> bool:
        return any(agent.id == name and agent.number for agent in run.agents.values())

    patch.setattr(registry, "holds_session", holds)


PLANTED: list[tuple[str, Plant, Bound, str]] = [
    ("L1", keeps_a_step_open, BOUND, "create settle send"),
    ("L1", keeps_a_step_open, OTHER, "create settle send"),
    ("L2", skips_a_record, OTHER, "create settle send"),
    ("L25", never_drains, OTHER, "create settle dispose settle"),
    ("L2", skips_a_record, BOUND, "create settle send"),
    ("L3", queues_twice, BOUND, "create settle send"),
    ("L4", queues_at_the_head, BOUND, "create settle send send"),
    ("L5", marks_an_idle_agent, BOUND, "create settle"),
    ("L6", fires_before_it_announces, BOUND, "create settle send hold"),
    ("L7", keeps_the_signal_armed, BOUND, "create settle send"),
    ("L8", is_idle_after_disposal, BOUND, "create settle dispose"),
    ("L9", announces_the_end_twice, BOUND, "create settle dispose"),
    ("L10", enters_only_the_session, BOUND, "create"),
    ("L11", enters_twice, BOUND, "create"),
    ("L12", publishes_the_dead, PENDING, "create withdraw"),
    ("L24", forgets_who_waits, BOUND, "create settle send await_idle cancel"),
    ("L24", flushes_for_ever, BOUND, "create settle send"),
    ("L25", never_drains, BOUND, "create settle dispose settle"),
    ("L26", sleeps_on, BOUND, "create settle send send settle"),
    ("L27", waits_for_its_setup, PENDING, "create hold settle withdraw"),
    ("L28", keeps_an_id, BOUND, "create settle dispose settle"),
]


def of(explored: Explored) -> str:
    """Give the kinds of the items of the case."""
    return " ".join(item.item for item in explored.faults[0].case.items)


@pytest.mark.parametrize(("number", "plant", "bound", "shortest"), [*PLANTED, *room_defects.PLANTED])
def test_a_planted_defect_is_found_by_the_shortest_way(
    monkeypatch: pytest.MonkeyPatch, number: str, plant: Plant, bound: Bound | RoomBound, shortest: str
) -> None:
    plant(monkeypatch)
    explored = explore(bound)
    assert explored.verdict is Verdict.FAIL
    assert (explored.faults[0].number, of(explored)) == (number, shortest), explored.faults[0].says
    assert explored.verdicts()[number] is Verdict.FAIL
    assert set(explored.verdicts().values()) == {Verdict.FAIL, Verdict.INCONCLUSIVE}


def test_every_property_has_a_defect_that_shows_it() -> None:
    assert {number for number, *_ in PLANTED} == set(PROPERTIES)
    of_rooms = {number for numbers in ROOM_PROPERTIES.values() for number in numbers}
    assert of_rooms <= {number for number, *_ in room_defects.PLANTED}


@pytest.mark.parametrize("bound", [BOUND, TWO, PENDING, OTHER], ids=lambda bound: f"{bound.says()} {bound.made}")
def test_without_a_defect_nothing_is_found(bound: Bound) -> None:
    explored = explore(bound)
    assert explored.verdict is Verdict.PASS
    assert set(explored.verdicts().values()) == {Verdict.PASS}


@pytest.mark.slow
@pytest.mark.parametrize("bound", [SMALLEST, DRIFTED], ids=lambda bound: bound.name)
def test_the_smallest_bound_holds_in_each_edition(bound: Bound) -> None:
    assert explore(bound).verdict is Verdict.PASS


def test_a_case_of_the_other_edition_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    keeps_a_step_open(monkeypatch)
    assert explore(OTHER).faults[0].case.edition == "2026-08"


@pytest.mark.parametrize(
    ("plant", "bound"),
    [
        (queues_at_the_head, BOUND),
        (room_defects.tells_it_twice, room_defects.OWNED),
        (room_defects.unloads_at_once, room_defects.FIBER),
    ],
)
def test_a_case_is_one_that_replay_runs(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    plant: Plant,
    bound: Bound | RoomBound,
) -> None:
    with monkeypatch.context() as patch:
        plant(patch)
        fault = explore(bound).faults[0]
    path = write_case(tmp_path, "found", fault.case)
    assert load(path) == fault.case
    assert main(["replay", str(path), "--backend", "reference", "--no-color"]) == Exit.PASS
    assert fault.case.items[0].item.replace("_", " ") in capsys.readouterr().out
