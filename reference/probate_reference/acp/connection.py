"""Serve one client: the verbs of the protocol, and the end of everything that it holds.

Each verb does its begin when its line is read, so the next line finds it done. What it then waits for may
outlive the connection. A session that comes into being after the connection was closed is disposed at once
and the client, should it still read, gets an error: an agent that nobody can reach is an agent that
nobody can end.

The teardown takes every session out first and then, for each, in the order in which they were asked for,
settles its prompt and begins to dispose its agent. What the agents' turns then still say finds no slot.
Whoever wants the teardown joins the one there is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from anyio import CancelScope

from probate_reference.calls import Call, returned
from probate_reference.jsonrpc import CloseCause, ErrorCode, Incoming, Peer, RpcError
from probate_reference.persistence import StorageError
from probate_reference.refusals import IdExists, Refusal

from . import library, parameters, protocol
from .sessions import Session

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, ByteSendStream

    from probate_reference.creation import Creation
    from probate_reference.persistence import Persistence

    from .bridge import Bridge

__all__ = ("Connection",)


class Connection:
    """A client that is connected to a bridge; made by :meth:`Bridge.connect`."""

    def __init__(self, bridge: Bridge, receive: ByteReceiveStream, send: ByteSendStream) -> None:
        self._bridge = bridge
        self._sessions: dict[str, Session] = {}
        self._places = count()
        self._ending: set[Call[None]] = set()
        self._teardown: Call[None] | None = None
        self._verbs: dict[str, Callable[[Incoming], Awaitable[object]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/prompt": self._prompt,
            "session/close": self._close_session,
        }
        if bridge.runtime.persistence is not None:
            self._verbs |= {
                "session/load": partial(self._go_on, replays=True),
                "session/resume": partial(self._go_on, replays=False),
                "session/list": self._list,
                "session/delete": self._delete,
            }
        self._peer = Peer(
            receive,
            send,
            on_request=self._request,
            on_notification=self._notification,
            on_closed=lambda _cause: self.teardown(),
            report=bridge.report,
            sleep=bridge.sleep,
        )

    @property
    def closed(self) -> Call[CloseCause]:
        """A call that returns why the connection was closed, when it is."""
        return self._peer.closed

    @property
    def sessions(self) -> int:
        """How many sessions the client holds."""
        return len(self._sessions)

    async def run(self) -> None:
        """Serve the client until it has gone and everything that it held has ended.

        If this is cancelled, the teardown has begun when it returns, and goes on.
        """
        try:
            await self._peer.run()
        finally:
            self._bridge.forget(self)

    def close(self) -> None:
        """Read nothing more from the client, and begin the teardown."""
        self._peer.close()

    def teardown(self) -> Call[None]:
        """Begin to end every session of the client. Every call joins the first.

        :return: a call that never raises and returns when all of them have ended
        """
        if self._teardown is None:
            self._teardown = Call()
            sessions, self._sessions = sorted(self._sessions.values(), key=lambda one: one.place), {}
            for session in sessions:
                self._bridge.leave(session)
            ends = [*self._ending, *(session.dispose() for session in sessions)]
            self._bridge.join(ends, self._teardown)
        return self._teardown

    # Dispatch

    def _request(self, incoming: Incoming) -> Awaitable[object]:
        verb = self._verbs.get(incoming.method)
        if verb is None:
            raise RpcError(ErrorCode.METHOD_NOT_FOUND, f"method not found: {incoming.method:.100}")
        return verb(incoming)

    def _notification(self, method: str, params: Mapping[str, object]) -> None:
        if method == "session/cancel":
            name = params.get("sessionId")
            if isinstance(name, str) and (session := self._sessions.get(name)) is not None:
                session.cancel()

    def _require_open(self, doing: str) -> None:
        if self._teardown is not None:
            raise RpcError(ErrorCode.INTERNAL_ERROR, f"disposed: the connection was closed before {doing}")

    def _session(self, params: Mapping[str, object]) -> Session:
        name = parameters.text(params, "sessionId")
        session = self._sessions.get(name)
        if session is None:
            raise RpcError(ErrorCode.NOT_FOUND, "unknown session", {"sessionId": name})
        return session

    # Verbs

    def _initialize(self, incoming: Incoming) -> Awaitable[object]:
        parameters.integer(incoming.params, "protocolVersion")
        return returned(
            protocol.initialized(version=self._bridge.version, durable=self._bridge.runtime.persistence is not None)
        )

    def _authenticate(self, incoming: Incoming) -> Awaitable[object]:  # noqa: ARG002
        return returned({})

    def _new(self, incoming: Incoming) -> Awaitable[object]:
        self._require_open("session/new")
        folder = parameters.session_folder(incoming.params)
        bridge = self._bridge
        creation = bridge.owner.create(bridge.mint(), setup=bridge.setup, metadata={library.FOLDER: folder})
        incoming.on_cancel(creation.withdraw)
        return self._answer_new(incoming, creation, next(self._places))

    async def _answer_new(self, incoming: Incoming, creation: Creation, place: int) -> object:
        session = await self._install(incoming, creation, place)
        return {"sessionId": session.id}

    def _go_on(self, incoming: Incoming, *, replays: bool) -> Awaitable[object]:
        self._require_open(incoming.method)
        name = parameters.text(incoming.params, "sessionId")
        if name in self._bridge.loading or name in self._bridge.runtime.sessions:
            raise RpcError(ErrorCode.INVALID_REQUEST, "already loaded", {"sessionId": name})
        folder = parameters.session_folder(incoming.params)
        self._bridge.loading.add(name)
        return self._answer_go_on(incoming, name, folder, replays, next(self._places))

    async def _answer_go_on(self, incoming: Incoming, name: str, folder: str, replays: bool, place: int) -> object:
        try:
            await library.require_folder(self._persistence, name, folder)
            self._require_open(incoming.method)
            if incoming.answered:  # it was called off
                return None
            creation = self._bridge.owner.resume(name, setup=self._bridge.setup)
            incoming.on_cancel(creation.withdraw)
            session = await self._install(incoming, creation, place)
        finally:
            self._bridge.loading.discard(name)
        if replays:
            await session.replay()
        return {}

    async def _install(self, incoming: Incoming, creation: Creation, place: int) -> Session:
        """Wait for an agent and take it as a session of the client, or see it gone."""
        try:
            handle = await creation
        except IdExists as refusal:
            raise RpcError(ErrorCode.INVALID_REQUEST, f"already loaded: {refusal}", {"code": refusal.code}) from refusal
        except Refusal as refusal:
            raise RpcError(ErrorCode.INTERNAL_ERROR, str(refusal), {"code": refusal.code}) from refusal
        except StorageError as failure:
            raise RpcError(ErrorCode.INTERNAL_ERROR, str(failure)) from failure
        except BaseException:
            _ = creation.withdraw()
            raise
        if self._teardown is not None or incoming.answered:
            with CancelScope(shield=True):
                await handle.dispose()
            raise RpcError(ErrorCode.INTERNAL_ERROR, f"connection closed during {incoming.method}")
        session = Session(handle, self._peer, place)
        former = self._sessions.get(session.id)
        if former is not None:  # somebody else has ended it
            self._bridge.leave(former)
        self._sessions[session.id] = session
        self._bridge.enter(session)
        return session

    def _prompt(self, incoming: Incoming) -> Awaitable[object]:
        self._require_open("session/prompt")
        return self._session(incoming.params).prompt(incoming)

    def _close_session(self, incoming: Incoming) -> Awaitable[object]:
        session = self._session(incoming.params)
        del self._sessions[session.id]
        end = session.dispose()
        self._bridge.leave(session)
        self._ending = {one for one in self._ending if not one.done} | {end}
        return self._answer_close(end)

    async def _answer_close(self, end: Call[None]) -> object:
        await end
        return {}

    def _list(self, incoming: Incoming) -> Awaitable[object]:
        folder = None if incoming.params.get("cwd") is None else parameters.absolute_path(incoming.params, "cwd")
        return library.list_page(self._persistence, folder, parameters.optional_text(incoming.params, "cursor"))

    def _delete(self, incoming: Incoming) -> Awaitable[object]:
        name = parameters.text(incoming.params, "sessionId")
        if name in self._bridge.loading:
            raise RpcError(ErrorCode.INVALID_REQUEST, "the session is being loaded", {"sessionId": name})
        return self._answer_delete(name)

    async def _answer_delete(self, name: str) -> object:
        await library.delete(self._persistence, name)
        return {}

    @property
    def _persistence(self) -> Persistence:
        persistence = self._bridge.runtime.persistence
        assert persistence is not None
        return persistence
