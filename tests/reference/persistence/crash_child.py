"""The process that is killed: a forge that forks a worker for each crash, and the worker's life.

Each worker is a process of its own with real files, and ends by ``SIGKILL``, which it sends to itself at a point that
is counted and never timed: after the n-th write (or in the middle of it), after the n-th other operation that matters
for durability, or at the n-th arrival at a gate. Forking from a process that has imported everything already is what
makes a thousand of them a matter of seconds.

SQLite writes by itself, where nobody can count but the system, which ends a process that writes past a size, by
``SIGXFSZ``, in the middle of that write. So its writes are counted in bytes of its write-ahead log, between two pages
or within one, and what else it does in statements.

Everything that a worker does goes to a pipe first: each record that it logs, each operation on the disk, each flush
that was acknowledged. So whoever started it knows what it must find afterwards.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import anyio

from probate_reference import (
    Agent,
    Event,
    FlushRequest,
    FunctionTool,
    JsonlStore,
    LogAppended,
    ModelRequest,
    Persistence,
    Refusal,
    Reply,
    Runtime,
    SessionCreated,
    Signal,
    SqliteStore,
    Store,
    StoredLog,
    ToolCall,
)
from probate_reference.persistence import Files, in_place, in_threads
from probate_reference.persistence.codec import encode_record


class Order(NamedTuple):
    """What is asked of a worker.

    :ivar kill: where it ends: ``write``, ``torn``, ``other``, or the name of a gate
    :ivar nth: the how manieth of these it is
    """

    home: str
    loop: str
    seed: int
    kill: str
    nth: int
    threads: bool
    store: str


WAL = "sessions.db-wal"
"""Where SQLite writes before it writes anywhere else."""
_FRAME = 4096 + 24
_MOST_FRAMES = 3
"""How many pages of the log one write of ours is, about."""


class Journal:
    """Tells everything, and kills at the point that was ordered."""

    def __init__(self, descriptor: int, order: Order) -> None:
        self._descriptor = descriptor
        self._order = order
        self._counts: Counter[str] = Counter()

    def tell(self, *entry: object) -> None:
        os.write(self._descriptor, json.dumps(entry).encode() + b"\n")

    def is_here(self, point: str) -> bool:
        """Count a point, and tell whether it is the one."""
        self._counts[point] += 1
        return (point, self._counts[point]) == (self._order.kill, self._order.nth)

    def reach(self, point: str) -> None:
        """Come to a point, and end there if it is the one."""
        if self.is_here(point):
            os.kill(os.getpid(), signal.SIGKILL)


class CountedFiles(Files):
    """The disk, told to the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._paths: dict[int, str] = {}

    def open_new(self, path: Path) -> int:
        descriptor = super().open_new(path)
        self._paths[descriptor] = str(path)
        self._journal.tell("new", str(path))
        return descriptor

    def open_end(self, path: Path) -> int:
        descriptor = super().open_end(path)
        self._paths[descriptor] = str(path)
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        path = self._paths.get(descriptor)
        if path is None:
            return super().write(descriptor, data)
        torn = self._journal.is_here("torn")
        written = super().write(descriptor, data[: len(data) // 2] if torn else data)
        self._journal.tell("write", path, written)
        if torn:
            os.kill(os.getpid(), signal.SIGKILL)
        self._journal.reach("write")
        return written

    def truncate(self, descriptor: int, size: int) -> None:
        super().truncate(descriptor, size)
        if descriptor in self._paths:
            self._journal.tell("truncate", self._paths[descriptor], size)
            self._journal.reach("other")

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self._journal.tell("sync", self._paths[descriptor])
        self._journal.reach("other")

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._journal.tell("rename", str(source), str(target))
        self._journal.reach("other")

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        self._journal.tell("sync_directory")
        self._journal.reach("other")


class CountedSqlite(SqliteStore):
    """SQLite, whose statements are counted, and whose log may only grow to a size if it is to end in a write."""

    def __init__(self, order: Order, journal: Journal) -> None:
        super().__init__(order.home)
        self._order = order
        self._journal = journal
        self._log = Path(order.home) / WAL
        if order.kill in ("write", "torn"):
            self._limit()

    def open(self) -> None:
        if self._order.kill == "torn":
            self._tell_safe()  # if it ends in here, then within a page
        super().open()
        assert self._database is not None
        self._database.set_trace_callback(lambda _: self._journal.reach("other"))
        self._tell_safe()

    def _limit(self) -> None:
        """Let the n-th write or so, counted from here, be the end."""
        room = _FRAME * Random(self._order.seed).randint(1, self._order.nth * _MOST_FRAMES)
        if self._order.kill == "torn":
            room -= Random(self._order.seed + 1).randint(1, _FRAME - 1)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size() + room,) * 2)

    def _size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def _tell_safe(self) -> None:
        self._journal.tell("safe", str(self._log), self._size())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with super()._transaction() as database:
            yield database
        self._tell_safe()


