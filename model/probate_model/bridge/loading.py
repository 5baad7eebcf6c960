"""Loading: a stored session goes on for a client that asks for it by its id.

While somebody looks whether it can, the id is reserved, so that two requests never load it twice; and the reservation
ends with the request, however that ends, or the id would be out of reach for good. That the client means another folder
than the session worked in is seen before there is an agent.
"""

from __future__ import annotations

from probate_model import registry
from probate_model.alphabet.bridge import BRIDGE_OWNER, Folder, LoadSession, ResumeSession
from probate_model.alphabet.events import Raised
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import ByOwner, Resume, Setup
from probate_model.alphabet.refusals import Refusal, code
from probate_model.bridge.access import connection_of, put, put_session, room_of, session_of
from probate_model.bridge.state import Holding, Link, Session
from probate_model.run import Run
from probate_model.sessions import resuming
from probate_model.windows import BridgeWindow


def begin(run: Run, op: LoadSession | ResumeSession) -> None:
    """Reserve the id of a stored session that was asked for, or refuse."""
    room = room_of(run)
    if op.id in room.loading or registry.holds_session(run, op.id):
        if op.id in room.loading:
            run.mark("window", BridgeWindow.LOAD_IN_LOAD)
        run.owe(op.label, Raised(code(Refusal.ID_EXISTS)), "BRIDGE-20")
    elif op.folder is Folder.RELATIVE:
        run.owe(op.label, Raised(code(Refusal.INVALID_PARAMS)), "BRIDGE-18")
    else:
        put(run, room._replace(loading=(*room.loading, op.id)))
        put_session(run, Session(op.label, op.connection, op.id, True, op.folder, Holding.LOOKING))


def look(run: Run, label: Label) -> None:
    """Look whether a session can be loaded, and begin that."""
    session = session_of(run, label)
    stored = run.rooms.sessions
    assert stored is not None
    if stored.log(session.id) is None:
        _refuse(run, session, Refusal.UNKNOWN_SESSION, "BRIDGE-19")
    elif session.folder is not Folder.SAME or not _has_folder(run, session):
        _refuse(run, session, Refusal.INVALID_PARAMS, "BRIDGE-18")
    elif connection_of(run, session.connection).link is not Link.OPEN:
        _refuse(run, session, Refusal.CONNECTION_CLOSED, "BRIDGE-12")
    else:
        put_session(run, session._replace(holding=Holding.CREATING))
        resuming.resume(run, Resume(label, session.id, ByOwner(BRIDGE_OWNER), Setup.PLAIN))


def _has_folder(run: Run, session: Session) -> bool:
    """Tell whether it is known where a stored session works: whether a client had asked for it when it was new."""
    return any(one.id == session.id and not one.loads for one in room_of(run).sessions)


def _refuse(run: Run, session: Session, why: Refusal, clause: str) -> None:
    failed(run, session)
    put_session(run, session._replace(holding=Holding.GONE, answered=True))
    run.owe(session.label, Raised(code(why)), clause)


def failed(run: Run, session: Session) -> None:
    """Let go of the id of a session that was not loaded."""
    if session.loads:
        release(run, session)
        put(run, room_of(run)._replace(failed=tuple(sorted({*room_of(run).failed, session.id}))))


def release(run: Run, session: Session) -> None:
    """Let go of the id of a session, if it was reserved."""
    room = room_of(run)
    put(run, room._replace(loading=tuple(one for one in room.loading if one != session.id)))


def answers(run: Run, session: Session) -> str | None:
    """Give the clause of the answer to a load that comes after one which has failed."""
    return "BRIDGE-21" if session.loads and session.id in room_of(run).failed else None
