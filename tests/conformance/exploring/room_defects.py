"""Defects of the later profiles, each planted into a rule of the model, with the bounds that show them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from probate_conformance.exploring.rooms import RoomBound
from probate_model.alphabet.names import Label
from probate_model.alphabet.tasks import TaskDone, Token
from probate_model.clauses import demand
from probate_model.fibers import effects, transitions
from probate_model.fibers.state import Effect, Phase, Stage
from probate_model.run import Run
from probate_model.subagents import results, starting
from probate_model.subagents import room as runs
from probate_model.subagents.access import bound, put_child
from probate_model.tasks import access, completion, executor, room
from probate_model.tasks.access import get, put

TASK = RoomBound("task", "tasks", things=1, more=0)
OWNED = RoomBound("owned", "tasks", things=1, agents=1, more=0, holds=0)
IN_TURN = RoomBound("in a turn", "tasks", things=1, agents=1, more=0, holds=0, turns=True)
RELOADED = RoomBound("reloaded", "tasks", things=1, holds=0)
FIBER = RoomBound("fiber", "fibers", things=1, more=0)
SERVICE = RoomBound("service", "fibers", things=2, more=0, holds=0)
EFFECT = RoomBound("effect", "fibers", things=1, holds=0)
LATE = RoomBound("late", "fibers", things=2, holds=0, late=True)
PROGRAM = RoomBound("program", "subagents", things=1, calls=0, holds=0, more=0)
CALLED = RoomBound("called", "subagents", things=1, holds=0, more=0)

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


def tells_a_result_twice(patch: pytest.MonkeyPatch) -> None:
    def twice(run: Run, label: Label) -> None:
        results.announce(run, label)
        results.announce(run, label)

    patch.setitem(runs._FIRE, "announce", twice)


def loses_an_answer(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(runs._FIRE, "go on", lambda run, label: put_child(run, label, answer=None))


def tells_nobody(patch: pytest.MonkeyPatch) -> None:
    steps = runs._of_run
    patch.setattr(runs, "_of_run", lambda run: (step for step in steps(run) if step != "announce"))


def never_tells_a_program_to_go(patch: pytest.MonkeyPatch) -> None:
    steps = runs._of_program
    patch.setattr(runs, "_of_program", lambda run, child: (step for step in steps(run, child) if step != "tell"))


def waits_for_what_is_there(patch: pytest.MonkeyPatch) -> None:
    def unsettled(stretch: Run, label: Label) -> object:
        run = bound(stretch, label)
        return None if run is None else run._replace(stop=None)

    patch.setattr(starting, "bound", unsettled)


PLANTED: list[tuple[str, Plant, RoomBound, str]] = [
    ("L16", takes_the_owner_away, TASK, "launch_task hold settle kill_task"),
    ("L16", forgets_a_task, TASK, "launch_task hold settle read_task"),
    ("L17", tells_it_twice, TASK, "launch_task dispose_executor"),
    ("L24", forgets_who_waits, TASK, "launch_task hold settle kill_task await_task settle"),
    ("L25", never_ends_the_executor, TASK, "dispose_executor settle"),
    ("L23", unloads_at_once, FIBER, "plug settle unplug"),
    ("L27", loads_for_ever, FIBER, "plug settle"),
    ("L27", ends_no_effect, EFFECT, "plug provide settle"),
    ("L20", tells_a_result_twice, PROGRAM, "start_run"),
    ("L20", loses_an_answer, PROGRAM, "start_run settle"),
    ("L20", tells_nobody, PROGRAM, "start_run settle"),
    ("L24", waits_for_what_is_there, CALLED, "start_run settle await_run settle"),
    ("L25", never_tells_a_program_to_go, CALLED, "start_run settle dispose_run settle"),
]
