"""Put the agents of a runtime behind the Agent Client Protocol.

A bridge is a part of the embedding program like any other: it owns the agents that it creates, through one
owner. Several clients may be connected to it at a time, each with sessions of its own. What they share is
here: the listeners on the runtime, which find the session of an agent, and the ids that are being loaded.

**The end** has two causes that may come together, a client that goes away and a bridge that is closed, and
each session must end once. So each connection has one teardown, shared by whoever wants it, and closing the
bridge is the teardown of every connection, and the unloading of the owner after that, which takes along
whatever no connection had got hold of yet.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import anyio
from anyio import CancelScope

from probate_reference.calls import Call, leave_frames
from probate_reference.events import AgentError, AgentStatus, LogAppended, Status
from probate_reference.permissions import Permission
from probate_reference.reports import log_report

from .connection import Connection

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, ByteSendStream

    from probate_reference.agent import Agent
    from probate_reference.events import Event
    from probate_reference.live import Live, Piece
    from probate_reference.owners import Owner
    from probate_reference.permissions import PermissionRequest, Permissions
    from probate_reference.reports import Report
    from probate_reference.runtime import Runtime
    from probate_reference.seams import Setup

    from .sessions import Session

__all__ = ("Bridge",)


def _nothing() -> None:
    """Do nothing more."""


class Bridge:
    """Serves the agents of a runtime to ACP clients.

    :param runtime: where the agents live
    :param owner: who owns them, and belongs to this bridge alone; it is loaded if it is not, and unloaded in the end
    :param live: where models tell what they say while they say it
    :param permissions: where tools ask; the bridge answers for its own agents by asking their client
    :param setup: runs in private before an agent of the bridge is published
    :param mint: makes the id of a new session
    :param report: called with what was contained
    :param sleep: the clock that bounds the last words to a client
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        owner: Owner | None = None,
        live: Live | None = None,
        permissions: Permissions | None = None,
        setup: Setup | None = None,
        mint: Callable[[], str] = lambda: str(uuid.uuid4()),
        report: Report = log_report,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self.runtime = runtime
        self.owner = owner or runtime.owner("acp")
        if not self.owner.active:
            self.owner.load()  # by a bridge before us, whose agents may still be ending
        self.setup = setup
        self.mint = mint
        self.report = report
        self.sleep = sleep
        self.loading: set[str] = set()
        self.version = _version()
        self._sessions: dict[Agent, Session] = {}
        self._connections: dict[Connection, None] = {}
        self._closing: Call[None] | None = None
        self._removals = [
            runtime.events.on(self._hear_log, LogAppended.kind),
            runtime.events.on(self._hear_status, AgentStatus.kind),
            runtime.events.on(self._hear_error, AgentError.kind),
        ]
        if live is not None:
            self._removals.append(live.on(self._hear_piece))
        if permissions is not None:
            self._removals.append(permissions.add(self._ask))

    @property
    def closed(self) -> bool:
        """Whether the bridge has begun to close."""
        return self._closing is not None

    @property
    def connections(self) -> int:
        """How many connections are open or still end."""
        return len(self._connections)

    @property
    def sessions(self) -> int:
        """How many sessions clients hold."""
        return len(self._sessions)

    def connect(self, receive: ByteReceiveStream, send: ByteSendStream) -> Connection:
        """Take a client; :meth:`Connection.run` then serves it.

        :param receive: where its lines come from
        :param send: where ours go to
        """
        connection = Connection(self, receive, send)
        self._connections[connection] = None
        if self.closed:
            connection.close()
        return connection

    def close(self) -> Call[None]:
        """End every connection and every agent of the bridge. Every call joins the first.

        :return: a call that never raises and returns when all of it has ended
        """
        if self._closing is None:
            self._closing = Call()
            teardowns: list[Call[None]] = []
            for connection in tuple(self._connections):
                teardowns.append(connection.teardown())
                connection.close()
            teardowns.append(self.owner.unload())
            self.join(teardowns, self._closing, self._remove_listeners)
        return self._closing

    def join(self, calls: list[Call[None]], end: Call[None], then: Callable[[], object] = _nothing) -> None:
        """Settle a call when others have settled; at once, if there are none or the runtime has ended."""
        if not calls or not self.runtime._kernel.spawn(self._join, calls, end, then):
            then()
            end._return(None)

    async def _join(self, calls: list[Call[None]], end: Call[None], then: Callable[[], object]) -> None:
        leave_frames()
        with CancelScope(shield=True):
            for call in calls:
                await call._join()
        then()
        end._return(None)

    def _remove_listeners(self) -> None:
        for remove in self._removals:
            remove()

    # For the connections

    def enter(self, session: Session) -> None:
        """Let a session hear of its agent."""
        self._sessions[session.agent] = session

    def leave(self, session: Session) -> None:
        """Let it hear no more."""
        del self._sessions[session.agent]

    def forget(self, connection: Connection) -> None:
        """Let go of a connection that has ended."""
        self._connections.pop(connection, None)

    # What the runtime tells

    def _hear_log(self, event: Event) -> None:
        assert isinstance(event, LogAppended)
        session = self._sessions.get(event.agent)
        if session is not None:
            session.hear(event.record)

    def _hear_status(self, event: Event) -> None:
        assert isinstance(event, AgentStatus)
        session = self._sessions.get(event.agent)
        if session is not None and event.status is not Status.RUNNING:
            session.rest()

    def _hear_error(self, event: Event) -> None:
        assert isinstance(event, AgentError)
        session = self._sessions.get(event.agent)
        if session is not None:
            session.fail(event.error)

    def _hear_piece(self, piece: Piece) -> None:
        session = self._sessions.get(piece.agent)
        if session is not None:
            session.piece(piece)

    def _ask(self, request: PermissionRequest) -> Awaitable[Permission] | None:
        agent = request.context.agent
        session = None if agent is None else self._sessions.get(agent)
        # A question that does not belong to a call of a turn cannot be shown to a client.
        if session is None or not request.context.number:
            return None
        return session.ask(request)


def _version() -> str:
    try:
        return version("probate")
    except PackageNotFoundError:
        return "0"
