"""Connections: what a client writes is read in order, and all that it held ends with it.

A connection is closed by whoever is first, a client that goes away or a bridge that is closed, and has one teardown,
which everybody joins: it takes all sessions out, and then, for each, settles the prompt and begins to dispose the
agent, in one stretch. A client that has ended its output still reads, so what it has asked is answered; what was
written and never read is answered by the end of the connection.
"""

from __future__ import annotations

from probate_model import owners, teardown
from probate_model.alphabet.bridge import (
    BRIDGE_OWNER,
    BridgeOp,
    CallOff,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
)
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import UnloadOwner
from probate_model.alphabet.refusals import Refusal, code
from probate_model.bridge import loading, prompts, sessions
from probate_model.bridge.access import (
    connection_of,
    entered,
    find_connection,
    find_session,
    held_as,
    put,
    put_connection,
    put_session,
    room_of,
    session_of,
)
from probate_model.bridge.state import UNLOAD, BridgeRoom, Closing, Connection, Holding, Link
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.windows import BridgeWindow

_CONNECTED = demand("CALL-02")
_WRITTEN = demand("CALL-02")


def connect(run: Run, op: Connect) -> bool:
    """Carry out the op; a bridge that closes takes a client and closes the connection at once."""
    room = entered(run)
    if room is None:
        return False
    put_connection(run, Connection(op.label, Link.OPEN if room.closing is Closing.NO else Link.CLOSED))
    run.settled(op.label, Returned(), _CONNECTED)
    return True


def write(run: Run, op: BridgeOp) -> bool:
    """Write what a client says; void if it can't say that."""
    connection = _speaker(run, op)
    if connection is None or connection.ended or connection.link is Link.GONE:
        return False
    put_connection(run, connection._replace(lines=(*connection.lines, op)))
    if isinstance(op, CancelSession | CallOff):
        run.settled(op.label, Returned(), _WRITTEN)
    return True


def _speaker(run: Run, op: BridgeOp) -> Connection | None:
    if isinstance(op, NewSession | LoadSession | ResumeSession | CallOff):
        return find_connection(run, op.connection)
    assert isinstance(op, Prompt | CancelSession | CloseSession)
    session = find_session(run, op.session)
    return connection_of(run, session.connection) if session is not None and session.known else None


def disconnect(run: Run, op: Disconnect) -> bool:
    """Carry out the begin of the op: the client ends its output."""
    connection = find_connection(run, op.connection)
    if connection is None or connection.ended or connection.link is Link.GONE:
        return False
    connection = connection._replace(lines=(*connection.lines, op), ended=True)
    if connection.link is Link.CLOSING:
        run.mark("window", BridgeWindow.DISCONNECT_IN_CLOSE)
    if connection.link is Link.CLOSED:
        run.owe(op.label, Returned(), "BRIDGE-13")
    else:
        connection = connection._replace(callers=(*connection.callers, op.label))
    put_connection(run, connection)
    return True


# Reading.


def read(run: Run, label: Label, *, everything: bool) -> None:
    """Read the next line, or all that there are, as long as the connection is open; that no more come is read alone."""
    while (connection := connection_of(run, label)).lines and connection.link is Link.OPEN:
        op, *rest = connection.lines
        put_connection(run, connection._replace(lines=tuple(rest)))
        _carry_out(run, op)
        if not everything or (rest and isinstance(rest[0], Disconnect)):
            return


def ends(connection: Connection) -> bool:
    """Tell whether all there is to read is that no more comes."""
    return isinstance(connection.lines[0], Disconnect)


def may_arrive_apart(connection: Connection) -> bool:
    """Tell whether there are several lines to read."""
    return sum(not isinstance(line, Disconnect) for line in connection.lines) > 1


def _carry_out(run: Run, op: BridgeOp) -> None:
    match op:
        case NewSession():
            sessions.begin(run, op)
        case LoadSession() | ResumeSession():
            loading.begin(run, op)
        case Prompt():
            prompts.take(run, op)
        case CancelSession():
            if (session := held_as(run, op.session)) is not None:
                prompts.cancel_session(run, session.label)
        case CallOff():
            sessions.call_off(run, op)
        case CloseSession():
            sessions.close(run, op)
        case Disconnect():
            tear_down(run, op.connection)
        case _:
            raise AssertionError(op)


def stays_open(room: BridgeRoom, label: Label) -> bool:
    """Tell whether a connection is open, and nothing that was written closes it or calls something off."""
    connection = next(one for one in room.connections if one.label == label)
    return connection.link is Link.OPEN and not any(isinstance(line, Disconnect | CallOff) for line in connection.lines)


