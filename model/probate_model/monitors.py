"""Monitors: the invariants of the contract, asked of what was seen.

A world holds no history, so a question about the past is asked here: of a recording, which is the events in order and
the items that were carried out. Each monitor yields one sentence for each breach that it finds, and nothing if the
invariant holds. The numbers are those of the fact sheet's list; ``invariants`` asks the same of worlds.

Monitors know no rules. They would find a breach in the model as well as in a backend, and that is what they are for: a
wrong rule is followed by a backend that agrees with it, and no comparison of the two would notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from probate_model.alphabet.editions import (
    EDITION_2026_06,
    CancelRequest,
    DisposedStatus,
    Edition,
    IdFree,
    QueueEvents,
    UserMessagePlace,
)
from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentEvent,
    AssistantMessage,
    CancelRequested,
    ContextMessage,
    Event,
    Flushed,
    InboxClaimed,
    InboxDiscarded,
    InboxInserted,
    InboxQueue,
    Logged,
    OfNoAgent,
    Queued,
    Raised,
    Returned,
    ScopeCleanup,
    SessionCreated,
    SessionDisposed,
    SessionStarted,
    Settled,
    Signalled,
    Snapshot,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    StopCause,
    ToolCall,
    ToolResult,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
    UserMessage,
)
from probate_model.alphabet.fibers import (
    AddEffect,
    DisposerCalled,
    DisposerEnded,
    DisposerOutcome,
    FiberChanged,
    FiberState,
)
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Reject, Release, Throw
from probate_model.alphabet.names import THIS, AgentRef, Label, Text
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    Cancel,
    Create,
    Dispose,
    Look,
    Op,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.alphabet.refusals import Refusal, code
from probate_model.run import matches


class Call(NamedTuple):
    """One call: the op, and the reaction that made it, if one did."""

    op: Op
    reaction: React | None = None


class Recording:
    """What was done and what was seen.

    :param events: all that was seen, in order
    :param items: the items that were carried out; those that were void are none of them
    :param begun: how many events had been seen when a call began, where that is known
    :param edition: whose reading of an invariant counts
    """

    def __init__(
        self,
        events: Sequence[Event],
        items: Sequence[BurstItem] = (),
        begun: Mapping[Label, int] | None = None,
        edition: Edition = EDITION_2026_06,
    ) -> None:
        self.edition = edition
        self.events = tuple(events)
        self.begun = dict(begun or {})
        self.calls: dict[Label, Call] = {}
        for item in items:
            if isinstance(item, React):
                for action in item.do:
                    if not isinstance(action, Throw | Reject):
                        self.calls[action.label] = Call(action, item)
            elif not isinstance(item, Plan | Hold | Release | Open):
                self.calls[item.label] = Call(item)
        self.settled: dict[Label, int] = {}
        for place, event in enumerate(self.events):
            if isinstance(event, Settled):
                self.settled.setdefault(event.call, place)
        self.made: dict[Label, AgentRef] = {}
        for event in self.events:
            if isinstance(event, Settled) and isinstance(event.outcome, Returned):
                value = event.outcome.value
                if isinstance(value, str):
                    self.made[event.call] = AgentRef(value)

    def agent_of(self, name: Label, call: Call, place: int) -> AgentRef | None:
        """Give the agent that a call which settled at once, at ``place``, speaks to; none if that can't be told."""
        if name != THIS:
            return self.made.get(name)
        if call.reaction is None:
            return None
        on = call.reaction.on
        for event in reversed(self.events[:place]):
            if not isinstance(event, OfNoAgent) and event.event == on.event and matches(on, event):
                return event.agent
        return None


Monitor = Callable[[Recording], Iterator[str]]


def agents_of(recording: Recording) -> dict[AgentRef, list[AgentEvent]]:
    """Give the events of each agent, in order."""
    agents: dict[AgentRef, list[AgentEvent]] = {}
    for event in recording.events:
        if not isinstance(event, OfNoAgent):
            agents.setdefault(event.agent, []).append(event)
    return agents


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


def l5_idle_cancel(recording: Recording, without: Recording, cancel: Label) -> Iterator[str]:
    """L5 forbids a cancel that found nothing to cancel and changes a later outcome.

    :param recording: a run with the cancel, which announced nothing
    :param without: the same run without it
    """
    kept = tuple(event for event in recording.events if not (isinstance(event, Settled) and event.call == cancel))
    yield from _differences("L5", f"the cancel {cancel}", kept, without.events)


