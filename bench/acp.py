"""What is left when clients and agents go away, in order or not: nothing, after a thousand rounds.

Most rounds have the bridge in this process, where its registries can be counted, and real commands behind it. Each
command leaves two processes in its group that outlive whoever started them, one that traps TERM, and one that has left
the group for a session of its own; each round has one that runs. A seeded choice says how far a round gets beside that,
whether it is cancelled, and how it ends: the client ends its output, is simply gone, closes the session, or the bridge
is closed around it.

In the others a parent drives ``probate acp`` as a subagent, and one of the two crashes: the agent is killed, or the
caller is cancelled.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint

from bench.results import Goal, Section, check
from probate_reference import Runtime, ToolCall
from probate_reference.acp import Bridge
from probate_reference.acp.config import PermissionPolicy
from probate_reference.acp.tooling import give_tools
from probate_reference.jsonrpc import DescriptorReceiveStream, DescriptorSendStream
from probate_reference.models import ScriptedModel, ScriptedReply
from probate_reference.permissions import Permissions
from probate_reference.processes import kill_marked, marked
from probate_reference.seams import Reply
from probate_reference.subagents import AcpProvider, RunRequest, Subagents
from probate_reference.subagents.transport import MARK
from probate_reference.tasks import Executor

ROUNDS: Final = 1_000
CRASHES: Final = 100
"""How many of the rounds are between two processes."""

QUICK: Final = 20
GRACE: Final = 0.02
DYING_SECONDS: Final = 5
VARIABLE: Final = "PROBATE_BENCH"

COMMAND: Final = (
    "setsid sh -c 'echo > {fifo}2; exec sleep 303' & read up < {fifo}2; "
    "(sleep 300 & sleep 301 &); (trap '' TERM; while :; do sleep 5; done) & echo > {fifo}; sleep 302"
)
"""One that has left the group, two whose parent has gone, one that traps TERM, and the command itself."""

HOW_FAR: Final = ("connected", "asked for a session", "has a session", "prompted", "runs a tool")
ENDS: Final = ("ends its output", "is gone", "closes the session", "the bridge closes")
CRASH_AT: Final = ("started", "has a session", "runs a tool")
CRASHED: Final = ("agent killed", "agent told to end", "caller cancelled", "disposed")


@dataclass
class Counts:
    """What was done, and what was left."""

    rounds: int = 0
    processes: int = 0
    orphans: int = 0
    agents: int = 0
    sessions: int = 0
    unanswered: int = 0
    did: Counter[str] = field(default_factory=Counter)

    def left(self) -> int:
        """How much is left of all rounds."""
        return self.orphans + self.agents + self.sessions + self.unanswered


class _Client:
    """A client on two pipes that does not wait for answers, and counts them."""

    def __init__(self, receive: DescriptorReceiveStream, send: DescriptorSendStream) -> None:
        self.receive = receive
        self.send = send
        self.asked = 0
        self.answers: dict[int, Any] = {}
        self.changed = anyio.Event()

    async def ask(self, method: str, **params: object) -> int:
        self.asked += 1
        await self.say(id=self.asked, method=method, params=params)
        return self.asked

    async def say(self, **message: object) -> None:
        await self.send.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def answer(self, number: int) -> Any:
        while number not in self.answers:
            self.changed = anyio.Event()
            await self.changed.wait()
        return self.answers[number]

    async def listen(self) -> None:
        rest = b""
        while True:
            try:
                rest += await self.receive.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                return
            *lines, rest = rest.split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "method" not in message:
                    self.answers[message["id"]] = message.get("result", message.get("error"))
                    self.changed.set()


class _Fifo:
    """Where a command says that everything is up, and another for the command's own use."""

    def __init__(self, folder: Path, number: int) -> None:
        self.path = folder / f"up{number}"
        self._second = folder / f"up{number}2"
        os.mkfifo(self.path)
        os.mkfifo(self._second)
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    async def up(self) -> None:
        await anyio.wait_readable(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)
        self.path.unlink()
        self._second.unlink()


