"""A campaign of crashes: kill, look at what is left, go on with it.

A home lives through several crashes, one worker after the other. After each, what is on the disk is held to what the
dead worker had told: nothing that was acknowledged is missing, nothing is there that was not logged, each record is
there once and in its place, every log loads, and every session is resumed and has a turn. What that leaves is where
the next worker begins.

After every second crash the power fails too, as far as that can be simulated from outside: of what was written and not
yet waited for, any part may be missing, and a name that was not waited for may not be there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, Any, Self

import anyio

from probate_reference import (
    JsonlStore,
    ModelRequest,
    Persistence,
    Reply,
    Runtime,
    Signal,
    SqliteStore,
    Store,
    TurnEnd,
    TurnStart,
)
from probate_reference.persistence import Files, in_place
from probate_reference.persistence.codec import encode_record
from tests.reference.persistence.crash_child import Order

ROOT = Path(__file__).resolve().parents[3]
_LIVES = 6
"""How many workers have the same home, one after the other."""
GATES = ("setup", "load", "prepare", "model", "tool", "flush", "cleanup")


class Broken(AssertionError):
    """Raised when a crash was not survived."""


@dataclass
class Count:
    """What a campaign has come to.

    :ivar crashes: workers that were killed, by where
    :ivar stores: the same workers, by the store that they had
    :ivar unsynced: of these, how many died between a write and its fsync
    :ivar power: after how many of them the power failed too
    :ivar finished: workers that had done all before it came to that
    :ivar records: records that were compared
    :ivar resumed: sessions that were resumed and had a turn
    """

    crashes: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    unsynced: Counter[str] = field(default_factory=Counter)
    power: int = 0
    finished: int = 0
    records: int = 0
    resumed: int = 0

    @property
    def survived(self) -> int:
        """How many crashes were survived."""
        return sum(self.crashes.values())


class Forge:
    """The process that forks workers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.reference.persistence.crash_child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream(self._process.stdin).close()
        self._process.wait()
        self._stream(self._process.stdout).close()

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None
        return stream

    def work(self, order: Order) -> dict[str, Any]:
        """Let a worker live, and give how it ended and what it told."""
        ordering = self._stream(self._process.stdin)
        ordering.write(json.dumps(order) + "\n")
        ordering.flush()
        answer: dict[str, Any] = json.loads(self._stream(self._process.stdout).readline())
        return answer


class _Unhurried(Files):
    """The disk without waiting for it: whoever looks is not going to be killed."""

    def sync(self, descriptor: int) -> None:
        """Go on."""

    def sync_directory(self, path: Path) -> None:
        """Go on."""


def order_of(random: Random, home: Path, number: int, store: str) -> Order:
    """Draw where the next worker ends: two times in three right after a write, or in the middle of one."""
    # Where SQLite is stopped between two pages, they may be of two transactions, with an fsync between them.
    writes = ("write", "write", "torn", "torn", "torn") if store == "jsonl" else ("write", *["torn"] * 5)
    kill = random.choice((*writes, "other", random.choice(GATES)))
    nth = random.randint(1, 6 if kill in ("write", "torn") else 8 if kill == "other" else 2)
    loop = ("asyncio", "trio")[number % 2]
    return Order(str(home), loop, random.randrange(1 << 30), kill, nth, threads=number % 20 == 19, store=store)


