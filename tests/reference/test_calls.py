"""A call begins when it is called, and anybody may await it."""

from __future__ import annotations

import anyio
import pytest

from tests.reference.kit import Gate, World

pytestmark = pytest.mark.anyio


async def test_many_tasks_await_one_call(world: World) -> None:
    agents: list[str] = []
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")

        async def wait() -> None:
            agents.append((await creation).agent.id)

        async with anyio.create_task_group() as task_group:
            for _ in range(3):
                task_group.start_soon(wait)
    assert agents == ["a", "a", "a"]


async def test_cancelling_who_awaits_does_not_cancel_the_operation(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=gate.pass_through)
        arrival = await gate.arrival()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await creation
        assert scope.cancelled_caught
        arrival.release()
        assert (await creation).agent.id == "a"


async def test_a_call_that_nobody_awaits_is_legal(world: World) -> None:
    async with world.runtime as runtime:
        _ = runtime.owner("o").create("a")
        _ = runtime.owner("o").create("a")
        await world.until("agent/session-start a startup")


async def test_several_can_be_begun_in_one_tick(world: World) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        world.take()
        handle.agent.send("A")
        waiter = handle.agent.idle()
        handle.agent.cancel()
        ended = handle.dispose()
        assert world.lines == [
            "agent/queued a A False",
            "agent/cancel-requested a user",
            "agent/status a disposed",
        ]
        await waiter
        await ended


async def test_a_call_shows_its_state(world: World) -> None:
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        assert repr(creation) == "<Creation pending>"
        await creation
        assert repr(creation) == "<Creation returned>"
        refused = runtime.owner("o").create("a")
        assert repr(refused) == "<Creation raised>"
