"""An injection goes where the log says."""

from __future__ import annotations

import pytest

from probate_reference import Status
from tests.reference.kit import World, tools

pytestmark = pytest.mark.anyio


def injected(number: int, text: str) -> list[str]:
    return [
        f"a: turn/start {number} injection",
        f"a: context/message {text}",
        f"a: turn/end {number} completed",
    ]


async def test_without_an_open_turn_it_gets_its_own_in_the_call(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        world.take()
        agent.inject("I")
        assert world.take() == [*injected(1, "I"), "session/flush a 3"]
        assert agent.status is Status.IDLE
        agent.send("A")
        await agent.idle()
        assert "a: turn/start 2 message" in world.lines


async def test_in_an_open_turn_it_is_logged_at_once(world: World) -> None:
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.model.arrival()
        world.take()
        agent.inject("I")
        assert world.lines == ["a: context/message I"]
        arrival.release()
        await agent.idle()


async def test_during_a_tool_batch_it_waits_for_the_results(world: World) -> None:
    world.model.plan.append(tools(2))
    world.tool.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        first = await world.tool.arrival()
        world.take()
        agent.inject("I")
        agent.steer("S")
        assert world.take() == ["agent/queued a S True"]
        first.release()
        second = await world.tool.arrival()
        second.release()
        await agent.idle()
        assert world.lines[:6] == [
            "a: tool/result 1 ok result",
            "a: tool/call 2 tool2",
            "a: tool/result 2 ok result",
            "a: context/message I",
            "a: user/message S",
            "a: step/end 1 1",
        ]


async def test_from_an_observer_of_the_answer_it_waits_for_the_results_too(world: World) -> None:
    world.model.plan.append(tools(1))
    world.when("a: assistant/message tools", lambda event: event.agent.inject("I"))
    world.when("a: assistant/message answer", lambda event: event.agent.inject("J"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        start = world.lines.index("a: assistant/message tools")
        assert world.lines[start + 1 : start + 8] == [
            "a: tool/call 1 tool1",
            "a: tool/result 1 ok result",
            "a: context/message I",
            "a: step/end 1 1",
            "a: step/start 1 2",
            "a: assistant/message answer",
            "a: context/message J",
        ]


async def test_during_an_aborted_batch_it_is_logged_before_the_step_ends(world: World) -> None:
    world.model.plan.append(tools(2))
    world.tool.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await world.tool.arrival()
        agent.inject("I")
        agent.cancel()
        await agent.idle()
        end = world.lines.index("a: step/end 1 1")
        assert world.lines[end - 2 : end] == [
            "a: tool/result 2 aborted aborted before dispatch",
            "a: context/message I",
        ]


async def test_from_an_observer_of_the_log_it_waits_for_the_dispatch(world: World) -> None:
    world.when("a: user/message A", lambda event: event.agent.inject("I"))
    world.when("a: user/message A", lambda event: world.note("second listener"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        start = world.lines.index("a: user/message A")
        assert world.lines[start + 1 : start + 4] == [
            "second listener",
            "a: context/message I",
            "a: step/start 1 1",
        ]


async def test_from_an_observer_of_the_turns_end_it_gets_its_own(world: World) -> None:
    world.when("a: turn/end 1 completed", lambda event: event.agent.inject("I"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        start = world.lines.index("a: turn/end 1 completed")
        assert world.lines[start + 1 :] == [
            *injected(2, "I"),
            "session/flush a 9",
            "session/flush a 9",
            "agent/status a idle",
        ]


async def test_two_injections_of_one_dispatch_do_not_mix(world: World) -> None:
    world.when("a: turn/end 1 completed", lambda event: event.agent.inject("I"))
    world.when("a: turn/end 1 completed", lambda event: event.agent.inject("J"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.inject("first")
        assert world.lines[6:] == [
            *injected(2, "I"),
            "session/flush a 6",
            *injected(3, "J"),
            "session/flush a 9",
            "session/flush a 9",
        ]


async def test_its_flush_fails_without_harm(world: World) -> None:
    world.flush.plan.append(ValueError())
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.inject("I")
        await world.until("agent/error a 0 flush")
        agent.send("A")
        await agent.idle()


async def test_the_teardown_waits_for_its_flush(world: World) -> None:
    world.flush.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.inject("I")
        arrival = await world.flush.arrival()
        assert handle.agent.statistics().open_flushes == 1
        ended = handle.dispose()
        await handle.agent.idle()
        assert "a" in runtime.agents
        assert "a" in runtime.sessions
        arrival.release()
        await ended
        assert "a" not in runtime.sessions


async def test_a_vetoed_agent_waits_for_its_flush_too(world: World) -> None:
    def inject_and_veto(event: object) -> None:
        event.agent.inject("I")  # type: ignore[attr-defined]
        raise ValueError("veto")

    world.flush.hold()
    world.when("agent/created a", inject_and_veto)
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        arrival = await world.flush.arrival()
        assert "a" in runtime.agents
        assert not creation.done
        arrival.release()
        with pytest.raises(ValueError, match="veto"):
            await creation
        assert world.lines[-2:] == ["agent/disposed a", "session/disposed a"]
