"""``probate acp`` as a program: its streams, its ends, and what it leaves."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from probate_reference import Persistence, TurnEnd, TurnReason
from probate_reference.persistence import JsonlStore, in_place
from tests.reference.acp.client import Client
from tests.reference.acp.programs import HUNG_SECONDS, Served, bash, program, write_config

pytestmark = pytest.mark.anyio

FULL = Path("/dev/full")
TRAPS = "trap '' TERM; echo > started; while :; do sleep 5; done"
"""A command that does not end when it is told to."""
SCATTERS = "(setsid sh -c 'echo > started; exec sleep 300' & sleep 301 &); sleep 302"
"""A command that leaves processes in its group, and one outside of it."""


class Fifo:
    """Where a command says that it has begun."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "started")
        self._descriptor = os.open(folder / "started", os.O_RDONLY | os.O_NONBLOCK)

    async def written(self) -> None:
        """Wait until it has."""
        with anyio.fail_after(HUNG_SECONDS):
            await anyio.wait_readable(self._descriptor)
        os.close(self._descriptor)


def scripted(tmp_path: Path, *replies: dict[str, object], **settings: object) -> str:
    settings = {"tools": True, "grace": 0.1, "permission": "allow", "home": str(tmp_path / "home"), **settings}
    return str(write_config(tmp_path / "c.toml", **settings, model={"kind": "scripted", "replies": list(replies)}))


async def last_reason(home: Path) -> TurnReason:
    persistence = Persistence(JsonlStore(home), offload=in_place)
    await persistence.open()
    (stored,) = await persistence.list()
    end = (await persistence.read(stored.id)).records[-1]
    await persistence.close()
    assert isinstance(end, TurnEnd)
    return end.reason


def has_said(client: Client, text: str, times: int) -> bool:
    return client.lines.count(f"update agent_message_chunk {text}") == times


async def leave(served: Served, how: str) -> int:
    if how == "eof":
        await served.client.far.send.aclose()
    elif how == "broken":
        await served.client.far.receive.aclose()
        await served.client.far.send.aclose()
    else:
        served.process.send_signal(signal.Signals[how])
    return await served.gone()


async def test_without_a_configuration_it_echoes(anyio_backend: str) -> None:
    async with program(loop=anyio_backend) as served:
        client = served.client
        assert (await client.ask("initialize", protocolVersion=1))["agentInfo"]["name"] == "probate-reference"
        session = await client.new()
        assert await client.answer(await client.prompt(session, "to be")) == {"stopReason": "end_turn"}
        assert client.lines[2:] == ["update agent_message_chunk to ", "update agent_message_chunk be ", "3 end_turn"]
        assert await leave(served, "eof") == 0
        assert served.errors == ""


@pytest.mark.parametrize(
    ("how", "command"),
    [("eof", SCATTERS), ("eof", TRAPS), ("broken", TRAPS), ("SIGTERM", TRAPS), ("SIGINT", TRAPS)],
    ids=["eof-scatters", "eof", "broken", "TERM", "INT"],
)
async def test_every_end_stops_the_turn_ends_the_tools_and_keeps_the_log(
    tmp_path: Path, anyio_backend: str, how: str, command: str
) -> None:
    config, started = scripted(tmp_path, bash(command)), Fifo(tmp_path)
    async with program(config, loop=anyio_backend) as served:
        client = served.client
        session = await client.new(str(tmp_path))
        prompt = await client.prompt(session, "go")
        await started.written()
        code = await leave(served, how)
        assert code == (0 if how in ("eof", "broken") else 128 + signal.Signals[how])
        if how != "broken":
            await client.answer(prompt)
            assert client.answers[prompt] == {"stopReason": "cancelled"}
        assert "Traceback" not in served.errors
        assert served.left() == 0
    assert await last_reason(tmp_path / "home") is TurnReason.DISPOSED


async def test_a_cancel_in_a_tool_and_a_new_prompt(tmp_path: Path, anyio_backend: str) -> None:
    config, started = scripted(tmp_path, bash("echo > started; sleep 300"), {"text": "Again."}), Fifo(tmp_path)
    async with program(config, loop=anyio_backend) as served:
        client = served.client
        session = await client.new(str(tmp_path))
        prompt = await client.prompt(session, "go")
        await started.written()
        await client.tell("session/cancel", sessionId=session)
        assert await client.answer(prompt) == {"stopReason": "cancelled"}
        assert await client.answer(await client.prompt(session, "again")) == {"stopReason": "end_turn"}
        assert client.lines[-2] == "update agent_message_chunk Again."
        assert await leave(served, "eof") == 0


