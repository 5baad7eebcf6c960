"""The inbox: what an agent was given and has not taken in.

``send`` and ``steer`` are synchronous and never wait for the turn that they cause. A prompt waits in ``queued`` until
the driver claims it, one prompt per turn, so that a prompt accepted after a cancel is a turn of its own and shares
nothing with what was cancelled. Steering joins the turn that runs; when nothing runs there is nothing to join, and it
is a prompt.

``send`` only schedules the driver's wake-up. Between its return and the claim lies a real window in which anything can
happen, and half of the known races live there. An edition may open the turn within the send instead; then the window
is gone, and what comes next finds the turn open.

An edition may keep the inbox in the log. Then every change of it is a record, committed before it takes effect: what
was inserted, what a step claimed, what was discarded. The log is what decides, so steering stays steering when nothing
runs, and nothing can be put in from inside of the announcement of a record: that would be an append within an append.
Only what *takes away* from the inbox there is committed late, because a cancel always does its work.
"""

from __future__ import annotations

from probate_model import log, turns
from probate_model.alphabet.editions import DisposedStatus, QueueEvents, Wake
from probate_model.alphabet.events import (
    RETURNED,
    InboxDiscarded,
    InboxInserted,
    InboxQueue,
    Queued,
    Raised,
    Status,
    StopCause,
)
from probate_model.alphabet.names import BAD_TEXT, Label, Text
from probate_model.alphabet.ops import Send, Steer
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import Demand, demand
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.windows import Window
from probate_model.world import Agent, Teardown

_QUEUED = demand("INBOX-01")
_STEERED_AS_PROMPT = demand("INBOX-01", steering="INBOX-04")
_STEERED = demand("INBOX-05", steering="INBOX-05")
_ACCEPTED = demand("CALL-02")
_DISPOSED = demand("INBOX-02", outcome="INBOX-02")
_INVALID = demand("INBOX-03", outcome="INBOX-03")
_REENTRANT = demand("INBOX-10", outcome="INBOX-10")
_INSERTED = demand("INBOX-08", queue="INBOX-08", text="INBOX-08", seq="TURN-13")
_INSERTED_AFTER_ABORT = demand("INBOX-08", queue="INBOX-11", text="INBOX-08", seq="TURN-13")
_INSERTED_WHILE_ENDING = demand("DISPOSE-14", queue="INBOX-08", text="INBOX-08", seq="TURN-13")
INJECTED = demand("INJECT-05", queue="INJECT-05", text="INJECT-05", seq="TURN-13")
"""Why context is inserted, where the inbox is kept in the log."""


def send(run: Run, op: Send) -> bool:
    """Carry out the op: refuse, or queue a prompt, announce it, and wake the driver."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    label = agent.label
    if not refused(run, op.label, label, op.text):
        accept(run, label, op.text)
        run.settled(op.label, RETURNED, _ACCEPTED)
    return True


def accept(run: Run, label: Label, text: Text) -> None:
    """Accept a prompt that nothing speaks against."""
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        _insert_waking(run, label, InboxQueue.NEXT_TURN, text)
    else:
        queue(run, label, text)


def steer(run: Run, op: Steer) -> bool:
    """Carry out the op: refuse, or join the running turn, or queue a prompt when nothing runs."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    label = agent.label
    if not refused(run, op.label, label, op.text):
        if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
            _insert_waking(run, label, InboxQueue.NEXT_STEP, op.text)
        elif agent.status is Status.RUNNING:
            run.update(label, steering=(*agent.steering, op.text))
            run.emit(label, Queued(agent.ref, op.text, steering=True), _STEERED)
            wake(run, label, aborted=agent.fired is not None)
        else:
            queue(run, label, op.text, _STEERED_AS_PROMPT)
        run.settled(op.label, RETURNED, _ACCEPTED)
    return True


def queue(run: Run, label: Label, text: Text, due: Demand = _QUEUED) -> None:
    """Put a prompt at the tail, announce it, and wake the driver."""
    agent = run.agents[label]
    aborted = agent.fired is not None
    if aborted:
        run.mark("window", Window.SEND_AFTER_ABORT)
    run.update(label, queued=(*agent.queued, text))
    if agent.turn_open:
        run.silence("INBOX-06", agent, "log", broad=True, text=text)
    run.emit(label, Queued(agent.ref, text, steering=False), due)
    wake(run, label, aborted=aborted)


