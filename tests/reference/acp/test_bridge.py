"""The bridge in memory: one slot, one answer, and an end that leaves nothing."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from probate_reference import (
    AgentScope,
    Event,
    LogAppended,
    ModelRequest,
    Reply,
    RuntimeStatistics,
    Signal,
    ToolCall,
)
from probate_reference.acp import Bridge
from probate_reference.live import Live, Piece
from probate_reference.models import ModelFailed
from tests.reference.acp.client import Bridged, Client
from tests.reference.kit import MAX_TOKENS, World, tools

pytestmark = pytest.mark.anyio


def lines(client: Client) -> list[str]:
    taken, client.lines[:] = client.lines[:], []
    return taken


async def test_a_prompt_is_answered_by_its_own_turn(bridged: Bridged) -> None:
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        assert (await client.ask("initialize", protocolVersion=7))["protocolVersion"] == 1
        session = await client.new()
        assert await client.answer(await client.prompt(session, "hello")) == {"stopReason": "end_turn"}
        assert lines(client) == ["1 ok", "2 ok", "update agent_message_chunk answer", "3 end_turn"]


@pytest.mark.parametrize(
    ("outcome", "heard"),
    [
        (MAX_TOKENS, ["update agent_message_chunk long", "2 max_tokens"]),
        (ValueError("broken"), ["2 error -32603"]),
    ],
)
async def test_stop_reasons(bridged: Bridged, outcome: Any, heard: list[str]) -> None:
    bridged.world.model.plan.append(outcome)
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        await client.answer(await client.prompt(session, "hello"))
        assert lines(client)[1:] == heard
        assert await client.answer(await client.prompt(session, "again")) == {"stopReason": "end_turn"}


async def test_the_answer_comes_before_the_closing_flush(bridged: Bridged) -> None:
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        bridged.world.flush.hold()
        await client.answer(await client.prompt(session, "hello"))
        arrival = await bridged.world.flush.arrival()
        assert "agent/status s1 idle" not in bridged.world.lines
        bridged.world.flush.held = False
        arrival.release()


async def test_tool_calls_are_told_as_in_progress_and_then_as_ended(bridged: Bridged) -> None:
    world = bridged.world
    world.model.plan.append(tools(2))
    world.tool.plan.extend(["fine", ValueError("broken")])
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        await client.answer(await client.prompt(session, "hello"))
        assert lines(client)[1:] == [
            "update agent_message_chunk tools",
            "update tool_call tool1 in_progress",
            "update tool_call_update completed",
            "update tool_call tool2 in_progress",
            "update tool_call_update failed",
            "update agent_message_chunk answer",
            "2 end_turn",
        ]


async def test_a_second_prompt_is_refused_and_the_first_unharmed(bridged: Bridged) -> None:
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        one, other = await client.new(), await client.new()
        bridged.world.model.hold()
        first = await client.prompt(one, "first")
        arrival = await bridged.world.model.arrival()
        refused = await client.answer(await client.prompt(one, "second"))
        assert "already in flight" in refused["message"]
        elsewhere = await client.prompt(other, "elsewhere")
        (await bridged.world.model.arrival()).release()
        assert await client.answer(elsewhere) == {"stopReason": "end_turn"}
        arrival.release()
        assert await client.answer(first) == {"stopReason": "end_turn"}
        assert not any("second" in line for line in bridged.world.lines)


async def test_both_messages_in_one_breath(bridged: Bridged) -> None:
    """J9: the cancel comes before the turn; the prompt is answered and never runs."""
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        bridged.world.take()
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
        client._open[90] = session
        await client.far.say(
            b'{"jsonrpc":"2.0","id":90,"method":"session/prompt","params":'
            + json.dumps(prompt).encode()
            + b'}\n{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}\n'
        )
        client._methods[90] = "session/prompt"
        assert await client.answer(90) == {"stopReason": "cancelled"}
        assert bridged.world.take() == ["agent/queued s1 hello False", "agent/cancel-requested s1 user"]
        assert await client.answer(await client.prompt(session, "next")) == {"stopReason": "end_turn"}


@pytest.mark.parametrize("deaf", [False, True])
async def test_a_cancel_answers_at_once_and_nothing_of_the_turn_follows(bridged: Bridged, deaf: bool) -> None:
    world = bridged.world
    world.deaf = deaf
    world.model.plan.append(tools(1))
    world.tool.hold()
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        prompt = await client.prompt(session, "hello")
        arrival = await world.tool.arrival()
        await client.tell("session/cancel", sessionId=session)
        assert await client.answer(prompt) == {"stopReason": "cancelled"}
        # J11, J12: a new prompt at once; the late end of the old turn is none of its business.
        again = await client.prompt(session, "again")
        await world.until("agent/queued s1 again False")
        world.tool.held = False
        arrival.release("late")
        assert await client.answer(again) == {"stopReason": "end_turn"}
        assert lines(client)[1:] == [
            "update agent_message_chunk tools",
            "update tool_call tool1 in_progress",
            "update tool_call_update failed",
            f"{prompt} cancelled",
            "update agent_message_chunk answer",
            f"{again} end_turn",
        ]


async def test_a_prompt_can_be_called_off_and_is_answered_once(bridged: Bridged) -> None:
    world = bridged.world
    world.model.hold()
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        prompt = await client.prompt(session, "hello")
        await world.model.arrival()
        await client.tell("$/cancel_request", requestId=prompt)
        assert (await client.answer(prompt))["code"] == -32800
        assert "agent/cancel-requested s1 user" in world.lines
        world.model.held = False
        assert await client.answer(await client.prompt(session, "again")) == {"stopReason": "end_turn"}


async def test_an_injection_settles_no_prompt(bridged: Bridged) -> None:
    """J17."""
    world = bridged.world
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        world.when("agent/queued s1 hello False", lambda event: event.agent.inject("context"))
        world.model.hold()
        prompt = await client.prompt(session, "hello")
        arrival = await world.model.arrival()
        assert "s1: turn/end 1 completed" in world.lines
        assert prompt not in client.answers
        arrival.release()
        assert await client.answer(prompt) == {"stopReason": "end_turn"}


@pytest.mark.parametrize(("outcome", "wanted"), [(None, "end_turn"), (ValueError("x"), "error -32603")])
async def test_the_log_decides_when_the_end_was_missed(bridged: Bridged, outcome: Any, wanted: str) -> None:
    """J16: whoever keeps the bridge from hearing the end of a turn does not keep the client from its answer."""
    world = bridged.world
    world.model.plan.append(outcome or Reply("answer"))
    deafened = bridged.bridge._removals[0]
    deafened()
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        prompt = await client.prompt(session, "hello")
        await client.answer(prompt)
        assert lines(client)[-1] == f"{prompt} {wanted}"


async def test_a_prompt_that_somebody_else_cancels_before_it_runs_is_answered(bridged: Bridged) -> None:
    world = bridged.world
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        world.when("agent/queued s1 hello False", lambda event: event.agent.cancel())
        assert await client.answer(await client.prompt(session, "hello")) == {"stopReason": "cancelled"}
        assert await client.answer(await client.prompt(session, "again")) == {"stopReason": "end_turn"}


async def test_one_session_is_cancelled_and_the_other_untouched(bridged: Bridged) -> None:
    """J13."""
    world = bridged.world
    async with world.runtime, bridged.client() as (client, _connection):
        one, other = await client.new(), await client.new()
        world.model.hold()
        first = await client.prompt(one, "first")
        await world.model.arrival()
        second = await client.prompt(other, "second")
        arrival = await world.model.arrival()
        await client.tell("session/cancel", sessionId=one)
        assert await client.answer(first) == {"stopReason": "cancelled"}
        assert second not in client.answers
        arrival.release()
        assert await client.answer(second) == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/prompt", {"sessionId": "s1", "prompt": [{"type": "text", "text": " "}]}, -32602),
        ("session/prompt", {"sessionId": "s1", "prompt": []}, -32602),
        ("session/prompt", {"sessionId": "s1", "prompt": [{"type": "image", "data": ""}]}, -32602),
        ("session/prompt", {"sessionId": "s1", "prompt": [7]}, -32602),
        ("session/prompt", {"sessionId": "s1", "prompt": "x"}, -32602),
        ("session/prompt", {"sessionId": "s1", "prompt": [{"type": "text"}]}, -32602),
        ("session/prompt", {"sessionId": "s1", "prompt": [{"type": "text", "text": "\ud800"}]}, -32602),
        ("session/prompt", {"sessionId": "nobody", "prompt": [{"type": "text", "text": "x"}]}, -32002),
        ("session/prompt", {}, -32602),
        ("session/close", {"sessionId": "nobody"}, -32002),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"mcpServers": []}, -32602),
        ("session/new", {"cwd": "/work", "mcpServers": [{"name": "x"}]}, -32602),
        ("session/new", {"cwd": "/work", "mcpServers": [], "additionalDirectories": ["/x"]}, -32602),
        ("session/load", {"sessionId": "s1", "cwd": "/work", "mcpServers": []}, -32601),
        ("session/set_mode", {"sessionId": "s1", "modeId": "x"}, -32601),
        ("initialize", {}, -32602),
        ("_custom/thing", {}, -32601),
    ],
)
async def test_what_is_refused_leaves_no_turn(
    bridged: Bridged, method: str, params: dict[str, object], code: int
) -> None:
    world = bridged.world
    async with world.runtime, bridged.client() as (client, _connection):
        await client.new()
        world.take()
        assert (await client.ask(method, **params))["code"] == code
        await client.tell("session/cancel", sessionId="nobody")
        await client.tell("session/cancel")
        await client.tell("_unknown/notification")
        assert await client.answer(await client.prompt("s1", "next")) == {"stopReason": "end_turn"}
        assert world.take()[0] == "agent/queued s1 next False"


async def test_links_are_read_as_text(bridged: Bridged) -> None:
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        blocks = [
            {"type": "text", "text": "see"},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "resource_link", "uri": "file:///y", "name": ""},
        ]
        await client.ask("session/prompt", sessionId=session, prompt=blocks)
        assert "agent/queued s1 see\n[x](file:///x)\nfile:///y False" in bridged.world.lines


def nothing_left(bridged: Bridged) -> None:
    statistics = bridged.world.runtime.statistics()
    assert (statistics.agents, statistics.sessions, statistics.lifecycles) == (0, 0, 0), statistics
    assert isinstance(statistics, RuntimeStatistics)
    assert bridged.bridge.sessions == 0


@pytest.mark.parametrize("at", ["idle", "model", "tool"])
async def test_a_client_that_goes_away_leaves_nothing(bridged: Bridged, at: str) -> None:
    """J1."""
    world = bridged.world
    async with world.runtime:
        async with bridged.client() as (client, connection):
            session = await client.new()
            if at == "model":
                world.model.hold()
            if at == "tool":
                world.model.plan.append(tools(1))
                world.tool.hold()
            if at != "idle":
                prompt = await client.prompt(session, "hello")
                await (world.model if at == "model" else world.tool).arrival()
            await client.far.send.aclose()
            await connection.closed
            await connection.teardown()
            nothing_left(bridged)
            if at != "idle":
                assert await client.answer(prompt) == {"stopReason": "cancelled"}
                assert "s1: turn/end 1 disposed" in world.lines
        assert bridged.bridge.connections == 0


async def test_a_disconnect_and_a_close_are_one_teardown(bridged: Bridged) -> None:
    """J3."""
    world = bridged.world
    async with world.runtime, bridged.client() as (client, connection):
        await client.new()
        world.model.hold()
        world.deaf = True
        prompt = await client.prompt("s1", "hello")
        arrival = await world.model.arrival()
        await client.far.send.aclose()
        await connection.closed
        closing = bridged.bridge.close()
        assert connection.teardown() is connection.teardown()
        assert await client.answer(prompt) == {"stopReason": "cancelled"}
        assert not closing.done
        assert not connection.teardown().done
        arrival.release()
        await closing
        assert connection.teardown().done
        nothing_left(bridged)
        assert bridged.bridge.close() is closing
        assert world.lines.count("agent/disposed s1") == 1


async def test_a_late_verb_is_refused_when_the_bridge_is_closed(bridged: Bridged) -> None:
    """J4; a client that comes after the end is sent away."""
    async with bridged.world.runtime:
        await bridged.bridge.close()
        await bridged.bridge.close()
        async with bridged.client() as (_client, connection):
            assert (await connection.closed) == "local"
        nothing_left(bridged)


async def test_a_creation_that_loses_against_the_close_is_disposed(bridged: Bridged) -> None:
    """J5: the agent that nobody can reach any more does not stay."""
    world = bridged.world
    gate = anyio.Event()

    async def setup(_scope: AgentScope) -> None:
        await gate.wait()

    bridged.bridge.setup = setup
    async with world.runtime:
        async with bridged.client() as (client, connection):
            new = await client.begin("session/new", cwd="/work", mcpServers=[])
            await anyio.wait_all_tasks_blocked()
            teardown = connection.teardown()
            assert teardown.done  # there is nothing yet to end
            gate.set()
            assert "closed during session/new" in (await client.answer(new))["message"]
            nothing_left(bridged)
        assert "agent/disposed s1" in world.lines


@pytest.mark.parametrize("how", ["called off", "gone"])
async def test_a_creation_that_nobody_waits_for_is_withdrawn(bridged: Bridged, how: str) -> None:
    world = bridged.world

    async def setup(_scope: AgentScope) -> None:
        await anyio.sleep_forever()

    bridged.bridge.setup = setup
    async with world.runtime:
        async with bridged.client() as (client, _connection):
            new = await client.begin("session/new", cwd="/work", mcpServers=[])
            await anyio.wait_all_tasks_blocked()
            if how == "called off":
                await client.tell("$/cancel_request", requestId=new)
            else:
                await client.far.send.aclose()
            assert (await client.answer(new))["code"] == -32800
        await anyio.wait_all_tasks_blocked()
        nothing_left(bridged)


async def test_closing_a_session_answers_its_prompt_first(bridged: Bridged) -> None:
    world = bridged.world
    world.model.hold()
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        prompt = await client.prompt(session, "hello")
        await world.model.arrival()
        assert await client.ask("session/close", sessionId=session) == {}
        nothing_left(bridged)
        assert lines(client)[1:] == [f"{prompt} cancelled", f"{prompt + 1} ok"]
        assert "signal disposed" in world.lines
        assert (await client.ask("session/close", sessionId=session))["code"] == -32002


async def test_a_disconnect_waits_for_a_session_that_is_being_closed(bridged: Bridged) -> None:
    world = bridged.world
    world.model.hold()
    world.deaf = True
    async with world.runtime, bridged.client() as (client, connection):
        session = await client.new()
        await client.prompt(session, "hello")
        arrival = await world.model.arrival()
        await client.begin("session/close", sessionId=session)
        await world.until("agent/status s1 disposed")
        teardown = connection.teardown()
        assert not teardown.done
        arrival.release()
        await teardown
        nothing_left(bridged)


async def test_two_clients_on_one_runtime(bridged: Bridged) -> None:
    world = bridged.world
    async with world.runtime, bridged.client() as (one, _):
        mine = await one.new()
        async with bridged.client() as (other, _connection):
            theirs = await other.new()
            assert (await other.ask("session/close", sessionId=mine))["code"] == -32002
            await other.tell("session/cancel", sessionId=mine)
            assert await other.answer(await other.prompt(theirs, "hello")) == {"stopReason": "end_turn"}
        assert [agent.id for agent in world.runtime.agents.list()] == [mine]
        assert await one.answer(await one.prompt(mine, "hello")) == {"stopReason": "end_turn"}
        assert sum(line.startswith("update") for line in one.lines) == 1


async def test_an_agent_that_is_ended_by_others_answers_its_prompt(bridged: Bridged) -> None:
    world = bridged.world
    world.model.hold()
    world.deaf = True
    async with world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        prompt = await client.prompt(session, "hello")
        arrival = await world.model.arrival()
        _ = world.runtime.provider.unload()
        assert await client.answer(prompt) == {"stopReason": "cancelled"}
        arrival.release()
        refused = await client.answer(await client.prompt(session, "late"))
        assert refused["data"] == {"code": "disposed"}


async def test_an_observer_that_throws_does_not_keep_the_answer(world: World) -> None:
    def throws(event: Event) -> None:
        if isinstance(event, LogAppended):
            raise ValueError("observer")

    world.runtime.events.on(throws)
    bridged = Bridged(world)
    async with world.runtime, bridged.client() as (client, _connection):
        assert await client.answer(await client.prompt(await client.new(), "hello")) == {"stopReason": "end_turn"}


async def test_arguments_that_are_no_json_are_shown_as_text(bridged: Bridged) -> None:
    bridged.world.model.plan.append(Reply("", (ToolCall("tool1", "{NaN"), ToolCall("tool1", '{"x": NaN}'))))
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        await client.answer(await client.prompt(await client.new(), "hello"))
        assert lines(client).count("update tool_call tool1 in_progress") == 2


async def test_what_a_model_says_is_shown_while_it_says_it_and_only_once(world: World) -> None:
    live = Live()

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        for turn in (request.turn, request.turn + 1):  # what belongs to no turn of a prompt is not shown
            live.say(Piece(request.agent, turn, request.step, "hm", thought=True))
            live.say(Piece(request.agent, turn, request.step, "one "))
            live.say(Piece(request.agent, turn, request.step, ""))
        return Reply("one two")

    world.runtime._kernel.model = model
    bridged = Bridged(world)
    bridged.bridge = Bridge(world.runtime, live=live, mint=lambda: "s1")
    async with world.runtime, bridged.client() as (client, _connection):
        await client.answer(await client.prompt(await client.new(), "hello"))
        assert lines(client)[1:] == [
            "update agent_thought_chunk hm",
            "update agent_message_chunk one ",
            "update agent_message_chunk two",
            "2 end_turn",
        ]
        other = await world.runtime.owner("me").create("other")
        live.say(Piece(other.agent, 1, 1, "nobody's"))


async def test_why_a_model_failed_is_told_and_what_else_broke_is_not(bridged: Bridged) -> None:
    bridged.world.model.plan.extend([ModelFailed("overloaded"), ValueError("internal")])
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        session = await client.new()
        first = await client.answer(await client.prompt(session, "one"))
        second = await client.answer(await client.prompt(session, "two"))
        assert (first["message"], first["data"]) == ("turn failed", "overloaded")
        assert (second["message"], second.get("data")) == ("turn failed", None)


async def test_a_setup_that_fails_is_told_as_an_error(bridged: Bridged) -> None:
    async def setup(_scope: AgentScope) -> None:
        raise ValueError("broken")

    bridged.bridge.setup = setup
    async with bridged.world.runtime, bridged.client() as (client, _connection):
        answer = await client.ask("session/new", cwd="/work", mcpServers=[])
        assert answer["code"] == -32603
        nothing_left(bridged)
    async with bridged.client() as (client, _connection):
        assert (await client.ask("session/new", cwd="/work", mcpServers=[]))["code"] == -32603


async def test_a_connection_that_is_closed_says_nothing_more(bridged: Bridged) -> None:
    async with bridged.world.runtime, bridged.client() as (client, connection):
        await client.ask("authenticate", methodId="none")
        assert connection.sessions == 0
        connection.close()
        assert await connection.closed == "local"


async def test_a_bridge_can_be_loaded_anew_while_the_old_one_ends(bridged: Bridged) -> None:
    world = bridged.world
    world.deaf = True
    world.model.hold()
    async with world.runtime, bridged.client() as (client, _connection):
        prompt = await client.prompt(await client.new(), "hello")
        arrival = await world.model.arrival()
        closing = bridged.bridge.close()
        assert await client.answer(prompt) == {"stopReason": "cancelled"}
        world.model.held = False
        bridged.bridge = Bridge(world.runtime, mint=lambda: "new")
        async with bridged.client() as (other, _):
            assert await other.answer(await other.prompt(await other.new(), "hello")) == {"stopReason": "end_turn"}
            assert not closing.done
            arrival.release()
            await closing
            assert await other.answer(await other.prompt("new", "again")) == {"stopReason": "end_turn"}