def _script(command: str) -> list[ScriptedReply]:
    return [ScriptedReply(Reply("", (ToolCall("bash", json.dumps({"command": command})),)))]


async def rounds(seed: int, count: int, folder: Path) -> Counts:
    """Run rounds with a bridge in this process."""
    counts, mark = Counts(), f"bench-{os.getpid()}-{seed}"
    for number in range(count):
        choice = random.Random(f"{seed} {number}")
        fifo = _Fifo(folder, number)
        runtime = Runtime(ScriptedModel(_script(COMMAND.format(fifo=fifo.path))), report=_ignore)
        permissions = Permissions()
        async with runtime, Executor(overlay={VARIABLE: mark}, mark=mark, grace=GRACE, report=_ignore) as executor:
            give_tools(runtime, executor, permissions, PermissionPolicy.ALLOW)
            bridge = Bridge(runtime, report=_ignore)
            async with _connected(bridge) as client:
                far = choice.choice(HOW_FAR)
                how = choice.choice(ENDS)
                counts.did.update((far, how))
                session = await _go(client, far, folder, fifo)
                counts.processes = max(counts.processes, len(marked(VARIABLE, mark)))
                if session is not None and choice.random() < 0.5:
                    await client.say(method="session/cancel", params={"sessionId": session})
                    counts.did["cancelled"] += 1
                await _end(client, bridge, how, session)
            statistics = runtime.statistics()
            counts.agents += statistics.agents + statistics.lifecycles
            counts.sessions += statistics.sessions + bridge.sessions + bridge.connections
            if how in ("ends its output", "closes the session"):
                counts.unanswered += client.asked - len(client.answers)
        counts.orphans += still_there(VARIABLE, mark)
        kill_marked(VARIABLE, mark)
        fifo.close()
        counts.rounds += 1
    return counts


def still_there(variable: str, mark: str) -> int:
    """Count the processes that are not just about to go: one that was killed is seen for a moment longer."""
    count = 0
    for number in marked(variable, mark):
        try:
            descriptor = os.pidfd_open(number)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        count += not poll.poll(DYING_SECONDS * 1000)
        os.close(descriptor)
    return count


async def _go(client: _Client, far: str, folder: Path, fifo: _Fifo) -> str | None:
    """Come as far as the round is to get, beside a session that runs a tool; give the session, if there is one then."""
    await client.ask("initialize", protocolVersion=1)
    first = await _prompted(client, folder)
    await fifo.up()
    if far == "connected":
        return None
    if far == "runs a tool":
        return first
    new = await client.ask("session/new", cwd=str(folder), mcpServers=[])
    if far == "asked for a session":
        return None
    session = str((await client.answer(new))["sessionId"])
    if far == "prompted":
        await client.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    return session


async def _prompted(client: _Client, folder: Path) -> str:
    """Make a session and prompt it."""
    session = str((await client.answer(await client.ask("session/new", cwd=str(folder), mcpServers=[])))["sessionId"])
    await client.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    return session


async def _end(client: _Client, bridge: Bridge, how: str, session: str | None) -> None:
    if how == "closes the session" and session is not None:
        await client.answer(await client.ask("session/close", sessionId=session))
    if how == "is gone":
        await client.receive.aclose()
    if how == "the bridge closes":
        await bridge.close()
    else:
        await client.send.aclose()


@asynccontextmanager
async def _connected(bridge: Bridge) -> AsyncIterator[_Client]:
    """Connect a client by two pipes, and wait for the end of its connection."""
    theirs, to_agent = os.pipe()
    from_agent, ours = os.pipe()
    client = _Client(DescriptorReceiveStream(from_agent), DescriptorSendStream(to_agent))
    connection = bridge.connect(DescriptorReceiveStream(theirs), DescriptorSendStream(ours))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.listen)
        tasks.start_soon(connection.run)
        yield client
    await client.send.aclose()
    await client.receive.aclose()


