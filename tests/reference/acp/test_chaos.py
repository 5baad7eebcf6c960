"""Whatever clients do, in whatever order: one answer to each request, nothing after it, and nothing left."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from probate_reference import ModelRequest, Reply, Signal, ToolCall
from tests.reference.acp.client import Bridged, Client
from tests.reference.kit import MAX_TOKENS, World, tools

pytestmark = pytest.mark.anyio


class Chaos:
    """Clients that do something at random, and a model that answers at random and sometimes not at all."""

    def __init__(self, seed: int, home: Path) -> None:
        self.random = random.Random(seed)
        self.world = World(home)
        self.world.runtime._kernel.model = self._model
        self.bridged = Bridged(self.world)

    async def _model(self, request: ModelRequest, signal: Signal) -> Reply:
        for _ in range(self.random.randrange(6)):
            await checkpoint()
        kind = self.random.randrange(6)
        if kind == 0:
            raise ValueError("broken")
        if kind == 1:
            with signal.scope():
                await anyio.sleep_forever()
        if kind == 2:
            request.agent.inject("context")
        return (Reply("one"), Reply("two"), tools(2), MAX_TOKENS, Reply("", (ToolCall("none"),)), Reply(""))[kind]

    async def client(self, client: Client) -> None:
        """Do things until the client goes away, which it does in the middle of anything, or the bridge does."""
        with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
            await self._do(client)

    async def _do(self, client: Client) -> None:
        sessions: list[str] = ["s1", "nobody"]
        asked: list[int] = []
        for _ in range(self.random.randrange(4, 25)):
            session = self.random.choice(sessions)
            match self.random.randrange(12):
                case 0 | 1:
                    number = await client.begin("session/new", cwd="/work", mcpServers=[])
                    asked.append(number)
                    if self.random.random() < 0.7:
                        answer = await client.answer(number)
                        if "sessionId" in answer:
                            sessions.append(answer["sessionId"])
                case 2 | 3 | 4 | 5:
                    asked.append(await client.prompt(session, "hello"))
                case 6 | 7:
                    await client.tell("session/cancel", sessionId=session)
                case 8:
                    verb = self.random.choice(["session/load", "session/resume"])
                    asked.append(await client.begin(verb, sessionId=session, cwd="/work", mcpServers=[]))
                case 9:
                    verb = self.random.choice(["session/close", "session/delete"])
                    asked.append(await client.begin(verb, sessionId=session))
                case 10 if asked:
                    await client.tell("$/cancel_request", requestId=self.random.choice(asked))
                case _:
                    for _ in range(self.random.randrange(30)):
                        await checkpoint()

    async def run(self) -> list[Client]:
        """Run two clients on one bridge; at some moment the bridge may be closed around them."""
        bridged = self.bridged
        async with self.world.runtime:
            async with bridged.client() as (one, _), bridged.client() as (two, _), anyio.create_task_group() as tasks:
                tasks.start_soon(self.client, one)
                tasks.start_soon(self.client, two)
                if self.random.random() < 0.3:
                    tasks.start_soon(self._close)
            assert self.bridged.bridge.connections == 0
            assert self.bridged.bridge.sessions == 0
            assert self.bridged.bridge.loading == set()
            statistics = self.world.runtime.statistics()
            assert (statistics.agents, statistics.sessions, statistics.lifecycles) == (0, 0, 0)
        return [one, two]

    async def _close(self) -> None:
        for _ in range(self.random.randrange(60)):
            await checkpoint()
        await self.bridged.bridge.close()


@pytest.mark.parametrize("seed", range(25))
async def test_each_request_has_one_answer_and_nothing_is_left(tmp_path: Path, seed: int) -> None:
    chaos = Chaos(seed, tmp_path)
    with anyio.fail_after(60):
        clients = await chaos.run()
    if not chaos.bridged.bridge.closed:
        for client in clients:
            assert client.answers.keys() == client._methods.keys()
