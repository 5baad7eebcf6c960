"""Decide which live session may write to which log, and see that what was flushed is on the disk.

The live session is the authority: it has all its records, and a log is a prefix of them that grows with each flush. So
there is no buffer beside the session that could be emptied too early; there is one number, how many of its records are
safe, and it moves only after the store has said so. A flush that failed has moved nothing, and the next one writes all
of it.

A session *claims* its log when it has something to write for the first time, not when it is created, so an agent that
never said anything leaves nothing behind. If there is no log under its id, one is made, with its first batch. If there
is one, it must be the session's own: what stands in it must be what the session began with, when it was resumed. A
session that was created afresh began with nothing, so any log under its id belongs to somebody else. Then the session
lives on but none of its records is kept: the flush fails, as will each later one, and the log is not touched. Who may
claim is asked of the session object, never of the id alone, since an id is used again.

About one id one thing is done at a time, in the order in which it was asked for, and about different ids side by side.
A store blocks, so it is asked in worker threads. Nothing that writes is cancelled half-way.

When an agent ends, whatever a failed flush has left is tried again before its session leaves the store. When the
runtime ends, it is tried once more; what cannot be written then is lost, and that is raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from anyio import CancelScope, Event, Lock, to_thread

from probate_reference.refusals import IdExists, LogExists, SessionLive

from .errors import NotDurable, StorageError
from .repair import closers
from .store import Header, StoredLog

if TYPE_CHECKING:
    from probate_reference.agent import Agent
    from probate_reference.seams import FlushRequest
    from probate_reference.session import Session

    from .store import Store, StoredSession

__all__ = ("Offload", "Persistence", "in_place", "in_threads")

T = TypeVar("T")


class Offload(Protocol):
    """Runs a blocking function somewhere and returns what it returns."""

    def __call__(self, function: Callable[[], T], /, *, abandon: bool) -> Awaitable[T]:
        """Run it.

        :param abandon: whether, when the caller is cancelled, it may be left to end by itself
        """


async def in_threads(function: Callable[[], T], /, *, abandon: bool) -> T:
    """Run a function in a worker thread."""
    return await to_thread.run_sync(function, abandon_on_cancel=abandon)


async def in_place(function: Callable[[], T], /, *, abandon: bool) -> T:  # noqa: ARG001
    """Run a function here and now, and block the event loop meanwhile."""
    return function()


class _Bound:
    """A session and how far it is saved.

    :ivar seeded: how many records, from the first, a log may have that is the session's own
    :ivar claimed: whether the log is known to be the session's own
    :ivar promised: how many records the flushes that have begun are to make safe
    :ivar saved: how many records are safe
    :ivar refusal: why the session may not write, for good
    """

    __slots__ = ("claimed", "promised", "refusal", "saved", "seeded", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.seeded = self.saved = self.promised = len(session)
        self.claimed = False
        self.refusal: LogExists | None = None

    def write(self, store: Store, upto: int) -> None:
        """Save the records before ``upto``."""
        if self.refusal is not None:
            raise self.refusal
        if self.saved >= upto:
            return
        try:
            self._write(store, upto)
        except OSError as failure:
            raise StorageError(f"cannot write the log of session {self.session.id!r}: {failure}") from failure

    def _write(self, store: Store, upto: int) -> None:
        session = self.session
        if not self.claimed and store.exists(session.id):
            self.claim(store)
        # Whatever a write that fails may leave behind is the session's own.
        self.seeded = max(self.seeded, upto)
        if not self.claimed:
            store.create(Header(session.id, session.metadata), session._records[:upto])
        else:
            # Also with nothing to add: what was just found there need not be on the disk yet.
            store.append(session.id, self.saved, session._records[self.saved : upto])
        self.claimed = True
        self.saved = max(self.saved, upto)

    def claim(self, store: Store) -> None:
        """Take the log as the session's own, if it is.

        :raises LogExists: if it is not
        """
        session = self.session
        if self.seeded:
            stored = store.read(session.id)
            count = len(stored.records)
            if (
                count <= self.seeded
                and list(stored.records) == session._records[:count]
                and dict(stored.header.metadata) == dict(session.metadata)
            ):
                self.claimed = True
                self.saved = count
                return
        self.refusal = LogExists(f"session {session.id!r} has a log already, of another life: resume it instead")
        raise self.refusal


class Persistence:
    """Makes the logs of a runtime's sessions durable.

    :param store: where the logs are kept
    :param offload: where the store's blocking calls run
    """

    def __init__(self, store: Store, *, offload: Offload = in_threads) -> None:
        self._store = store
        self._offload = offload
        self._bound: dict[str, _Bound] = {}
        self._left: dict[str, list[_Bound]] = {}
        self._chains: dict[str | None, Lock] = {}
        self._asked: Counter[str | None] = Counter()
        self._paused: Event | None = None
        self._resting: Event | None = None

    # What an embedder asks

    async def list(self) -> tuple[StoredSession, ...]:
        """Return the sessions that have a log, live ones included, by id.

        A session that has never been flushed has none. Cancellation is safe.
        """
        async with self._turn(None):
            return await self._offload(self._store.list, abandon=True)

    async def read(self, id: str) -> StoredLog:
        """Return a log as it stands, and change nothing; of a live session it may lack the newest records.

        Cancellation is safe.

        :raises NotFound: if the id has no log
        :raises StorageError: if the log cannot be read
        """
        async with self._turn(id):
            return await self._offload(partial(self._store.read, id), abandon=True)

    async def exists(self, id: str) -> bool:
        """Return whether an id has a log, be it one that cannot be read.

        A listing does not tell: what cannot be read is not in it. Cancellation is safe.

        :raises StorageError: if the store cannot say
        """
        async with self._turn(id):
            return await self._offload(partial(self._store.exists, id), abandon=True)

    async def delete(self, id: str) -> None:
        """Remove the log of a session that is not live. It is not cancelled half-way.

        :raises SessionLive: if a live session has this id
        :raises NotFound: if the id has no log
        """
        async with self._turn(id):
            if id in self._bound:
                raise SessionLive(f"session {id!r} is live: dispose its agent first")
            self._left.pop(id, None)
            await self._surely(partial(self._store.delete, id))

    async def reload(self, store: Store | None = None) -> None:
        """Close the store and open it, or another one, again, while sessions live on.

        Everything that the sessions have logged is written first, also inside an open turn. Each session then claims
        its log anew; a turn that is open stays open, since the session is the authority and will close it itself.
        It is not cancelled half-way.

        :param store: the store to go on with; the same one if ``None``
        :raises StorageError: if the store cannot be opened; then flushes fail until a later reload has succeeded
        :raises NotDurable: if records could be written neither before nor after; the next flush tries again
        """
        with CancelScope(shield=True):
            async with self._rest():
                failures = await self._offload(self._drain, abandon=False)
                await self._offload(self._store.close, abandon=False)
                if store is not None:
                    self._store = store
                for bound in self._everything():
                    bound.claimed = False
                    bound.saved = 0
                await self._offload(self._store.open, abandon=False)
                if failures:
                    failures = await self._offload(self._drain, abandon=False)
        if failures:
            raise NotDurable(failures)

    # What the runtime asks

    async def open(self) -> None:
        """Open the store.

        :raises StorageError: if it cannot be used
        """
        await self._surely(self._store.open)

    def attach(self, session: Session) -> None:
        """Keep a session that has just become live: what it has now is what it began with."""
        self._bound[session.id] = _Bound(session)

    def flush(self, request: FlushRequest) -> Awaitable[None]:
        """Save what a session's log holds now; it is on the disk when what is returned has been awaited.

        It is awaited in a later step. If another flush has begun by then, its records are saved as well.

        :return: raises :class:`LogExists` if the log under the id is not the session's own, and :class:`StorageError`
            if it cannot be written; the records are kept then, and the next flush tries again
        """
        bound = self._bound.get(request.session.id)
        if bound is None or bound.session is not request.session:
            raise StorageError(f"session {request.session.id!r} is not live")
        bound.promised = max(bound.promised, request.upto)
        return self._flush(bound)

    async def _flush(self, bound: _Bound) -> None:
        async with self._turn(bound.session.id):
            await self._surely(partial(self._save, bound, bound.promised))

    async def retire(self, session: Session) -> None:
        """Save what is left of a session whose driver has ended, and let go of it.

        :raises StorageError: if that fails; it is kept until the store is closed
        """
        async with self._turn(session.id):
            bound = self._bound.get(session.id)
            if bound is None or bound.session is not session:
                return
            del self._bound[session.id]
            try:
                if bound.refusal is None:
                    await self._surely(partial(self._save, bound, len(session)))
            except LogExists:
                raise
            except Exception:
                # The store forgets where it stood, so the log must be looked at again.
                bound.claimed = False
                self._left.setdefault(session.id, []).append(bound)
                raise
            finally:
                self._store.forget(session.id)

    async def load(self, agent: Agent) -> StoredLog:
        """Read the log from which an agent is to be resumed, and close what a crash has left open in it.

        Waiting and reading can be cancelled; the repair cannot.

        :param agent: the agent that is being made; its session has no records yet
        :raises IdExists: if a session with this id is live
        :raises NotFound: if the id has no log
        :raises StorageError: if the log cannot be read or not be repaired
        """
        async with self._turn(agent.id):
            if agent.id in self._bound:
                raise IdExists(f"session {agent.id!r} already exists")
            await self._surely(partial(self._save_left, agent.id))
            stored = await self._offload(partial(self._store.read, agent.id), abandon=True)
            ends = closers(stored.records)
            if ends or stored.torn:
                await self._surely(partial(self._store.append, agent.id, len(stored.records), ends))
                stored = StoredLog(stored.header, stored.records + ends)
            return stored

    async def close(self) -> None:
        """Write what is left, wait for everything, and close the store. It is not cancelled half-way.

        :raises NotDurable: if records could not be written
        """
        with CancelScope(shield=True):
            async with self._rest():
                failures = await self._offload(self._drain, abandon=False)
                await self._offload(self._store.close, abandon=False)
        if failures:
            raise NotDurable(failures)

    # One thing at a time

    @asynccontextmanager
    async def _turn(self, id: str | None) -> AsyncIterator[None]:
        """Wait until nothing else is done about an id, or about none in particular, and keep the store open."""
        while self._paused is not None:
            await self._paused.wait()
        self._asked[id] += 1
        chain = self._chains.setdefault(id, Lock(fast_acquire=True))
        try:
            async with chain:
                yield
        finally:
            self._asked[id] -= 1
            if not self._asked[id]:
                del self._asked[id], self._chains[id]
            if not self._asked and self._resting is not None:
                self._resting.set()

    @asynccontextmanager
    async def _rest(self) -> AsyncIterator[None]:
        """Wait until nothing is done about any id, and let nothing begin meanwhile."""
        while self._paused is not None:
            await self._paused.wait()
        paused = self._paused = Event()
        try:
            if self._asked:
                self._resting = Event()
                await self._resting.wait()
            yield
        finally:
            self._paused = self._resting = None
            paused.set()

    async def _surely(self, function: Callable[[], T]) -> T:
        with CancelScope(shield=True):
            return await self._offload(function, abandon=False)
        raise AssertionError("nobody can cancel a scope that nobody knows")

    # What runs in a worker thread

    def _save(self, bound: _Bound, upto: int) -> None:
        if not bound.claimed:
            self._save_left(bound.session.id)
        bound.write(self._store, upto)

    def _save_left(self, id: str) -> None:
        """Save what an earlier session with this id could not, before anybody else writes or reads its log."""
        left = self._left.get(id, [])
        while left:
            left[0].write(self._store, len(left[0].session))
            del left[0]
        self._left.pop(id, None)

    def _everything(self) -> tuple[_Bound, ...]:
        return (*(bound for left in self._left.values() for bound in left), *self._bound.values())

    def _drain(self) -> dict[str, BaseException]:
        failures: dict[str, BaseException] = {}
        for bound in self._everything():
            try:
                if bound.refusal is None:
                    bound.write(self._store, len(bound.session))
            except LogExists:
                continue
            except Exception as failure:
                failures.setdefault(bound.session.id, failure)
        return failures
