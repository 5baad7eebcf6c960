"""A child in memory, whose every word is the test's."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from probate_reference import Call
from probate_reference.subagents import AcpProvider, Command, RunRequest, SubagentEnded, SubagentEvent, Subagents
from probate_reference.subagents.runs import Run
from tests.reference.jsonrpc.wires import Far, little_time, wire


class FakeChild:
    """Goes away when it is told to, by those signals that it heeds."""

    def __init__(self, command: Command) -> None:
        self.command = command
        to_child, child_hears = wire()
        child_says, from_child = wire()
        self.send = to_child
        self.receive = from_child
        self.far = Far(child_says, child_hears)
        self.exited: Call[None] = Call()
        self.heeds: set[str] = {"eof", "SIGTERM", "SIGKILL"}
        self.steps: list[str] = []

    async def watch(self) -> None:
        """Notice the end of the input, as far as this child heeds it."""
        await anyio.sleep_forever()

    def signal(self, number: signal.Signals) -> None:
        self.steps.append(number.name)
        if number.name in self.heeds:
            self.go()

    def go(self) -> None:
        """Go away."""
        if not self.exited.done:
            self.far.send._stream.close()  # type: ignore[attr-defined]
            self.exited._return(None)

    def clear(self) -> str:
        self.steps.append("clear")
        return "exit code 0"

    async def hear(self, method: str) -> dict[str, Any]:
        """Wait for the next message, which must be this one."""
        message: dict[str, Any] = await self.far.hear()
        assert message["method"] == method, message
        return message

    async def answer(self, method: str, result: object) -> dict[str, Any]:
        """Wait for a request and answer it."""
        request = await self.hear(method)
        await self.far.say({"jsonrpc": "2.0", "id": request["id"], "result": result})
        return request

    async def chunk(
        self, text: object, kind: str = "agent_message_chunk", of: str = "text", session: str = "s"
    ) -> None:
        """Say something."""
        update = {"sessionUpdate": kind, "content": {"type": of, "text": text}}
        params = {"sessionId": session, "update": update}
        await self.far.say({"jsonrpc": "2.0", "method": "session/update", "params": params})


class Faked:
    """A service with one provider, ``acp``, whose children are fakes."""

    def __init__(self, subagents: Subagents, children: list[FakeChild], lines: list[str]) -> None:
        self.subagents = subagents
        self.children = children
        self.lines = lines
        self.remove: Callable[[], None] | None = None

    def start(self, request: RunRequest | None = None) -> tuple[Run, FakeChild]:
        """Begin a run."""
        run = self.subagents.start("acp", request or RunRequest("do it"))
        return run, self.children[-1]

    async def told(self, *wanted: str) -> None:
        """Wait until exactly these lines have been told."""
        while len(self.lines) < len(wanted):
            await checkpoint()
        assert self.lines == list(wanted)

    async def prompted(self, request: RunRequest | None = None) -> tuple[Run, FakeChild, dict[str, Any]]:
        """Begin a run, and come to where its prompt has been sent."""
        run, child = self.start(request)
        await child.answer("initialize", {"protocolVersion": 1})
        await child.answer("session/new", {"sessionId": "s"})
        return run, child, await child.hear("session/prompt")


def line(event: SubagentEvent) -> str:
    """Write an event as a line."""
    stop = f" {event.stop}" if isinstance(event, SubagentEnded) else ""
    return f"{event.kind} {event.provider}{stop}"


@asynccontextmanager
async def faked(**options: Any) -> AsyncIterator[Faked]:
    """Run a service, and dispose everything at the end."""
    children: list[FakeChild] = []
    lines: list[str] = []

    def spawn(command: Command) -> FakeChild:
        children.append(FakeChild(command))
        return children[-1]

    options = {"folder": "/work", "spawn": spawn, "sleep": little_time, **options}
    provider = AcpProvider("agent", report=lambda place, failure: lines.append(f"report {place}"), **options)
    async with Subagents() as subagents:
        subagents.on(
            lambda event: lines.append(
                " ".join([event.kind, event.provider, *([event.stop] if hasattr(event, "stop") else [])])
            )
        )
        made = Faked(subagents, children, lines)
        made.remove = subagents.register("acp", provider)
        yield made
    for child in children:
        await child.far.receive.aclose()
    assert subagents.runs == 0
    assert all(child.exited.done for child in children)
