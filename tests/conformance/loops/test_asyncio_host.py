"""What concerns asyncio only; with the canary for its private parts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

import pytest

from probate_conformance.loops import AsyncioHost, Host, LoopChanged, asyncio_host

check = asyncio_host.check_private.__wrapped__


def test_private_parts_are_there() -> None:
    check()


def test_missing_queue_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loop:
        def close(self) -> None: ...

    monkeypatch.setattr(asyncio, "SelectorEventLoop", Loop)
    with pytest.raises(LoopChanged, match=r"^asyncio in Python 3.* has changed: a loop has no deque `_ready`;"):
        check()


def test_unknown_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio_host, "_STEPS", frozenset({"task_wakeup"}))
    with pytest.raises(LoopChanged, match="first step of a task looks different"):
        check()
    monkeypatch.setattr(asyncio_host, "_STEPS", frozenset({None}))
    with pytest.raises(LoopChanged, match="wake-up of a task looks different"):
        check()
    monkeypatch.setattr(asyncio_host, "_STEPS", frozenset({None, "task_wakeup", "cancelled"}))
    with pytest.raises(LoopChanged, match="method of a task looks like a step"):
        check()


def test_chain_of_callbacks_is_seen_through() -> None:
    async def main(host: Host) -> None:
        loop = asyncio.get_running_loop()
        for seed in (None, 0, 1):
            host.schedule(seed)
            left = 500

            def hop() -> None:
                nonlocal left
                left -= 1
                if left:
                    loop.call_soon(hop)

            loop.call_soon(hop)
            assert await host.quiet()
            assert not left

    AsyncioHost().run(main)


def test_timer_that_is_due_is_not_quiet() -> None:
    async def main(host: Host) -> None:
        loop = asyncio.get_running_loop()
        for seed in (None, 0, 1):
            host.schedule(seed)
            fired: list[bool] = []
            loop.call_at(loop.time(), fired.append, True)
            later = loop.call_later(3600, fired.append, False)
            assert await host.quiet()
            assert fired == [True]
            later.cancel()

    AsyncioHost().run(main)


def test_callbacks_stay_first_in_first_out_under_every_seed() -> None:
    async def main(host: Host) -> None:
        loop = asyncio.get_running_loop()
        orders = set()
        for seed in range(50):
            host.schedule(seed)
            called: list[int] = []
            stepped: list[int] = []

            async def step(number: int, stepped: list[int] = stepped) -> None:
                await asyncio.sleep(0)
                stepped.append(number)

            tasks = []
            for number in range(8):
                loop.call_soon(called.append, number)
                tasks.append(asyncio.create_task(step(number)))
                loop.call_soon(called.append, -1).cancel()
            assert await host.quiet()
            assert called == list(range(8))
            assert all(task.done() for task in tasks)
            orders.add(tuple(stepped))
        assert len(orders) > 40

    AsyncioHost().run(main)


def test_step_comes_after_the_callbacks_queued_before_it() -> None:
    async def main(host: Host) -> None:
        loop = asyncio.get_running_loop()
        for seed in range(50):
            host.schedule(seed)
            connected: list[int] = []

            async def use(number: int, connection: asyncio.Future[None], connected: list[int] = connected) -> None:
                await connection
                assert number in connected

            tasks = []
            connections = [loop.create_future() for _ in range(8)]
            for number, connection in enumerate(connections):
                tasks.append(asyncio.create_task(use(number, connection)))
            assert await host.quiet()
            for number, connection in enumerate(connections):
                loop.call_soon(connected.append, number)
                connection.set_result(None)
            assert await host.quiet()
            await asyncio.gather(*tasks)

    AsyncioHost().run(main)


def test_step_may_be_put_off_past_callbacks() -> None:
    async def main(host: Host) -> None:
        loop = asyncio.get_running_loop()
        orders = set()
        for seed in range(50):
            host.schedule(seed)
            order: list[str] = []

            async def step(order: list[str] = order) -> None:
                order.append("step")

            task = asyncio.create_task(step())
            loop.call_soon(order.append, "callback")
            await task
            orders.add(tuple(order))
        assert orders == {("step", "callback"), ("callback", "step")}

    AsyncioHost().run(main)


def test_endless_callbacks_starve_no_step() -> None:
    async def main(host: Host) -> None:
        loop = asyncio.get_running_loop()
        for seed in (None, *range(20)):
            host.schedule(seed)
            running = [True]

            def again(running: list[bool] = running) -> None:
                if running:
                    loop.call_soon(again)

            again()
            assert not await host.quiet(limit=50)
            await asyncio.create_task(asyncio.sleep(0))
            running.clear()
            assert await host.quiet()

    AsyncioHost().run(main)


async def natives(host: Host) -> list[int]:
    """Start and cancel tasks as one does without anyio."""
    order: list[int] = []

    async def sibling(number: int) -> None:
        try:
            await asyncio.sleep(0)
            await asyncio.get_running_loop().create_future()
        finally:
            order.append(number)

    async def run_and_fail() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(sibling(number))
            assert await host.quiet()
            raise ValueError

    host.schedule(4)
    with pytest.raises(ExceptionGroup):
        await run_and_fail()
    return order


def test_native_task_group_replays() -> None:
    async def main(host: Host) -> None:
        expected = await natives(host)
        assert sorted(expected) == list(range(8)) != expected
        for _ in range(50):
            assert await natives(host) == expected

    AsyncioHost().run(main)


def no_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Let the loop make its tasks in its own way."""
    loop.set_task_factory(None)


