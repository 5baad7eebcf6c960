"""Injection: context that joins the log without being a prompt.

The log, not the status, decides where it goes. With a turn open it is one record inside that turn, held back while a
batch of tool calls runs until the results are in. With no turn open it becomes a turn of its own, opened and closed
in one stretch, because a record outside of any turn would be cut off as a torn tail when the log is loaded again.
Such a turn has a flush of its own, which the caller does not wait for; the teardown does.
"""

from __future__ import annotations

from probate_model import flushing, log
from probate_model.alphabet.events import ContextMessage, Trigger, TurnEnd, TurnOutcome, TurnStart
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.ops import Inject
from probate_model.clauses import demand
from probate_model.inbox import refused
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.world import Driver

_ACCEPTED = demand("CALL-02")
_CONTEXT = demand("INJECT-01", record="INJECT-01")
_DEFERRED = demand("INJECT-04", edge="INJECT-04", record="INJECT-04")
_TURN_START = demand("INJECT-02", record="INJECT-02")
_TURN_END = demand("INJECT-02", record="INJECT-02")


def inject(run: Run, op: Inject) -> bool:
    """Carry out the op: refuse, or commit the context now, or after the batch or dispatch in progress."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    label = agent.label
    if not refused(run, op.label, label, op.text):
        if label in run.appending:
            run.late_injections.append((label, lambda: commit(run, label, op.text)))
        else:
            commit(run, label, op.text)
        run.settled(op.label, CallReturned(), _ACCEPTED)
    return True


def commit(run: Run, label: Label, text: Text) -> None:
    """Commit context to where the log says that it belongs."""
    agent = run[label]
    if agent.turn_open:
        if agent.driver in (Driver.TOOL, Driver.NEXT_TOOL):
            run.update(label, deferred=(*agent.deferred, text))
            run.silence("INJECT-04", agent, "log", record="context/message", text=text)
        else:
            log.append(run, label, ContextMessage(text), _CONTEXT)
        return
    turn = agent.turn + 1
    run.update(label, turn=turn, turn_open=True)
    log.append(run, label, TurnStart(turn, Trigger.INJECTION), _TURN_START)
    log.append(run, label, ContextMessage(text), _CONTEXT)
    run.update(label, turn_open=False)
    log.append(run, label, TurnEnd(turn, TurnOutcome.COMPLETED), _TURN_END)
    flushing.begin(run, label, closing=False)


def commit_deferred(run: Run, label: Label) -> None:
    """Commit what was injected while a batch of tool calls ran."""
    while run[label].deferred:
        first, *rest = run[label].deferred
        run.update(label, deferred=tuple(rest))
        log.append(run, label, ContextMessage(first), _DEFERRED)
