"""A turn is balanced, whatever happens in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from probate_reference import (
    AgentError,
    AgentQueued,
    Event,
    ModelRequest,
    Reply,
    Runtime,
    Signal,
    ToolCall,
    ToolContext,
)
from tests.reference.kit import CREATED, MAX_TOKENS, World, tools, turn

pytestmark = pytest.mark.anyio

RUNNING = "agent/status a running"
IDLE = "agent/status a idle"


async def test_one_prompt(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        assert world.lines == [*CREATED, "agent/queued a A False"]
        await agent.idle()
        assert world.take()[4:] == [RUNNING, *turn(1, "A"), "session/flush a 6", IDLE]


async def test_prompts_get_turns_of_their_own_without_a_flicker(world: World) -> None:
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        agent.send("B")
        await agent.idle()
        assert world.lines[5:] == [
            RUNNING,
            *turn(1, "A"),
            "session/flush a 6",
            *turn(2, "B"),
            "session/flush a 12",
            IDLE,
        ]


async def test_tools_run_one_after_the_other_and_make_another_step(world: World) -> None:
    world.model.plan.append(tools(2))
    world.tool.plan.extend(["first", ValueError("no")])
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.lines[5:] == [
            "a: turn/start 1 message",
            "a: user/message A",
            "a: step/start 1 1",
            "a: assistant/message tools",
            "a: tool/call 1 tool1",
            "a: tool/result 1 ok first",
            "a: tool/call 2 tool2",
            "a: tool/result 2 error no",
            "a: step/end 1 1",
            "a: step/start 1 2",
            "a: assistant/message answer",
            "a: step/end 1 2",
            "a: turn/end 1 completed",
            "session/flush a 13",
            IDLE,
        ]


async def test_max_tokens_dispatches_no_tool(world: World) -> None:
    world.model.plan.append(Reply("long", tools(1).tool_calls, MAX_TOKENS.stop))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.tool.requests == []
        assert "a: turn/end 1 max-tokens" in world.lines


async def test_max_tokens_sticks_to_the_turn(world: World) -> None:
    world.model.plan.append(MAX_TOKENS)
    world.when("a: step/end 1 1", lambda event: event.agent.steer("more"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert "a: step/end 1 2" in world.lines
        assert "a: turn/end 1 max-tokens" in world.lines


async def test_a_failing_model_ends_the_turn_and_not_the_driver(world: World) -> None:
    world.model.plan.append(ValueError("down"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        agent.send("B")
        await agent.idle()
        assert world.lines[6:] == [
            "a: turn/start 1 message",
            "a: user/message A",
            "a: step/start 1 1",
            "a: step/end 1 1",
            "agent/error a 1 model",
            "a: turn/end 1 error",
            "session/flush a 5",
            *turn(2, "B"),
            "session/flush a 11",
            IDLE,
        ]


async def test_a_model_that_returns_no_reply_has_failed(world: World) -> None:
    world.model.plan.append("not a reply")
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert "agent/error a 1 model" in world.lines


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Reply(cast("str", None)), "the text of a Reply must be a str, not NoneType"),
        (lambda: Reply("", cast("tuple[ToolCall]", ({},))), "a tool call of a Reply must be a ToolCall, not dict"),
        (lambda: ToolCall(cast("str", None)), "the name of a ToolCall must be a str, not NoneType"),
        (lambda: ToolCall("tool", cast("str", {})), "the arguments of a ToolCall must be a str, not dict"),
    ],
)
async def test_a_reply_that_no_log_could_keep_is_a_failure_of_the_model(make: Callable[[], Reply], says: str) -> None:
    async def model(request: ModelRequest, signal: Signal) -> Reply:
        return make()

    errors: list[str] = []
    async with Runtime(model) as runtime:
        runtime.events.on(lambda event: errors.append(str(cast("AgentError", event).error)), "agent/error")
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert [record.kind for record in agent.session][-2:] == ["step/end", "turn/end"]
    assert errors == [says]


async def test_a_tool_whose_failure_cannot_say_what_it_is_ends_nothing(world: World) -> None:
    class DumbError(Exception):
        def __str__(self) -> str:
            raise NotImplementedError

    world.model.plan.append(tools(1))
    world.tool.plan.append(DumbError())
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert "a: tool/result 1 error DumbError" in world.lines


async def test_steering_during_a_tool_joins_the_turn(world: World) -> None:
    world.model.plan.append(tools(1))
    world.tool.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.tool.arrival()
        agent.steer("S")
        arrival.release()
        await agent.idle()
        start = world.lines.index("a: tool/result 1 ok result")
        assert world.lines[start + 1 : start + 4] == [
            "a: user/message S",
            "a: step/end 1 1",
            "a: step/start 1 2",
        ]


async def test_steering_from_a_step_end_observer_overrides_the_stop(world: World) -> None:
    world.when("a: step/end 1 1", lambda event: event.agent.steer("S"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        start = world.lines.index("a: step/end 1 1")
        assert world.lines[start + 1 : start + 4] == [
            "agent/queued a S True",
            "a: user/message S",
            "a: step/start 1 2",
        ]


@pytest.mark.parametrize("moment", ["a: turn/end 1 completed", "session/flush a 6"])
async def test_late_steering_becomes_the_next_prompt(world: World, moment: str) -> None:
    world.when(moment, lambda event: event.agent.steer("S"))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.lines[-8:] == [*turn(2, "S"), "session/flush a 12", IDLE]


async def test_steering_of_a_failed_step_is_not_lost(world: World) -> None:
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.model.arrival()
        agent.steer("S")
        world.model.held = False
        arrival.release(ValueError())
        await agent.idle()
        assert "a: user/message S" in world.lines
        assert "a: turn/end 2 completed" in world.lines


async def test_an_aborted_step_logs_no_answer(world: World) -> None:
    world.deaf = True
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.model.arrival()
        world.take()
        agent.cancel()
        assert world.take() == ["agent/cancel-requested a user", "signal user"]
        arrival.release(Reply("late"))
        await agent.idle()
        assert world.lines == ["a: step/end 1 1", "a: turn/end 1 aborted", "session/flush a 5", IDLE]


async def test_a_late_failure_of_an_aborted_model_is_discarded(world: World) -> None:
    world.deaf = True
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.model.arrival()
        agent.cancel()
        arrival.release(ValueError())
        await agent.idle()
        assert "a: turn/end 1 aborted" in world.lines
        assert not [text for text in world.lines if text.startswith("agent/error")]


async def test_a_model_that_honours_the_signal_ends_by_itself(world: World) -> None:
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await world.model.arrival()
        agent.cancel("parent")
        await agent.idle()
        assert "signal parent" in world.lines
        assert "a: turn/end 1 aborted" in world.lines


async def test_calls_that_never_began_get_a_result(world: World) -> None:
    world.model.plan.append(tools(3))
    world.tool.hold()
    world.deaf = True
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.tool.arrival()
        world.take()
        agent.cancel()
        arrival.release("late")
        await agent.idle()
        assert world.lines[2:] == [
            "a: tool/result 1 aborted aborted",
            "a: tool/call 2 tool2",
            "a: tool/result 2 aborted aborted before dispatch",
            "a: tool/call 3 tool3",
            "a: tool/result 3 aborted aborted before dispatch",
            "a: step/end 1 1",
            "a: turn/end 1 aborted",
            "session/flush a 12",
            IDLE,
        ]


async def test_a_cancel_upon_the_answer_begins_no_tool(world: World) -> None:
    world.model.plan.append(tools(1))
    world.when("a: assistant/message tools", lambda event: event.agent.cancel())
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.tool.requests == []
        assert "a: tool/result 1 aborted aborted before dispatch" in world.lines


@pytest.mark.parametrize(
    ("moment", "rest"),
    [
        ("a: turn/start 1 message", []),
        ("a: user/message A", []),
        ("a: step/start 1 1", ["a: step/end 1 1"]),
    ],
)
@pytest.mark.parametrize("stop", ["cancel", "dispose"])
async def test_a_stop_from_an_observer_of_the_log(world: World, moment: str, rest: list[str], stop: str) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        world.when(moment, lambda event: event.agent.cancel() if stop == "cancel" else handle.dispose())
        handle.agent.send("A")
        await handle.agent.idle()
        start = world.lines.index(moment)
        reason = "aborted" if stop == "cancel" else "disposed"
        assert world.lines[start + 2 : start + 3 + len(rest)] == [*rest, f"a: turn/end 1 {reason}"]
        assert world.model.requests == []


async def test_disposal_wins_over_an_earlier_cancel(world: World) -> None:
    world.deaf = True
    world.model.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        arrival = await world.model.arrival()
        handle.agent.cancel()
        _ = handle.dispose()
        arrival.release()
        await handle.dispose()
        assert "a: turn/end 1 disposed" in world.lines
        assert world.lines.count("signal user") == 1
        assert "signal disposed" not in world.lines


async def test_a_failing_preparation_is_an_error_of_the_turn() -> None:
    lines: list[str] = []

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        return Reply()

    async def prepare(request: ModelRequest, signal: Signal) -> None:
        raise ValueError

    def listener(event: Event) -> None:
        lines.append(event.kind)

    async with Runtime(model, prepare=prepare) as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        runtime.events.on(listener)
        agent.send("A")
        await agent.idle()
        assert [record.kind for record in agent.session] == ["turn/start", "user/message", "turn/end"]
        assert lines[-4:] == ["agent/error", "log", "session/flush", "agent/status"]


async def test_without_tools_a_call_has_an_error_as_its_result() -> None:
    replies = [tools(1), Reply("done")]

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        return replies[request.step - 1]

    async with Runtime(model) as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert [record.kind for record in agent.session].count("tool/result") == 1


async def test_a_failing_observer_of_the_log_changes_nothing(world: World) -> None:
    def fail(event: Event) -> None:
        raise ValueError

    world.runtime.events.on(fail, "log")
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert world.lines[5:11] == turn(1, "A")
        assert len(world.reports) == 6


async def test_requests_say_what_they_are_about(world: World) -> None:
    world.model.plan.append(tools(1))
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        first, second = (cast(ModelRequest, request) for request in world.model.requests)
        assert (first.agent, first.session, first.turn, first.step) == (agent, agent.session, 1, 1)
        assert second.step == 2
        assert second.tools == runtime.tools.list()
        context = cast(ToolContext, world.tool.requests[0])
        assert (context.agent, context.turn, context.step, context.number) == (agent, 1, 1, 1)


async def test_an_accepted_message_is_announced_with_its_kind(world: World) -> None:
    heard: list[bool] = []

    def listener(event: Event) -> None:
        assert isinstance(event, AgentQueued)
        heard.append(event.steering)

    world.runtime.events.on(listener, "agent/queued")
    world.model.hold()
    async with world.runtime as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.steer("A")
        arrival = await world.model.arrival()
        agent.steer("B")
        world.model.held = False
        arrival.release()
        await agent.idle()
    assert heard == [False, True]
