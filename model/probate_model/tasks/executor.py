"""The executor: it runs tasks, remembers them and their owners, and ends with all of them.

It is a fiber of its own, apart from the tool. What it remembers of a task it remembers until it is disposed, whether
the task runs or has ended; the owner is among it, never looked into and never changed. A start can be refused only
before there is a task: by a signal that has fired, or because the executor has ended. From then on all that goes wrong
is how the task ends.

Disposal makes the executor forget everything at once, and nobody hears any more of what ends. It has ended itself when
every process has. A new one may be there before that; no number is used twice, so an old name never means a new task.
"""

from __future__ import annotations

from typing import assert_never

from probate_model.alphabet.events import Raised, Settlement
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.tasks import (
    EMPTY_TASK,
    UNKNOWN_TASK,
    AbortTask,
    AwaitTask,
    DisposeExecutor,
    KillTask,
    LaunchTask,
    ListedTask,
    ListTasks,
    LoadExecutor,
    LoadTool,
    OwnerOfTask,
    ReadTask,
    SetRegistry,
    StartTask,
    TaskList,
    TaskOutput,
    TaskOwner,
    TaskSays,
    TaskSignal,
    TaskStatus,
    Token,
    UnloadTool,
)
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.tasks.access import NEVER_RAN, bound, end, get, is_known, known, put, room_of, set_room
from probate_model.tasks.state import Disposal, Process, Task
from probate_model.windows import TaskWindow
from probate_model.world import Returned

COULD_NOT_RUN = Text("!stderr")
"""What a command that can't be run leaves for whoever reads it, whatever the words are."""

_STARTED = demand("TASK-01", outcome="TASK-02")
_ABORTED = demand("TASK-03", outcome="TASK-03")
_INACTIVE = demand("TASK-14", outcome="TASK-14")
_READ = demand("TASK-08", outcome="TASK-08")
_KILLED = demand("TASK-06", outcome="TASK-06")
_UNKNOWN = demand("TASK-09", outcome="TASK-09")
_FORGOTTEN = demand("TASK-11", outcome="TASK-11")
_OWNER = demand("FENCE-06", outcome="FENCE-06")
_STILL = demand("FENCE-05", outcome="FENCE-05")
_LISTED = demand("TASK-16", outcome="TASK-16")
_ACCEPTED = demand("CALL-02")


# Tasks.


def launch(run: Run, op: LaunchTask) -> bool:
    """Carry out the op: start a task, or refuse to."""
    room = room_of(run)
    if not room.active:
        if room.disposals:
            run.mark("window", TaskWindow.DISPOSAL_AGAINST_START)
        run.settled(op.label, Raised(code(Refusal.EXECUTOR_INACTIVE)), _INACTIVE)
    elif op.signal is TaskSignal.PRE_ABORTED:
        run.settled(op.label, Raised(code(Refusal.ABORTED)), _ABORTED)
    else:
        outcome, due = start(run, op.label, op.owner, armed=op.signal is TaskSignal.ARMED, runs=op.runs)
        run.settled(op.label, outcome, due)
    return True


def start(
    run: Run,
    label: Label,
    owner: Token | None,
    *,
    owner_label: Label | None = None,
    turn: tuple[Label, int] | None = None,
    armed: bool = False,
    runs: bool = True,
) -> tuple[Settlement, Demand]:
    """Start a task."""
    room = room_of(run)
    task = Task(
        label,
        room.started + 1,
        room.executor,
        owner,
        owner_label,
        armed=armed,
        turn=turn,
        loads=room.loads,
        returned=Returned.SINCE_SETTLE,
    )
    if not runs:
        task = task._replace(process=Process.GONE, exit=NEVER_RAN, unread=(COULD_NOT_RUN,))
    set_room(run, started=task.number, tasks=(*room.tasks, task))
    return CallReturned(task.ref), _STARTED


def read_or_kill(run: Run, op: ReadTask | KillTask) -> bool:
    """Carry out an op that is made to the executor itself, which knows no fence."""
    task = _named(run, op.task)
    if isinstance(task, bool):
        if not task:
            return False
        outcome, due = unknown()
    elif not is_known(room_of(run), task):
        outcome, due = Raised(code(Refusal.UNKNOWN_TASK)), _FORGOTTEN
    else:
        match op:
            case ReadTask():
                outcome, due = read(run, task.label)
            case KillTask():
                outcome, due = kill(run, task.label)
            case _:
                assert_never(op)
    run.settled(op.label, outcome, due)
    return True


def _named(run: Run, label: Label) -> Task | bool:
    """Give the task that is named; true if what is named is none, false if it can't be named."""
    if label in (UNKNOWN_TASK, EMPTY_TASK):
        return True
    task = bound(run, label)
    return task if task is not None else False


def unknown() -> tuple[Settlement, Demand]:
    """Refuse what speaks of a task that nobody knows."""
    return Raised(code(Refusal.UNKNOWN_TASK)), _UNKNOWN


