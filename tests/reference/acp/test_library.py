"""Sessions that are kept: load, resume, list and delete, also after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from probate_reference.acp import Connection
from probate_reference.acp.library import PAGE
from tests.reference.acp.client import Bridged, Client
from tests.reference.kit import World, tools

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def served(
    home: Path, begin: Callable[[World], object] = lambda _: None
) -> AsyncIterator[tuple[Bridged, Client]]:
    """Start a process's worth of runtime on a home, with one client."""
    world = World(home)
    begin(world)
    bridged = Bridged(world)
    async with world.runtime, bridged.client() as (client, _connection):
        yield bridged, client


def kept(session: str, cwd: str = "/work") -> dict[str, object]:
    return {"sessionId": session, "cwd": cwd, "mcpServers": []}


async def remember(home: Path) -> None:
    """Leave a session s1 behind, with a turn that called a tool."""
    async with served(home, lambda world: world.model.plan.append(tools(1))) as (_bridged, client):
        session = await client.new()
        await client.answer(await client.prompt(session, "hello"))


async def test_what_is_advertised_is_what_there_is(tmp_path: Path) -> None:
    async with served(tmp_path) as (_bridged, client):
        capabilities = (await client.ask("initialize", protocolVersion=1))["agentCapabilities"]
        assert capabilities["loadSession"]
        assert capabilities["sessionCapabilities"].keys() == {"close", "list", "resume", "delete"}


async def test_a_load_after_a_restart_replays_all_of_it_before_the_answer(tmp_path: Path) -> None:
    await remember(tmp_path)
    async with served(tmp_path) as (_bridged, client):
        assert await client.ask("session/load", **kept("s1")) == {}
        assert client.lines == [
            "update user_message_chunk hello",
            "update agent_message_chunk tools",
            "update tool_call tool1 in_progress",
            "update tool_call_update completed",
            "update agent_message_chunk answer",
            "1 ok",
        ]
        assert await client.answer(await client.prompt("s1", "more")) == {"stopReason": "end_turn"}
        assert "user_message_chunk" not in client.lines[-2]


async def test_a_resume_replays_nothing(tmp_path: Path) -> None:
    await remember(tmp_path)
    async with served(tmp_path) as (bridged, client):
        assert await client.ask("session/resume", **kept("s1")) == {}
        assert client.lines == ["1 ok"]
        assert await client.answer(await client.prompt("s1", "more")) == {"stopReason": "end_turn"}
        assert "s1: turn/end 2 completed" in bridged.world.lines


@pytest.mark.parametrize("verb", ["session/load", "session/resume"])
@pytest.mark.parametrize(
    ("params", "code"),
    [
        (kept("s1", "/elsewhere"), -32602),
        (kept("s1", "work"), -32602),
        ({"sessionId": "s1", "mcpServers": []}, -32602),
        (kept("s1") | {"mcpServers": [{}]}, -32602),
        (kept("nobody"), -32002),
        (kept("../s1"), -32002),
        ({"cwd": "/work"}, -32602),
    ],
)
async def test_what_is_refused_leaves_nothing_and_the_id_usable(
    tmp_path: Path, verb: str, params: dict[str, object], code: int
) -> None:
    """J19, J20."""
    await remember(tmp_path)
    async with served(tmp_path) as (bridged, client):
        assert (await client.ask(verb, **params))["code"] == code
        assert bridged.bridge.loading == set()
        assert bridged.world.take() == []
        assert await client.ask(verb, **kept("s1", "/x/../work/")) == {}