async def test_a_model_that_is_stuck_holds_nobody(tmp_path: Path, anyio_backend: str) -> None:
    config = scripted(tmp_path, {"text": "Hm", "hangs": True})
    async with program(config, loop=anyio_backend) as served:
        prompt = await served.client.prompt(await served.client.new(), "go")
        await served.client.until_line("update agent_message_chunk Hm")
        assert await leave(served, "SIGTERM") == 143
        assert await served.client.answer(prompt) == {"stopReason": "cancelled"}


@pytest.mark.parametrize(("option", "ran"), [("allow-once", True), ("reject-once", False)])
async def test_permission_is_asked_of_the_client(tmp_path: Path, anyio_backend: str, option: str, ran: bool) -> None:
    config = scripted(tmp_path, bash("pwd > here"), {"text": "Done."}, permission="ask")
    async with program(config, loop=anyio_backend) as served:
        client = served.client
        client.permission = lambda _: {"result": {"outcome": {"outcome": "selected", "optionId": option}}}
        session = await client.new(str(tmp_path))
        assert await client.answer(await client.prompt(session, "go")) == {"stopReason": "end_turn"}
        assert "question pwd > here" in client.lines
        assert (tmp_path / "here").exists() == ran
        if ran:
            assert (tmp_path / "here").read_text() == f"{tmp_path}\n"


async def test_denied_is_denied(tmp_path: Path, anyio_backend: str) -> None:
    config = scripted(tmp_path, bash("touch here"), permission="deny")
    async with program(config, loop=anyio_backend) as served:
        await served.client.answer(await served.client.prompt(await served.client.new(str(tmp_path)), "go"))
        assert "update tool_call_update failed" in served.client.lines
        assert not (tmp_path / "here").exists()


async def test_a_command_sees_no_credential(tmp_path: Path, anyio_backend: str) -> None:
    """Neither those that look like one, nor the one that the configuration names."""
    model = {
        "kind": "openai-compatible",
        "base-url": "http://127.0.0.1:1/v1",
        "name": "x",
        "key-variable": "MY_ENDPOINT",
    }
    config = write_config(tmp_path / "c.toml", tools=True, model=model)
    from probate_reference.acp.config import read_config
    from probate_reference.acp.serving import overlay

    overlaid = overlay(read_config(config))
    assert overlaid["MY_ENDPOINT"] is None
    path = scripted(tmp_path, bash("env > seen"))
    secrets = {"MY_API_KEY": "one", "my_token": "two", "AWS_SECRET_ACCESS": "three"}
    async with program(path, loop=anyio_backend, environment=secrets) as served:
        await served.client.answer(await served.client.prompt(await served.client.new(str(tmp_path)), "go"))
    seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines() if "=" in line)
    assert not secrets.keys() & seen.keys()
    assert seen["PATH"] == os.environ["PATH"]


