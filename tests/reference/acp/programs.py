"""The server as a program, and what is left when it has gone."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import anyio
from anyio.abc import Process

from bench.acp import still_there
from probate_reference.processes import kill_marked
from tests.reference.acp.client import Client
from tests.reference.jsonrpc.wires import Far

MARK = "PROBATE_TEST"

HUNG_SECONDS = 60.0
"""Ends a hang; decides nothing."""


def toml(value: object) -> str:
    """Write a value as TOML, as far as JSON and TOML agree."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write_config(path: Path, **values: object) -> Path:
    """Write a configuration."""
    path.write_text("".join(f"{name} = {toml(value)}\n" for name, value in values.items()))
    return path


def bash(command: str, **arguments: object) -> dict[str, object]:
    """Write a scripted reply that runs a command."""
    return {"text": "I run it.", "tools": [{"name": "bash", "arguments": {"command": command, **arguments}}]}


class Served:
    """A server that runs."""

    def __init__(self, process: Process, client: Client, mark: str) -> None:
        self.process = process
        self.client = client
        self.mark = mark
        self.errors = ""

    def left(self) -> int:
        """Count the processes that were started by the server or what it started, and stay, now that it has gone."""
        return still_there(MARK, self.mark)

    async def gone(self) -> int:
        """Wait for the end of the server."""
        with anyio.fail_after(HUNG_SECONDS):
            return await self.process.wait()


class Output:
    """A process's output as the far end of a connection."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin = process.stdin
        self.stdout = process.stdout


@asynccontextmanager
async def program(*arguments: str, loop: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Served]:
    """Run ``python -m probate_reference acp`` with a client; nothing of it outlives the block."""
    mark = uuid.uuid4().hex
    command = [sys.executable, "-P", "-m", "probate_reference", "acp", "--loop", loop, *arguments]
    ambient = {**os.environ, MARK: mark, **(environment or {})}
    async with await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=ambient) as process:
        try:
            far: Any = Output(process)
            client = Client(Far(far.stdin, far.stdout))
            served = Served(process, client, mark)

            async def read_errors() -> None:
                assert process.stderr is not None
                async for data in process.stderr:
                    served.errors += data.decode()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.listen)
                tasks.start_soon(read_errors)
                yield served
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.wait()
            kill_marked(MARK, mark)