def campaign(directory: Path, crashes: int, seed: int = 0) -> Count:
    """Kill so many workers.

    :raises Broken: if one of the crashes was not survived
    """
    count = Count()
    number = 0
    with Forge() as forge:
        while count.survived < crashes:
            home = directory / f"home{number}"
            store = ("jsonl", "sqlite")[number // _LIVES % 2]
            known: dict[str, list[str]] = {}
            for _ in range(_LIVES):
                number += 1
                # Its own, so that what becomes of a worker with threads changes nothing for the next.
                random = Random(f"{seed} {number}")
                order = order_of(random, home, number, store)
                answer = forge.work(order)
                try:
                    _survive(order, answer, known, count, random)
                except Exception as failure:
                    failure.add_note(f"seed {seed}, crash {number}, {order}")
                    raise
                if count.survived >= crashes:
                    break
    return count


def _survive(order: Order, answer: dict[str, Any], known: dict[str, list[str]], count: Count, random: Random) -> None:
    told = answer["told"]
    if not answer["killed"]:
        if answer["code"]:
            raise Broken(f"the worker failed by itself: {told[-3:]}")
        count.finished += 1
    else:
        count.crashes[order.kill] += 1
        count.stores[order.store] += 1
        written = [entry[0] for entry in told if entry[0] in ("write", "sync")]
        safe = _safe(told)
        count.unsynced[order.store] += bool(written) and written[-1] == "write"
        count.unsynced[order.store] += safe is not None and _size(safe[0]) > safe[1]
        if random.random() < 0.5:
            count.power += 1
            _fail_power(told, random)
            if safe is not None and _size(safe[0]) > safe[1]:
                os.truncate(safe[0], random.randint(safe[1], _size(safe[0])))
    acknowledged = _take_in(told, known)
    store = JsonlStore(order.home, _Unhurried()) if order.store == "jsonl" else SqliteStore(order.home)
    anyio.run(_look, store, known, acknowledged, count)


def _take_in(told: list[list[Any]], known: dict[str, list[str]]) -> dict[str, int]:
    """Add what a worker has logged to what is known of each log, and give how much of each it has acknowledged."""
    acknowledged: dict[str, int] = {name: len(lines) for name, lines in known.items()}
    own: dict[str, list[str] | None] = {}
    for entry in told:
        match entry:
            case ["begins", name, lines]:
                if lines:
                    _require(lines[: len(known[name])] == known[name], f"{name} was resumed with other records")
                    known[name] = own[name] = list(lines)
                    acknowledged[name] = len(lines)
                else:
                    own[name] = None if known.get(name) else known.setdefault(name, [])
            case ["log", name, seq, line]:
                lines = own[name]
                if lines is not None:  # else it is a fresh session under a stored id, which is not kept
                    _require(seq == len(lines), f"{name} logged {seq} after {len(lines) - 1}")
                    lines.append(line)
            case ["acknowledged", name, upto]:
                acknowledged[name] = max(acknowledged.get(name, 0), upto)
            case _:
                pass
    return acknowledged


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


def _safe(told: list[list[Any]]) -> tuple[str, int] | None:
    """Give the log of SQLite, and how much of it was waited for; none if there is no such log."""
    return next(((entry[1], entry[2]) for entry in reversed(told) if entry[0] == "safe"), None)


def _size(path: str) -> int:
    return Path(path).stat().st_size if Path(path).exists() else 0


def _fail_power(told: list[list[Any]], random: Random) -> None:
    """Take from the disk a part of what nobody had waited for."""
    size: dict[str, int] = {}
    safe: dict[str, int] = {}
    unnamed: dict[str, str] = {}
    for entry in told:
        match entry:
            case ["new", path]:
                size[path] = safe[path] = 0
            case ["write", path, written]:
                if path in size:
                    size[path] += written
                else:
                    size[path] = Path(path).stat().st_size if Path(path).exists() else 0
                    safe[path] = max(0, size[path] - sum(e[2] for e in told if e[0] == "write" and e[1] == path))
                    size[path] = safe[path] + written
            case ["truncate", path, to]:
                size[path] = to
                safe[path] = min(safe.get(path, to), to)
            case ["sync", path]:
                safe[path] = size.get(path, safe.get(path, 0))
            case ["rename", source, target]:
                size[target], safe[target] = size.pop(source), safe.pop(source)
                unnamed[target] = source
            case ["sync_directory"]:
                unnamed.clear()
            case _:
                pass
    for path, whole in size.items():
        if safe[path] < whole and Path(path).exists():
            with Path(path).open("r+b") as file:
                file.truncate(random.randint(safe[path], whole))
    for target, source in unnamed.items():
        if random.random() < 0.5:
            Path(target).rename(source)


async def _answer(request: ModelRequest, signal: Signal) -> Reply:
    return Reply("still here")


async def _look(store: Store, known: dict[str, list[str]], acknowledged: dict[str, int], count: Count) -> None:
    """Hold what is on the disk to what is known, and go on with every session."""
    persistence = Persistence(store, offload=in_place)
    reports: list[BaseException] = []
    runtime = Runtime(_answer, persistence=persistence, report=lambda place, failure: reports.append(failure))
    async with runtime:
        stored = [found.id for found in await persistence.list()]
        for name, upto in acknowledged.items():
            _require(not upto or name in stored, f"{upto} acknowledged records of {name} are gone with its log")
        for name in stored:
            lines = [
                encode_record(seq, record).decode() for seq, record in enumerate((await persistence.read(name)).records)
            ]
            count.records += len(lines)
            upto = acknowledged.get(name, 0)
            _require(len(lines) >= upto, f"{name} has {len(lines)} records, and {upto} were acknowledged")
            _require(lines == known[name][: len(lines)], f"{name} has records that were not logged, or not so")
            handle = await runtime.owner("o").resume(name)
            before = handle.agent.session.records
            _require(len(before) >= len(lines), f"{name} lost records when it was resumed")
            handle.agent.send("again")
            await handle.agent.idle()
            await handle.dispose()
            after = (await persistence.read(name)).records
            _require(after == handle.agent.session.records, f"{name} is not stored as it was logged")
            starts = [record.turn for record in after if isinstance(record, TurnStart)]
            ends = [record.turn for record in after if isinstance(record, TurnEnd)]
            _require(starts == ends == list(range(1, len(starts) + 1)), f"the turns of {name} are {starts} and {ends}")
            count.records += len(after)
            count.resumed += 1
            known[name] = [encode_record(seq, record).decode() for seq, record in enumerate(after)]
        for name in set(known) - set(stored):
            del known[name]
    _require(not reports, f"{reports}")
