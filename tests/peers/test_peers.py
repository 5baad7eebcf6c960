"""Independent peers: the clients of two SDKs against ``probate acp``, and our client against an agent on one of them.

They were written by others, read the protocol in their own way, and validate every message that they get.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
import anyio
import pytest

from probate_conformance.backends.install import find_node
from probate_reference.subagents import AcpProvider, RunRequest, RunStop, Subagents
from tests.peers.install import SDK
from tests.reference.acp.programs import HUNG_SECONDS, bash, write_config

HERE = Path(__file__).parent
SCRIPT = [bash("echo PONG > written"), {"text": "Done."}, {"text": "Hm", "hangs": True}, {"text": "Again."}]


def command(tmp_path: Path, loop: str) -> list[str]:
    """Give the command of an agent that runs one command, then hangs, then goes on."""
    config = write_config(
        tmp_path / "c.toml",
        home=str(tmp_path / "home"),
        tools=True,
        grace=0.1,
        model={"kind": "scripted", "replies": SCRIPT},
    )
    return [sys.executable, "-P", "-m", "probate_reference", "acp", "--loop", loop, str(config)]


class Editor:
    """Allows everything, and keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.waiting = anyio.Event()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> acp.RequestPermissionResponse:
        self.heard.append(f"question {tool_call.title}")
        option = next(option for option in options if option.kind == "allow_once")
        outcome = acp.schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return acp.RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: Any) -> None:
        """Be told of the connection, which the SDK wants to do."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        said = getattr(getattr(update, "content", None), "text", None) or getattr(update, "status", "")
        self.heard.append(f"{update.session_update} {said}")
        if said == "Hm":
            self.waiting.set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.anyio
async def test_the_python_client(tmp_path: Path, loop: str) -> None:
    program, *arguments = command(tmp_path, loop)
    editor: Any = Editor()
    with anyio.fail_after(HUNG_SECONDS):
        async with acp.spawn_agent_process(editor, program, *arguments, env=dict(os.environ)) as (agent, process):
            initialized = await agent.initialize(protocol_version=1)
            assert initialized.protocol_version == 1
            assert initialized.agent_capabilities is not None
            assert initialized.agent_capabilities.load_session
            session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
            first = await agent.prompt(session_id=session, prompt=[acp.text_block("go")])
            assert first.stop_reason == "end_turn"
            assert editor.heard == [
                "agent_message_chunk I run it.",
                "tool_call in_progress",
                "question echo PONG > written",
                "tool_call_update completed",
                "agent_message_chunk Done.",
            ]
            async with anyio.create_task_group() as tasks:
                stops: list[str] = []

                async def wait() -> None:
                    answer = await agent.prompt(session_id=session, prompt=[acp.text_block("wait")])
                    stops.append(answer.stop_reason)

                tasks.start_soon(wait)
                await editor.waiting.wait()
                await agent.cancel(session_id=session)
            assert stops == ["cancelled"]
        assert process.returncode == 0
        again: Any = Editor()
        async with acp.spawn_agent_process(again, program, *arguments, env=dict(os.environ)) as (agent, process):
            await agent.initialize(protocol_version=1)
            assert [info.session_id for info in (await agent.list_sessions()).sessions] == [session]
            await agent.load_session(session_id=session, cwd=str(tmp_path), mcp_servers=[])
            assert again.heard[:2] == ["user_message_chunk go", "agent_message_chunk I run it."]
            more = await agent.prompt(session_id=session, prompt=[acp.text_block("more")])
            assert more.stop_reason == "end_turn"
            assert again.heard[-1] == "agent_message_chunk Again."
        assert process.returncode == 0
    assert (tmp_path / "written").read_text() == "PONG\n"


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_the_npm_client(tmp_path: Path, loop: str) -> None:
    node = find_node()
    assert SDK.installed, "the npm SDK is not installed: run `make backends`"

    def run(*what: str) -> list[dict[str, Any]]:
        client = [str(node.executable), str(HERE / "npm" / "client.mjs"), str(SDK.folder), str(tmp_path), *what, "--"]
        ran = subprocess.run(
            [*client, *command(tmp_path, loop)], capture_output=True, text=True, check=False, timeout=HUNG_SECONDS
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stderr == ""
        return [json.loads(line) for line in ran.stdout.splitlines()]

    first = run("first", "")
    session = first[1].pop("session")
    assert first == [
        {"version": 1, "load": True},
        {},
        {"update": "agent_message_chunk", "text": "I run it."},
        {"update": "tool_call", "status": "in_progress"},
        {"question": "echo PONG > written"},
        {"update": "tool_call_update", "status": "completed"},
        {"update": "agent_message_chunk", "text": "Done."},
        {"stopped": "end_turn"},
        {"update": "agent_message_chunk", "text": "Hm"},
        {"stopped": "cancelled"},
        {"gone": {"code": 0, "signal": None}},
    ]
    second = run("load", session)
    assert [fact.get("text") for fact in second if fact.get("update") == "user_message_chunk"] == ["go", "wait"]
    assert second[-4:] == [
        {"loaded": session},
        {"update": "agent_message_chunk", "text": "Again."},
        {"stopped": "end_turn"},
        {"gone": {"code": 0, "signal": None}},
    ]
    assert (tmp_path / "written").read_text() == "PONG\n"


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.anyio
async def test_our_client_drives_an_agent_of_the_python_sdk(anyio_backend: str) -> None:
    with anyio.fail_after(HUNG_SECONDS):
        async with Subagents() as subagents:
            subagents.register("sdk", AcpProvider(sys.executable, str(HERE / "sdk_agent.py"), allow=True))
            run = subagents.start("sdk", RunRequest("ping"))
            result = await run.result
            assert (result.stop, result.output) == (RunStop.COMPLETED, ("ping, allowed",))
            await run.dispose()