def _differences(number: str, what: str, one: Sequence[Event], other: Sequence[Event]) -> Iterator[str]:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            yield f"{number}: {what} changes event {place}: {left} instead of {right}"
            return
    if len(one) != len(other):
        yield f"{number}: {what} changes how many events there are: {len(one)} instead of {len(other)}"


def l6_announced_cancel(recording: Recording) -> Iterator[str]:
    """L6 forbids a signal or an aborted turn that no cancel was announced for, and more announcements than cancels."""
    edition = recording.edition
    if edition.cancel_requested is CancelRequest.SILENT:
        return
    # By disposal, or by a cancel that came before it opened.
    otherwise = edition.disposed_status is DisposedStatus.NO or edition.empty_turns
    open_cause: dict[AgentRef, set[str]] = {}
    announced = done = 0
    for event in recording.events:
        match event:
            case Logged(agent=agent, record=TurnStart()):
                open_cause[agent] = set()
            case CancelRequested(agent=agent, cause=cause):
                open_cause.setdefault(agent, set()).add(cause.value)
                announced += 1
            case Signalled(agent=agent, cause=stop_cause) if stop_cause is not StopCause.DISPOSED:
                if stop_cause.value not in open_cause.get(agent, ()):
                    yield f"L6: {agent}: the signal {stop_cause.value} comes before any such cancel"
            case Logged(agent=agent, record=TurnEnd(turn, TurnOutcome.ABORTED)):
                if not open_cause.get(agent) and not otherwise:
                    yield f"L6: {agent}: turn {turn} is aborted before any cancel"
            case Settled(call=call) if call in recording.calls and isinstance(recording.calls[call].op, Cancel):
                done += 1
            case _:
                pass
    if announced > done:
        yield f"L6: {announced} announcements of {done} cancels"


def l7_one_driver(recording: Recording) -> Iterator[str]:
    """L7 forbids two turns of one session that overlap, and a signal of a turn that is not open."""
    for agent, seen in agents_of(recording).items():
        turn: int | None = None
        for event in seen:
            match event:
                case Logged(record=TurnStart(number)):
                    if turn is not None:
                        yield f"L7: {agent}: turn {number} starts while turn {turn} is open"
                    turn = number
                case Logged(record=TurnEnd()):
                    turn = None
                case Signalled(turn=number) if number != turn:
                    yield f"L7: {agent}: the signal of turn {number} fires, and {turn or 'none'} is open"
                case _:
                    pass


def l8_status(recording: Recording) -> Iterator[str]:
    """L8 forbids a status that is announced again, anything but running after idle, and anything after disposed.

    It forbids a turn of the driver while the agent is not announced as running, too.
    """
    for agent, seen in agents_of(recording).items():
        status = Status.IDLE
        for event in seen:
            match event:
                case StatusChanged(status=new):
                    if status is Status.DISPOSED or new is status:
                        yield f"L8: {agent}: {new.value} follows {status.value}"
                    status = new
                case Logged(record=TurnStart(turn, Trigger.MESSAGE)) if status is not Status.RUNNING:
                    yield f"L8: {agent}: turn {turn} starts while the agent is {status.value}"
                case _:
                    pass


def l9_pairs(recording: Recording) -> Iterator[str]:
    """L9 forbids an end that is announced of what was not announced as created, or twice, and a second creation."""
    for agent, seen in agents_of(recording).items():
        told: set[str] = set()
        for event in seen:
            match event:
                case SessionCreated() | AgentCreated():
                    if event.event in told:
                        yield f"L9: {agent}: {event.event} twice"
                    told.add(event.event)
                case SessionDisposed() | AgentDisposed():
                    if event.event in told:
                        yield f"L9: {agent}: {event.event} twice"
                    if event.event.replace("disposed", "created") not in told:
                        yield f"L9: {agent}: {event.event}, and it was never created"
                    told.add(event.event)
                case _:
                    pass


def l9_ends(recording: Recording) -> Iterator[str]:
    """L9, at the end of all: forbids a creation that was announced and whose end was not."""
    for agent, seen in agents_of(recording).items():
        kinds = {event.event for event in seen}
        for part in ("session", "agent"):
            if f"{part}/created" in kinds and f"{part}/disposed" not in kinds:
                yield f"L9: {agent}: {part}/created, and its end was never announced"


