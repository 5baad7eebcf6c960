"""Cancel: the one public way to stop work.

The order is the contract. What a cancel will stop is decided first; then it is announced, before anything is cleared
or aborted, so that an observer still sees what is about to go; then the queues are cleared; then the turn's signal
fires. So what an observer of the announcement queues is swept with the rest, and what a body queues when it hears the
signal is not: it came after the cancel and is work of its own.

A cancel before the claim leaves a marker without a cause, because there is no turn whose outcome could carry one. The
driver consumes it at the next point where it looks. An idle cancel finds nothing, says nothing and leaves nothing
behind: a marker set by it would strand the next prompt.

Editions differ in what is seen of it. It may go unannounced. The marker may become a turn that is empty and aborted;
then it has a cause to carry. And where input can be parked, so that an idle agent has something pending that nothing
is going to wake for, a cancel may drop that or leave it.
"""

from __future__ import annotations

from enum import Enum, auto

from probate_model import decisions, inbox, signals
from probate_model.alphabet.editions import CancelRequest, IdleCancel
from probate_model.alphabet.events import RETURNED, CancelRequested, Status, StopCause
from probate_model.alphabet.ops import Cancel, Cause
from probate_model.clauses import Demand, demand
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.windows import Window
from probate_model.world import Agent, Aside, Driver, Stage

_REQUESTED = demand("CANCEL-01", edge="CANCEL-01", cause="CANCEL-11")
_RETURNED = demand("CANCEL-09", outcome="CANCEL-09")
_RETURNED_AFTER_ANNOUNCEMENT = demand("CANCEL-09", edge="CANCEL-01", outcome="CANCEL-09")
_RETURNED_AFTER_SIGNAL = demand("CANCEL-09", edge="CANCEL-05", outcome="CANCEL-09")
_DISCARDED = demand("CANCEL-03", count="INBOX-09", queue="INBOX-09", seq="TURN-13")
_UNPARKED = demand("CANCEL-17", count="INBOX-09", queue="INBOX-09", seq="TURN-13")


def cancel(run: Run, op: Cancel) -> bool:
    """Carry out the op, in any state; it never raises."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    run.settled(op.label, RETURNED, _AFTER[request(run, agent, op.cause)])
    return True


class Shown(Enum):
    """The last that is seen of a cancel before it returns."""

    NOTHING = auto()
    ANNOUNCEMENT = auto()
    SIGNAL = auto()
    """A body in flight heard it."""


_AFTER = {
    Shown.NOTHING: _RETURNED,
    Shown.ANNOUNCEMENT: _RETURNED_AFTER_ANNOUNCEMENT,
    Shown.SIGNAL: _RETURNED_AFTER_SIGNAL,
}


def request(run: Run, agent: Agent, cause: Cause, due: Demand = _REQUESTED) -> Shown:
    """Stop what is queued and what runs, on somebody's behalf; tells what is seen of that."""
    label = agent.label
    _mark_window(run, agent)
    active = agent.armed
    run.update(label, aside=Aside(cancelled=True, swept=agent.aside.swept))
    parked = is_parked(agent)
    does = decisions.cancel(
        active=active,
        parked=parked,
        pending=bool(agent.queued or agent.steering),
        spares=run.edition.idle_cancel is IdleCancel.SILENT,
    )
    if does.marks:
        _mark(run, agent, StopCause(cause.value))
    shown = Shown.NOTHING
    if does.announces:
        if run.edition.cancel_requested is CancelRequest.ANNOUNCED:
            shown = Shown.ANNOUNCEMENT
            run.emit(label, CancelRequested(agent.ref, cause), due)
        else:
            run.silence("CANCEL-13", agent, "agent/cancel-requested")
    else:
        over = agent.status is Status.RUNNING or agent.driver in (Driver.FLUSHING, Driver.BETWEEN_TURNS, Driver.CLOSED)
        clause = agent.aside.swept or ("CANCEL-08" if over else "CANCEL-02")
        run.silence(clause, agent, "agent/cancel-requested")
    if does.sweeps:
        _sweep(run, run.agents[label], parked=parked)
    return Shown.SIGNAL if active and signals.fire(run, label, StopCause(cause.value)) else shown


def is_parked(agent: Agent) -> bool:
    """Tell whether nothing runs, or is about to, so that what may be pending waits for somebody to wake the agent."""
    return agent.woken is False and agent.status is not Status.RUNNING and not agent.marker


def _mark(run: Run, agent: Agent, cause: StopCause) -> None:
    """Leave the marker. If an empty turn is to come of it, that has a cause."""
    if agent.driver is Driver.PARKED and run.edition.empty_turns:
        run.update(agent.label, marker=True, fired=cause)
    else:
        run.update(agent.label, marker=True)


def _sweep(run: Run, agent: Agent, *, parked: bool) -> None:
    """Drop all that is pending."""
    if not (agent.queued or agent.steering):
        return
    if agent.woken:
        run.update(agent.label, woken=False)
    clause = "CANCEL-17" if parked else "CANCEL-03" if agent.queued else "CANCEL-10"
    run.update(agent.label, aside=Aside(cancelled=True, swept=clause))
    inbox.discard(run, agent.label, _UNPARKED if parked else _DISCARDED)
    if not (run.agents[agent.label].marker and run.edition.empty_turns):
        run.silence(clause, agent, "log", broad=True, record="turn/start")
        run.silence(clause, agent, "agent/status", broad=True, status=Status.RUNNING)
    for text in (*agent.queued, *agent.steering):
        own = "CANCEL-17" if parked else "CANCEL-03" if text in agent.queued else "CANCEL-10"
        run.silence(own, agent, "log", record="user/message", text=text)


def _mark_window(run: Run, agent: Agent) -> None:
    if agent.stage is Stage.PUBLISHING:
        run.mark("window", Window.CANCEL_IN_CREATION)
    elif agent.driver is Driver.FLUSHING:
        run.mark("window", Window.CANCEL_IN_CLOSING_FLUSH)
        if agent.queued:
            run.mark("window", Window.CANCEL_BETWEEN_TURNS)
    elif agent.driver is Driver.PARKED and agent.queued:
        run.mark("window", Window.CANCEL_BEFORE_CLAIM)