async def test_a_session_without_a_folder_is_no_client_s(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.runtime:
        for name, metadata in (("none", {}), ("relative", {"cwd": "work"})):
            handle = await world.runtime.owner("me").create(name, metadata=metadata)
            handle.agent.send("hello")
            await handle.agent.idle()
    async with served(tmp_path) as (_bridged, client):
        for name in ("none", "relative"):
            assert "without a folder" in (await client.ask("session/load", **kept(name)))["message"]
        assert await client.ask("session/list") == {"sessions": []}


async def test_a_live_session_is_neither_loaded_nor_deleted_by_anybody(tmp_path: Path) -> None:
    await remember(tmp_path)
    async with served(tmp_path) as (bridged, client):
        await client.ask("session/load", **kept("s1"))
        async with bridged.client() as (other, _connection):
            for one in (client, other):
                for verb in ("session/load", "session/resume"):
                    assert (await one.ask(verb, **kept("s1")))["message"] == "already loaded"
                assert "live" in (await one.ask("session/delete", sessionId="s1"))["message"]
        await client.ask("session/close", sessionId="s1")
        assert await client.ask("session/delete", sessionId="s1") == {}
        assert await client.ask("session/delete", sessionId="s1") == {}
        assert await client.ask("session/list") == {"sessions": []}


async def test_two_loads_of_one_id_at_a_time(tmp_path: Path) -> None:
    await remember(tmp_path)
    async with served(tmp_path) as (bridged, client):
        first = await client.begin("session/load", **kept("s1"))
        second = await client.begin("session/resume", **kept("s1"))
        third = await client.begin("session/delete", sessionId="s1")
        assert await client.answer(first) == {}
        assert (await client.answer(second))["message"] == "already loaded"
        assert (await client.answer(third))["message"] == "the session is being loaded"
        assert bridged.bridge.loading == set()
        assert await client.answer(await client.prompt("s1", "more")) == {"stopReason": "end_turn"}


@pytest.mark.parametrize("how", ["closed", "called off"])
async def test_a_load_that_loses_leaves_nothing(tmp_path: Path, how: str) -> None:
    await remember(tmp_path)
    async with served(tmp_path) as (bridged, client):
        world = bridged.world
        connection: Connection = next(iter(bridged.bridge._connections))
        world.when(
            "session/created s1",
            lambda _event: connection.teardown() if how == "closed" else connection._peer._incoming[1].cancel(),
        )
        load = await client.begin("session/load", **kept("s1"))
        answer = await client.answer(load)
        assert answer["code"] == (-32603 if how == "closed" else -32800)
        await world.until("session/disposed s1")
        assert bridged.bridge.sessions == 0
        assert bridged.bridge.loading == set()
    async with served(tmp_path) as (_bridged, client):
        assert await client.ask("session/load", **kept("s1")) == {}


async def test_sessions_are_listed_in_pages(tmp_path: Path) -> None:
    async with served(tmp_path) as (bridged, client):
        assert await client.ask("session/list") == {"sessions": []}
        for number in range(PAGE + 2):
            session = await client.new("/odd" if number % 2 else "/even")
            await client.answer(await client.prompt(session, "hello"))
            await bridged.world.until(f"agent/status {session} idle")  # its flush comes after the answer
        first = await client.ask("session/list")
        second = await client.ask("session/list", cursor=first["nextCursor"])
        assert "nextCursor" not in second
        listed = [info["sessionId"] for page in (first, second) for info in page["sessions"]]
        assert sorted(listed) == sorted(f"s{number}" for number in range(1, PAGE + 3))
        odd = await client.ask("session/list", cwd="/odd")
        assert {info["cwd"] for info in odd["sessions"]} == {"/odd"}
        for cursor in ("x", "x y", ""):
            assert (await client.ask("session/list", cursor=cursor))["code"] == -32602
        assert (await client.ask("session/list", cwd="odd"))["code"] == -32602


def damage(home: Path) -> None:
    (log,) = (path for path in home.rglob("*") if path.is_file() and b"hello" in path.read_bytes())
    log.write_bytes(log.read_bytes().replace(b'"turn/start"', b'"turn/sta"', 1))


async def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    await remember(tmp_path)
    damage(tmp_path)
    async with served(tmp_path) as (bridged, client):
        assert "damaged" in (await client.ask("session/load", **kept("s1")))["message"]
        assert bridged.bridge.loading == set()


async def test_a_disconnect_in_a_turn_leaves_its_end_on_disk(tmp_path: Path) -> None:
    """J24."""
    async with served(tmp_path, lambda world: world.model.hold()) as (bridged, client):
        await client.prompt(await client.new(), "hello")
        await bridged.world.model.arrival()
    async with served(tmp_path) as (bridged, client):
        await client.ask("session/load", **kept("s1"))
        session = bridged.world.runtime.sessions.get("s1")
        assert session is not None
        assert str(session.records[-1].reason) == "disposed"  # type: ignore[union-attr]
        await anyio.lowlevel.checkpoint()


async def test_a_session_that_somebody_else_has_ended_can_be_loaded_again(tmp_path: Path) -> None:
    await remember(tmp_path)
    async with served(tmp_path) as (bridged, client):
        await client.ask("session/load", **kept("s1"))
        bridged.world.runtime.provider.load()
        await bridged.world.runtime.provider.unload()
        bridged.world.runtime.provider.load()
        assert await client.ask("session/load", **kept("s1")) == {}
        assert bridged.bridge.sessions == 1
        assert await client.answer(await client.prompt("s1", "more")) == {"stopReason": "end_turn"}
