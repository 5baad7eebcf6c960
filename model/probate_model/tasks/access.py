"""Getting at what the room holds, from inside a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from probate_model.alphabet.gates import Temper
from probate_model.alphabet.names import Label
from probate_model.alphabet.tasks import TaskStatus
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.tasks.state import Process, Task, TasksRoom
from probate_model.windows import TaskWindow
from probate_model.world import Agent, Returned


def room_of(run: Run) -> TasksRoom:
    """Give the room as it is at this moment."""
    room = run.rooms.tasks
    assert room is not None
    return room


def set_room(run: Run, **fields: object) -> TasksRoom:
    """Change fields of the room."""
    room = room_of(run)._replace(**fields)  # type: ignore[arg-type]
    run.rooms = run.rooms._replace(tasks=room)
    return room


def get(run: Run, label: Label) -> Task:
    """Give a task as it is at this moment."""
    return next(task for task in room_of(run).tasks if task.label == label)


def put(run: Run, label: Label, **fields: object) -> Task:
    """Change fields of a task, and give it as it is then."""
    task = get(run, label)._replace(**fields)  # type: ignore[arg-type]
    set_room(run, tasks=tuple(task if other.label == label else other for other in room_of(run).tasks))
    return task


def bound(run: Run, label: Label) -> Task | None:
    """Give the task that an op names; none if its start had not returned at the last settle."""
    task = next((task for task in room_of(run).tasks if task.label == label), None)
    return task if task is not None and task.returned is Returned.BOUND else None


def is_known(room: TasksRoom, task: Task) -> bool:
    """Tell whether the executor that is active knows the task."""
    return room.active and task.executor == room.executor


def known(run: Run) -> Iterator[Task]:
    """Give the tasks that the active executor knows, in the order of their start."""
    room = room_of(run)
    yield from (task for task in room.tasks if is_known(room, task))


def caller(run: Run, by: Label | None) -> tuple[bool, Agent | None]:
    """Give whether a caller can be named, and the agent that it is; nobody is a caller too."""
    if by is None:
        return True, None
    agent = on_agent(run, by)
    return agent is not None, agent


def end(run: Run, label: Label) -> None:
    """Tell a task to end: its status changes now; its process goes unless it is deaf, or gone already."""
    task = get(run, label)
    if task.status is TaskStatus.RUNNING:
        told = task.process is Process.AT_GATE and task.wait is not None and task.wait.over
        if told or (task.process is Process.GONE and task.exit != NEVER_RAN):
            run.mark("window", TaskWindow.KILL_AGAINST_COMPLETION)
        task = put(run, label, status=TaskStatus.KILLED)
    deaf = task.wait is not None and task.wait.temper is Temper.DEAF
    if task.process is Process.STARTED or (task.process is Process.AT_GATE and not deaf):
        put(run, label, process=Process.GONE, wait=None, exit="signal:15")


def signalled(run: Run, agent: Label, turn: int) -> None:
    """Tell the tasks to end that were started in a turn whose signal fires."""
    for task in room_of(run).tasks:
        if task.turn == (agent, turn) and task.process is not Process.OVER:
            end(run, task.label)


NEVER_RAN: Final = "none"
"""How the process of a command ended that couldn't be run."""
