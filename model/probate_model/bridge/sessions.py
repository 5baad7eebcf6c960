"""Sessions: asked for, installed when their agent is there, and given up with it.

An agent that nobody can reach is one that nobody can end. So a session whose connection was closed while it was being
created is not installed: its agent is disposed, and the client, should it still read, hears why.
"""

from __future__ import annotations

from probate_model import creation, teardown
from probate_model.alphabet.bridge import BRIDGE_OWNER, CloseSession, NewSession
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.names import AgentId, Code
from probate_model.alphabet.ops import ByOwner, Create, Setup
from probate_model.alphabet.refusals import Refusal, code, is_thrown
from probate_model.bridge import prompts
from probate_model.bridge.access import connection_of, put_session, session_of
from probate_model.bridge.state import Holding, Link, Session
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.windows import BridgeWindow

ENDED = demand("BRIDGE-15", edge="BRIDGE-15", status="DISPOSE-03")
"""Why the agent of a session ends that the bridge lets go."""


def begin(run: Run, op: NewSession) -> None:
    """Begin to create the agent of a session that was asked for."""
    put_session(run, Session(op.label, op.connection))
    creation.create(run, Create(op.label, AgentId(op.label), ByOwner(BRIDGE_OWNER), Setup.PLAIN))


def can_advance(session: Session) -> bool:
    """Tell whether a session has something to do."""
    return session.holding is Holding.CREATED or (
        session.over and session.holding in (Holding.UNWANTED, Holding.CLOSING)
    )


def advance(run: Run, session: Session) -> None:
    """Install a session, or answer that it has ended."""
    match session.holding:
        case Holding.CREATED:
            _install(run, session)
        case Holding.UNWANTED:
            put_session(run, session._replace(holding=Holding.GONE, answered=True))
            run.owe(session.label, Raised(code(Refusal.CONNECTION_CLOSED)), "BRIDGE-12")
        case _:
            assert session.closer is not None
            put_session(run, session._replace(holding=Holding.GONE))
            run.owe(session.closer, Returned(), "BRIDGE-08")


def _install(run: Run, session: Session) -> None:
    outcome = session.outcome
    assert outcome is not None
    if isinstance(outcome, Raised):
        put_session(run, session._replace(holding=Holding.GONE, answered=True))
        run.owe(session.label, Raised(_told(outcome.code)), "BRIDGE-02")
    elif connection_of(run, session.connection).link is not Link.OPEN:
        run.mark("window", BridgeWindow.NEW_AGAINST_CLOSE)
        put_session(run, session._replace(holding=Holding.UNWANTED))
        teardown.join(run, session.label, session.end, ENDED)
    else:
        put_session(run, session._replace(holding=Holding.HELD, answered=True, made=True))
        run.owe(session.label, outcome, "BRIDGE-01")


def _told(reason: Code) -> Code:
    """Give what a client is told of a failure: of what somebody threw, nothing."""
    return code(Refusal.INTERNAL_ERROR) if is_thrown(reason) else reason


def close(run: Run, op: CloseSession) -> None:
    """Close a session that the client holds, or refuse."""
    session = session_of(run, op.session)
    if session.holding is not Holding.HELD:
        run.owe(op.label, Raised(code(Refusal.UNKNOWN_SESSION)), "BRIDGE-09")
        return
    prompts.break_off(run, op.session, "BRIDGE-11")
    put_session(run, session_of(run, op.session)._replace(holding=Holding.CLOSING, closer=op.label))
    teardown.join(run, op.session, session.end, ENDED)
