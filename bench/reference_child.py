"""The reference, measured: answers each line of JSON on stdin with one on stdout (see ``dsh_bench.mjs``, its twin).

Each question gets a fresh runtime in a fresh loop, and a stock loop at that. What is timed is said in the answer to
have been done, by counts.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from probate_reference import (
    AgentCreated,
    AgentDisposed,
    Event,
    Handle,
    LogAppended,
    ModelRequest,
    Owner,
    Reply,
    Runtime,
    Signal,
    TurnEnd,
)

Answer = dict[str, Any]


class Model:
    """A model that answers at once, or only when its turn is stopped."""

    def __init__(self, *, waits: bool = False) -> None:
        self.calls = 0
        self._waits = waits

    async def __call__(self, request: ModelRequest, signal: Signal) -> Reply:
        """Answer."""
        del request
        self.calls += 1
        if self._waits:
            with signal.scope():
                await anyio.sleep_forever()
        return Reply("hi")


class Counts:
    """What a runtime tells that it did."""

    def __init__(self, runtime: Runtime) -> None:
        self.created = self.disposed = self.turns = 0
        self.remove = runtime.events.on(self._hear)

    def _hear(self, event: Event) -> None:
        if isinstance(event, AgentCreated):
            self.created += 1
        elif isinstance(event, AgentDisposed):
            self.disposed += 1
        elif isinstance(event, LogAppended) and isinstance(event.record, TurnEnd):
            self.turns += 1


async def _one(owner: Owner, number: int, prompt: bool) -> None:
    handle = await owner.create(f"agent-{number}")
    if prompt:
        handle.agent.send("hello")
        await handle.agent.idle()
    await handle.dispose()


async def one_by_one(count: int, prompt: bool) -> Answer:
    """Create and dispose agents one after the other, each with a prompt in between or without."""
    model = Model()
    async with Runtime(model) as runtime:
        owner = runtime.owner("me")
        # Counted while it warms up, so that nobody listens while it is timed.
        counts = Counts(runtime)
        for number in range(count // 5):
            await _one(owner, number, prompt)
        warmed = {"created": counts.created, "disposed": counts.disposed, "turns": counts.turns, "of": count // 5}
        counts.remove()
        model.calls = 0
        gc.collect()
        began = time.perf_counter()
        for number in range(count):
            await _one(owner, number, prompt)
        seconds = time.perf_counter() - began
        left = len(runtime.agents) + len(runtime.sessions)
    return {"seconds": seconds, "count": count, "calls": model.calls, "left": left, "warmed": warmed}


async def unload(count: int, collector: bool = True) -> Answer:
    """Unload the provider while every agent is in a turn.

    :param collector: whether Python's garbage collector may run meanwhile, as it does by default
    """
    model = Model(waits=True)
    async with Runtime(model) as runtime:
        owner = runtime.owner("me")
        began = time.perf_counter()
        for number in range(count):
            handle = await owner.create(f"agent-{number}")
            handle.agent.send("hello")
        while model.calls < count:
            await checkpoint()
        making = time.perf_counter() - began
        counts = Counts(runtime)
        running = sum(agent.status.value == "running" for agent in runtime.agents.list())
        gc.collect()
        if not collector:
            gc.disable()
        began = time.perf_counter()
        await runtime.provider.unload()
        seconds = time.perf_counter() - began
        gc.enable()
        left = len(runtime.agents) + len(runtime.sessions) + runtime.statistics().lifecycles
    return {
        "seconds": seconds,
        "making": making,
        "count": count,
        "running": running,
        "disposed": counts.disposed,
        "turns": counts.turns,
        "left": left,
    }


async def memory(count: int, cycles: int) -> Answer:
    """Measure the heap with agents that have answered a prompt, and after they ended; several times over."""
    tracemalloc.start()
    try:
        model = Model()
        async with Runtime(model) as runtime:
            owner = runtime.owner("me")
            idle: list[int] = []
            live: list[int] = []
            # The first cycle fills what is only ever filled once.
            for _ in range(cycles + 1):
                await _settled()
                idle.append(tracemalloc.get_traced_memory()[0])
                handles: list[Handle] = []
                for number in range(count):
                    handle = await owner.create(f"agent-{number}")
                    handle.agent.send("hello")
                    await handle.agent.idle()
                    handles.append(handle)
                await _settled()
                live.append(tracemalloc.get_traced_memory()[0])
                for handle in handles:
                    await handle.dispose()
                del handles, handle
            await _settled()
            idle.append(tracemalloc.get_traced_memory()[0])
            left = len(runtime.agents) + len(runtime.sessions)
    finally:
        tracemalloc.stop()
    return {"count": count, "idle": idle[1:], "live": live[1:], "calls": model.calls, "left": left}


async def _settled() -> None:
    for _ in range(10):
        await checkpoint()
    gc.collect()


def _asked(question: dict[str, Any]) -> Callable[[], Awaitable[Answer]]:
    count = question["count"]
    match question["do"]:
        case "create-dispose":
            return partial(one_by_one, count, False)
        case "create-prompt-dispose":
            return partial(one_by_one, count, True)
        case "unload":
            return partial(unload, count, question["collector"])
        case "memory":
            return partial(memory, count, question["cycles"])
        case other:
            raise ValueError(f"nobody knows how to measure {other!r}")


def main(loop: str) -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        answer: Answer = anyio.run(_asked(json.loads(line)), backend=loop)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
