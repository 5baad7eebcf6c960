"""Taking in: how what waits in the inbox gets into the log.

A prompt opens a turn, and steering joins a step. Where the inbox is kept in the log, both are *claimed* first, with a
record, and what is claimed is logged before the step or inside of it. Where it is not, steering is logged as it is
taken, one by one, unless a stop comes between.
"""

from __future__ import annotations

from probate_model import decisions, log
from probate_model.alphabet.editions import QueueEvents, UserMessagePlace
from probate_model.alphabet.events import InboxClaimed, InboxQueue, UserMessage
from probate_model.alphabet.names import Label
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.world import Aside

_PROMPT_AFTER_CANCEL = demand("CANCEL-04", edge="TURN-03", text="CANCEL-04", seq="TURN-13")
_PROMPT = demand("TURN-03", edge="TURN-03", text="INBOX-06", seq="TURN-13")
_STEERING = demand("INBOX-07", edge="INBOX-07", text="INBOX-06", seq="TURN-13")
_CLAIMED = demand("INBOX-09", queue="INBOX-09", count="INBOX-09", seq="TURN-13")
_TAKEN_IN = {
    (queue_events, place): demand(clause, edge=edge or clause, text="INBOX-06", seq="TURN-13")
    for queue_events, clause in ((QueueEvents.QUEUED, "INBOX-07"), (QueueEvents.INBOX_RECORDS, "INBOX-09"))
    for place, edge in ((UserMessagePlace.BEFORE_STEP, None), (UserMessagePlace.AFTER_STEP, "TURN-17"))
}


def claim_steering(run: Run, label: Label) -> bool:
    """Take in all that waits for a step, with a record of that where there are any; tells whether there was any."""
    agent = run.agents[label]
    if not agent.steering:
        return False
    run.update(label, claimed=agent.claimed + agent.steering, steering=())
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        log.append(run, label, InboxClaimed(InboxQueue.NEXT_STEP, len(agent.steering)), _CLAIMED)
    return True


def claim_prompt(run: Run, label: Label) -> None:
    """Take in the prompt of a turn, with a record of that."""
    agent = run.agents[label]
    if agent.queued:
        prompt, rest = decisions.claim(agent.queued)
        run.update(label, queued=rest, prompt=prompt)
        log.append(run, label, InboxClaimed(InboxQueue.NEXT_TURN, 1), _CLAIMED)


def log_claimed(run: Run, label: Label) -> None:
    """Log what the step takes in: what waited for a step, and then the prompt, if one is claimed."""
    agent = run.agents[label]
    if agent.claimed:
        run.update(label, claimed=())
        due = _TAKEN_IN[run.edition.queue_events, run.edition.user_message]
        for text in agent.claimed:
            log.append(run, label, UserMessage(text), due)
        agent = run.agents[label]
    if agent.prompt is None:
        return
    for text in agent.queued:
        run.silence("INBOX-06", agent, "log", record="user/message", text=text)
    due = _PROMPT_AFTER_CANCEL if agent.aside.cancelled else _PROMPT
    log.append(run, label, UserMessage(agent.prompt), due, prompt=None, aside=Aside())


def take_in_steering(run: Run, label: Label) -> bool:
    """Log the steering that has arrived, unless the turn is stopped meanwhile; tells whether there was any."""
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        claimed = claim_steering(run, label)
        log_claimed(run, label)
        return claimed
    any_arrived = False
    while run.agents[label].steering and not run.agents[label].stopping:
        first, *rest = run.agents[label].steering
        run.update(label, steering=tuple(rest))
        log.append(run, label, UserMessage(first), _STEERING)
        any_arrived = True
    return any_arrived
