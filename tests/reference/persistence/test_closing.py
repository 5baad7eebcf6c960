"""The closing ``turn/end`` is on disk, whoever ends the agent, in the middle of a turn, and whatever the flush does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from probate_reference import (
    FlushRequest,
    Handle,
    ModelRequest,
    Persistence,
    Record,
    Reply,
    Runtime,
    Signal,
    Store,
    TurnEnd,
    TurnReason,
)
from tests.reference.kit import Gate

pytestmark = pytest.mark.anyio


class Gated(Persistence):
    """A persistence whose flushes stop at a gate first."""

    gate: Gate

    async def flush(self, request: FlushRequest) -> None:
        await self.gate.pass_through(request)
        await super().flush(request)


async def by_handle(runtime: Runtime, handle: Handle) -> None:
    await handle.dispose()


async def by_owner(runtime: Runtime, handle: Handle) -> None:
    await runtime.owner("o").unload()


async def by_provider(runtime: Runtime, handle: Handle) -> None:
    await runtime.provider.unload()


async def by_exit(runtime: Runtime, handle: Handle) -> None:
    """Do nothing: the block is left."""


ENDS = [by_handle, by_owner, by_provider, by_exit]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("flush", ["open", "fails", "held", "held-fails"])
@pytest.mark.parametrize("resumed", [False, True])
async def test_the_closing_turn_end_is_on_disk(
    make: Callable[[], Store],
    end: Callable[[Runtime, Handle], Awaitable[None]],
    flush: str,
    resumed: bool,
) -> None:
    stepping = anyio.Event()

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        stepping.set()
        with signal.scope():
            await anyio.sleep_forever()
        return Reply()

    if resumed:
        async with Runtime(model, persistence=Persistence(make())) as runtime:
            (await runtime.owner("o").create("a")).agent.inject("x")
    persistence = Gated(make())
    persistence.gate = gate = Gate(None)
    gate.held = flush.startswith("held")
    if flush == "fails":
        gate.default = RuntimeError("the flush fails")
    on_disk: list[tuple[Record, ...]] = []

    async def release() -> None:
        arrival = await gate.arrival()
        arrival.release(RuntimeError("the flush fails") if flush == "held-fails" else None)

    async with anyio.create_task_group() as group:
        if gate.held:
            group.start_soon(release)
        async with Runtime(model, persistence=persistence, report=lambda place, failure: None) as runtime:
            owner = runtime.owner("o")
            handle = await (owner.resume("a") if resumed else owner.create("a"))
            handle.agent.send("y")
            await stepping.wait()
            await end(runtime, handle)
            if end is not by_exit:
                on_disk.append((await persistence.read("a")).records)
    async with Runtime(model, persistence=Persistence(make())) as runtime:
        assert runtime.persistence is not None
        on_disk.append((await runtime.persistence.read("a")).records)
    for records in on_disk:
        assert records == handle.agent.session.records
        assert records[-1] == TurnEnd(2 if resumed else 1, TurnReason.DISPOSED)


async def test_it_is_on_disk_when_the_runtime_is_cancelled(make: Callable[[], Store]) -> None:
    stepping = anyio.Event()

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        stepping.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def live() -> None:
        async with Runtime(model, persistence=Persistence(make())) as runtime:
            (await runtime.owner("o").create("a")).agent.send("y")
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(live)
        await stepping.wait()
        group.cancel_scope.cancel()
    async with Runtime(model, persistence=Persistence(make())) as runtime:
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records[-1] == TurnEnd(1, TurnReason.DISPOSED)
