"""Monitors of logs: that each is balanced, and that each text that is sent has one fate, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from probate_model.alphabet.editions import (
    QueueEvents,
    UserMessagePlace,
)
from probate_model.alphabet.events import (
    AssistantMessage,
    CancelRequested,
    ContextMessage,
    InboxClaimed,
    InboxDiscarded,
    InboxInserted,
    InboxQueue,
    Logged,
    Queued,
    SessionDisposed,
    Settled,
    Signalled,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from probate_model.alphabet.names import AgentRef, Text
from probate_model.alphabet.ops import (
    Cancel,
)
from probate_model.monitors.recording import Recording, agents_of


@dataclass(slots=True)
class _Log:
    """Where a log is."""

    turn: int | None = None
    step: int | None = None
    call: int | None = None
    started: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)


def l1_balanced_log(recording: Recording) -> Iterator[str]:
    """L1 forbids a turn that starts or ends twice, or ends before it started.

    It forbids steps and tool calls that do not nest, and records that are outside of any turn, too.
    """
    for agent, seen in agents_of(recording).items():
        log = _Log()
        for event in seen:
            if isinstance(event, Logged):
                yield from (f"L1: {agent} {event.seq}: {breach}" for breach in _unbalanced(log, event))


def _unbalanced(log: _Log, event: Logged) -> Iterator[str]:
    match event.record:
        case TurnStart(turn):
            if turn in log.started:
                yield f"turn {turn} starts twice"
            if log.turn is not None:
                yield f"turn {turn} starts inside turn {log.turn}"
            log.started.add(turn)
            log.turn, log.step = turn, None
        case TurnEnd(turn):
            if turn not in log.started:
                yield f"turn {turn} ends and never started"
            if turn in log.ended:
                yield f"turn {turn} ends twice"
            if log.step is not None:
                yield f"turn {turn} ends inside its step {log.step}"
            log.ended.add(turn)
            log.turn = log.step = None
        case StepStart(turn, step):
            if turn != log.turn or log.step is not None:
                yield f"step {step} starts outside of turn {turn}, or inside another step"
            log.step = step
        case StepEnd(turn, step):
            if (turn, step) != (log.turn, log.step):
                yield f"step {step} of turn {turn} ends and is not open"
            if log.call is not None:
                yield f"step {step} ends and tool call {log.call} has no result"
            log.step = log.call = None
        case ToolCall(n):
            if log.step is None or log.call is not None:
                yield f"tool call {n} begins outside of a step, or inside another call"
            log.call = n
        case ToolResult(n):
            if log.call != n:
                yield f"tool call {n} ends and is not open"
            log.call = None
        case AssistantMessage():
            if log.step is None:
                yield "an answer is outside of any step"
        case UserMessage() | ContextMessage() | InboxClaimed():
            if log.turn is None:
                yield "a message, or a claim of one, is outside of any turn"
        case InboxInserted() | InboxDiscarded():
            pass


def l2_turn_numbers(recording: Recording) -> Iterator[str]:
    """L2 forbids a log whose turns are not numbered 1, 2, 3 and so on."""
    for agent, seen in agents_of(recording).items():
        last = 0
        for event in seen:
            if isinstance(event, Logged) and isinstance(event.record, TurnStart):
                if event.record.turn != last + 1:
                    yield f"L2: {agent}: turn {event.record.turn} follows turn {last}"
                last = event.record.turn


def l3_one_fate(recording: Recording) -> Iterator[str]:
    """L3 forbids a prompt that is logged twice, or was never accepted, or was discarded and is logged all the same."""
    edition = recording.edition
    after_step = edition.user_message is UserMessagePlace.AFTER_STEP
    # Then it may have been claimed before the cancel, and only be logged after it.
    claimed_unseen = after_step and edition.queue_events is QueueEvents.QUEUED
    for agent, seen in agents_of(recording).items():
        pending: set[Text] = set()
        discarded: set[Text] = set()
        logged: set[Text] = set()
        lists: dict[InboxQueue, list[Text]] = {queue: [] for queue in InboxQueue}
        for event in seen:
            match event:
                case Logged(record=InboxInserted(queue, text)):
                    lists[queue].append(text)
                    pending.add(text)
                case Logged(record=InboxClaimed(queue, count) | InboxDiscarded(queue, count)):
                    gone, lists[queue] = lists[queue][:count], lists[queue][count:]
                    if len(gone) < count:
                        yield f"L3: {agent}: {count} are taken from {queue}, where {len(gone)} wait"
                    if isinstance(event.record, InboxDiscarded):
                        discarded.update(gone)
                        pending.difference_update(gone)
                case Queued(text=text):
                    pending.add(text)
                case CancelRequested():
                    discarded |= pending
                    pending = set()
                case StatusChanged(status=Status.DISPOSED):
                    discarded |= pending
                    pending = set()
                case Logged(record=UserMessage(text)):
                    if text in logged:
                        yield f"L3: {agent}: {text} is logged twice"
                    elif text in discarded and not claimed_unseen:
                        yield f"L3: {agent}: {text} was discarded and is logged"
                    elif text not in pending | discarded:
                        yield f"L3: {agent}: {text} was never accepted and is logged"
                    pending.discard(text)
                    logged.add(text)
                case _:
                    pass


def l4_fifo(recording: Recording) -> Iterator[str]:
    """L4 forbids prompts that are claimed in another order than that of their acceptance."""
    for agent, seen in agents_of(recording).items():
        accepted: list[Text] = []
        last = -1
        for event in seen:
            match event:
                case Queued(text=text, steering=False):
                    accepted.append(text)
                case Logged(record=InboxInserted(InboxQueue.NEXT_TURN, text)):
                    accepted.append(text)
                case Logged(record=UserMessage(text)) if text in accepted:
                    place = accepted.index(text)
                    if place < last:
                        yield f"L4: {agent}: {text} is claimed after {accepted[last]}, which was accepted later"
                    last = max(last, place)
                case _:
                    pass


def l26_prompts_run(recording: Recording) -> Iterator[str]:
    """L26, at rest with all gates open: forbids a prompt that was accepted and neither runs nor was stopped.

    What stops it is a cancel that is announced after its acceptance, or in whose announcement it was accepted, or the
    end of its agent.
    """
    waiting: dict[Text, AgentRef] = {}
    sweeping: dict[AgentRef, list[bool]] = {}
    for place, event in enumerate(recording.events):
        match event:
            case Queued(agent=agent, text=text):
                if not any(sweeping.get(agent, ())):
                    waiting[text] = agent
            case CancelRequested(agent=agent):
                waiting = {text: other for text, other in waiting.items() if other != agent}
                sweeping.setdefault(agent, []).append(True)
            case Signalled(agent=agent):
                sweeping[agent] = [*sweeping.get(agent, ())[:-1], False]
            case StatusChanged(agent=agent, status=Status.DISPOSED) | SessionDisposed(agent=agent):
                waiting = {text: other for text, other in waiting.items() if other != agent}
            case Logged(record=UserMessage(text)):
                waiting.pop(text, None)
            case Settled(call=label) if (call := recording.calls.get(label)) is not None:
                if isinstance(call.op, Cancel) and (cancelled := recording.agent_of(call.op.agent, call, place)):
                    sweeping[cancelled] = sweeping.get(cancelled, [])[:-1]
            case _:
                pass
    yield from (f"L26: {text} of {agent} never runs" for text, agent in waiting.items())