def refused(run: Run, call: Label, label: Label, text: Text) -> bool:
    """Refuse input to a disposed agent, of invalid content, or from inside of an append to the log that it goes to."""
    agent = run.agents[label]
    records = run.edition.queue_events is QueueEvents.INBOX_RECORDS
    if agent.status is Status.DISPOSED:
        run.settled(call, Raised(code(Refusal.DISPOSED)), _DISPOSED)
        _unannounced(run, agent, "INBOX-02", text, records=records)
        return True
    if text == BAD_TEXT:
        run.settled(call, Raised(code(Refusal.INVALID_CONTENT)), _INVALID)
        _unannounced(run, agent, "INBOX-03", text, records=records)
        return True
    if records and label in run.appending:
        run.settled(call, Raised(code(Refusal.REENTRANT)), _REENTRANT)
        _unannounced(run, agent, "INBOX-10", text, records=records)
        return True
    return False


def _unannounced(run: Run, agent: Agent, clause: str, text: Text, *, records: bool) -> None:
    if records:
        run.silence(clause, agent, "log", record="inbox/inserted", text=text)
    else:
        run.silence(clause, agent, "agent/queued", text=text)


# Where the inbox is kept in the log.


def _insert_waking(run: Run, label: Label, queue: InboxQueue, text: Text) -> None:
    """Insert input and wake the driver. What comes after an abort has missed the step that it might have joined."""
    agent = run.agents[label]
    aborted = agent.status is Status.RUNNING and agent.fired is not None
    if aborted:
        run.mark("window", Window.SEND_AFTER_ABORT)
    due = _INSERTED
    if run.edition.disposed_status is DisposedStatus.NO and agent.teardown is not Teardown.NONE:
        due = _INSERTED_WHILE_ENDING
    elif aborted:
        due = _INSERTED_AFTER_ABORT
    insert(run, label, InboxQueue.NEXT_TURN if aborted else queue, text, due)
    wake(run, label, aborted=aborted)


def insert(run: Run, label: Label, queue: InboxQueue, text: Text, due: Demand) -> None:
    """Log an insertion, and then carry it out."""
    log.append(run, label, InboxInserted(queue, text), due)
    agent = run.agents[label]
    if queue is InboxQueue.NEXT_TURN:
        run.update(label, queued=(*agent.queued, text))
    else:
        run.update(label, steering=(*agent.steering, text))


def discard(run: Run, label: Label, due: Demand) -> None:
    """Drop all that is pending; where the inbox is kept in the log, that is logged, what waits for a step first."""
    agent = run.agents[label]
    run.update(label, queued=(), steering=())
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        for queue, count in (
            (InboxQueue.NEXT_STEP, len(agent.steering)),
            (InboxQueue.NEXT_TURN, len(agent.queued)),
        ):
            if count:
                _log_discarded(run, label, InboxDiscarded(queue, count), due)


def _log_discarded(run: Run, label: Label, record: InboxDiscarded, due: Demand) -> None:
    log.when_free(run, label, lambda: log.append(run, label, record, due))


# Waking.


def wake(run: Run, label: Label, *, aborted: bool) -> None:
    """Wake the driver: schedule that, or open the turn here and now, as the edition has it.

    :param aborted: whether what runs had been aborted when the input came, so that it will not take it in
    """
    agent = run.agents[label]
    if agent.woken is None:
        return  # what is queued wakes it
    if agent.status is Status.RUNNING:
        if aborted and agent.fired is not StopCause.DISPOSED:
            run.update(label, woken=True)
    elif run.edition.wake is Wake.DEFERRED:
        run.update(label, woken=True)
    elif label in run.appending or agent.turn_open:
        run.late.append((label, lambda: wake(run, label, aborted=False)))
    elif agent.queued or agent.steering:  # nobody who heard of it has called it off
        turns.start(run, label)
