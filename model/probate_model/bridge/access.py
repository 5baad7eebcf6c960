"""Finding and replacing parts of the bridge's room, in a run."""

from __future__ import annotations

from probate_model.alphabet.names import Label
from probate_model.bridge.state import BridgeRoom, Connection, Holding, Session
from probate_model.run import Run


def entered(run: Run) -> BridgeRoom | None:
    """Give the room as it is at this moment; none if the trace is of another profile."""
    return run.rooms.bridge


def room_of(run: Run) -> BridgeRoom:
    """Give the room of a trace that is known to be of the profile."""
    room = run.rooms.bridge
    assert room is not None
    return room


def put(run: Run, room: BridgeRoom) -> None:
    """Replace the room."""
    run.rooms = run.rooms._replace(bridge=room)


def find_connection(run: Run, label: Label) -> Connection | None:
    """Give a connection; none if there is none of this label."""
    room = entered(run)
    if room is None:
        return None
    return next((one for one in room.connections if one.label == label), None)


def connection_of(run: Run, label: Label) -> Connection:
    """Give a connection that is known to be there."""
    found = find_connection(run, label)
    assert found is not None
    return found


def put_connection(run: Run, connection: Connection) -> None:
    """Replace a connection, or add one."""
    others = room_of(run).connections
    if any(one.label == connection.label for one in others):
        others = tuple(connection if one.label == connection.label else one for one in others)
    else:
        others = (*others, connection)
    put(run, room_of(run)._replace(connections=others))


def find_session(run: Run, label: Label) -> Session | None:
    """Give a session; none if there is none of this label."""
    room = entered(run)
    if room is None:
        return None
    return next((one for one in room.sessions if one.label == label), None)


def session_of(run: Run, label: Label) -> Session:
    """Give a session that is known to be there."""
    found = find_session(run, label)
    assert found is not None
    return found


def held_as(run: Run, label: Label) -> Session | None:
    """Give the session that a client holds by the name of this one, which is its id; none if it holds none."""
    named = session_of(run, label)
    for session in room_of(run).sessions:
        if session.holding is Holding.HELD and (session.connection, session.id) == (named.connection, named.id):
            return session
    return None


def put_session(run: Run, session: Session) -> None:
    """Replace a session, or add one."""
    others = room_of(run).sessions
    if any(one.label == session.label for one in others):
        others = tuple(session if one.label == session.label else one for one in others)
    else:
        others = (*others, session)
    put(run, room_of(run)._replace(sessions=others))
