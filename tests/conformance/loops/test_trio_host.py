"""What concerns trio only; with the canary for its private parts."""

from __future__ import annotations

import pytest
import trio

from probate_conformance.loops import Host, LoopChanged, TrioHost, trio_host

check = trio_host.check_private.__wrapped__


def test_private_parts_are_there() -> None:
    check()


def test_missing_serial_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio_host, "current_task", object)
    with pytest.raises(LoopChanged, match=r"^trio .* has changed: a task has no `_counter`;"):
        check()


def test_queue_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio_host, "deque", list)
    with pytest.raises(LoopChanged, match="a runner has no deque `runq`"):
        check()


def test_queue_that_is_not_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio_host, "_install", lambda queue: None)
    with pytest.raises(LoopChanged, match="doesn't take from `runq`"):
        check()


def test_deadline_that_is_due_is_not_quiet() -> None:
    async def main(host: Host) -> None:
        async with trio.open_nursery() as nursery:
            expired: list[bool] = []

            async def wait(deadline: float) -> None:
                with trio.CancelScope(deadline=deadline) as scope:
                    await trio.sleep_forever()
                expired.append(scope.cancelled_caught)

            nursery.start_soon(wait, trio.current_time())
            nursery.start_soon(wait, trio.current_time() + 3600)
            assert await host.quiet()
            assert expired == [True]
            nursery.cancel_scope.cancel()

    TrioHost().run(main)


async def until_driver_parks(host: TrioHost) -> None:
    """Be outside until the driver really waits for it."""

    def look() -> None:
        while host._queue is not None and not host._queue.parked:
            pass

    await trio.to_thread.run_sync(look)


def test_parked_driver_comes_back_when_the_end_of_the_work_is_a_cancel() -> None:
    host = TrioHost()

    async def work(scope: trio.CancelScope) -> None:
        with host.outside():
            await until_driver_parks(host)
            scope.cancel()

    async def main(_: Host) -> None:
        async with trio.open_nursery() as nursery:
            with trio.CancelScope() as scope:
                nursery.start_soon(work, scope)
                await host.quiet()
                pytest.fail("quiet came although it was cancelled")
            assert await host.quiet()

    host.run(main)


def test_parked_driver_comes_back_at_the_limit() -> None:
    host = TrioHost()

    async def work() -> None:
        with host.outside():
            await until_driver_parks(host)
            while True:
                await trio.lowlevel.checkpoint()

    async def main(_: Host) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            assert not await host.quiet(limit=500)
            nursery.cancel_scope.cancel()
        assert await host.quiet()

    host.run(main)


def test_randomness_of_trio_does_not_leak_in() -> None:
    async def main(host: Host) -> None:
        orders = set()
        for seed in range(50):
            trio._core._run._r.seed(seed)
            host.schedule(6)
            order: list[int] = []

            async def step(number: int, order: list[int] = order) -> None:
                await trio.lowlevel.checkpoint()
                order.append(number)

            async with trio.open_nursery() as nursery:
                for number in range(6):
                    nursery.start_soon(step, number)
            orders.add(tuple(order))
        assert len(orders) == 1

    TrioHost().run(main)
