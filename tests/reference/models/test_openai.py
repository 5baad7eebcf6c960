"""A real endpoint, as far as the wire goes: slow, stuck, broken, calling tools, and never told the key of another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from probate_reference import (
    Agent,
    AgentError,
    AssistantMessage,
    FunctionTool,
    Runtime,
    ToolResult,
    TurnEnd,
    TurnReason,
)
from probate_reference.live import Live
from probate_reference.models.openai import MAX_ANSWER, MAX_LINE, OpenAIModel
from tests.reference.models.endpoint import DONE, HANG, Endpoint, endpoint, piece

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret"


class Talk:
    """An agent whose model is behind an endpoint."""

    def __init__(self, served: Endpoint, agent: Agent, said: list[str], failures: list[str]) -> None:
        self.served = served
        self.agent = agent
        self.said = said
        self.failures = failures

    async def turn(self, text: str = "hello") -> str:
        self.agent.send(text)
        await self.agent.idle()
        end = self.agent.session[-1]
        assert isinstance(end, TurnEnd)
        return end.reason.value


@asynccontextmanager
async def talk(**options: Any) -> AsyncIterator[Talk]:
    async with endpoint() as served:
        live, said, failures = Live(), list[str](), list[str]()
        live.on(lambda piece: said.append(f"({piece.text})" if piece.thought else piece.text))
        options = {"system": lambda request: "Be kind.", **options}
        model = OpenAIModel(options.pop("url", served.url), "some-model", KEY, live=live, **options)

        async def tool(arguments: Any, context: Any) -> str:
            return f"did {arguments['what']}"

        schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
        async with Runtime(model, tools=[FunctionTool("do", tool, "Does.", schema)]) as runtime:
            runtime.events.on(
                lambda event: failures.append(str(event.error)) if isinstance(event, AgentError) else None
            )
            handle = await runtime.owner("me").create("a")
            yield Talk(served, handle.agent, said, failures)


async def test_an_answer_comes_in_pieces_and_is_logged_whole() -> None:
    async with talk() as it:
        it.served.plan(
            b": a comment\n\n",
            piece(role="assistant", content=""),
            piece(reasoning_content="hm"),
            piece(content="Hel")[:20],
            piece(content="Hel")[20:],
            piece(content="lo"),
            piece("stop"),
            b'data: {"choices": [], "usage": {}}\n\n',
            DONE,
        )
        assert await it.turn() == "completed"
        assert it.said == ["(hm)", "Hel", "lo"]
        assert AssistantMessage("Hello") in it.agent.session.records
        assert it.served.paths == ["/v1/chat/completions"]
        assert it.served.headers[0]["authorization"] == f"Bearer {KEY}"
        body = it.served.bodies[0]
        assert (body["model"], body["stream"]) == ("some-model", True)
        assert body["messages"] == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hello"},
        ]


async def test_tools_are_called_and_their_results_told() -> None:
    async with talk() as it:
        it.served.plan(
            piece(content="I do."),
            piece(tool_calls=[{"index": 0, "id": "x", "function": {"name": "do", "arguments": '{"wh'}}]),
            piece(tool_calls=[{"index": 0, "function": {"arguments": 'at": "one"}'}}]),
            piece(tool_calls=[{"index": 1, "id": "y", "function": {"name": "no", "arguments": ""}}]),
            piece("tool_calls"),
            DONE,
        )
        it.served.plan(piece("stop", content="Done."), DONE)
        assert await it.turn() == "completed"
        assert it.served.bodies[0]["tools"][0]["function"] == {
            "name": "do",
            "description": "Does.",
            "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
        }
        assert it.served.bodies[1]["messages"][2:] == [
            {
                "role": "assistant",
                "content": "I do.",
                "tool_calls": [
                    {
                        "id": "call_1_1_1",
                        "type": "function",
                        "function": {"name": "do", "arguments": '{"what": "one"}'},
                    },
                    {"id": "call_1_1_2", "type": "function", "function": {"name": "no", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1_1_1", "content": "did one"},
            {"role": "tool", "tool_call_id": "call_1_1_2", "content": "no tool 'no'"},
        ]


async def test_an_answer_that_was_cut_off() -> None:
    async with talk() as it:
        it.served.plan(piece("length", content="Hel"), DONE)
        assert await it.turn() == "max-tokens"


async def test_a_cancel_in_the_middle_closes_the_stream() -> None:
    async with talk() as it:
        it.served.plan(piece(content="Hel"), HANG)
        it.agent.send("hello")
        await it.served.silent.wait()
        it.agent.cancel()
        await it.served.left.wait()
        await it.agent.idle()
        assert it.agent.session[-1] == TurnEnd(1, TurnReason.ABORTED)
        assert not any(isinstance(record, AssistantMessage) for record in it.agent.session)
        it.served.plan(piece("stop", content="again"), DONE)
        assert await it.turn() == "completed"


async def test_an_endpoint_that_is_stuck_is_given_up() -> None:
    async with talk(silent_seconds=0.05) as it:
        it.served.plan(piece(content="Hel"), HANG)
        assert await it.turn() == "error"
        assert "failed: ReadTimeout" in it.failures[0]


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([piece(content="Hel")], "broke off"),
        ([], "broke off"),
        ([b"data: {\n\n"], "no JSON"),
        ([b"data: " + b"[" * 100_000 + b"\n\n"], "no JSON"),
        ([b"data: 7\n\n"], "no object"),
        ([b'data: {"error": {"message": "overloaded"}}\n\n'], "overloaded"),
        ([piece(tool_calls=[7])], "tool call"),
        ([piece(tool_calls=[{"index": 0}])], "tool call"),
        ([b"data: " + b"x" * (MAX_LINE + 10)], "a line of more"),
        ([piece(content="x" * (MAX_LINE - 200))] * (MAX_ANSWER // MAX_LINE + 1), "an answer of more"),
    ],
)
async def test_a_broken_answer_fails_the_turn(parts: list[bytes], says: str) -> None:
    async with talk() as it:
        it.served.plan(*parts)
        assert await it.turn() == "error"
        assert says in it.failures[0]
        it.served.plan(piece("stop", content="again"), DONE)
        assert await it.turn() == "completed"


async def test_a_refusal_is_told_without_the_key() -> None:
    async with talk() as it:
        it.served.plan(f"the key {KEY} is\n wrong".encode() + b"x" * 1_000, status=401)
        assert await it.turn() == "error"
        assert it.failures[0].startswith("the endpoint answered 401: the key *** is wrong")


async def test_the_key_follows_no_redirect() -> None:
    async with talk() as it, endpoint() as other:
        it.served.extra = f"Location: {other.url}/chat/completions\r\n"
        it.served.plan(b"moved", status=307)
        assert await it.turn() == "error"
        assert other.paths == []


async def test_the_environment_sends_the_key_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk() as it, endpoint() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        it.served.plan(piece("stop", content="Hello"), DONE)
        assert await it.turn() == "completed"
        assert proxy.paths == []


async def test_nobody_listens() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    await listener.aclose()
    async with talk(url=f"http://127.0.0.1:{port}/v1") as it:
        assert await it.turn() == "error"
        assert "127.0.0.1" in it.failures[0]


async def test_half_a_character_is_said_again() -> None:
    async with talk() as it:
        it.served.plan(b'data: {"choices":[{"delta":{"content":"\\ud800"},"finish_reason":"stop"}]}\n\n', DONE)
        it.served.plan(piece("stop", content="again"), DONE)
        assert await it.turn() == "completed"
        assert await it.turn("more") == "completed"
        assert it.served.bodies[1]["messages"][2]["content"] == "\ud800"


async def test_a_tool_call_in_one_piece_without_an_index() -> None:
    async with talk() as it:
        it.served.plan(
            piece("stop", tool_calls=[{"id": "x", "function": {"name": "do", "arguments": '{"what": "it"}'}}]), DONE
        )
        it.served.plan(piece("stop", content="Done."), DONE)
        assert await it.turn() == "completed"
        assert [record.text for record in it.agent.session if isinstance(record, ToolResult)] == ["did it"]
