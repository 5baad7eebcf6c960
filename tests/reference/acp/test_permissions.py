"""Permission fails closed: one answer of all lets a tool be called."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from probate_reference import FunctionTool, Reply, Runtime, ToolCall, ToolContext
from probate_reference.acp import Bridge
from probate_reference.permissions import GuardedTool, NotPermitted, Permission, PermissionRequest, Permissions
from tests.reference.acp.client import Bridged
from tests.reference.kit import World, tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def guarded(world: World) -> Bridged:
    """Give a bridge whose runtime asks before its tools are called."""
    permissions = Permissions(report=lambda place, failure: world.note(f"report {place}"))
    for tool in world.runtime.tools.list():
        world.runtime.tools.add(GuardedTool(tool, permissions))
    bridged = Bridged(world)
    bridged.bridge = Bridge(world.runtime, mint=lambda: "s1", permissions=permissions)
    return bridged


def selected(option: object) -> dict[str, object]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}


@pytest.mark.parametrize(
    ("answer", "permission"),
    [
        (selected("allow-once"), "allowed"),
        (selected("reject-once"), "rejected"),
        (selected("unknown"), "rejected"),
        (selected(["allow-once"]), "rejected"),
        ({"result": {"outcome": {"outcome": "cancelled"}}}, "cancelled"),
        ({"result": {"outcome": {"outcome": "surprise", "optionId": "allow-once"}}}, "rejected"),
        ({"result": {"outcome": "selected"}}, "rejected"),
        ({"result": None}, "rejected"),
        ({"error": {"code": -32603, "message": "no"}}, "unavailable"),
        ({"nonsense": 1, "error": None}, "unavailable"),
    ],
)
async def test_what_a_client_may_answer(guarded: Bridged, answer: dict[str, object], permission: str) -> None:
    world = guarded.world
    world.model.plan.append(tools(1))
    async with world.runtime, guarded.client() as (client, _connection):
        client.permission = lambda _params: answer
        assert await client.answer(await client.prompt(await client.new(), "hello")) == {"stopReason": "end_turn"}
        assert client.lines[1:4] == [
            "update agent_message_chunk tools",
            "update tool_call tool1 in_progress",
            "question tool1",
        ]
        allowed = permission == "allowed"
        assert client.lines[4] == f"update tool_call_update {'completed' if allowed else 'failed'}"
        result = next(line for line in world.lines if line.startswith("s1: tool/result"))
        assert result == (
            "s1: tool/result 1 ok result"
            if allowed
            else f"s1: tool/result 1 error 'tool1' was not called: permission {permission}"
        )
        assert len(world.tool.requests) == allowed


async def test_a_cancel_takes_the_question_back_and_a_late_answer_allows_nothing(guarded: Bridged) -> None:
    world = guarded.world
    world.model.plan.append(tools(1))
    async with world.runtime, guarded.client() as (client, _connection):
        session = await client.new()
        prompt = await client.prompt(session, "hello")
        await client.until_line("question tool1")
        await client.tell("session/cancel", sessionId=session)
        await client.answer(prompt)
        number = client.questions[0]["id"]
        assert client.lines[4:] == [f"call off {number}", "update tool_call_update failed", f"{prompt} cancelled"]
        await client.far.say({"jsonrpc": "2.0", "id": number, **selected("allow-once")})
        await client.answer(await client.prompt(session, "again"))
        assert world.tool.requests == []


async def test_a_client_that_goes_away_allows_nothing(guarded: Bridged) -> None:
    world = guarded.world
    world.model.plan.append(tools(1))
    async with world.runtime, guarded.client() as (client, connection):
        await client.prompt(await client.new(), "hello")
        await client.until_line("question tool1")
        await client.far.send.aclose()
        await connection.closed
        await connection.teardown()
        assert world.tool.requests == []


async def test_an_agent_that_no_client_holds_is_for_the_next_to_answer(guarded: Bridged) -> None:
    world = guarded.world
    world.model.plan.append(tools(1))
    async with world.runtime, guarded.client():
        handle = await world.runtime.owner("me").create("other")
        handle.agent.send("hello")
        await handle.agent.idle()
        assert "other: tool/result 1 error 'tool1' was not called: permission unavailable" in world.lines
        await handle.dispose()


def test_asking_without_a_call_is_not_the_bridge_s_business(guarded: Bridged) -> None:
    assert guarded.bridge._ask(PermissionRequest("tool1", {}, ToolContext())) is None


async def test_the_newest_who_takes_the_question_answers() -> None:
    permissions = Permissions()
    asked: list[str] = []

    def answerer(name: str, answer: Permission | None) -> Any:
        async def give() -> Permission:
            assert answer is not None
            return answer

        def take(request: PermissionRequest) -> Awaitable[Permission] | None:
            asked.append(name)
            return None if answer is None else give()

        return take

    request = PermissionRequest("x", {}, ToolContext())
    assert await permissions.ask(request) is Permission.UNAVAILABLE
    permissions.add(answerer("old", Permission.REJECTED))
    remove = permissions.add(answerer("new", Permission.ALLOWED))
    permissions.add(answerer("not mine", None))
    assert await permissions.ask(request) is Permission.ALLOWED
    remove()
    assert await permissions.ask(request) is Permission.REJECTED
    assert asked == ["not mine", "new", "not mine", "old"]


async def test_an_answerer_that_fails_is_a_no() -> None:
    reports: list[str] = []
    permissions = Permissions(report=lambda place, failure: reports.append(f"{place}: {failure}"))

    def fails(request: PermissionRequest) -> Awaitable[Permission] | None:
        raise ValueError("broken")

    permissions.add(fails)
    tool = GuardedTool(FunctionTool("x", never, "does", {"type": "object"}), permissions)
    assert (tool.name, tool.description, tool.parameters) == ("x", "does", {"type": "object"})
    with pytest.raises(NotPermitted):
        await tool.call({}, ToolContext())
    assert reports == ["permission: broken"]


async def never(*_arguments: object) -> str:
    raise AssertionError


async def test_a_turn_that_is_over_is_not_asked_about() -> None:
    """The signal has fired, so nobody may be asked: a question would come after the prompt's answer."""
    permissions = Permissions()
    asked: list[object] = []
    answers: list[Permission] = []
    permissions.add(asked.append)

    async def model(request: Any, signal: Any) -> Reply:
        request.agent.cancel()
        answers.append(await permissions.ask(PermissionRequest("x", {}, ToolContext(request.agent, signal, 1, 1, 1))))
        return Reply("", (ToolCall("x"),))

    async with Runtime(model) as runtime:
        handle = await runtime.owner("me").create("a")
        handle.agent.send("hello")
        await handle.agent.idle()
    assert (asked, answers) == ([], [Permission.CANCELLED])
