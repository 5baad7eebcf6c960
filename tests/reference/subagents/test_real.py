"""Real children: the harness driving itself, and programs that do everything to stay."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from probate_reference import Reply, Runtime, ToolCall, ToolResult
from probate_reference.processes import marked
from probate_reference.subagents import AcpProvider, RunRequest, RunStop, Subagents, delegate, spawn_process
from probate_reference.subagents.transport import MARK
from tests.reference.acp.programs import HUNG_SECONDS, bash, write_config

pytestmark = pytest.mark.anyio

AGENT = str(Path(__file__).with_name("agent.py"))


@asynccontextmanager
async def service(*behaviour: str, **options: Any) -> AsyncIterator[Subagents]:
    """Run a service whose children do one thing wrong; afterwards nothing of any of them may be left."""
    options = {"grace": 0.3, **options}
    names = iter(f"test-{os.getpid()}-{number}" for number in range(100))
    provider = AcpProvider(
        sys.executable, AGENT, *behaviour, mint=lambda: next(names), report=lambda place, failure: None, **options
    )
    with anyio.fail_after(HUNG_SECONDS):
        async with Subagents() as subagents:
            subagents.register("acp", provider)
            yield subagents
    for number in range(100):
        assert marked(MARK, f"test-{os.getpid()}-{number}") == []


async def test_a_child_that_does_as_it_should() -> None:
    async with service("answers") as subagents:
        run = subagents.start("acp", RunRequest("do it"))
        result = await run.result
        assert (result.stop, result.output) == (RunStop.COMPLETED, ("Working. Done.",))
        await run.dispose()


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (["dies", "start"], "went away"),
        (["dies", "initialize"], "went away"),
        (["dies", "new"], "went away"),
        (["dies", "prompt"], "went away"),
        (["newer"], "version 2"),
        (["nameless"], "no id"),
        (["fails"], "turn failed"),
        (["flood"], "more than"),
    ],
)
async def test_a_child_that_breaks_the_line(behaviour: list[str], says: str) -> None:
    async with service(*behaviour) as subagents:
        run = subagents.start("acp", RunRequest("do it"))
        result = await run.result
        assert result.stop is RunStop.ERROR
        assert says in str(result.failure)
        if behaviour == ["dies", "prompt"]:
            assert result.output == ("Working. ",)
        await run.dispose()


async def test_garbage_before_the_first_word_and_after_it() -> None:
    async with service("garbage") as subagents:
        assert (await subagents.start("acp", RunRequest("do it")).result).stop is RunStop.COMPLETED


@pytest.mark.parametrize("behaviour", ["cancels", "tears"])
async def test_a_cancel_that_is_heard(behaviour: str) -> None:
    async with service(behaviour) as subagents:
        run = subagents.start("acp", RunRequest("do it"))
        await prompted(run)
        run.cancel()
        result = await run.result
        assert (result.stop, result.output) == (RunStop.ABORTED, ("Working. ",))


async def prompted(run: Any) -> None:
    """Wait until the child has said something."""
    while not run._said:
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("behaviour", ["deaf", "traps", "scatters"])
async def test_a_child_that_will_not_go(behaviour: str) -> None:
    """It ignores the cancel, and its end; it traps TERM; it leaves others behind, in its group and outside of it."""
    async with service(behaviour) as subagents:
        run = subagents.start("acp", RunRequest("do it"))
        await prompted(run)
        assert len(marked(MARK, run.id)) == (3 if behaviour == "scatters" else 1)
        run.cancel()
        await run.dispose()
        assert (await run.result).stop is RunStop.ABORTED
        assert marked(MARK, run.id) == []


async def test_a_child_s_environment_is_what_was_agreed(tmp_path: Path) -> None:
    """K12: read from the child itself."""
    ambient = {
        "PATH": os.environ["PATH"],
        "X_API_KEY": "ambient",
        "AWS_SECRET_ACCESS_KEY": "x",
        "my_Token": "x",
        "MONKEY": "x",
        "DB_PASSWORD": "x",
        "passwd": "x",
        "GOOGLE_CREDENTIALS": "x",
        "ORDINARY": "a KEY and a TOKEN",
        "GONE": "x",
    }
    path = tmp_path / "seen"
    spawn = functools.partial(spawn_process, ambient=ambient)
    overlay = {"X_API_KEY": "configured", "NEW": "y", "GONE": None}
    async with service("environment", str(path), environment=overlay, spawn=spawn) as subagents:
        run = subagents.start("acp", RunRequest("do it"))
        assert (await run.result).stop is RunStop.COMPLETED
        await run.dispose()
    seen = json.loads(path.read_text())
    seen.pop("LC_CTYPE", None)  # Python's own
    assert seen == {
        "PATH": ambient["PATH"],
        "X_API_KEY": "configured",
        "NEW": "y",
        "ORDINARY": "a KEY and a TOKEN",
        MARK: run.id,
    }


@pytest.mark.parametrize("when", ["before it starts", "while it awaits"])
async def test_the_rules_hold_while_the_caller_is_cancelled(tmp_path: Path, when: str) -> None:
    """What is allowed, what a child inherits, and that its result is none that raises: read from the child itself."""
    path = tmp_path / "seen"
    ambient = {"PATH": os.environ["PATH"], "X_API_KEY": "ambient", "my_Token": "x"}
    spawn = functools.partial(spawn_process, ambient=ambient)
    async with service("asks", str(path), environment={"NEW_KEY": "y"}, spawn=spawn) as subagents:
        with anyio.CancelScope() as scope:
            if when == "before it starts":
                scope.cancel()
            run = subagents.start("acp", RunRequest("do it"))
            scope.cancel()
            await run.result
        assert scope.cancelled_caught
        result = await run.result
        assert (result.stop, result.output) == (RunStop.COMPLETED, ("Working. Done.",))
        await run.dispose()
    answer, seen = json.loads(path.read_text())
    assert answer == {"outcome": {"outcome": "cancelled"}}  # nobody has said that it may
    seen.pop("LC_CTYPE", None)
    assert seen == {"PATH": ambient["PATH"], "NEW_KEY": "y", MARK: run.id}


async def test_a_host_that_is_cancelled_leaves_no_process() -> None:
    with anyio.CancelScope() as scope:
        async with service("scatters") as subagents:
            run = subagents.start("acp", RunRequest("do it"))
            await prompted(run)
            scope.cancel()
            await run.result
    assert run.gone.done
    assert marked(MARK, run.id) == []


async def test_a_caller_that_is_cancelled_disposes_on_its_way_out() -> None:
    async with service("traps") as subagents:
        run = subagents.start("acp", RunRequest("do it"))
        with anyio.CancelScope() as scope:
            try:
                await prompted(run)
                scope.cancel()
                await run.result
            finally:
                with anyio.CancelScope(shield=True):
                    await run.dispose()
        assert (await run.result).stop is RunStop.ERROR
        assert marked(MARK, run.id) == []


async def test_the_harness_drives_itself(tmp_path: Path, anyio_backend: str) -> None:
    """A parent whose model delegates, to a child that is ``probate acp`` and really writes a file."""
    replies = [bash("echo PONG > written"), {"text": "PONG"}]
    config = write_config(
        tmp_path / "child.toml",
        tools=True,
        permission="ask",
        grace=0.1,
        home=str(tmp_path / "home"),
        model={"kind": "scripted", "replies": replies},
    )
    command = [sys.executable, "-P", "-m", "probate_reference", "acp", "--loop", anyio_backend, str(config)]
    said = iter([Reply("", (ToolCall("delegate", '{"prompt": "ping"}'),)), Reply("The child has done it.")])

    async def model(request: Any, signal: Any) -> Reply:
        return next(said)

    with anyio.fail_after(HUNG_SECONDS):
        async with Runtime(model) as runtime, Subagents() as subagents:
            subagents.register("acp", AcpProvider(*command, allow=True))
            runtime.tools.add(delegate(subagents, "acp"))
            parent = (await runtime.owner("me").create("p", metadata={"cwd": str(tmp_path)})).agent
            parent.send("go")
            await parent.idle()
            results = [record.text for record in parent.session if isinstance(record, ToolResult)]
            assert results == ["I run it.PONG"]
            assert (tmp_path / "written").read_text() == "PONG\n"
            assert subagents.runs == 0


async def test_a_child_that_may_not_is_told_so(tmp_path: Path, anyio_backend: str) -> None:
    """K8: by default no permission is given."""
    config = write_config(
        tmp_path / "child.toml", tools=True, model={"kind": "scripted", "replies": [bash("touch written")]}
    )
    command = [sys.executable, "-P", "-m", "probate_reference", "acp", "--loop", anyio_backend, str(config)]
    async with Subagents() as subagents:
        subagents.register("acp", AcpProvider(*command, folder=str(tmp_path)))
        run = subagents.start("acp", RunRequest("go"))
        result = await run.result
        assert (result.stop, result.output) == (RunStop.COMPLETED, ("I run it.The script has ended.",))
        assert not (tmp_path / "written").exists()
        await run.dispose()