def eager_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Let the loop begin its tasks at once, from Python 3.12 on."""
    loop.set_task_factory(getattr(asyncio, "eager_task_factory", None))


@pytest.mark.parametrize("tasks", [no_tasks, eager_tasks])
def test_tasks_made_in_either_way_replay(tasks: Callable[[asyncio.AbstractEventLoop], None]) -> None:
    async def main(host: Host) -> None:
        tasks(asyncio.get_running_loop())
        expected = await natives(host)
        assert sorted(expected) == list(range(8)) != expected
        for _ in range(50):
            assert await natives(host) == expected

    AsyncioHost().run(main)


def test_order_of_cancelling_does_not_matter() -> None:
    async def trace(host: Host, cancels: Sequence[int]) -> list[int]:
        order: list[int] = []

        async def sibling(number: int) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                order.append(number)
                await asyncio.sleep(0)
                order.append(-number)

        host.schedule(3)
        tasks = [asyncio.create_task(sibling(number)) for number in range(1, 9)]
        assert await host.quiet()
        for number in cancels:
            tasks[number].cancel()
        assert await host.quiet()
        return order

    async def main(host: Host) -> None:
        expected = await trace(host, range(8))
        for seed in range(20):
            assert await trace(host, random.Random(seed).sample(range(8), 8)) == expected

    AsyncioHost().run(main)


def test_task_that_the_loop_did_not_make_is_numbered_too() -> None:
    async def main(host: Host) -> None:
        orders = []
        for _ in range(2):
            host.schedule(2)
            order: list[int] = []

            async def step(number: int, order: list[int] = order) -> None:
                order.append(number)

            loop = asyncio.get_running_loop()
            tasks = [asyncio.Task(step(number), loop=loop) for number in range(6)]
            assert await host.quiet()
            assert all(task.done() for task in tasks)
            orders.append(order)
        assert orders[0] == orders[1] != list(range(6))

    AsyncioHost().run(main)


def test_tasks_left_behind_are_cancelled() -> None:
    ended: list[bool] = []
    tasks: list[asyncio.Task[None]] = []

    async def stay() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    async def main(host: Host) -> None:
        host.schedule(1)
        tasks.extend(asyncio.create_task(stay()) for _ in range(3))
        assert await host.quiet()

    AsyncioHost().run(main)
    assert ended == [True] * 3
    assert all(task.cancelled() for task in tasks)


def test_debug_mode_works(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(host: Host) -> None:
        asyncio.get_running_loop().set_debug(True)
        assert len(await natives(host)) == 8

    AsyncioHost().run(main)
