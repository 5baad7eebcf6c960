"""Sessions: asked for, installed when their agent is there, and given up with it.

An agent that nobody can reach is one that nobody can end. So a session whose connection was closed while it was being
created is not installed: its agent is disposed, and the client, should it still read, hears why.
"""

from __future__ import annotations

from probate_model import creation, teardown
from probate_model.alphabet.bridge import BRIDGE_OWNER, CallOff, CloseSession, NewSession
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.names import AgentId, Code
from probate_model.alphabet.ops import ByOwner, Create, Setup
from probate_model.alphabet.refusals import Refusal, code, is_thrown
from probate_model.bridge import loading, prompts
from probate_model.bridge.access import connection_of, held_as, put_session, room_of, session_of
from probate_model.bridge.state import Holding, Link, Session
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.windows import BridgeWindow

CALLED_OFF = Raised(code(Refusal.REQUEST_CANCELLED))
ENDED = demand("BRIDGE-15", edge="BRIDGE-15", status="DISPOSE-03")
"""Why the agent of a session ends that the bridge lets go."""


def begin(run: Run, op: NewSession) -> None:
    """Begin to create the agent of a session that was asked for."""
    put_session(run, Session(op.label, op.connection, AgentId(op.label)))
    creation.create(run, Create(op.label, AgentId(op.label), ByOwner(BRIDGE_OWNER), Setup.PLAIN))


def can_advance(session: Session) -> bool:
    """Tell whether a session has something to do."""
    return session.holding in (Holding.LOOKING, Holding.CREATED, Holding.DROPPED) or (
        session.over and session.holding in (Holding.UNWANTED, Holding.CLOSING)
    )


def advance(run: Run, session: Session) -> None:
    """Go on to load a session, install it, or answer that it has ended."""
    match session.holding:
        case Holding.LOOKING:
            loading.look(run, session.label)
        case Holding.DROPPED:
            loading.failed(run, session)
            put_session(run, session._replace(holding=Holding.GONE))
        case Holding.CREATED:
            _install(run, session)
        case Holding.UNWANTED:
            loading.failed(run, session)
            put_session(run, session._replace(holding=Holding.GONE, answered=True))
            run.owe(session.label, Raised(code(Refusal.CONNECTION_CLOSED)), "BRIDGE-12")
        case _:
            put_session(run, session._replace(holding=Holding.GONE))
            if session.closer is not None:
                run.owe(session.closer, Returned(), "BRIDGE-08")


def _install(run: Run, session: Session) -> None:
    outcome = session.outcome
    assert outcome is not None
    if isinstance(outcome, Raised):
        clause = loading.answers(run, session) or "BRIDGE-02"
        loading.failed(run, session)
        put_session(run, session._replace(holding=Holding.GONE, answered=True))
        run.owe(session.label, Raised(_told(outcome.code)), clause)
    elif connection_of(run, session.connection).link is not Link.OPEN:
        run.mark("window", BridgeWindow.NEW_AGAINST_CLOSE)
        put_session(run, session._replace(holding=Holding.UNWANTED))
        teardown.join(run, session.label, session.end, ENDED)
    else:
        for former in room_of(run).sessions:
            if former.holding is Holding.HELD and (former.connection, former.id) == (session.connection, session.id):
                put_session(run, former._replace(holding=Holding.GONE))  # somebody else has ended it
        put_session(run, session._replace(holding=Holding.HELD, answered=True, made=True))
        loading.release(run, session)
        run.owe(
            session.label, outcome, loading.answers(run, session) or ("BRIDGE-17" if session.loads else "BRIDGE-01")
        )


def _told(reason: Code) -> Code:
    """Give what a client is told of a failure: of what somebody threw, nothing."""
    return code(Refusal.INTERNAL_ERROR) if is_thrown(reason) else reason


def close(run: Run, op: CloseSession) -> None:
    """Close a session that the client holds, or refuse."""
    session = held_as(run, op.session)
    if session is None:
        run.owe(op.label, Raised(code(Refusal.UNKNOWN_SESSION)), "BRIDGE-09")
        return
    prompts.break_off(run, session.label, "BRIDGE-11")
    put_session(run, session_of(run, session.label)._replace(holding=Holding.CLOSING, closer=op.label))
    teardown.join(run, session.label, session.end, ENDED)


def call_off(run: Run, op: CallOff) -> None:
    """Call off a request that is being worked on; nothing happens to one that was answered."""
    for session in room_of(run).sessions:
        if session.connection != op.connection:
            continue
        if session.slot is not None and session.slot.call == op.call:
            run.mark("window", BridgeWindow.CALLED_OFF)
            prompts.cancel_session(run, session.label, CALLED_OFF, "BRIDGE-22")
        elif session.label == op.call and not session.answered:
            run.mark("window", BridgeWindow.CALLED_OFF)
            dropped = session._replace(holding=Holding.DROPPED, answered=True)
            put_session(run, dropped)
            run.owe(op.call, CALLED_OFF, "BRIDGE-22")
            put_session(run, dropped._replace(called_off=True))
            if session.holding is not Holding.LOOKING:
                teardown.begin(run, session.label, Refusal.LIFECYCLE_DISPOSED, ENDED)
        elif session.closer == op.call and session.holding is Holding.CLOSING:
            run.mark("window", BridgeWindow.CALLED_OFF)
            put_session(run, session._replace(closer=None))
            run.owe(op.call, CALLED_OFF, "BRIDGE-22")
