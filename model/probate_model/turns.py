"""Turns: what an agent's driver does, from the claim of a prompt to the closing flush.

A driver is one coroutine per agent, so two turns of one session never overlap. The signal is looked at after each wait,
and whatever it stops is closed in order: step, turn, flush. So the log is balanced on every path. What is done within a
turn is told in ``steps``.

    parked -> [running, turn/start] -> user/message -> (prepare) -> step/start -> model -> assistant/message
           -> tool/call, tool/result ... -> step/end -> the next step, or [turn/end, flush] -> the next turn, or [idle]

How a turn ends is decided when ``turn/end`` is logged and not before: disposal wins over a cancel, a cancel over an
error, an error over the want of tokens. An error ends the turn and never the driver. The next prompt of the queue is
claimed with no idle in between, because nothing was idle.

Editions differ in when a turn opens (in a step, or within the call that wakes the driver), in where what a step takes
in is logged (before the step, or inside), in whether a turn is flushed, in which of two causes ends it, and in what an
error or an abort ends. If that is the driver, the agent is idle after it, and what is pending waits until it is woken.
"""

from __future__ import annotations

from probate_model import decisions, flushing, idle, log, taking
from probate_model.alphabet.editions import CancelCause, ClosingFlush, ErrorEnds, Precedence, QueueEvents, Wake
from probate_model.alphabet.events import Status, StatusChanged, StopCause, Trigger, TurnEnd, TurnOutcome, TurnStart
from probate_model.alphabet.names import Label
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.world import Agent, Driver, Teardown

_RUNNING = demand("TURN-01")
_RUNNING_AFTER_CANCEL = demand("CANCEL-04", edge="TURN-01")
_RUNNING_AT_ONCE = demand("TURN-16", edge="TURN-01", status="TURN-01")
_RUNNING_AGAIN = demand("TURN-15", edge="TURN-15")
_RUNNING_EMPTY = demand("CANCEL-15")
_TURN_START_BY = {
    (clause, edge): demand(clause, edge=edge, turn="TURN-02", trigger="TURN-02", record="TURN-02", seq="TURN-13")
    for clause in ("TURN-02", "CANCEL-04", "CANCEL-15", "FLUSH-02", "INBOX-07", "TURN-15", "TURN-16")
    for edge in ("TURN-01", "TURN-09")
}
"""Why a turn opens, by what it is due for and by what it comes after: running, or the turn before."""
_TURN_END = demand("TURN-07", edge="TURN-07", outcome="TURN-07", turn="TURN-07", seq="TURN-13")
_CANCELLED = demand("CANCEL-07", edge="TURN-07", outcome="CANCEL-07", turn="TURN-07", seq="TURN-13")
_DISPOSED = demand("DISPOSE-04", edge="TURN-07", outcome="DISPOSE-04", turn="TURN-07", seq="TURN-13")
_FAILED = demand("TURN-10", edge="TURN-10", outcome="TURN-10", turn="TURN-07", seq="TURN-13")
_ABORTED_BY_DISPOSAL = demand("DISPOSE-12", edge="TURN-07", outcome="DISPOSE-12", turn="TURN-07", seq="TURN-13")
_EMPTY = demand("CANCEL-15", edge="TURN-07", outcome="CANCEL-15", turn="TURN-07", seq="TURN-13")
_STARVED = demand("TURN-11", edge="TURN-07", outcome="TURN-11", turn="TURN-07", seq="TURN-13")
_TURN_ENDS = {
    TurnOutcome.COMPLETED: _TURN_END,
    TurnOutcome.MAX_TOKENS: _STARVED,
    TurnOutcome.ABORTED: _CANCELLED,
    TurnOutcome.DISPOSED: _DISPOSED,
    TurnOutcome.ERROR: _FAILED,
}


def next_turn(run: Run, label: Label, *, late: bool = False) -> None:
    """At the top of the loop: exit, go idle, or claim the next prompt and open its turn.

    ``late`` says that a turn only follows because of steering that came too late for the last one.
    """
    agent = run.agents[label]
    because = "FLUSH-02" if agent.driver is Driver.BETWEEN_TURNS else "INBOX-07" if late else "TURN-02"
    if agent.aside.cancelled and because != "INBOX-07":
        because = "CANCEL-04"
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    parked = agent.driver is Driver.PARKED
    if parked and agent.woken is False and not agent.marker:
        idle.look(run, label)
        return
    if agent.marker:
        run.update(label, marker=False)
    if parked and agent.marker and run.edition.empty_turns:
        _open_empty_turn(run, label)
    elif agent.queued or (agent.steering and run.edition.queue_events is QueueEvents.INBOX_RECORDS):
        _begin_turn(run, label, because, late=late)
    else:
        _park(run, label)


