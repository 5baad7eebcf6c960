"""A flush starts all, waits for all, and then says who failed."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from probate_reference import AgentError, Event, FlushRequest
from tests.reference.kit import Gate, World

pytestmark = pytest.mark.anyio


async def test_the_first_failure_counts_after_all_have_ended(world: World) -> None:
    errors: list[BaseException] = []

    def listener(event: Event) -> None:
        assert isinstance(event, AgentError)
        errors.append(event.error)

    world.runtime.events.on(listener, "agent/error")
    slow, failure = Gate(None), ValueError("first")
    slow.hold()
    world.flush.plan.append(failure)
    async with world.runtime as runtime:
        remove = runtime.on_flush(slow.pass_through)
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await slow.arrival()
        assert errors == []
        arrival.release(ValueError("second"))
        await agent.idle()
        assert errors == [failure]
        remove()


async def test_the_next_turn_waits_for_the_flush(world: World) -> None:
    world.flush.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        agent.send("B")
        arrival = await world.flush.arrival()
        assert "a: turn/start 2 message" not in world.lines
        world.flush.held = False
        arrival.release()
        await agent.idle()
        assert "a: turn/end 2 completed" in world.lines


async def test_the_request_says_how_far_the_log_goes(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.inject("I")
        agent.send("A")
        await agent.idle()
        requests = [request for request in world.flush.requests if isinstance(request, FlushRequest)]
        assert sorted(request.upto for request in requests) == [3, 9]
        assert all(request.session is agent.session for request in requests)


async def test_a_removed_listener_is_not_asked(world: World) -> None:
    other = Gate(None)
    async with world.runtime as runtime:
        runtime.on_flush(other.pass_through)()
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert other.requests == []


async def test_listeners_are_called_in_the_moment_of_the_flush(world: World) -> None:
    async with world.runtime as runtime:

        async def write() -> None:
            world.note("written")

        def listener(request: FlushRequest) -> Awaitable[None]:
            world.note(f"called {request.upto}")
            return write()

        remove = runtime.on_flush(listener)
        handle = await runtime.owner("o").create("a")
        handle.agent.inject("I")
        assert world.lines[-2:] == ["session/flush a 3", "called 3"]
        await handle.dispose()
        assert "written" in world.lines
        remove()


async def test_a_listener_that_raises_when_called_has_failed_too(world: World) -> None:
    def listener(request: FlushRequest) -> Awaitable[None]:
        raise ValueError

    async with world.runtime as runtime:
        remove = runtime.on_flush(listener)
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.lines[-2:] == ["agent/error a 0 flush", "agent/status a idle"]
        assert len(world.flush.requests) == 1
        remove()
