"""The tool: it stamps who calls on what it starts, and asks whose a task is before it touches it.

It remembers nothing. What it stamps is the id of the calling agent, and nothing if nobody calls; what it asks is
``owner_of``. A name that nobody knows passes the fence, since there is nobody to protect, and is then refused as
unknown and not as forbidden. A refusal is a result that the caller reads, and changes nothing.

Tools are asynchronous: a call that was begun is carried out in a step of its own, unless it is made in a turn, where
the driver carries it out between the record of the call and that of its result.
"""

from __future__ import annotations

from typing import assert_never

from probate_model.alphabet.editions import Fence
from probate_model.alphabet.events import Raised, Settlement
from probate_model.alphabet.gates import ERROR, OK, GateOutcome
from probate_model.alphabet.names import Label
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.tasks import (
    EMPTY_TASK,
    UNKNOWN_TASK,
    KillTask,
    ReadTask,
    StartTask,
    TaskStatus,
    Token,
    ToolOp,
    Via,
)
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.tasks import executor
from probate_model.tasks.access import bound, caller, is_known, room_of, set_room
from probate_model.tasks.fence import may_access
from probate_model.tasks.state import Call, Task
from probate_model.windows import TaskWindow

_NO_TOOL = demand("TASK-15", outcome="TASK-15")
_EMPTY = demand("TASK-09", outcome="TASK-09")
_OPEN = demand("FENCE-02", outcome="FENCE-02")
_INHERITED = demand("FENCE-07", outcome="FENCE-07")
_DENIED = {
    clause: demand(clause, outcome=clause) for clause in ("FENCE-01", "FENCE-03", "FENCE-04", "FENCE-05", "FENCE-08")
}


def call(run: Run, op: ToolOp) -> bool:
    """Carry out the begin of an op of the tool: remember the call, or do at once what is asked of the executor."""
    if isinstance(op, ReadTask | KillTask) and op.via is Via.EXECUTOR:
        return executor.read_or_kill(run, op)
    named, agent = caller(run, op.by)
    if not named or not _names_task(run, op) or (op.turn and agent is None):
        return False
    made = Call(op, None, None) if agent is None else Call(op, agent.label, Token(agent.id))
    room = room_of(run)
    if op.turn:
        set_room(run, scripts=(*room.scripts, made))
    else:
        set_room(run, calls=(*room.calls, made))
    return True


def _names_task(run: Run, op: ToolOp) -> bool:
    return isinstance(op, StartTask) or op.task in (UNKNOWN_TASK, EMPTY_TASK) or bound(run, op.task) is not None


def carry_out(run: Run, label: Label) -> None:
    """Carry out a call that was begun, and settle it."""
    room = room_of(run)
    made = next(made for made in room.calls if made.op.label == label)
    set_room(run, calls=tuple(other for other in room.calls if other is not made))
    outcome, due = _perform(run, made, None)
    run.settled(label, outcome, due)


def in_turn(run: Run, agent: Label) -> GateOutcome | None:
    """Carry out what was kept for the next tool call of an agent, and give how that ends; none if nothing was."""
    room = room_of(run)
    made = next((made for made in room.scripts if made.agent == agent), None)
    if made is None:
        return None
    set_room(run, scripts=tuple(other for other in room.scripts if other is not made))
    outcome, due = _perform(run, made, (agent, run.agents[agent].turn))
    run.settled(made.op.label, outcome, due)
    return ERROR if isinstance(outcome, Raised) else OK


def _perform(run: Run, made: Call, turn: tuple[Label, int] | None) -> tuple[Settlement, Demand]:
    if not room_of(run).has_tool:
        return Raised(code(Refusal.UNKNOWN_TOOL)), _NO_TOOL
    op = made.op
    if isinstance(op, StartTask):
        return executor.start(run, op.label, made.token, owner_label=made.agent, turn=turn)
    if op.task == EMPTY_TASK:
        return Raised(code(Refusal.INVALID_TASK_ID)), _EMPTY
    task = bound(run, op.task)
    if task is None or not is_known(room_of(run), task):
        return executor.unknown()
    if not _admits(run, task, made):
        return Raised(code(Refusal.ACCESS_DENIED)), _DENIED[_why_denied(run, task, made)]
    inherited = made.agent is not None and task.owner_label is not None and made.agent != task.owner_label
    if inherited:
        run.mark("window", TaskWindow.REUSED_ID_REACHES)
    match op:
        case ReadTask():
            outcome, due = executor.read(run, task.label)
        case KillTask():
            outcome, due = executor.kill(run, task.label)
        case _:
            assert_never(op)
    return outcome, _INHERITED if inherited else _OPEN if task.owner is None else due


def _admits(run: Run, task: Task, made: Call) -> bool:
    if run.edition.fence is Fence.TOKEN:
        return may_access(task.owner, made.token)
    # An owner that was given as a token only is no agent that could ask.
    owner = task.owner_label if task.owner_label is not None else None if task.owner is None else f"token {task.owner}"
    return may_access(owner, made.agent)


def _why_denied(run: Run, task: Task, made: Call) -> str:
    if made.token is None:
        return "FENCE-03"
    if made.token == task.owner:
        return "FENCE-08"
    if task.loads < room_of(run).loads:
        return "FENCE-04"
    return "FENCE-01" if task.status is TaskStatus.RUNNING else "FENCE-05"
