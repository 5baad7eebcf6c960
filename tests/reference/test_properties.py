"""Whatever is done to a runtime, in whatever order and from inside whatever dispatch, some things hold."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from probate_reference import (
    Agent,
    AgentScope,
    Call,
    CreationSignal,
    Disposed,
    Event,
    FlushRequest,
    FunctionTool,
    Handle,
    LogAppended,
    ModelRequest,
    Refusal,
    Reply,
    Runtime,
    Signal,
    StopReason,
    ToolCall,
    ToolContext,
    TurnStart,
)

pytestmark = pytest.mark.anyio


class Chaos:
    """Does things at random, from outside and from inside, and remembers what was heard."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.calls: list[Call[Any]] = []
        self.handles: list[Handle] = []
        self.signals: list[CreationSignal] = []
        self.heard: dict[Agent, list[Event]] = defaultdict(list)
        self.depth = 0
        self.runtime = Runtime(
            self.model,
            tools=[FunctionTool("tool", self.tool)],
            prepare=self.prepare,
            flush=[self.flush, self.flush],
            report=lambda place, failure: None,
        )
        self.runtime.events.on(self.record)
        self.runtime.events.on(self.disturb)

    def record(self, event: Event) -> None:
        self.heard[event.agent].append(event)

    def disturb(self, event: Event) -> object:
        if self.depth > 3 or self.random.random() > 0.15:
            return None
        self.depth += 1
        try:
            self.act(event.agent)
        finally:
            self.depth -= 1
        if self.random.random() < 0.2:
            raise Veto(event.kind)
        return self.pause() if self.random.random() < 0.2 else None

    async def pause(self) -> None:
        for _ in range(self.random.randrange(4)):
            await checkpoint()
        if self.random.random() < 0.2:
            raise Veto("pause")

    async def model(self, request: ModelRequest, signal: Signal) -> Reply:
        if self.random.random() < 0.5:
            with signal.scope():
                await self.pause()
        else:
            await self.pause()
        calls = tuple(ToolCall("tool") for _ in range(self.random.choice([0, 0, 0, 1, 2])))
        return Reply("text", calls, self.random.choice([StopReason.END] * 4 + [StopReason.MAX_TOKENS]))

    async def tool(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        await self.pause()
        if self.random.random() < 0.3:
            self.act(context.agent)
        return "result"

    async def prepare(self, request: ModelRequest, signal: Signal) -> None:
        await self.pause()

    async def flush(self, request: FlushRequest) -> None:
        await self.pause()

    async def setup(self, scope: AgentScope) -> None:
        scope.on_cleanup(self.pause)
        await self.pause()

    def act(self, agent: Agent | None = None) -> None:
        """Do one thing, by preference to this agent."""
        if agent is None:
            agent = self.random.choice(self.runtime.agents.list() or (None,))
        owner = self.runtime.owner(self.random.choice("xy"))
        setup = self.random.choice([None, self.setup])
        choices: list[Callable[[], object]] = [owner.unload, owner.load, self.runtime.provider.load]
        signal = CreationSignal()
        self.signals.append(signal)
        name = self.random.choice("abc")
        choices += [lambda: owner.create(name, setup=setup, signal=signal, cleanups=(self.pause,))] * 8
        choices += [lambda: self.random.choice(self.signals).abort(), self.runtime.provider.unload]
        if self.handles:
            choices.append(lambda: self.random.choice(self.handles).dispose())
        if agent is not None:
            choices += [lambda: agent.send("p"), lambda: agent.steer("s"), lambda: agent.inject("i")] * 4
            choices += [agent.cancel, agent.idle, lambda: agent.create(name, setup=setup)] * 3
        try:
            outcome = self.random.choice(choices)()
        except (Disposed, RuntimeError):
            return
        if isinstance(outcome, Call):
            self.calls.append(outcome)

    async def collect(self) -> None:
        """Look at what has ended."""
        for call in self.calls:
            if call.done:
                with suppress(Refusal, Veto):
                    value = await call
                    if isinstance(value, Handle) and value not in self.handles:
                        self.handles.append(value)


class Veto(Exception):
    """What chaos raises."""


def check_log(agent: Agent, events: list[Event]) -> None:
    """Check numbering, balance and completeness of one log."""
    records = agent.session.records
    logged = [event for event in events if isinstance(event, LogAppended)]
    assert [event.seq for event in logged] == list(range(len(records)))
    assert [event.record for event in logged] == list(records)
    turn, step, turns, calls, results = False, False, 0, 0, 0
    for record in records:
        kind = record.kind
        if isinstance(record, TurnStart):
            assert not turn
            turns += 1
            assert record.turn == turns
            turn = True
            continue
        assert turn, kind
        if kind == "step/start":
            assert not step
            step = True
        elif kind == "step/end":
            assert step
            assert calls == results
            step = False
        elif kind == "turn/end":
            assert not step
            turn = False
        elif kind == "tool/call":
            calls += 1
        elif kind == "tool/result":
            results += 1
    assert not turn


def check_life(events: list[Event]) -> None:
    """Check that announcements pair and that the status alternates."""
    kinds = [event.kind for event in events]
    for thing in ("session", "agent"):
        assert kinds.count(f"{thing}/created") == kinds.count(f"{thing}/disposed") <= 1
    statuses = [event.status.value for event in events if event.kind == "agent/status"]  # type: ignore[union-attr]
    if statuses and statuses[-1] == "disposed":
        statuses.pop()
    assert statuses == ["running" if index % 2 == 0 else "idle" for index in range(len(statuses))]
    if "agent/disposed" in kinds:
        position = kinds.index("agent/disposed")
        assert "log" not in kinds[position:]
        assert kinds.index("session/disposed") > position


@pytest.mark.parametrize("seed", range(40))
async def test_chaos_is_settled_in_order(seed: int) -> None:
    chaos = Chaos(seed)
    with anyio.fail_after(60):
        async with chaos.runtime as runtime:
            for _burst in range(60):
                for _ in range(chaos.random.randrange(4)):
                    chaos.act()
                for _ in range(chaos.random.randrange(4)):
                    await checkpoint()
                await chaos.collect()
    assert all(call.done for call in chaos.calls)
    assert len(runtime.agents) == len(runtime.sessions) == runtime.statistics().lifecycles == 0
    assert chaos.heard
    for agent, events in chaos.heard.items():
        check_log(agent, events)
        check_life(events)
        assert agent.statistics().open_flushes == agent.statistics().idle_waiters == 0
