"""Foreign code that is broken off, or that raises more than an exception, keeps nobody waiting for ever.

On asyncio, code that awaits a task which it has cancelled raises the same as if it were cancelled itself. And there is
what is no :class:`Exception` at all: an interrupt from the keyboard, an exit, the failure of a test.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import anyio
import pytest

from probate_reference import Event, Reply, Runtime, Signal
from tests.reference.kit import CREATED, DISPOSED, World

pytestmark = pytest.mark.anyio

only_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # on trio a task cannot be cancelled by itself


class BreakError(BaseException):
    """What is no exception."""


async def break_off() -> None:
    """Await a task that was cancelled, as one does to be sure that it has ended."""
    task = asyncio.ensure_future(asyncio.sleep(0))
    task.cancel()
    await task


def broken_off(event: object) -> None:
    raise asyncio.CancelledError


def breaks(event: object = None) -> None:
    raise BreakError


@only_asyncio
async def test_a_cleanup_that_awaits_a_task_which_it_has_cancelled_skips_nothing(world: World) -> None:
    async def last() -> None:
        world.note("last")

    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a", cleanups=(last, break_off))
        await handle.dispose()
        assert world.lines == [*CREATED, *DISPOSED, "last"]
    assert [place for place, _ in world.reports] == ["cleanup"]


@only_asyncio
async def test_a_listener_that_meets_a_cancelled_task_is_contained(world: World) -> None:
    for kind in ("agent/status", "agent/disposed", "session/disposed"):
        world.runtime.events.on(broken_off, kind)
    world.runtime.events.on(lambda event: break_off(), "agent/session-start")
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        await handle.agent.idle()
        await handle.dispose()
        assert world.lines[-3:] == DISPOSED
    assert Counter(place for place, _ in world.reports) == {
        "listener agent/session-start": 1,
        "listener agent/status": 3,
        "listener agent/disposed": 1,
        "listener session/disposed": 1,
    }


@only_asyncio
async def test_a_listener_that_meets_a_cancelled_task_vetoes_as_with_any_failure(world: World) -> None:
    world.when("agent/created a", broken_off)
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a")
        with pytest.raises(asyncio.CancelledError):
            await creation
        assert world.lines == [*CREATED[:2], "agent/disposed a", "session/disposed a"]


@only_asyncio
async def test_a_subscriber_of_a_signal_that_meets_a_cancelled_task_is_contained(world: World) -> None:
    reports: list[str] = []

    async def model(request: object, signal: Signal) -> Reply:
        signal.subscribe(broken_off)
        await world.model.pass_through()
        return Reply()

    world.model.hold()
    async with Runtime(model, report=lambda place, failure: reports.append(place)) as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        arrival = await world.model.arrival()
        agent.cancel()
        arrival.release()
        await agent.idle()
    assert reports == ["signal"]


async def broken_by(runtime: Runtime, use: Callable[[], Awaitable[object]]) -> None:
    """Use a runtime until it ends, which it does by raising what some foreign code of it raised."""
    with pytest.raises(BaseExceptionGroup) as raised:
        await until_broken(runtime, use)
    assert raised.group_contains(BreakError)
    assert runtime.statistics().lifecycles == 0


async def until_broken(runtime: Runtime, use: Callable[[], Awaitable[object]]) -> None:
    async with runtime:
        await use()
        await anyio.sleep_forever()


@pytest.mark.parametrize("kind", ["agent/queued", "log", "session/flush", "agent/disposed", "session/disposed"])
async def test_more_than_an_exception_in_a_listener_ends_the_runtime_in_order(world: World, kind: str) -> None:
    world.runtime.events.on(breaks, kind)

    async def use() -> None:
        handle = await world.runtime.owner("o").create("a")
        handle.agent.send("A")
        await handle.agent.idle()
        await handle.dispose()

    await broken_by(world.runtime, use)
    assert world.lines[-2:] == DISPOSED[1:]
    assert sum("turn/start" in line for line in world.lines) == sum("turn/end" in line for line in world.lines) == 1


async def test_more_than_an_exception_in_a_cleanup_skips_no_other(world: World) -> None:
    async def cleanup() -> None:
        raise BreakError

    async def last() -> None:
        world.note("last")

    async def use() -> None:
        await (await world.runtime.owner("o").create("a", cleanups=(last, cleanup))).dispose()

    await broken_by(world.runtime, use)
    assert world.lines == [*CREATED, *DISPOSED, "last"]


async def test_more_than_an_exception_in_a_disposer_holds_no_fiber_up(world: World) -> None:
    async def disposer() -> None:
        raise BreakError

    async def use() -> None:
        await world.runtime.fibers.root.effect(lambda: [disposer]).dispose()

    await broken_by(world.runtime, use)


async def test_a_report_that_raises_more_than_an_exception_keeps_nobody_waiting() -> None:
    def fail(event: Event) -> None:
        raise ValueError

    def report(place: str, failure: BaseException) -> None:
        raise BreakError from failure

    async def use() -> None:
        await (await runtime.owner("o").create("a")).dispose()

    runtime = Runtime(World()._model, report=report)
    runtime.events.on(fail, "agent/disposed")
    await broken_by(runtime, use)
