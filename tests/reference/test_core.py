"""Input, cancel and quiescence, in every state of the driver."""

from __future__ import annotations

import pytest

from probate_reference import Disposed, Event, InvalidContent, Status
from tests.reference.kit import World, turn

pytestmark = pytest.mark.anyio

RUNNING = "agent/status a running"
IDLE = "agent/status a idle"


async def test_an_idle_cancel_is_silent_and_swallows_nothing(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        world.take()
        agent.cancel()
        assert world.lines == []
        agent.send("A")
        await agent.idle()
        assert "a: turn/end 1 completed" in world.lines


async def test_a_prompt_cancelled_before_its_claim_vanishes(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        world.take()
        agent.send("A")
        agent.send("B")
        waiter = agent.idle()
        assert not waiter.done
        agent.cancel()
        await waiter
        assert world.lines == [
            "agent/queued a A False",
            "agent/queued a B False",
            "agent/cancel-requested a user",
        ]


async def test_a_prompt_sent_after_the_cancel_is_independent(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        world.take()
        agent.send("A")
        waiter = agent.idle()
        agent.cancel()
        agent.send("B")
        await waiter
        assert world.lines == [
            "agent/queued a A False",
            "agent/cancel-requested a user",
            "agent/queued a B False",
            RUNNING,
            *turn(1, "B"),
            "session/flush a 6",
            IDLE,
        ]


async def test_a_cancel_upon_running_opens_no_turn(world: World) -> None:
    world.when(RUNNING, lambda event: event.agent.cancel())
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        world.take()
        agent.send("A")
        await agent.idle()
        assert world.take()[1:] == [RUNNING, "agent/cancel-requested a user", IDLE]
        agent.send("B")
        await agent.idle()
        assert "a: turn/end 1 completed" in world.lines


@pytest.mark.parametrize("verb", ["send", "steer"])
async def test_a_cancel_upon_running_spares_what_follows(world: World, verb: str) -> None:
    def replace(event: Event) -> None:
        event.agent.cancel()
        getattr(event.agent, verb)("B")

    world.when(RUNNING, replace)
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.lines[-8:] == [*turn(1, "B"), "session/flush a 6", IDLE]


async def test_an_observer_of_the_request_cannot_save_its_prompt(world: World) -> None:
    def observe(event: Event) -> None:
        event.agent.send("X")
        raise ValueError

    world.when("agent/cancel-requested a user", observe)
    world.when("agent/cancel-requested a user", lambda event: world.note("second observer"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        agent.cancel()
        assert world.lines[-1] == "second observer"
        await agent.idle()
        assert len(agent.session) == 0


async def test_what_an_observer_of_the_abort_queues_survives(world: World) -> None:
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await world.model.arrival()
        request_signal = agent._core.turn
        assert request_signal is not None
        request_signal.signal.subscribe(lambda cause: agent.send("B"))
        agent.steer("swept")
        world.model.held = False
        agent.cancel()
        await agent.idle()
        assert "a: user/message swept" not in world.lines
        assert world.lines[-8:] == [*turn(2, "B"), f"session/flush a {len(agent.session)}", IDLE]


async def test_a_cancel_in_the_closing_flush_finds_nothing(world: World) -> None:
    world.flush.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.flush.arrival()
        waiter = agent.idle()
        world.take()
        assert agent.status is Status.RUNNING
        agent.cancel()
        assert world.lines == []
        assert not waiter.done
        arrival.release()
        await waiter
        assert world.lines == [IDLE]


async def test_a_cancel_between_two_turns_drops_the_tail(world: World) -> None:
    world.flush.plan.append(ValueError())
    world.when("agent/error a 0 flush", lambda event: event.agent.cancel())
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        agent.send("B")
        await agent.idle()
        assert world.lines[-3:] == ["agent/error a 0 flush", "agent/cancel-requested a user", IDLE]
        agent.steer("C")
        await agent.idle()
        assert "a: user/message C" in world.lines


async def test_a_cancel_upon_the_end_of_a_turn_does_not_touch_it(world: World) -> None:
    world.when("a: turn/end 1 completed", lambda event: event.agent.cancel())
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert not [text for text in world.lines if text.startswith("agent/cancel-requested")]


async def test_an_idle_listener_that_sends_keeps_its_waiter_waiting(world: World) -> None:
    waiters = []

    def again(event: Event) -> None:
        event.agent.send("R")
        waiters.append(event.agent.idle())

    world.when(IDLE, again)
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert not waiters[0].done
        await waiters[0]
        assert "a: turn/end 2 completed" in world.lines


async def test_an_idle_listener_that_sends_and_cancels_frees_its_waiter(world: World) -> None:
    waiters = []

    def again(event: Event) -> None:
        event.agent.send("R")
        waiters.append(event.agent.idle())
        event.agent.cancel()

    world.when(IDLE, again)
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        await waiters[0]
        assert "a: user/message R" not in world.lines
        agent.send("B")
        await agent.idle()
        assert "a: user/message B" in world.lines


async def test_waiters_are_free_after_the_event(world: World) -> None:
    seen: list[bool] = []
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        waiter = agent.idle()
        world.when(IDLE, lambda event: seen.append(waiter.done))
        await waiter
    assert seen == [False]


async def test_idle_of_an_idle_agent_is_done(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        assert agent.idle().done


async def test_idle_of_a_disposed_agent_is_its_drivers_end(world: World) -> None:
    world.deaf = True
    world.model.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        arrival = await world.model.arrival()
        before = handle.agent.idle()
        _ = handle.dispose()
        after = handle.agent.idle()
        assert not before.done
        assert not after.done
        arrival.release()
        await before
        await after
        assert "a: turn/end 1 disposed" in world.lines
        await handle.dispose()
        assert handle.agent.idle().done


async def test_input_after_disposal_is_refused(world: World) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        ended = handle.dispose()
        for verb in (handle.agent.send, handle.agent.steer, handle.agent.inject):
            with pytest.raises(Disposed):
                verb("A")
        handle.agent.cancel()
        await ended


async def test_disposed_is_said_before_invalid(world: World) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        with pytest.raises(InvalidContent):
            handle.agent.send("\ud800")
        with pytest.raises(InvalidContent):
            handle.agent.inject(b"bytes")  # type: ignore[arg-type]
        await handle.dispose()
        with pytest.raises(Disposed):
            handle.agent.steer("\ud800")


async def test_a_bad_cause_is_refused_before_anything_happens(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        with pytest.raises(ValueError, match="hook"):
            agent.cancel("hook")  # type: ignore[arg-type]
        await agent.idle()
        assert "a: turn/end 1 completed" in world.lines


async def test_a_cancel_after_disposal_takes_its_steps_but_not_the_reason(world: World) -> None:
    world.deaf = True
    world.model.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        arrival = await world.model.arrival()
        _ = handle.dispose()
        world.take()
        handle.agent.cancel()
        assert world.lines == ["agent/cancel-requested a user"]
        arrival.release()
        await handle.dispose()
        assert "a: turn/end 1 disposed" in world.lines


async def test_statistics_show_what_waits(world: World) -> None:
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await world.model.arrival()
        agent.send("B")
        agent.steer("C")
        _ = agent.idle()
        statistics = agent.statistics()
        assert (statistics.queued, statistics.steering, statistics.turn) == (1, 1, 1)
        assert (statistics.idle_waiters, statistics.status) == (1, Status.RUNNING)
        agent.cancel()
