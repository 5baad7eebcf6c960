"""Prompts: one slot for each session, settled exactly once, and by nobody's turn but its own.

The slot is there before the prompt is sent, so that nothing which the sending sets off can be missed. The first turn
that a message opens after that is its own. It is settled by the first of three: the end of that turn; a cancel, or a
teardown, which wait for nothing; or the rest of its agent, which says that the prompt vanished before it had a turn.
"""

from __future__ import annotations

from probate_model import cancel, inbox
from probate_model.alphabet.bridge import Prompt, StopReason
from probate_model.alphabet.editions import CancelRequest
from probate_model.alphabet.events import (
    HeardEvent,
    Logged,
    Raised,
    Returned,
    Settlement,
    Status,
    StatusChanged,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
)
from probate_model.alphabet.names import BAD_TEXT, Label
from probate_model.alphabet.ops import Cause
from probate_model.alphabet.refusals import Refusal, code
from probate_model.bridge.access import find_session, held_as, put_session, room_of, session_of
from probate_model.bridge.state import Holding, Session, Slot
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.windows import BridgeWindow
from probate_model.world import Agent, Driver

_CANCELLED = Returned(Label(StopReason.CANCELLED))
_STOPS: dict[TurnOutcome, Settlement] = {
    TurnOutcome.COMPLETED: Returned(Label(StopReason.END_TURN)),
    TurnOutcome.MAX_TOKENS: Returned(Label(StopReason.MAX_TOKENS)),
    TurnOutcome.ABORTED: _CANCELLED,
    TurnOutcome.DISPOSED: _CANCELLED,
    TurnOutcome.ERROR: Raised(code(Refusal.TURN_FAILED)),
}

_UNKNOWN = ("BRIDGE-09", Refusal.UNKNOWN_SESSION)
_REQUESTED = demand("BRIDGE-16", edge="CANCEL-01", cause="BRIDGE-16")


def take(run: Run, op: Prompt) -> None:
    """Take a prompt that was read, or refuse it and leave everything as it is."""
    session = held_as(run, op.session)
    refusal = _refusal(run, session, op)
    if session is None or refusal is not None:
        clause, why = refusal or _UNKNOWN
        run.owe(op.label, Raised(code(why)), clause)
        run.silence(clause, run.agents[op.session if session is None else session.label], "agent/queued", text=op.text)
        return
    if run.agents[session.label].turn_open:
        run.mark("window", BridgeWindow.PROMPT_IN_TURN)
    put_session(run, session._replace(slot=Slot(op.label, op.text)))
    inbox.accept(run, session.label, op.text)


def _refusal(run: Run, session: Session | None, op: Prompt) -> tuple[str, Refusal] | None:
    if session is None:
        return _UNKNOWN
    if session.slot is not None:
        run.mark("window", BridgeWindow.SECOND_PROMPT)
        return "BRIDGE-06", Refusal.IN_FLIGHT
    if op.text == BAD_TEXT:
        return "BRIDGE-10", Refusal.INVALID_CONTENT
    if run.agents[session.label].status is Status.DISPOSED:
        return "BRIDGE-10", Refusal.DISPOSED
    return None


def cancel_session(run: Run, label: Label, outcome: Settlement = _CANCELLED, clause: str = "BRIDGE-05") -> None:
    """Cancel the agent on the user's behalf, and settle the prompt then, whatever its turn does."""
    session = session_of(run, label)
    if session.slot is not None and session.slot.turn is None and run.agents[label].driver is Driver.PARKED:
        run.mark("window", BridgeWindow.CANCEL_BEFORE_TURN)
    cancel.request(run, run.agents[label], Cause.USER, _REQUESTED)
    if run.edition.cancel_requested is CancelRequest.ANNOUNCED:
        _spare_others(run, session)
    _settle(run, label, outcome, clause)


def _spare_others(run: Run, session: Session) -> None:
    """Note that no other session of the client is cancelled."""
    for other in room_of(run).sessions:
        if other.connection == session.connection and other.label != session.label and other.holding is Holding.HELD:
            run.silence("BRIDGE-16", run.agents[other.label], "agent/cancel-requested")


def break_off(run: Run, label: Label, clause: str) -> None:
    """Settle the prompt of a session as cancelled, if one is in flight."""
    _settle(run, label, _CANCELLED, clause)


def hear(run: Run, label: Label | None, event: HeardEvent) -> None:
    """Let the prompt of a session look at what happens to its agent."""
    if label is None or not isinstance(event, Logged | StatusChanged):
        return
    session = find_session(run, label)
    if session is None or session.slot is None:
        return
    if isinstance(event, StatusChanged):
        if event.status is not Status.RUNNING:
            break_off(run, label, "BRIDGE-07")
        return
    match event.record:
        case TurnStart(turn=turn, trigger=Trigger.MESSAGE) if session.slot.turn is None:
            put_session(run, session._replace(slot=session.slot._replace(turn=turn)))
        case TurnEnd(turn=turn, outcome=outcome) if turn == session.slot.turn:
            _settle(run, label, _STOPS[outcome], "BRIDGE-04" if outcome is TurnOutcome.ERROR else "BRIDGE-03")
        case TurnEnd():
            run.mark("window", BridgeWindow.LATE_TURN_END)
        case _:
            pass


def _settle(run: Run, label: Label, outcome: Settlement, clause: str) -> None:
    session = session_of(run, label)
    slot = session.slot
    if slot is None:
        return
    put_session(run, session._replace(slot=None))
    run.owe(slot.call, outcome, clause)


# Rest.


def has_vanished(agent: Agent, slot: Slot) -> bool:
    """Tell whether a prompt is gone that never had a turn, with its agent at rest."""
    pending = (agent.prompt, *agent.claimed, *agent.queued, *agent.steering)
    return slot.turn is None and agent.status is not Status.RUNNING and slot.text not in pending


def rest(run: Run, label: Label) -> None:
    """Settle a prompt that is gone."""
    break_off(run, label, "BRIDGE-07")