async def crashes(seed: int, count: int, folder: Path, loop: str) -> Counts:
    """Run rounds between two processes, one of which crashes."""
    counts = Counts()
    for number in range(count):
        choice = random.Random(f"{seed} crash {number}")
        fifo = _Fifo(folder, number)
        config = folder / "agent.toml"
        command = json.dumps(COMMAND.format(fifo=fifo.path))
        config.write_text(
            f'tools = true\npermission = "allow"\ngrace = {GRACE}\n[model]\nkind = "scripted"\n'
            f'[[model.replies]]\ntext = "Hm"\ntools = [{{name = "bash", arguments = {{command = {command}}}}}]\n'
        )
        program = (sys.executable, "-P", "-m", "probate_reference", "acp", "--loop", loop, str(config))
        provider = AcpProvider(*program, folder=str(folder), grace=5 * GRACE, report=_ignore)
        at, how = choice.choice(CRASH_AT), choice.choice(CRASHED)
        counts.did.update((f"agent {at}", how))
        with anyio.CancelScope() as caller:
            async with Subagents(report=_ignore) as subagents:
                subagents.register("agent", provider)
                run = subagents.start("agent", RunRequest("go"))
                try:
                    await _reach(run, at, fifo)
                    counts.processes = max(counts.processes, len(marked(MARK, run.id)))
                    if how == "agent killed":
                        os.kill(run._child.pid, signal.SIGKILL)  # type: ignore[attr-defined]
                        await run.result
                    elif how == "agent told to end":
                        os.kill(run._child.pid, signal.SIGTERM)  # type: ignore[attr-defined]
                        await run.result
                    elif how == "caller cancelled":
                        caller.cancel()
                        await checkpoint()
                finally:
                    with anyio.CancelScope(shield=True):
                        await run.dispose()
        counts.unanswered += not run.result.done
        counts.agents += subagents.runs
        counts.orphans += still_there(MARK, run.id)
        kill_marked(MARK, run.id)
        fifo.close()
        counts.rounds += 1
    return counts


async def _reach(run: Any, at: str, fifo: _Fifo) -> None:
    if at == "has a session":
        while run._session is None:
            await checkpoint()
    elif at == "runs a tool":
        await fifo.up()


def _ignore(_place: str, _failure: BaseException) -> None:
    """Say nothing: what goes wrong in these rounds is meant to."""


def acp(*, quick: bool) -> Section:
    """Run the rounds, on both loops."""
    near, between = (QUICK, QUICK // 4) if quick else (ROUNDS - CRASHES, CRASHES)
    section = Section(f"ACP: what is left after {near + between:,} rounds of connect, prompt, cancel and disconnect")
    rows, total = [], 0
    for loop in ("asyncio", "trio"):
        for name, function, count in (
            ("one process", rounds, near // 2),
            ("two processes", _crash(loop), between // 2),
        ):
            with tempfile.TemporaryDirectory(prefix="probate-bench-") as folder:
                began = time.perf_counter()
                counts = anyio.run(function, 0, count, Path(folder), backend=loop)
                seconds = time.perf_counter() - began
            check(counts.rounds == count, f"{counts.rounds} of {count} rounds were run")
            total += counts.left()
            facts = (counts.processes, counts.orphans, counts.agents, counts.sessions, counts.unanswered)
            rows.append((f"{loop}, {name}", f"{count:,}", f"{count / seconds:.1f}", *map(str, facts)))
            section.figures[f"{loop} {name}"] = {"seconds": seconds, "left": counts.left(), "did": dict(counts.did)}
    head = ("", "rounds", "per second", "processes", "orphans", "agents", "sessions", "unanswered")
    section.table(head, rows)
    section.note("processes: the most that there were at a time, the agent and what it started")
    section.goals.append(Goal("what is left of all rounds", float(total), 0, at_most=True, unit=""))
    return section


def _crash(loop: str) -> Any:
    async def run(seed: int, count: int, folder: Path) -> Counts:
        return await crashes(seed, count, folder, loop)

    return run
