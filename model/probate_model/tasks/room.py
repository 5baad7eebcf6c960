"""What profile ``tasks`` hands to the machine."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from probate_model.alphabet import tasks as alphabet
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome
from probate_model.alphabet.names import Label
from probate_model.rooms import Room, Rooms
from probate_model.run import Run
from probate_model.tasks import completion, executor, tool
from probate_model.tasks.access import put
from probate_model.tasks.state import Process, Task
from probate_model.world import Agent, Returned


class TaskStep(NamedTuple):
    """One stretch of a call of the tool, of a process, or of the executor that watches it."""

    activity: Literal["call", "arrive", "leave", "hear", "see"]
    label: Label


_FIRE: Final = {
    "call": tool.carry_out,
    "arrive": completion.arrive,
    "leave": completion.leave,
    "hear": completion.hear,
    "see": completion.see,
}


def _steps(rooms: Rooms, agents: Collection[Agent]) -> list[TaskStep]:
    del agents
    room = rooms.tasks
    if room is None:
        return []
    steps = [TaskStep("call", made.op.label) for made in room.calls]
    for task in room.tasks:
        if task.process is Process.OVER:
            continue
        if task.said:
            steps.append(TaskStep("hear", task.label))
        if task.process is Process.STARTED:
            steps.append(TaskStep("arrive", task.label))
        elif task.process is Process.GONE:
            steps.append(TaskStep("see", task.label))
        elif task.wait is not None and task.wait.over:
            steps.append(TaskStep("leave", task.label))
    return steps


def _fire(run: Run, step: TaskStep) -> None:
    _FIRE[step.activity](run, step.label)


def _at(rooms: Rooms, gate: Gate) -> Task | None:
    """Give the task whose process waits at a gate."""
    tasks = () if rooms.tasks is None else rooms.tasks.tasks
    found = (task for task in tasks if task.label == gate.creation and task.wait is not None and not task.wait.over)
    return next(found, None)


def _release(run: Run, gate: Gate, outcome: GateOutcome) -> bool:
    task = _at(run.rooms, gate)
    if task is None or task.wait is None:
        return False
    put(run, task.label, wait=task.wait._replace(outcome=outcome))
    return True


def _bind(rooms: Rooms) -> Rooms:
    room = rooms.tasks
    if room is None or all(task.returned is Returned.BOUND for task in room.tasks):
        return rooms
    return rooms._replace(
        tasks=room._replace(tasks=tuple(task._replace(returned=Returned.BOUND) for task in room.tasks))
    )


ROOM: Final = Room(
    profile="tasks",
    begins={
        alphabet.StartTask: tool.call,
        alphabet.LaunchTask: executor.launch,
        alphabet.AbortTask: executor.abort,
        alphabet.ReadTask: tool.call,
        alphabet.KillTask: tool.call,
        alphabet.TaskSays: executor.says,
        alphabet.OwnerOfTask: executor.owner_of,
        alphabet.ListTasks: executor.list_tasks,
        alphabet.AwaitTask: executor.await_task,
        alphabet.UnloadTool: executor.unload_tool,
        alphabet.LoadTool: executor.load_tool,
        alphabet.DisposeExecutor: executor.dispose,
        alphabet.LoadExecutor: executor.load,
        alphabet.SetRegistry: executor.set_registry,
    },
    steps=_steps,
    fire=_fire,
    gates=frozenset({GateKind.EXIT}),
    release=_release,
    waits=lambda rooms, gate: _at(rooms, gate) is not None,
    bind=_bind,
)
"""The room."""