async def test_a_load_after_a_restart(tmp_path: Path, anyio_backend: str) -> None:
    config = scripted(tmp_path, {"text": "One."}, {"text": "Two."})
    async with program(config, loop=anyio_backend) as served:
        session = await served.client.new(str(tmp_path))
        await served.client.answer(await served.client.prompt(session, "first"))
        assert await leave(served, "eof") == 0
    async with program(config, loop=anyio_backend) as served:
        client = served.client
        assert [info["sessionId"] for info in (await client.ask("session/list"))["sessions"]] == [session]
        assert await client.ask("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[]) == {}
        assert client.lines[1:3] == ["update user_message_chunk first", "update agent_message_chunk One."]
        await client.answer(await client.prompt(session, "second"))
        assert "update agent_message_chunk Two." in client.lines


async def test_every_verb_over_the_real_streams(tmp_path: Path, anyio_backend: str) -> None:
    """Each request has one answer, which the client itself sees to; what is refused harms nothing that goes on."""
    stuck = {"text": "Hm", "hangs": True}
    config = scripted(tmp_path, {"text": "One."}, stuck, stuck)
    work = {"cwd": str(tmp_path), "mcpServers": []}
    async with program(config, loop=anyio_backend) as served:
        client = served.client
        assert (await client.ask("initialize", protocolVersion=1))["agentCapabilities"]["loadSession"]
        session = await client.new(str(tmp_path))
        await client.answer(await client.prompt(session, "first"))
        for name, (verb, stop) in enumerate({"session/cancel": "cancelled", "$/cancel_request": None}.items()):
            prompt = await client.prompt(session, f"stuck {name}")
            await client.until(functools.partial(has_said, client, "Hm", name + 1))
            refused = await client.answer(await client.prompt(session, "at the same time"))
            assert refused["message"] == "a prompt is already in flight"
            assert prompt not in client.answers
            await client.tell(verb, **({"sessionId": session} if stop else {"requestId": prompt}))
            answer = await client.answer(prompt)
            assert answer == {"stopReason": stop} if stop else answer["code"] == -32800
        assert (await client.ask("session/delete", sessionId=session))["code"] == -32600  # it is live
        assert (await client.ask("session/load", sessionId=session, **work))["code"] == -32600
        assert await client.ask("session/close", sessionId=session) == {}
        assert (await client.ask("session/close", sessionId=session))["message"] == "unknown session"
        heard = len(client.lines)
        assert await client.ask("session/resume", sessionId=session, **work) == {}
        assert len(client.lines) == heard + 1  # only the answer
        assert await client.ask("session/close", sessionId=session) == {}
        assert await client.ask("session/load", sessionId=session, **work) == {}
        assert "update user_message_chunk first" in client.lines[heard + 2 :]
        assert await client.ask("session/close", sessionId=session) == {}
        assert len((await client.ask("session/list"))["sessions"]) == 1
        assert await client.ask("session/delete", sessionId=session) == {}
        assert (await client.ask("session/list"))["sessions"] == []
        assert (await client.ask("session/load", sessionId=session, **work))["message"] == "unknown session"
        assert (await client.ask("session/fork"))["code"] == -32601
        assert await leave(served, "eof") == 0


async def test_a_home_in_use_is_told(tmp_path: Path, anyio_backend: str) -> None:
    config = scripted(tmp_path)
    async with program(config, loop=anyio_backend) as served:
        await served.client.ask("initialize", protocolVersion=1)
        async with program(config, loop=anyio_backend) as second:
            assert await second.gone() == 1
            await anyio.wait_all_tasks_blocked()
            assert "in use" in second.errors
            assert "Traceback" not in second.errors


async def test_why_a_model_failed_is_told_to_both(tmp_path: Path, anyio_backend: str) -> None:
    config = scripted(tmp_path, {"fails": "overloaded"})
    async with program(config, loop=anyio_backend) as served:
        answer = await served.client.answer(await served.client.prompt(await served.client.new(), "go"))
        assert (answer["message"], answer["data"]) == ("turn failed", "overloaded")
        assert await leave(served, "eof") == 0
        assert "overloaded" in served.errors
        assert "Traceback" not in served.errors


async def test_garbage_is_answered_and_nothing_else_is_printed(tmp_path: Path, anyio_backend: str) -> None:
    async with program(loop=anyio_backend) as served:
        await served.client.far.say(b"garbage\n[]\n7\n")
        for _ in range(3):
            await served.client.until(lambda: None in served.client.answers)
        assert await leave(served, "eof") == 0
        assert "Traceback" not in served.errors


STUCK = """
import sys
from probate_reference import Call, last_resort
from probate_reference.acp import Bridge, serving
from probate_reference.acp.config import Config
Bridge.close = lambda self: Call()  # which never returns
last_resort.STATED_SECONDS = 0.1
sys.exit(serving.serve_standard_streams(Config(), sys.argv[1]))
"""


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_a_server_that_cannot_end_in_order_ends_all_the_same(loop: str) -> None:
    command = [sys.executable, "-c", STUCK, loop]
    ran = subprocess.run(command, input=b"", capture_output=True, check=False, timeout=HUNG_SECONDS)
    assert ran.returncode == 70
    assert ran.stderr == b"probate acp: could not end in order within 0.1 seconds\n"
    assert ran.stdout == b""


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_its_streams_it_says_so(closed: str) -> None:
    command = ["/bin/sh", "-c", f'exec "$0" -P -m probate_reference acp {closed}', sys.executable]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=HUNG_SECONDS)
    assert ran.returncode == 2
    assert ran.stderr == b"error: standard input or output is closed; the protocol needs both\n"


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_a_full_disk_for_the_answers(loop: str) -> None:
    """The client has not gone, and its answer is lost: an error."""
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}\n'
    command = [sys.executable, "-P", "-m", "probate_reference", "acp", "--loop", loop]
    with FULL.open("wb") as full:
        ran = subprocess.run(
            command, input=asked, stdout=full, stderr=subprocess.PIPE, check=False, timeout=HUNG_SECONDS
        )
    assert ran.returncode == 1
    assert ran.stderr == (
        b"error: standard output cannot be written to: No space left on device; what was to be said there is lost\n"
    )