class ToldPersistence(Persistence):
    """A persistence that tells what it has acknowledged."""

    journal: Journal

    def flush(self, request: FlushRequest) -> Awaitable[None]:
        return self._told(request, super().flush(request))

    async def _told(self, request: FlushRequest, saving: Awaitable[None]) -> None:
        self.journal.reach("flush")
        await saving
        self.journal.tell("acknowledged", request.session.id, request.upto)

    async def load(self, agent: Agent) -> StoredLog:
        self.journal.reach("load")
        return await super().load(agent)


class Worker:
    """One process: agents that are created and resumed, and talked to, until it is killed or has done enough."""

    def __init__(self, order: Order, journal: Journal) -> None:
        self._random = Random(order.seed)
        self._journal = journal
        store: Store = (
            JsonlStore(order.home, CountedFiles(journal)) if order.store == "jsonl" else CountedSqlite(order, journal)
        )
        self._persistence = ToldPersistence(store, offload=in_threads if order.threads else in_place)
        self._persistence.journal = journal
        self._runtime = Runtime(
            self._model,
            tools=[FunctionTool("tool", self._tool)],
            prepare=self._prepare,
            persistence=self._persistence,
            report=lambda place, failure: journal.tell("report", place, repr(failure)),
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, LogAppended):
            self._journal.tell("log", event.agent.id, event.seq, encode_record(event.seq, event.record).decode())
        elif isinstance(event, SessionCreated):
            lines = [encode_record(seq, record).decode() for seq, record in enumerate(event.agent.session)]
            self._journal.tell("begins", event.agent.id, lines)

    async def _model(self, request: ModelRequest, signal: Signal) -> Reply:
        self._journal.reach("model")
        await anyio.lowlevel.checkpoint()
        if request.step == 1 and self._random.random() < 0.5:
            return Reply("tools", tuple(ToolCall("tool") for _ in range(self._random.randint(1, 2))))
        return Reply("answer " * self._random.randint(1, 20))

    async def _tool(self, arguments: Mapping[str, object], context: object) -> str:
        self._journal.reach("tool")
        return "done"

    async def _prepare(self, request: ModelRequest, signal: Signal) -> None:
        self._journal.reach("prepare")

    async def _setup(self, scope: object) -> None:
        self._journal.reach("setup")

    async def _cleanup(self) -> None:
        self._journal.reach("cleanup")

    async def live(self) -> None:
        """Live; leaving the runtime in order is a part of it."""
        async with self._runtime as runtime:
            runtime.events.on(self._hear)
            owner = runtime.owner("o")
            for number in range(self._random.randint(2, 4)):
                stored = [found.id for found in await self._persistence.list() if found.id not in runtime.sessions]
                begin = owner.create if not stored or self._random.random() < 0.4 else owner.resume
                name = self._random.choice("abcd") if begin == owner.create else self._random.choice(stored)
                try:
                    handle = await begin(name, setup=self._setup, cleanups=(self._cleanup,))
                except Refusal:
                    continue
                await self._talk(handle.agent, number)
                if self._random.random() < 0.3:
                    await handle.dispose()

    async def _talk(self, agent: Agent, number: int) -> None:
        for turn in range(self._random.randint(1, 3)):
            match self._random.randint(0, 5):
                case 0:
                    agent.inject(f"context {number}.{turn}")
                case 1:
                    agent.send(f"two {number}.{turn}")
                    agent.send(f"prompts {number}.{turn}")
                case 2:
                    agent.send(f"cut off {number}.{turn}")
                    await anyio.lowlevel.checkpoint()
                    agent.cancel()
                case 3:
                    await self._persistence.reload()
                case _:
                    agent.send(f"prompt {number}.{turn}")
            if self._random.random() < 0.8:
                await agent.idle()


def work(order: Order, descriptor: int) -> None:
    """Be the worker."""
    journal = Journal(descriptor, order)
    anyio.run(Worker(order, journal).live, backend=order.loop)
    journal.tell("ended")


def forge() -> None:
    """Fork a worker for each line of the standard input, and answer with how it ended and all that it told."""
    for loop in ("asyncio", "trio"):
        anyio.run(anyio.lowlevel.checkpoint, backend=loop)  # so that no worker has to import it
    gc.freeze()
    for text in sys.stdin:
        order = Order(*json.loads(text))
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            code = 1
            try:
                work(order, writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = [json.loads(line) for line in pipe.read().splitlines()]
        _, status = os.waitpid(child, 0)
        ends = (signal.SIGKILL, signal.SIGXFSZ)
        answer: dict[str, Any] = {"killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) in ends}
        answer |= {"code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None, "told": told}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    forge()