def start(run: Run, label: Label) -> None:
    """Begin to run within the call that wakes the driver, with whatever is pending."""
    _begin_turn(run, label, "CANCEL-04" if run.agents[label].aside.cancelled else "TURN-16")


def _begin_turn(run: Run, label: Label, because: str, *, late: bool = False) -> None:
    """Announce running, unless that is known, and open a turn; unless what was pending is called off from there."""
    agent = run.agents[label]
    went_on = agent.status is Status.RUNNING
    if went_on:
        clause = "INBOX-07" if late else "TURN-09" if because == "TURN-02" else because
        run.silence(clause, agent, "agent/status", lasting=False, status=Status.IDLE)
    woken = None if agent.woken is None else False
    run.update(label, armed=True, fired=None, ends=False, status=Status.RUNNING, woken=woken)
    if agent.status is Status.IDLE:
        run.emit(label, StatusChanged(agent.ref, Status.RUNNING), _why_running(run, agent))
    agent = run.agents[label]
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    if agent.fired is not None:
        if run.edition.error_ends is ErrorEnds.DRIVER:
            run.update(label, armed=False, ends=True, driver=Driver.CLOSED)
            return
        run.update(label, armed=False, fired=None)
        agent = _requeue_steering(run, label)
        if not (agent.queued or agent.steering):
            _park(run, label)
            return
        run.update(label, armed=True)
    _open_turn(run, label, because, "TURN-09" if went_on else "TURN-01")


def _why_running(run: Run, agent: Agent) -> Demand:
    if agent.woken and run.edition.wake is Wake.WITHIN_SEND:
        return _RUNNING_AGAIN
    if agent.aside.cancelled:
        return _RUNNING_AFTER_CANCEL
    return _RUNNING if run.edition.wake is Wake.DEFERRED else _RUNNING_AT_ONCE


def _open_empty_turn(run: Run, label: Label) -> None:
    """Open the turn of what was cancelled before it was claimed. It is aborted already."""
    agent = run.update(label, status=Status.RUNNING)
    run.emit(label, StatusChanged(agent.ref, Status.RUNNING), _RUNNING_EMPTY)
    agent = run.agents[label]
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    turn = agent.turn + 1
    run.update(label, turn=turn, turn_open=True, step=0, max_tokens=False, armed=True, driver=Driver.OPENED)
    log.append(run, label, TurnStart(turn, Trigger.MESSAGE), _TURN_START_BY["CANCEL-15", "TURN-01"])


def _exit(run: Run, label: Label) -> None:
    agent = run.agents[label]
    run.silence("DISPOSE-03", agent, "agent/status")
    for text in (*agent.queued, *agent.steering):
        run.silence("DISPOSE-10", agent, "log", broad=True, record="turn/start")
        run.silence("DISPOSE-10", agent, "log", record="user/message", text=text)
    idle.driver_exited(run, label)


def _park(run: Run, label: Label) -> None:
    """Go idle. Where the driver ends with a turn, something may have woken it meanwhile: then it begins again."""
    agent = run.agents[label]
    after_failed_flush = agent.driver is Driver.BETWEEN_TURNS
    if agent.aside.swept:
        run.silence(agent.aside.swept, agent, "log", lasting=False, record="turn/start")
    if agent.ends and not agent.woken and (agent.queued or agent.steering):
        run.silence("TURN-14", agent, "log", record="turn/start")
    run.update(label, driver=Driver.PARKED, armed=False, fired=None, ends=False)
    idle.become_idle(run, label, after_failed_flush=after_failed_flush)
    if not agent.woken or run.agents[label].status is not Status.IDLE:
        return
    if not (run.agents[label].queued or run.agents[label].steering):
        run.update(label, woken=False)
    elif run.edition.wake is Wake.WITHIN_SEND:
        _begin_turn(run, label, "TURN-15")


