"""Cancel: the one public way to stop work.

The order is the contract. What a cancel will stop is decided first; then it is announced, before anything is cleared
or aborted, so that an observer still sees what is about to go; then the queues are cleared; then the turn's signal
fires. So what an observer of the announcement queues is swept with the rest, and what a body queues when it hears the
signal is not: it came after the cancel and is work of its own.

A cancel before the claim leaves a marker without a cause, because there is no turn whose outcome could carry one. The
driver consumes it at the next point where it looks. An idle cancel finds nothing, says nothing and leaves nothing
behind: a marker set by it would strand the next prompt.
"""

from __future__ import annotations

from probate_model import signals
from probate_model.alphabet.events import CancelRequested, Status, StopCause
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.ops import Cancel
from probate_model.clauses import demand
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.windows import Window
from probate_model.world import Agent, Aside, Driver, Stage

_REQUESTED = demand("CANCEL-01", edge="CANCEL-01", cause="CANCEL-11")
_RETURNED = demand("CANCEL-09", outcome="CANCEL-09")


def cancel(run: Run, op: Cancel) -> bool:
    """Carry out the op, in any state; it never raises."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    label = agent.label
    _mark_window(run, agent)
    active = agent.armed
    run.update(label, aside=Aside(cancelled=True, swept=agent.aside.swept))
    pre_run = not active and bool(agent.queued or agent.steering)
    if pre_run:
        run.update(label, marker=True)
    if active or pre_run:
        run.emit(label, CancelRequested(agent.ref, op.cause), _REQUESTED)
    else:
        over = agent.status is Status.RUNNING or agent.driver in (Driver.FLUSHING, Driver.BETWEEN_TURNS)
        clause = agent.aside.swept or ("CANCEL-08" if over else "CANCEL-02")
        run.silence(clause, agent, "agent/cancel-requested")
    swept = run[label]
    if swept.queued or swept.steering:
        clause = "CANCEL-03" if swept.queued else "CANCEL-10"
        run.update(label, queued=(), steering=(), aside=Aside(cancelled=True, swept=clause))
        run.silence(clause, swept, "log", broad=True, record="turn/start")
        run.silence(clause, swept, "agent/status", broad=True, status=Status.RUNNING)
        for text in (*swept.queued, *swept.steering):
            run.silence("CANCEL-03" if text in swept.queued else "CANCEL-10", swept, "log", text=text)
    if active:
        signals.fire(run, label, StopCause(op.cause.value))
    run.settled(op.label, CallReturned(), _RETURNED)
    return True


def _mark_window(run: Run, agent: Agent) -> None:
    if agent.stage is Stage.PUBLISHING:
        run.mark("window", Window.CANCEL_IN_CREATION)
    elif agent.driver is Driver.FLUSHING:
        run.mark("window", Window.CANCEL_IN_CLOSING_FLUSH)
        if agent.queued:
            run.mark("window", Window.CANCEL_BETWEEN_TURNS)
    elif agent.driver is Driver.PARKED and agent.queued:
        run.mark("window", Window.CANCEL_BEFORE_CLAIM)
