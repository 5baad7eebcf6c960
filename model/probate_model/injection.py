"""Injection: context that joins the log without being a prompt.

The log, not the status, decides where it goes. With a turn open it is one record inside that turn, held back while a
batch of tool calls runs until the results are in. With no turn open it becomes a turn of its own, opened and closed
in one stretch, because a record outside of any turn would be cut off as a torn tail when the log is loaded again.
Such a turn has a flush of its own, which the caller does not wait for; the teardown does.

Where the inbox itself is kept in the log, context needs no such place: it is in the log from its insertion on, waits
for the next step like steering, and differs from steering only in that it wakes nobody.
"""

from __future__ import annotations

from probate_model import context, inbox, log
from probate_model.alphabet.editions import ClosingFlush, QueueEvents
from probate_model.alphabet.events import RETURNED, InboxQueue
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.ops import Inject
from probate_model.clauses import Demand, demand
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.world import Agent

_ACCEPTED = demand("CALL-02")
_JOINED = demand("CALL-02", edge="INJECT-01")
_FLUSHED = demand("CALL-02", edge="INJECT-03")
_LOGGED = demand("CALL-02", edge="INJECT-02")


def inject(run: Run, op: Inject) -> bool:
    """Carry out the op: refuse, or commit the context now, or after the batch or dispatch in progress."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    label = agent.label
    if not inbox.refused(run, op.label, label, op.text):
        put(run, label, op.text)
        run.settled(op.label, RETURNED, _accepted(run, agent))
    return True


def _accepted(run: Run, agent: Agent) -> Demand:
    """Give what an injection may not return before, of an agent as it was."""
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS or agent.label in run.appending:
        return _ACCEPTED
    if agent.turn_open:
        return _JOINED
    return _FLUSHED if run.edition.closing_flush is ClosingFlush.IN_TURN else _LOGGED


def put(run: Run, label: Label, text: Text, why: context.Why = context.INJECTED) -> None:
    """Put accepted context where it belongs."""
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        due = inbox.INJECTED if why is context.INJECTED else why.context
        inbox.insert(run, label, InboxQueue.NEXT_STEP, text, due)
    else:
        log.when_free(run, label, lambda: context.commit(run, label, text, why))