def _open_turn(run: Run, label: Label, because: str, edge: str) -> None:
    agent = run.agents[label]
    turn = agent.turn + 1
    opened: dict[str, object] = {"turn": turn, "turn_open": True, "step": 0, "max_tokens": False}
    start = TurnStart(turn, Trigger.MESSAGE)
    if run.edition.queue_events is QueueEvents.QUEUED:
        opened["prompt"], opened["queued"] = decisions.claim(agent.queued)
    log.append(run, label, start, _TURN_START_BY[because, edge], driver=Driver.OPENED, **opened)
    if run.edition.queue_events is QueueEvents.QUEUED:
        return
    if run.agents[label].stopping:
        close(run, label, TurnOutcome.COMPLETED)
    else:
        taking.claim_steering(run, label)
        taking.claim_prompt(run, label)


def close(run: Run, label: Label, outcome: TurnOutcome) -> None:
    """Retire the signal, log how the turn ended, and begin the closing flush."""
    agent, edition = run.agents[label], run.edition
    outcome = decisions.outcome(
        outcome,
        agent.fired,
        disposed=agent.status is Status.DISPOSED,
        first_wins=edition.precedence is Precedence.FIRST_WINS,
    )
    due = _why_ended(run, agent, outcome)
    cause = agent.fired if outcome is TurnOutcome.ABORTED else None
    fails = outcome in (TurnOutcome.ABORTED, TurnOutcome.ERROR) and edition.error_ends is ErrorEnds.DRIVER
    kept = cause if edition.cancel_cause is CancelCause.REQUIRED else None
    log.append(
        run,
        label,
        TurnEnd(agent.turn, outcome, kept),
        due,
        armed=False,
        fired=cause if fails else None,
        ends=fails,
        prompt=None,
        claimed=(),
        turn_open=False,
        driver=Driver.FLUSHING if edition.closing_flush is ClosingFlush.IN_TURN else Driver.CLOSED,
    )
    if flushing.is_due(run, label):
        flushing.begin(run, label, closing=True)
    else:
        run.update(label, driver=Driver.CLOSED)


def _why_ended(run: Run, agent: Agent, outcome: TurnOutcome) -> Demand:
    """Give why a turn ends as it does."""
    due, edition = _TURN_ENDS[outcome], run.edition
    fields: dict[str, str] = {}
    if outcome is TurnOutcome.ABORTED:
        if agent.fired is StopCause.DISPOSED:
            due = _ABORTED_BY_DISPOSAL
        elif agent.driver is Driver.OPENED and agent.prompt is None and edition.empty_turns:
            due = _EMPTY
        if edition.cancel_cause is CancelCause.REQUIRED:
            fields["cause"] = "CANCEL-14"
    if edition.precedence is Precedence.FIRST_WINS and _has_several_ends(agent, outcome):
        due = due._replace(clause="CANCEL-18")
        fields["outcome"] = "CANCEL-18"
    return due._replace(fields=tuple((dict(due.fields) | fields).items())) if fields else due


def _has_several_ends(agent: Agent, outcome: TurnOutcome) -> bool:
    """Tell whether something else came that might have ended the turn, after what ended it."""
    if outcome is TurnOutcome.ERROR:
        return agent.stopping
    ended = agent.status is Status.DISPOSED or agent.teardown is not Teardown.NONE
    return outcome is TurnOutcome.ABORTED and agent.fired is not StopCause.DISPOSED and ended


def _flushed(run: Run, label: Label) -> None:
    if flushing.end(run, label, closing=True):
        run.update(label, driver=Driver.BETWEEN_TURNS)
    else:
        _between_turns(run, label)


def _between_turns(run: Run, label: Label) -> None:
    agent = run.agents[label]
    if agent.ends and agent.status is not Status.DISPOSED:
        _requeue_steering(run, label)
        run.update(label, marker=False)
        _park(run, label)
        return
    late = bool(agent.steering) and not agent.queued and run.edition.queue_events is QueueEvents.QUEUED
    if agent.status is not Status.DISPOSED:
        _requeue_steering(run, label)
    next_turn(run, label, late=late)


def _requeue_steering(run: Run, label: Label) -> Agent:
    """Let steering that has no turn left to join be prompts, so that none is stranded.

    Where the inbox is kept in the log, it waits for the next step, whichever turn that is of.
    """
    agent = run.agents[label]
    if not agent.steering or run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        return agent
    return run.update(label, queued=decisions.requeue(agent.queued, agent.steering), steering=())


STRETCHES = {
    Driver.PARKED: next_turn,
    Driver.FLUSHING: _flushed,
    Driver.BETWEEN_TURNS: _between_turns,
    Driver.CLOSED: _between_turns,
}
"""What a driver does next around a turn, by where it is."""
