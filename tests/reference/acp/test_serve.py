"""All of the server but the process: a configuration, a client, real commands, and an endpoint on the loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from probate_reference.acp import Connection
from probate_reference.acp.config import Config, OpenAICompatible, PermissionPolicy, Scripted
from probate_reference.acp.serving import serve
from probate_reference.models import ScriptedReply
from probate_reference.seams import Reply, ToolCall
from tests.reference.acp.client import Client
from tests.reference.jsonrpc.wires import Far, wire
from tests.reference.models.endpoint import DONE, HANG, endpoint, piece

pytestmark = pytest.mark.anyio

KEY = "sk-secret"


class Said(list[str]):
    """What the server has said to whoever runs it."""


@asynccontextmanager
async def served(config: Config) -> AsyncIterator[tuple[Client, Said]]:
    to_agent, agent_receives = wire()
    agent_sends, from_agent = wire()
    client, said = Client(Far(to_agent, from_agent)), Said()
    closed = anyio.Event()

    async def beside(connection: Connection) -> None:
        await connection.closed
        closed.set()

    async def run() -> None:
        await serve(
            config,
            agent_receives,
            agent_sends,
            environment={"MY_KEY": KEY},
            say=said.append,
            beside=beside,
            mark="here",
        )

    async with client.far, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(client.listen)
        yield client, said
        await client.far.send.aclose()
        await closed.wait()


async def test_a_person_s_day(tmp_path: Path) -> None:
    """A real model as far as the wire goes, a command that really runs, and a cancel that closes the stream."""
    async with endpoint() as model:
        config = Config(OpenAICompatible(model.url, "m", "MY_KEY", "Be kind."), tmp_path / "home", True, grace=0.1)
        model.plan(
            piece(content="Looking. "),
            piece(
                "tool_calls", tool_calls=[{"index": 0, "function": {"name": "bash", "arguments": '{"command": "pwd"}'}}]
            ),
            DONE,
        )
        model.plan(piece(content="There."), piece("stop"), DONE)
        model.plan(piece(content="Hm"), HANG)
        async with served(config) as (client, said):
            client.permission = lambda _: {"result": {"outcome": {"outcome": "selected", "optionId": "allow-once"}}}
            session = await client.new(str(tmp_path))
            assert await client.answer(await client.prompt(session, "where are we?")) == {"stopReason": "end_turn"}
            assert client.lines[1:] == [
                "update agent_message_chunk Looking. ",
                "update tool_call pwd in_progress",
                "question pwd",
                "update tool_call_update completed",
                "update agent_message_chunk There.",
                "2 end_turn",
            ]
            system, *_, result = model.bodies[1]["messages"]
            assert system["content"] == f"Be kind.\nYou work in the folder {tmp_path}."
            assert str(tmp_path) in result["content"]
            assert [tool["function"]["name"] for tool in model.bodies[0]["tools"]] == [
                "bash",
                "bash_output",
                "bash_kill",
            ]
            prompt = await client.prompt(session, "wait")
            await client.until_line("update agent_message_chunk Hm")
            await client.tell("session/cancel", sessionId=session)
            assert await client.answer(prompt) == {"stopReason": "cancelled"}
            await model.left.wait()
            model.plan(b"no", status=500)
            failed = await client.answer(await client.prompt(session, "again"))
            assert failed["data"] == "the endpoint answered 500: no"
        assert len(said) == 1
        assert "the endpoint answered 500" in said[0]
        assert KEY not in str(model.bodies)


@pytest.mark.parametrize(
    ("policy", "status"), [(PermissionPolicy.ALLOW, "completed"), (PermissionPolicy.DENY, "failed")]
)
async def test_a_policy_decides_without_asking(tmp_path: Path, policy: PermissionPolicy, status: str) -> None:
    call = ToolCall("bash", '{"command": "printenv PROBATE_EXECUTOR > mark", "workdir": "inner"}')
    (tmp_path / "inner").mkdir()
    model = Scripted((ScriptedReply(Reply("", (call,))),))
    async with served(Config(model, None, True, policy)) as (client, _said):
        await client.answer(await client.prompt(await client.new(str(tmp_path)), "go"))
        assert f"update tool_call_update {status}" in client.lines
        assert client.questions == []
    mark = tmp_path / "inner" / "mark"
    if policy is PermissionPolicy.ALLOW:
        assert mark.read_text() == "here\n"
    else:
        assert not mark.exists()