def l10_registries(recording: Recording) -> Iterator[str]:
    """L10 forbids registries that do not fit the announcement in whose dispatch they are looked at.

    It looks at the first action of each reaction, where that is a ``look``, and at its event.
    """
    for label, place in recording.settled.items():
        call = recording.calls.get(label)
        if call is None or call.reaction is None or call.op is not call.reaction.do[0] or not isinstance(call.op, Look):
            continue
        settled = recording.events[place]
        event = _reacted_to(recording, call.reaction, place)
        if event is None or not isinstance(settled, Settled) or not isinstance(settled.outcome, Returned):
            continue
        seen = settled.outcome.value
        if not isinstance(seen, Snapshot):
            continue
        listed = any(entry.agent == event.agent for entry in seen.agents)
        stored = event.agent in seen.sessions
        wanted = {
            "session/created": (True, True),
            "agent/created": (True, True),
            "agent/session-start": (True, True),
            "agent/disposed": (False, True),
            "session/disposed": (False, False),
        }.get(event.event)
        if wanted is not None and (listed, stored) != wanted:
            yield f"L10: at {event.event} of {event.agent} it is listed: {listed}, its session is stored: {stored}"


def _reacted_to(recording: Recording, reaction: React, place: int) -> AgentEvent | None:
    for event in reversed(recording.events[:place]):
        if isinstance(event, OfNoAgent):
            continue
        if event.event == reaction.on.event and matches(reaction.on, event):
            return event
    return None


def l11_one_entry(recording: Recording) -> Iterator[str]:
    """L11 forbids registries that hold an id twice, or an entry of one agent twice."""
    for event in recording.events:
        if not (isinstance(event, Settled) and isinstance(event.outcome, Returned)):
            continue
        seen = event.outcome.value
        if not isinstance(seen, Snapshot):
            continue
        for what, refs in (("agents", [entry.agent for entry in seen.agents]), ("sessions", list(seen.sessions))):
            ids = [_id_of(ref) for ref in refs]
            if len(ids) != len(set(ids)):
                yield f"L11: the {what} hold an id twice: {', '.join(refs)}"


_PUBLICATION: Final = (SessionCreated, AgentCreated, SessionStarted)


def l12_no_zombie(recording: Recording) -> Iterator[str]:
    """L12 forbids that anything is published of an agent after its creation was deactivated.

    A deactivation is seen as the end that is announced, or as the settlement of an ``abort`` or a ``withdraw`` that
    speaks to the agent from inside an announcement of its creation.
    """
    dead: set[AgentRef] = set()
    for place, event in enumerate(recording.events):
        match event:
            case SessionCreated() | AgentCreated() | SessionStarted() if event.agent in dead:
                yield f"L12: {event.event} {event.agent} after its creation was deactivated"
            case AgentDisposed() | SessionDisposed() | StatusChanged(status=Status.DISPOSED):
                dead.add(event.agent)
            case Settled(call=label) if (call := recording.calls.get(label)) is not None and call.reaction is not None:
                on = call.reaction.on.event
                if isinstance(call.op, Abort | Withdraw) and call.op.creation == THIS and on.endswith("/created"):
                    agent = recording.agent_of(THIS, call, place)
                    if agent is not None:
                        dead.add(agent)
            case _:
                pass


def l22_contained(recording: Recording, without: Recording) -> Iterator[str]:
    """L22 forbids that a failure of a listener which is contained changes anything.

    :param recording: a run with failing listeners, none of them a veto
    :param without: the same run with listeners that do not fail
    """
    yield from _differences("L22", "a contained failure", recording.events, without.events)


def _unsettled(recording: Recording, *kinds: type[Op]) -> Iterator[Label]:
    """Give the calls that were begun by an item and never settled."""
    for label, call in recording.calls.items():
        if call.reaction is None and isinstance(call.op, kinds) and label not in recording.settled:
            yield label


def l24_waiters_return(recording: Recording) -> Iterator[str]:
    """L24, at rest with all gates open: forbids a wait for idle that has not returned."""
    yield from (f"L24: {label} never returns" for label in _unsettled(recording, AwaitIdle))


