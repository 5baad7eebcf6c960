"""A child in this process: an agent that the parent owns, with one prompt.

It is created on the parent's behalf, so it ends with the parent. A fork begins with the parent's log as far as its
turns are complete. Once it is there it is sent the prompt, and when it rests, what it has logged itself is the result:
its last words, and the reason why the last turn ended that a message has opened. A cancel is a cancel by the parent;
one that comes before the turn leaves nothing to read, and the run is aborted all the same.
"""

from __future__ import annotations

from typing import Final

from probate_model import cancel as cancelling
from probate_model import creation, idle, inbox, teardown
from probate_model.alphabet.events import (
    AssistantMessage,
    HeardEvent,
    Logged,
    Raised,
    Settlement,
    Status,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
)
from probate_model.alphabet.names import AgentId, Label
from probate_model.alphabet.ops import ByAgent, ByOwner, Cause, Create, CreationSignal
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.subagents import RUN_OWNER, RunProvider, RunSignal, RunStop
from probate_model.clauses import demand
from probate_model.deactivation import deactivate
from probate_model.run import Run as Stretch
from probate_model.subagents import results
from probate_model.subagents.access import find, get, inside_of, put_child, room_of, set_room
from probate_model.subagents.state import Inside, Run, Stage
from probate_model.windows import SubagentWindow
from probate_model.world import Stage as Creation

_CANCELLED: Final = demand("INSIDE-05", edge="CANCEL-01", cause="INSIDE-05")
ENDED: Final = demand("SUBAGENT-10", edge="SUBAGENT-10", status="DISPOSE-03")
"""Why the agent of a run ends that is disposed."""

DELEGATED: Final = demand("DELEGATE-01", edge="DELEGATE-01", status="DISPOSE-03")
"""The same of a run that the tool has started."""

_STOPS: Final = {
    TurnOutcome.COMPLETED: RunStop.COMPLETED,
    TurnOutcome.MAX_TOKENS: RunStop.MAX_TOKENS,
    TurnOutcome.ABORTED: RunStop.ABORTED,
}


def begin(stretch: Stretch, run: Run) -> int:
    """Begin to create the child; gives how many records its log begins with."""
    by = ByOwner(RUN_OWNER) if run.parent is None else ByAgent(run.parent)
    signal = CreationSignal.PRE_ABORTED if run.signal is RunSignal.PRE_ABORTED else CreationSignal.NONE
    creation.create(stretch, Create(run.label, AgentId(run.label), by, signal=signal))
    if stretch.agents.get(run.label) is None or run.provider is not RunProvider.FORK:
        return 0
    if run.parent is not None and stretch.agents[run.parent].turn_open:
        stretch.mark("window", SubagentWindow.FORK_IN_TURN)
    for agent, records, turn in room_of(stretch).turns:
        if agent == run.parent:
            stretch.update(run.label, records=records, turn=turn)
            return records
    return 0


# What the room hears, and what it waits for.


def hear(stretch: Stretch, label: Label | None, event: HeardEvent) -> None:
    """Look at what an agent logs: how far a fork of it would go, and what there is to read of a child."""
    if label is None or not isinstance(event, Logged):
        return
    record = event.record
    if isinstance(record, TurnEnd):
        others = tuple(turn for turn in room_of(stretch).turns if turn[0] != label)
        set_room(stretch, turns=(*others, (label, event.seq + 1, record.turn)))
    run = find(stretch, label)
    if run is None or inside_of(run).stage is Stage.READ:
        return
    match record:
        case AssistantMessage(text=text) if text:
            put_child(stretch, label, said=text)
        case TurnStart(turn=turn, trigger=Trigger.MESSAGE):
            put_child(stretch, label, turn=turn)
        case TurnEnd(turn=turn, outcome=outcome) if turn == inside_of(run).turn:
            put_child(stretch, label, reason=outcome)
        case _:
            pass


def take(stretch: Stretch, call: Label, outcome: Settlement) -> bool:
    """Take the settlement of a call that is the room's own; tells whether it was."""
    for run in room_of(stretch).runs:
        if not isinstance(run.child, Inside):
            continue
        if call == run.label and run.child.stage is Stage.CREATING:
            put_child(stretch, run.label, stage=Stage.CREATED, creation=outcome)
        elif call == run.idle:
            put_child(stretch, run.label, stage=Stage.AT_REST)
        elif call == run.end:
            put_child(stretch, run.label, ended=True)
        else:
            continue
        return True
    return False


# The run.


def go_on(stretch: Stretch, label: Label) -> None:
    """Send the prompt to a child that is there; there may be nobody, or no wish any more."""
    run = get(stretch, label)
    if isinstance(inside_of(run).creation, Raised):
        _settle(stretch, label, RunStop.ABORTED if run.cancelled else RunStop.ERROR)
    elif run.cancelled:
        stretch.mark("window", SubagentWindow.CANCEL_BEFORE_TURN)
        read(stretch, label)
    elif stretch.agents[label].status is Status.DISPOSED:
        _settle(stretch, label, RunStop.ERROR)
    else:
        put_child(stretch, label, stage=Stage.WORKING)
        inbox.accept(stretch, label, run.text)
        idle.wait(stretch, stretch.agents[label], run.idle)


def read(stretch: Stretch, label: Label) -> None:
    """Read the result from what the child has logged itself."""
    run = get(stretch, label)
    reason = inside_of(run).reason
    stop = RunStop.ERROR if reason is None else _STOPS.get(reason, RunStop.ERROR)
    _settle(stretch, label, RunStop.ABORTED if run.cancelled and stop is not RunStop.COMPLETED else stop)


def _settle(stretch: Stretch, label: Label, stop: RunStop) -> None:
    child = inside_of(get(stretch, label))
    clause = "SUBAGENT-07" if stop is RunStop.ERROR else "INSIDE-06" if child.reason is None else "INSIDE-04"
    output = () if child.said is None else (child.said,)
    put_child(stretch, label, stage=Stage.READ, creation=None, said=None, turn=None, reason=None)
    results.settle(stretch, label, stop, output, (clause, "INSIDE-03"))


def cancel(stretch: Stretch, label: Label) -> None:
    """Call off the creation, or cancel the child as its parent."""
    agent = stretch.agents.get(label)
    if agent is None:
        return
    if agent.stage not in (Creation.LIVE, Creation.FAILED):
        deactivate(stretch, label, code(Refusal.ABORTED))
    if agent.queued and not agent.armed:
        stretch.mark("window", SubagentWindow.CANCEL_BEFORE_TURN)
    cancelling.request(stretch, stretch.agents[label], Cause.PARENT, _CANCELLED)


def end(stretch: Stretch, label: Label, *, delegated: bool) -> None:
    """Begin the end of the child, whether it exists yet or not."""
    if stretch.agents.get(label) is None:
        put_child(stretch, label, ended=True)
    else:
        run = get(stretch, label)
        teardown.join(stretch, label, run.end, DELEGATED if delegated else ENDED)
