"""Completion: a task ends once, and whoever owns it is told, if there is somebody to be told.

The process comes to its gate, is told how to end, and is gone; what remains is for the executor to see it. Then, in
one stretch: the facts are put down; the listeners hear of it, each contained; the tool, one of them, looks for the
owner and injects the notice. After that the task is done, for whoever waits.

The notice is an offer, made once. The tool looks for the registry of agents by its name at that moment, because a
completion comes from the executor, which knows of no agents; and in it for a live agent with the token as its id. If
the tool is away, if there is no registry, no such agent, or one that is just ending, then there is no notice, then or
ever. Whatever else goes wrong there is the listener's failure: it is contained, and the task is done all the same.
"""

from __future__ import annotations

from probate_model import context, injection
from probate_model.alphabet.editions import Fence
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.events import Status
from probate_model.alphabet.gates import FAIL, OK, SIGNAL, GateKind, GateOutcome
from probate_model.alphabet.names import Label
from probate_model.alphabet.tasks import AgentsRegistry, TaskDone, TaskStatus, notice_text
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.tasks.access import NEVER_RAN, get, is_known, put, room_of
from probate_model.tasks.executor import finish_disposals
from probate_model.tasks.state import Process, Task
from probate_model.windows import TaskWindow
from probate_model.world import Agent

_DONE = demand("TASK-04", exit="TASK-05", status="TASK-07")
_NOTICE = context.Why(
    demand("NOTICE-01", record="NOTICE-01", text="NOTICE-01", queue="NOTICE-01"),
    demand("NOTICE-01", record="NOTICE-01"),
)
_EXITS: dict[GateOutcome, str] = {OK: "code:0", FAIL: "code:1", SIGNAL: "signal:9"}


def arrive(run: Run, label: Label) -> None:
    """Bring the process to its gate."""
    wait = run.arrive(GateKind.EXIT, label)
    if wait.outcome is None:
        put(run, label, process=Process.AT_GATE, wait=wait)
    else:
        put(run, label, process=Process.GONE, exit=_EXITS[wait.outcome])


def leave(run: Run, label: Label) -> None:
    """Let the process end as it was told to."""
    wait = get(run, label).wait
    assert wait is not None
    assert wait.outcome is not None
    put(run, label, process=Process.GONE, wait=None, exit=_EXITS[wait.outcome])


def hear(run: Run, label: Label) -> None:
    """Let the executor read what the process has written."""
    task = get(run, label)
    put(run, label, said=(), unread=(*task.unread, *task.said))


def see(run: Run, label: Label) -> None:
    """Let the executor see that the process is gone: facts, listeners, notice, done."""
    task = get(run, label)
    status = task.status
    if status is TaskStatus.RUNNING:
        status = TaskStatus.KILLED if task.exit == NEVER_RAN else TaskStatus.COMPLETED
    unread = (*task.unread, *task.said)
    task = put(run, label, process=Process.OVER, status=status, turn=None, said=(), unread=unread)
    room = room_of(run)
    failed = False
    if is_known(room, task):
        run.emit(None, TaskDone(task.ref, status, task.exit), _DONE)
        run.silence_about("TASK-04", task_name(task), "task/done")
        # A tool that was loaded from inside of the dispatch is not called in it any more.
        if is_known(room_of(run), task):
            there = room.tool and room_of(run).tool and room_of(run).loads == room.loads
            failed = _notify(run, task, there=there)
    else:
        run.silence_about("TASK-12", task_name(task), "task/done")
    for call in get(run, label).waiters:
        run.owe(call, CallReturned(), "NOTICE-05" if failed else "TASK-10")
    put(run, label, waiters=())
    finish_disposals(run)


def task_name(task: Task) -> str:
    """Give what the event of a task is about."""
    return f"task:{task.ref}"


def _notify(run: Run, task: Task, *, there: bool) -> bool:
    """Tell the owner, or nobody; tells whether the attempt failed."""
    if task.owner is None:
        _silence(run, task, "NOTICE-02")
        return False
    if not there:
        run.mark("window", TaskWindow.COMPLETION_IN_RELOAD_GAP)
        _silence(run, task, "NOTICE-03")
        return False
    registry = room_of(run).registry
    owner = _owner(run, task)
    if registry is AgentsRegistry.THERE and owner is not None and owner.status is not Status.DISPOSED:
        injection.put(run, owner.label, notice_text(task.ref), _NOTICE)
        return False
    _silence(run, task, "NOTICE-04")
    return registry is AgentsRegistry.BROKEN


def _owner(run: Run, task: Task) -> Agent | None:
    """Find the live agent that a task belongs to, in the order of the registry."""
    agents = (run.agents[label] for label in run.registry)
    if run.edition.fence is Fence.EXACT_OWNER:
        return next((agent for agent in agents if agent.label == task.owner_label), None)
    return next((agent for agent in agents if str(agent.id) == task.owner), None)


def _silence(run: Run, task: Task, clause: str) -> None:
    for label in run.registry:
        run.silence(clause, run.agents[label], "log", text=notice_text(task.ref))
        run.silence(clause, run.agents[label], "log", broad=True, record="turn/start", trigger="injection")
