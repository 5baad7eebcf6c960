"""A store can be closed and opened again while sessions live: their turns stay open and their logs grow on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from probate_reference import (
    JsonlStore,
    LogExists,
    ModelRequest,
    NotDurable,
    Persistence,
    Reply,
    Runtime,
    Signal,
    SqliteStore,
    StepStart,
    StorageError,
    Store,
    TurnEnd,
    TurnReason,
)
from probate_reference.persistence import Header
from tests.reference.kit import turn
from tests.reference.persistence.faults import FaultyFiles, no_space
from tests.reference.persistence.test_resume import said

pytestmark = pytest.mark.anyio

T = TypeVar("T")


class Stage:
    """A model that waits in the middle of a step."""

    def __init__(self) -> None:
        self.stepping = anyio.Event()
        self.go = anyio.Event()

    async def model(self, request: ModelRequest, signal: Signal) -> Reply:
        self.stepping.set()
        await self.go.wait()
        return Reply("answer")


async def test_a_reload_in_a_turn_keeps_it_open(make: Callable[[], Store]) -> None:
    stage = Stage()
    persistence = Persistence(make())
    async with Runtime(stage.model, persistence=persistence) as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("y")
        await stage.stepping.wait()
        await persistence.reload()
        assert (await persistence.read("a")).records[-1] == StepStart(1, 1), "all of it is written, and nothing added"
        await persistence.reload(make())
        stage.go.set()
        await handle.agent.idle()
        assert (await persistence.read("a")).records == handle.agent.session.records
        assert handle.agent.session.records[-1] == TurnEnd(1, TurnReason.COMPLETED)
        assert len(handle.agent.session) == len(turn(1, "y"))


async def test_sessions_move_to_another_store(tmp_path: Path) -> None:
    persistence = Persistence(JsonlStore(tmp_path / "one"))
    stage = Stage()
    stage.go.set()
    async with Runtime(stage.model, persistence=persistence) as runtime:
        records = await said(runtime, "a", "one")
        await persistence.reload(SqliteStore(tmp_path / "two"))
        agent = runtime.agents.get("a")
        assert agent is not None
        agent.send("two")
        await agent.idle()
        assert (await persistence.read("a")).records == agent.session.records
    async with Runtime(stage.model, home=tmp_path / "one") as runtime:
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records == records


async def test_a_log_with_other_metadata_is_another_life(tmp_path: Path) -> None:
    persistence = Persistence(JsonlStore(tmp_path / "one"))
    stage = Stage()
    stage.go.set()
    other = JsonlStore(tmp_path / "two")
    async with Runtime(stage.model, persistence=persistence) as runtime:
        records = await said(runtime, "a", "one")
        other.open()
        other.create(Header("a", {"cwd": "/other"}), records)
        other.close()
        await persistence.reload(other)
        failures: list[BaseException] = []
        runtime.events.on(lambda event: failures.append(event.error), "agent/error")  # type: ignore[union-attr]
        agent = runtime.agents.get("a")
        assert agent is not None
        agent.send("two")
        await agent.idle()
        assert [type(failure) for failure in failures] == [LogExists]
        assert (await persistence.read("a")).records == records


async def test_a_session_that_was_refused_stays_refused(make: Callable[[], Store]) -> None:
    stage = Stage()
    stage.go.set()
    async with Runtime(stage.model, persistence=Persistence(make())) as runtime:
        stored = await said(runtime, "a", "one")
    persistence = Persistence(make())
    async with Runtime(stage.model, persistence=persistence) as runtime:
        failures: list[BaseException] = []
        runtime.events.on(lambda event: failures.append(event.error), "agent/error")  # type: ignore[union-attr]
        assert await said(runtime, "a", "one") == stored, "the records are the same, and yet they are another life's"
        await persistence.reload()
        agent = runtime.agents.get("a")
        assert agent is not None
        agent.send("two")
        await agent.idle()
        assert [type(failure) for failure in failures] == [LogExists, LogExists]
        assert (await persistence.read("a")).records == stored


async def test_a_reload_that_could_not_write_loses_nothing(tmp_path: Path) -> None:
    files = FaultyFiles()
    persistence = Persistence(JsonlStore(tmp_path, files))
    stage = Stage()
    stage.go.set()
    async with Runtime(stage.model, persistence=persistence) as runtime:
        await said(runtime, "a", "one")
        agent = runtime.agents.get("a")
        assert agent is not None
        files.faults["sync"] = no_space
        agent.send("two")
        await agent.idle()
        with pytest.raises(NotDurable):
            await persistence.reload()
        files.faults.clear()
        agent.send("three")
        await agent.idle()
        assert (await persistence.read("a")).records == agent.session.records


async def test_while_the_store_is_away_flushes_fail_and_wait_for_it(tmp_path: Path) -> None:
    persistence = Persistence(JsonlStore(tmp_path / "home"))
    stage = Stage()
    stage.go.set()
    async with Runtime(stage.model, persistence=persistence) as runtime:
        await said(runtime, "a", "one")
        agent = runtime.agents.get("a")
        assert agent is not None
        (tmp_path / "file").write_text("")
        with pytest.raises(StorageError, match="Not a directory"):
            await persistence.reload(JsonlStore(tmp_path / "file" / "home"))
        failures: list[BaseException] = []
        runtime.events.on(lambda event: failures.append(event.error), "agent/error")  # type: ignore[union-attr]
        agent.send("two")
        await agent.idle()
        assert [str(failure).partition(" in ")[2] for failure in failures] == [
            f"{str(tmp_path / 'file' / 'home')!r} is not open"
        ]
        await persistence.reload(JsonlStore(tmp_path / "home"))
        agent.send("three")
        await agent.idle()
        assert (await persistence.read("a")).records == agent.session.records


async def test_a_listing_waits_for_a_reload(make: Callable[[], Store]) -> None:
    closing, go = anyio.Event(), anyio.Event()
    listed: list[str] = []

    async def offload(function: Callable[[], T], /, *, abandon: bool) -> T:
        if getattr(function, "__name__", "") == "close" and not go.is_set():
            closing.set()
            await go.wait()
        return function()

    async def look() -> None:
        listed.extend(stored.id for stored in await persistence.list())

    stage = Stage()
    stage.go.set()
    persistence = Persistence(make(), offload=offload)
    async with Runtime(stage.model, persistence=persistence) as runtime:
        await said(runtime, "a", "one")
        async with anyio.create_task_group() as group:
            group.start_soon(persistence.reload)
            await closing.wait()
            group.start_soon(look)
            await anyio.wait_all_tasks_blocked()
            assert listed == []
            go.set()
        assert listed == ["a"]


async def test_one_thing_at_a_time_about_one_id(tmp_path: Path) -> None:
    """Flushes of one session, a reload and a look at the log at once: each record is written once."""
    persistence = Persistence(JsonlStore(tmp_path))
    stage = Stage()
    stage.go.set()
    async with Runtime(stage.model, persistence=persistence) as runtime:
        agents = [(await runtime.owner("o").create(name)).agent for name in "abc"]
        async with anyio.create_task_group() as group:
            for number in range(5):
                for agent in agents:
                    agent.inject(f"{number}")
                    agent.send(f"{number}")
                group.start_soon(persistence.reload)
                group.start_soon(persistence.list)
        for agent in agents:
            await agent.idle()
        for agent in agents:
            assert (await persistence.read(agent.id)).records == agent.session.records
            assert len(agent.session) == 5 * (3 + 6)
