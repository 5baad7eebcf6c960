"""Flushes: handing the log to whoever keeps it.

A turn ends with a flush that is part of the turn's chain: the next turn does not start and the agent is not idle
before the listeners have returned. A flush that fails is reported and changes nothing else. It is tracked until it
ends, because the teardown may only detach the session when no flush is open: that is how the closing record is never
lost.

An edition may leave flushing to others altogether; then an agent begins none.

Listeners are entered in a later step than an injection, since nothing asynchronous happens inside a call. So whatever
else is said of their gate in the same burst still applies to them.
"""

from __future__ import annotations

from probate_model.alphabet.editions import ClosingFlush, DisposedStatus
from probate_model.alphabet.events import AgentError, ErrorSource, Flushed
from probate_model.alphabet.gates import FAIL, GateKind
from probate_model.alphabet.names import Label
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.world import Agent, Flush

_CLOSING = demand("FLUSH-01", upto="FLUSH-04")
_INJECTED = demand("INJECT-03", upto="FLUSH-04")
_FAILED = demand("FLUSH-02", step="FLUSH-02", source="FLUSH-02")


def is_due(run: Run, label: Label) -> bool:
    """Tell whether the end of a turn is flushed: a session that is not in the store any more can't be."""
    if run.edition.closing_flush is ClosingFlush.NONE:
        run.silence("FLUSH-05", run.agents[label], "session/flush")
        return False
    return run.edition.disposed_status is DisposedStatus.YES or label in run.sessions


def begin(run: Run, label: Label, *, closing: bool) -> None:
    """Call the flush listeners."""
    agent = run.agents[label]
    keeping.promise(run, label, agent.records)
    run.emit(label, Flushed(agent.ref, agent.records), _CLOSING if closing else _INJECTED)
    if closing:
        _arrive(run, label, closing=True)
    else:
        run.update(label, called=run.agents[label].called + 1)


def _arrive(run: Run, label: Label, *, closing: bool) -> None:
    arrival = run.arrive(GateKind.FLUSH, label)
    outcome = keeping.arrived(run, label, arrival.outcome)
    run.update(label, flushes=(*run.agents[label].flushes, Flush(closing, outcome)))


def enter(run: Run, label: Label) -> None:
    """Enter the listeners of a flush that no driver waits for."""
    run.update(label, called=run.agents[label].called - 1)
    _arrive(run, label, closing=False)


def can_end(agent: Agent) -> bool:
    """Tell whether a flush that no driver waits for can end."""
    return has_ended(agent.flushes, closing=False)


def end_injected(run: Run, label: Label) -> None:
    """End a flush that no driver waits for."""
    end(run, label, closing=False)


def end(run: Run, label: Label, *, closing: bool) -> bool:
    """Take the oldest flush of its sort that ended off the list, and report it if it failed; tells whether it did."""
    flushes = run.agents[label].flushes
    position = next(i for i, flush in enumerate(flushes) if flush.closing is closing and flush.outcome)
    run.update(label, flushes=(*flushes[:position], *flushes[position + 1 :]))
    keeping.ended(run, label, flushes[position].outcome)
    failed = flushes[position].outcome == FAIL
    if failed:
        due = keeping.failure_demand(run, label, _FAILED)
        run.emit(label, AgentError(run.agents[label].ref, 0, ErrorSource.FLUSH), due)
    return failed


def has_ended(flushes: tuple[Flush, ...], *, closing: bool) -> bool:
    """Tell whether a flush of this sort has an outcome and can end."""
    return any(flush.closing is closing and flush.outcome is not None for flush in flushes)