def l25_disposers_return(recording: Recording) -> Iterator[str]:
    """L25 forbids a dispose that returns before the last event of its agent; at rest, one that has not returned."""
    yield from (f"L25: {label} never returns" for label in _unsettled(recording, Dispose))
    ends: tuple[type[AgentEvent], ...] = (AgentDisposed, SessionDisposed)
    if recording.edition.disposed_status is DisposedStatus.YES:  # else it may run on
        ends += (StatusChanged, Signalled, Logged, Flushed)
    for label, place in recording.settled.items():
        call = recording.calls.get(label)
        if call is None or not isinstance(call.op, Dispose) or call.op.agent == THIS:
            continue
        agent = recording.made.get(call.op.agent)
        for event in recording.events[place:]:
            late = isinstance(event, ScopeCleanup) and event.creation == call.op.agent
            if isinstance(event, ends):
                late = event.agent == agent
            if late:
                yield f"L25: {label} returns before {event.event} of its agent"
                break


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


def l27_unloads_return(recording: Recording) -> Iterator[str]:
    """L27, at rest with no gate held but those of setups: forbids an unload that has not returned."""
    yield from (f"L27: {label} never returns" for label in _unsettled(recording, UnloadOwner, UnloadProvider))


def l28_ids_come_free(recording: Recording) -> Iterator[str]:
    """L28 forbids that a creation is refused for its id while no session of that id is live.

    A refusal is delivered later than it is decided: what counts is any moment since the call began.
    """
    if recording.edition.id_free is IdFree.AFTER_SCOPE:
        return
    for label, place in recording.settled.items():
        call, settled = recording.calls.get(label), recording.events[place]
        if call is None or label not in recording.begun or not isinstance(call.op, Create):
            continue
        if not isinstance(settled, Settled) or settled.outcome != Raised(code(Refusal.ID_EXISTS)):
            continue
        begun = recording.begun[label]
        live = 0
        for event in recording.events[:begun]:
            if isinstance(event, SessionCreated | SessionDisposed) and _id_of(event.agent) == call.op.id:
                live += 1 if isinstance(event, SessionCreated) else -1
        since = recording.events[begun:place]
        if not live and not any(isinstance(e, SessionCreated) and _id_of(e.agent) == call.op.id for e in since):
            yield f"L28: {label} is refused, and no session of the id {call.op.id} was live"


def _id_of(agent: AgentRef) -> str:
    return agent.rpartition("#")[0]


def l23_effects(recording: Recording) -> Iterator[str]:
    """L23 forbids members of an effect that are not undone in reverse, each completely before the next begins.

    It forbids the end of an unload while a disposer of the fiber still runs, too.
    """
    running: dict[Label, int] = {}
    ended: dict[Label, int] = {}
    for event in recording.events:
        match event:
            case DisposerCalled(effect, member):
                if effect in running:
                    yield f"L23: member {member} of {effect} is undone before member {running[effect]} has been"
                if ended.get(effect, member + 1) != member + 1:
                    yield f"L23: member {member} of {effect} is undone after member {ended[effect]}"
                running[effect] = member
            case DisposerEnded(effect, member, outcome):
                if running.pop(effect, None) != member:
                    yield f"L23: member {member} of {effect} ends, and it did not run"
                ended[effect] = member
                if member == 1 or outcome is DisposerOutcome.FAIL:
                    del ended[effect]
            case FiberChanged(fiber, FiberState.PENDING | FiberState.FAILED | FiberState.DISPOSED as state):
                for effect in running:
                    if _fiber_of(recording, effect) == fiber:
                        yield f"L23: {fiber} is {state.value} while a member of {effect} is undone"
            case _:
                pass


def _fiber_of(recording: Recording, effect: Label) -> Label:
    """Give the fiber of an effect: the one that an op names, or the one whose body has it."""
    call = recording.calls.get(effect)
    return call.op.fiber if call is not None and isinstance(call.op, AddEffect) else Label(effect.rpartition(".")[0])


MONITORS: Final[tuple[Monitor, ...]] = (
    l1_balanced_log,
    l2_turn_numbers,
    l3_one_fate,
    l4_fifo,
    l6_announced_cancel,
    l7_one_driver,
    l8_status,
    l9_pairs,
    l10_registries,
    l11_one_entry,
    l12_no_zombie,
    l23_effects,
    l28_ids_come_free,
)
"""What holds of any recording, finished or not."""

AT_THE_END: Final[tuple[Monitor, ...]] = (l9_ends, l24_waiters_return, l25_disposers_return)
"""What holds of a recording that ends after the epilogue."""
