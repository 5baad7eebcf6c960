"""A world of profile ``sessions`` on the reference: a home on disk, and processes that crash one after the other.

A process is one ``Subject``: a runtime with what the kit put into it. A crash ends it in the middle of a burst. What it
was doing can't be stopped there and then inside of one Python process, so it is cut off instead: from that moment it
reaches neither the record nor the disk, and it is left to end by itself. Its successor is another subject on the same
home. Which of the unsaved records had reached the disk by then is said by the trace, and written as it says.

The files are real, in a temporary directory. Nothing waits for ``fsync`` here: no power fails in the middle of a trace.
The crashes in which that matters, those of real processes killed between a write and its ``fsync``, have a campaign of
their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Self

import probate_reference as reference
from probate_conformance.backends.reference.subject import Subject, fail_on
from probate_model.alphabet.events import Returned
from probate_model.alphabet.gates import FAIL, NOT_FOUND, THROW, GateKind
from probate_model.alphabet.items import BurstItem, WorldSpec
from probate_model.alphabet.names import AgentId
from probate_model.alphabet.ops import Op
from probate_model.alphabet.sessions import Crash, Reload, Restart, Stored, StoredLog, Tail
from probate_reference.calls import close_unawaited
from probate_reference.persistence import Files, Header
from probate_reference.persistence.codec import encode_record
from probate_reference.persistence.persistence import in_place


class _Unhurried(Files):
    """The disk, without waiting for it."""

    def sync(self, descriptor: int) -> None:
        """Go on."""

    def sync_directory(self, path: Path) -> None:
        """Go on."""


class MortalStore(reference.JsonlStore):
    """A store that a dead process does not reach any more."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, _Unhurried())
        self.dead = False

    def create(self, header: Header, records: Sequence[reference.Record]) -> None:
        """Make a log, or nothing if the process is dead."""
        if not self.dead:
            super().create(header, records)

    def append(self, id: str, seq: int, records: Sequence[reference.Record]) -> None:
        """Grow a log, or nothing if the process is dead."""
        if not self.dead:
            super().append(id, seq, records)

    def tear(self, id: str, seq: int, record: reference.Record) -> None:
        """Write half a record."""
        line = encode_record(seq, record)
        with self._path(id).open("ab") as file:
            file.write(line[: len(line) // 2])


class GatedPersistence(reference.Persistence):
    """A persistence whose flushes and loads come to the gates of a trace first."""

    def __init__(self, subject: SessionsSubject, store: MortalStore) -> None:
        super().__init__(store, offload=in_place)
        self._subject = subject
        self._mortal = store

    def flush(self, request: reference.FlushRequest) -> Awaitable[None]:
        """Begin a flush; it goes through its gate before it writes."""
        return self._gated(request, super().flush(request))

    async def _gated(self, request: reference.FlushRequest, saving: Awaitable[None]) -> None:
        try:
            outcome = await self._subject.arrive(GateKind.FLUSH, request.agent)
            fail_on(FAIL, outcome, "flush")
        except BaseException:
            close_unawaited(saving)
            raise
        await saving

    async def load(self, agent: reference.Agent) -> reference.StoredLog:
        """Go through the gate, and load if that says so."""
        outcome = await self._subject.arrive(GateKind.LOAD, agent)
        fail_on(THROW, outcome, "load")
        if outcome == NOT_FOUND:
            raise reference.NotFound("the gate says so")
        return await super().load(agent)

    def die(self, tail: Tail) -> None:
        """Leave on the disk what the trace says of what is not saved, and reach it no more."""
        if tail is not Tail.LOST:
            for bound in self._bound.values():
                if bound.refusal is None:
                    self._leave(bound.session, bound.seeded, tail)
        self._mortal.dead = True

    def _leave(self, session: reference.Session, seeded: int, tail: Tail) -> None:
        """Write what a session had not saved, unless the log under its id is another life's."""
        store, records = self._mortal, session.records
        stored = store.read(session.id).records if store.exists(session.id) else ()
        if len(stored) > seeded or stored != records[: len(stored)] or len(stored) == len(records):
            return
        if tail is Tail.WRITTEN:
            if stored:
                store.append(session.id, len(stored), records[len(stored) :])
            else:
                store.create(Header(session.id, session.metadata), records)
        elif stored:
            store.append(session.id, len(stored), records[len(stored) : -1])
            store.tear(session.id, len(records) - 1, records[-1])


class SessionsSubject(Subject):
    """One process of a world of profile ``sessions``."""

    def __init__(self, spec: WorldSpec, home: Path | None = None, *, bare: bool = False) -> None:
        self._home = Path(mkdtemp(prefix="probate-")) if home is None else home
        self._kept = None if bare else GatedPersistence(self, MortalStore(self._home))
        self._restart: Restart | None = None
        super().__init__(spec)

    def make_runtime(self) -> reference.Runtime:
        """Make a runtime that keeps its logs in the home, unless it is bare."""
        return super().make_runtime() if self._kept is None else self.plain_runtime(persistence=self._kept)

    def begin(self, item: BurstItem) -> None:
        """Carry out the synchronous part of an item."""
        if isinstance(item, Crash):
            if self._kept is not None:
                self._kept.die(item.tail)
            self._restart = item.restart
            self._settled(item.label)
            self.crash()
        else:
            super().begin(item)

    def successor(self) -> Self | None:
        """Give the process that is started after a crash; none if there was none."""
        if self._restart is None:
            return None
        spec = WorldSpec(self._spec.owners)
        after = type(self)(spec, self._home, bare=self._restart is Restart.BARE)
        after.inherit(self)
        return after

    def clear(self) -> None:
        """Remove what the world has left on disk."""
        rmtree(self._home, ignore_errors=True)

    def _op(self, op: Op, this: reference.Agent | None) -> None:
        match op:
            case Reload():
                if self._kept is not None:
                    self._follow(op.label, self._kept.reload())
            case Stored():
                if self._kept is not None:
                    self._follow(op.label, self._look_at(self._kept, op.id))
            case _:
                super()._op(op, this)

    async def _look_at(self, persistence: GatedPersistence, agent_id: AgentId) -> Returned:
        records = (await persistence.read(agent_id)).records
        turns = [record for record in records if isinstance(record, reference.TurnStart | reference.TurnEnd)]
        return Returned(StoredLog(len(records), bool(turns) and isinstance(turns[-1], reference.TurnStart)))
