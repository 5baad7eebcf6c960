"""Monitors of lifecycles: one driver, one status, one entry for an id, and an end that everybody hears of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from probate_model.alphabet.editions import (
    CancelRequest,
    DisposedStatus,
    IdFree,
)
from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentEvent,
    CancelRequested,
    Flushed,
    Logged,
    OfNoAgent,
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
    StopCause,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
)
from probate_model.alphabet.items import React
from probate_model.alphabet.names import THIS, AgentRef, Label
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
from probate_model.monitors.recording import Recording, agents_of
from probate_model.run import matches


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
