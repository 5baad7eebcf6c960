"""Bounds of the later profiles: looked at to the end, and each of their properties can fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from probate_conformance.cli import main
from probate_conformance.cli.casefiles import write_case
from probate_conformance.errors import Exit
from probate_conformance.exploring.exploration import ROOM_PROPERTIES, explore
from probate_conformance.exploring.rooms import RoomBound
from probate_conformance.lockstep import Verdict
from probate_conformance.trace import load
from probate_model.alphabet.names import Label
from probate_model.alphabet.tasks import TaskDone, Token
from probate_model.clauses import demand
from probate_model.fibers import effects, transitions
from probate_model.fibers.state import Effect, Phase, Stage
from probate_model.run import Run
from probate_model.tasks import access, completion, executor, room
from probate_model.tasks.access import get, put

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

TASK = RoomBound("task", "tasks", things=1, more=0)
OWNED = RoomBound("owned", "tasks", things=1, agents=1, more=0, holds=0)
IN_TURN = RoomBound("in a turn", "tasks", things=1, agents=1, more=0, holds=0, turns=True)
RELOADED = RoomBound("reloaded", "tasks", things=1, holds=0)
FIBER = RoomBound("fiber", "fibers", things=1, more=0)
SERVICE = RoomBound("service", "fibers", things=2, more=0, holds=0)
EFFECT = RoomBound("effect", "fibers", things=1, holds=0)

WHOLE: dict[str, tuple[RoomBound, int, int]] = {
    bound.name: (bound, states, transitions)
    for bound, states, transitions in (
        (TASK, 596, 2_422),
        (OWNED, 458, 1_544),
        (IN_TURN, 1_059, 2_870),
        (RELOADED, 512, 2_106),
        (FIBER, 253, 748),
        (SERVICE, 652, 1_512),
        (EFFECT, 637, 1_324),
    )
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_of_it_is_looked_at(name: str) -> None:
    bound, states, transitions = WHOLE[name]
    explored = explore(bound)
    assert explored.verdict is Verdict.PASS
    assert (explored.states, explored.transitions) == (states, transitions)


Plant = Callable[[pytest.MonkeyPatch], None]


def takes_the_owner_away(patch: pytest.MonkeyPatch) -> None:
    kill = executor.kill

    def disowns(run: Run, label: Label) -> object:
        put(run, label, owner=Token("nobody"))
        return kill(run, label)

    patch.setattr(executor, "kill", disowns)


def forgets_a_task(patch: pytest.MonkeyPatch) -> None:
    read = executor.read

    def forgets(run: Run, label: Label) -> object:
        outcome = read(run, label)
        access.set_room(run, tasks=())
        return outcome

    patch.setattr(executor, "read", forgets)


def tells_it_twice(patch: pytest.MonkeyPatch) -> None:
    def twice(run: Run, label: Label) -> None:
        completion.see(run, label)
        task = get(run, label)
        run.emit(None, TaskDone(task.ref, task.status, task.exit), demand("TASK-04"))

    patch.setitem(room._FIRE, "see", twice)


def forgets_who_waits(patch: pytest.MonkeyPatch) -> None:
    def forgets(run: Run, label: Label) -> None:
        waiters = get(run, label).waiters
        put(run, label, waiters=())
        completion.see(run, label)
        put(run, label, waiters=waiters)

    patch.setitem(room._FIRE, "see", forgets)


def never_ends_the_executor(patch: pytest.MonkeyPatch) -> None:
    for module in (completion, executor):
        patch.setattr(module, "finish_disposals", lambda run: None)


def unloads_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transitions, "has_unloaded", lambda room, agents, fiber: True)


def loads_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transitions, "can_advance", lambda fiber: fiber.phase is Phase.LOAD_DUE)


def ends_no_effect(patch: pytest.MonkeyPatch) -> None:
    def never(effect: Effect) -> bool:
        return can_advance(effect) and effect.stage is not Stage.ENDING

    can_advance = effects.can_advance
    patch.setattr(effects, "can_advance", never)


PLANTED: list[tuple[str, Plant, RoomBound, str]] = [
    ("L16", takes_the_owner_away, TASK, "launch_task hold settle kill_task"),
    ("L16", forgets_a_task, TASK, "launch_task hold settle read_task"),
    ("L17", tells_it_twice, TASK, "launch_task dispose_executor"),
    ("L24", forgets_who_waits, TASK, "launch_task hold settle kill_task await_task settle"),
    ("L25", never_ends_the_executor, TASK, "dispose_executor settle"),
    ("L23", unloads_at_once, FIBER, "plug settle unplug"),
    ("L27", loads_for_ever, FIBER, "plug settle"),
    ("L27", ends_no_effect, EFFECT, "plug provide settle"),
]


@pytest.mark.parametrize(("number", "plant", "bound", "shortest"), PLANTED)
def test_a_planted_defect_is_found_by_the_shortest_way(
    monkeypatch: pytest.MonkeyPatch, number: str, plant: Plant, bound: RoomBound, shortest: str
) -> None:
    plant(monkeypatch)
    explored = explore(bound)
    assert explored.verdict is Verdict.FAIL
    found = " ".join(item.item for item in explored.faults[0].case.items)
    assert (explored.faults[0].number, found) == (number, shortest), explored.faults[0].says
    assert explored.verdicts()[number] is Verdict.FAIL


def test_every_property_of_a_room_has_a_defect_that_shows_it() -> None:
    assert {number for numbers in ROOM_PROPERTIES.values() for number in numbers} <= {number for number, *_ in PLANTED}


@pytest.mark.parametrize(("plant", "bound"), [(tells_it_twice, OWNED), (unloads_at_once, FIBER)])
def test_a_case_is_one_that_replay_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plant: Plant, bound: RoomBound
) -> None:
    with monkeypatch.context() as patch:
        plant(patch)
        fault = explore(bound).faults[0]
    path = write_case(tmp_path, "found", fault.case)
    assert load(path) == fault.case
    assert main(["replay", str(path), "--backend", "reference", "--no-color"]) == Exit.PASS


def test_what_a_room_has_nothing_of_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "fibers", "--reactions", "2"]) == Exit.USAGE
    assert "fibers says nothing of reactions" in capsys.readouterr().err


def test_one_bound_of_each_sort_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "fibers", "tasks", "--holds", "0", "--calls", "0", "--no-color"]) == Exit.PASS
    shown = capsys.readouterr().out
    assert "all bounds of profile fibers together" in shown
    assert "all bounds of profile tasks together" in shown