def is_open(room: BridgeRoom, label: Label) -> bool:
    """Tell whether a connection is open."""
    return any(one.label == label and one.link is Link.OPEN for one in room.connections)


def names(room: BridgeRoom, label: Label) -> set[Label | None]:
    """Give the agents and the calls that reading what was written may lead to something of."""
    connection = next(one for one in room.connections if one.label == label)
    found: set[Label | None] = {line.label for line in connection.lines}
    for session in room.sessions:
        if session.connection == label:
            found.update(session.names)
    return found | set(connection.callers)


# The end.


def tear_down(run: Run, label: Label) -> None:
    """Begin the one teardown of a connection, if nobody has."""
    connection = connection_of(run, label)
    if connection.link is not Link.OPEN:
        return
    own = [one for one in room_of(run).sessions if one.connection == label]
    held = [one for one in own if one.holding is Holding.HELD]
    closing = [one for one in own if one.holding is Holding.CLOSING and not one.over]
    if any(one.holding in (Holding.CREATING, Holding.CREATED, Holding.LOOKING) for one in own):
        run.mark("window", BridgeWindow.CLOSE_IN_NEW)
    awaited = tuple(one.end for one in (*closing, *held))
    put_connection(run, connection._replace(link=Link.CLOSING, awaited=awaited))
    for one in held:
        put_session(run, session_of(run, one.label)._replace(holding=Holding.GONE))
    for one in held:
        if session_of(run, one.label).slot is not None:
            run.mark("window", BridgeWindow.CLOSE_IN_PROMPT)
        prompts.break_off(run, one.label, "BRIDGE-11")
        teardown.join(run, one.label, one.end, sessions.ENDED)


def ended(run: Run, label: Label, end: Label) -> None:
    """Note that the teardown of a connection has one end less to wait for."""
    connection = connection_of(run, label)
    put_connection(run, connection._replace(awaited=tuple(one for one in connection.awaited if one != end)))


def can_advance(room: BridgeRoom, connection: Connection) -> bool:
    """Tell whether a connection that is closed has something to do."""
    match connection.link:
        case Link.CLOSING:
            return not connection.awaited
        case Link.CLOSED:
            return not _unanswered(room, connection.label)
        case _:
            return False


def _unanswered(room: BridgeRoom, label: Label) -> bool:
    """Tell whether a request of the client is still being worked on; a prompt or a close is none any more here."""
    return any(one.connection == label and not one.answered for one in room.sessions)


def advance(run: Run, label: Label) -> None:
    """End the teardown of a connection, or hang up."""
    connection = connection_of(run, label)
    if connection.link is Link.CLOSING:
        put_connection(run, connection._replace(link=Link.CLOSED, callers=()))
        for caller in connection.callers:
            run.owe(caller, Returned(), "BRIDGE-13")
        return
    put_connection(run, connection._replace(link=Link.GONE, lines=()))
    for line in connection.lines:
        if not isinstance(line, CancelSession | CallOff | Disconnect):
            run.owe(line.label, Raised(code(Refusal.CONNECTION_CLOSED)), "BRIDGE-14")


# The bridge.


def close_bridge(run: Run, op: CloseBridge) -> bool:
    """Carry out the begin of the op: tear down every connection, and unload the owner; every call joins the first."""
    room = entered(run)
    if room is None:
        return False
    if room.closing is Closing.DONE:
        run.owe(op.label, Returned(), "BRIDGE-13")
        return True
    put(run, room._replace(closers=(*room.closers, op.label)))
    if room.closing is Closing.NO:
        put(run, room_of(run)._replace(closing=Closing.BEGUN))
        for connection in room.connections:
            if connection.link is Link.CLOSING:
                run.mark("window", BridgeWindow.CLOSE_IN_DISCONNECT)
            tear_down(run, connection.label)
        owners.unload_owner(run, UnloadOwner(UNLOAD, BRIDGE_OWNER))
    return True


def bridge_can_end(room: BridgeRoom) -> bool:
    """Tell whether the close of the bridge has nothing left to wait for."""
    return room.closing is Closing.UNLOADED and all(one.link >= Link.CLOSED for one in room.connections)


def end_bridge(run: Run) -> None:
    """End the close of the bridge."""
    room = room_of(run)
    put(run, room._replace(closing=Closing.DONE, closers=()))
    for caller in room.closers:
        run.owe(caller, Returned(), "BRIDGE-13")
