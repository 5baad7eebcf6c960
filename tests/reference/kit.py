"""What the tests of the reference stand on: a recorder, and foreign code that stops at gates.

No test here sleeps or counts turns of the event loop. A test waits for a line that was recorded, for
foreign code that arrived at a gate, or for a call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio

from probate_reference import (
    Event,
    FlushRequest,
    FunctionTool,
    LogAppended,
    ModelRequest,
    Reply,
    Runtime,
    Signal,
    StopReason,
    ToolCall,
    ToolContext,
)

CREATED = ["session/created a", "agent/created a", "agent/session-start a startup"]
"""What is heard of a creation."""

DISPOSED = ["agent/status a disposed", "agent/disposed a", "session/disposed a"]
"""What is heard of the disposal of an idle agent."""


def turn(number: int, text: str, answer: str = "answer", agent: str = "a") -> list[str]:
    """Return the lines of a turn with one step, without the status events around it."""
    return [
        f"{agent}: turn/start {number} message",
        f"{agent}: user/message {text}",
        f"{agent}: step/start {number} 1",
        f"{agent}: assistant/message {answer}",
        f"{agent}: step/end {number} 1",
        f"{agent}: turn/end {number} completed",
    ]


def line(event: Event) -> str:
    """Write an event as one line; a record as ``id: kind fields``."""
    if isinstance(event, LogAppended):
        values = [str(getattr(event.record, field.name)) for field in fields(event.record)]
        return " ".join([f"{event.agent.id}:", event.record.kind, *values]).strip()
    values = [str(getattr(event, field.name)) for field in fields(event) if field.name not in {"agent", "error"}]
    return " ".join([event.kind, event.agent.id, *values])


def tools(count: int) -> Reply:
    """Return a reply that asks for so many tool calls."""
    return Reply("tools", tuple(ToolCall(f"tool{number}") for number in range(1, count + 1)))


MAX_TOKENS = Reply("long", stop=StopReason.MAX_TOKENS)


class Arrival:
    """Foreign code that stands at a gate."""

    def __init__(self) -> None:
        self._go = anyio.Event()
        self._outcome: Any = None

    def release(self, outcome: Any = None) -> None:
        """Let it go on: raise the outcome if it is an exception, else return it."""
        self._outcome = outcome
        self._go.set()

    async def wait(self) -> Any:
        await self._go.wait()
        return settle(self._outcome)


def settle(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


class Gate:
    """Where foreign code stops while the gate is held; otherwise it takes the next planned outcome."""

    def __init__(self, default: Any) -> None:
        self.default = default
        self.held = False
        self.plan: deque[Any] = deque()
        self.requests: list[Any] = []
        self._waiting: deque[Arrival] = deque()
        self._arrived: anyio.Event | None = None

    def hold(self) -> None:
        """Stop everybody who arrives from now on."""
        self.held = True

    async def arrival(self) -> Arrival:
        """Wait for the oldest that stands here, and take it."""
        while not self._waiting:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self._waiting.popleft()

    async def pass_through(self, request: Any = None) -> Any:
        """Go through the gate."""
        self.requests.append(request)
        if not self.held:
            return settle(self.plan.popleft() if self.plan else self.default)
        arrival = Arrival()
        self._waiting.append(arrival)
        if self._arrived is not None:
            self._arrived.set()
        outcome = await arrival.wait()
        return self.default if outcome is None else outcome


class World:
    """A runtime that records, with a gate at each seam."""

    def __init__(self, home: Path | None = None) -> None:
        self.model = Gate(Reply("answer"))
        self.tool = Gate("result")
        self.flush = Gate(None)
        self.lines: list[str] = []
        self.reports: list[tuple[str, BaseException]] = []
        self.deaf = False
        self._changed: anyio.Event | None = None
        tools = [FunctionTool(f"tool{number}", self._tool) for number in range(1, 4)]
        self.runtime = Runtime(self._model, tools=tools, flush=[self._flush], report=self._report, home=home)
        self.runtime.events.on(self._record)

    def note(self, text: str) -> None:
        """Record a line that is no event."""
        self.lines.append(text)
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def until(self, wanted: str) -> None:
        """Wait until a line has been recorded."""
        while wanted not in self.lines:
            if self._changed is None:
                self._changed = anyio.Event()
            await self._changed.wait()

    def take(self) -> list[str]:
        """Return the lines so far and begin afresh."""
        lines = self.lines[:]
        self.lines.clear()
        return lines

    def when(self, wanted: str, action: Callable[[Event], object]) -> None:
        """Install a listener that acts once, in the dispatch of the event with this line."""

        def listener(event: Event) -> object:
            if line(event) != wanted:
                return None
            remove()
            return action(event)

        remove = self.runtime.events.on(listener)

    def _record(self, event: Event) -> None:
        self.note(line(event))

    def _report(self, place: str, failure: BaseException) -> None:
        self.reports.append((place, failure))

    async def _model(self, request: ModelRequest, signal: Signal) -> Reply:
        reply: Reply = await self._body(self.model, request, signal)
        return reply

    async def _tool(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        assert context.signal is not None
        return str(await self._body(self.tool, context, context.signal))

    async def _body(self, gate: Gate, request: Any, signal: Signal) -> Any:
        unsubscribe = signal.subscribe(lambda cause: self.note(f"signal {cause}"))
        try:
            if self.deaf:
                return await gate.pass_through(request)
            with signal.scope():
                return await gate.pass_through(request)
        finally:
            unsubscribe()

    async def _flush(self, request: FlushRequest) -> None:
        await self.flush.pass_through(request)