def read(run: Run, label: Label) -> tuple[Settlement, Demand]:
    """Give what is new, and forget it."""
    task = get(run, label)
    put(run, label, unread=())
    return CallReturned(TaskOutput(task.unread, task.status)), _READ


def kill(run: Run, label: Label) -> tuple[Settlement, Demand]:
    """Tell a task to end, and give whether it was running."""
    running = get(run, label).status is TaskStatus.RUNNING
    if running:
        end(run, label)
    return CallReturned(running), _KILLED


def abort(run: Run, op: AbortTask) -> bool:
    """Carry out the op: fire the signal that a task was started with."""
    task = bound(run, op.task)
    if task is None or not task.armed:
        return False
    put(run, task.label, armed=False)
    if task.process is not Process.OVER:
        end(run, task.label)
    run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def says(run: Run, op: TaskSays) -> bool:
    """Carry out the op: the process writes something, which the executor reads when it gets to it."""
    task = bound(run, op.task)
    if task is None or task.process not in (Process.STARTED, Process.AT_GATE):
        return False
    put(run, task.label, said=(*task.said, op.text))
    run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def owner_of(run: Run, op: OwnerOfTask) -> bool:
    """Carry out the op: tell whose a task is, or that nobody owns it, which is also told of one that is not known."""
    task = _named(run, op.task)
    if task is False:
        return False
    if isinstance(task, bool):
        run.settled(op.label, CallReturned(TaskOwner(None)), _OWNER)
    elif is_known(room_of(run), task):
        due = _STILL if task.process is Process.OVER else _OWNER
        run.settled(op.label, CallReturned(TaskOwner(task.owner)), due)
    else:
        run.settled(op.label, CallReturned(TaskOwner(None)), _FORGOTTEN)
    return True


def list_tasks(run: Run, op: ListTasks) -> bool:
    """Carry out the op: tell all tasks."""
    listed = tuple(ListedTask(task.ref, task.status) for task in known(run))
    run.settled(op.label, CallReturned(TaskList(listed)), _LISTED if room_of(run).active else _FORGOTTEN)
    return True


def await_task(run: Run, op: AwaitTask) -> bool:
    """Carry out the op: wait until the task is done."""
    task = bound(run, op.task)
    if task is None:
        return False
    if task.process is Process.OVER:
        run.owe(op.label, CallReturned(), "TASK-10")
    else:
        put(run, task.label, waiters=(*task.waiters, op.label))
    return True


# The executor and the tool.


def dispose(run: Run, op: DisposeExecutor) -> bool:
    """Carry out the op: end every task, forget all, and wait for the processes."""
    room = room_of(run)
    if not room.active:
        joined = [one for one in room.disposals if one.executor == room.executor]
        if not joined:
            run.owe(op.label, CallReturned(), "TASK-13")
        for one in joined:
            more = one._replace(callers=(*one.callers, op.label))
            set_room(run, disposals=tuple(more if other is one else other for other in room.disposals))
        return True
    if any(isinstance(made.op, StartTask) for made in room.calls):
        run.mark("window", TaskWindow.DISPOSAL_AGAINST_START)
    for task in tuple(known(run)):
        if task.process is not Process.OVER:
            run.silence_about("TASK-12", f"task:{task.ref}", "task/done")
            end(run, task.label)
    set_room(run, active=False, disposals=(*room.disposals, Disposal(room.executor, (op.label,))))
    finish_disposals(run)
    return True


def finish_disposals(run: Run) -> None:
    """Let the disposals return whose processes are all gone."""
    room = room_of(run)
    for one in room.disposals:
        if not any(task.executor == one.executor and task.process is not Process.OVER for task in room.tasks):
            set_room(run, disposals=tuple(other for other in room_of(run).disposals if other is not one))
            for call in one.callers:
                run.owe(call, CallReturned(), "TASK-13")


def load(run: Run, op: LoadExecutor) -> bool:
    """Carry out the op: start a new executor. The tool comes back with it, if it is loaded."""
    room = room_of(run)
    if room.active:
        return False
    set_room(run, active=True, executor=room.executor + 1)
    run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def unload_tool(run: Run, op: UnloadTool) -> bool:
    """Carry out the op: the tool is gone; no task is touched."""
    if not room_of(run).tool:
        return False
    set_room(run, tool=False)
    for task in known(run):
        if task.process is not Process.OVER:
            run.silence_about("TASK-15", f"task:{task.ref}", "task/done")
    run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def load_tool(run: Run, op: LoadTool) -> bool:
    """Carry out the op: a new tool is there, which remembers nothing."""
    room = room_of(run)
    if room.tool:
        return False
    set_room(run, tool=True, loads=room.loads + 1)
    run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def set_registry(run: Run, op: SetRegistry) -> bool:
    """Carry out the op: say what the tool finds when it looks for the registry of agents."""
    set_room(run, registry=op.registry)
    run.settled(op.label, CallReturned(), _ACCEPTED)
    return True
