"""The same seed gives the same order, other seeds give others, and the order finds bugs."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence

import pytest
import trio
from anyio import CancelScope, Event, create_task_group, sleep_forever

from probate_conformance.loops import HOSTS, Host

from .planted import BUGS, deep, pause

REPETITIONS = 200


async def cancelled_siblings(host: Host) -> tuple[int, ...]:
    """Cancel eight tasks of one group at once, each of which still has two steps to make."""
    order: list[int] = []

    async def sibling(number: int) -> None:
        try:
            await sleep_forever()
        finally:
            order.append(number)
            with CancelScope(shield=True):
                await pause(1)
            order.append(-number)

    async with create_task_group() as group:
        for number in range(1, 9):
            group.start_soon(sibling, number)
        assert await host.quiet()
        group.cancel_scope.cancel()
    return tuple(order)


async def unrelated(host: Host, amount: int, keep: list[object]) -> None:
    """Do other work, in another order, that moves the addresses of what comes after it."""
    host.schedule(1_000 + amount)
    keep.extend(bytearray(amount * 8) for _ in range(amount % 13))
    async with create_task_group() as group:
        for steps in range(amount % 7):
            group.start_soon(pause, steps)
    del keep[: len(keep) // 3]


def test_same_seed_gives_the_same_order_whatever_came_before(host: Host) -> None:
    noise = random.Random(0)

    async def main(host: Host) -> set[tuple[int, ...]]:
        orders = set()
        keep: list[object] = []
        for _ in range(REPETITIONS):
            await unrelated(host, noise.randrange(200), keep)
            host.schedule(7)
            orders.add(await cancelled_siblings(host))
        return orders

    (order,) = host.run(main)
    assert sorted(order) == sorted((*range(1, 9), *range(-8, 0)))


def test_same_seed_gives_the_same_order_in_another_loop(host: Host) -> None:
    async def main(host: Host) -> tuple[int, ...]:
        host.schedule(7)
        return await cancelled_siblings(host)

    assert len({host.run(main) for _ in range(5)} | {HOSTS[host.name]().run(main)}) == 1


def test_different_seeds_give_different_orders(host: Host) -> None:
    async def main(host: Host) -> set[tuple[int, ...]]:
        orders = set()
        for seed in range(50):
            host.schedule(seed)
            orders.add(await cancelled_siblings(host))
        return orders

    assert len(host.run(main)) > 40


def test_order_of_waking_does_not_matter(host: Host) -> None:
    # What the iteration of a set does now and then, done on purpose.
    async def trace(host: Host, wakes: Sequence[int]) -> list[int]:
        order: list[int] = []
        events = [Event() for _ in range(8)]

        async def sibling(number: int) -> None:
            await events[number].wait()
            for _ in range(2):
                order.append(number)
                await pause(1)

        host.schedule(3)
        async with create_task_group() as group:
            for number in range(8):
                group.start_soon(sibling, number)
            assert await host.quiet()
            for number in wakes:
                events[number].set()
            assert await host.quiet()
        return order

    async def main(host: Host) -> None:
        expected = await trace(host, range(8))
        for seed in range(20):
            assert await trace(host, random.Random(seed).sample(range(8), 8)) == expected

    host.run(main)


async def shown(host: Host, bug: Callable[[], Awaitable[bool]], seeds: Sequence[int | None]) -> list[bool]:
    shown = []
    for seed in seeds:
        host.schedule(seed)
        shown.append(await bug())
    return shown


@pytest.mark.parametrize("bug", BUGS)
def test_seeds_find_a_planted_bug(host: Host, bug: Callable[[], Awaitable[bool]]) -> None:
    async def main(host: Host) -> None:
        seeds = range(500)
        found = await shown(host, bug, seeds)
        # Found, but by no means by every seed; and by the same ones again.
        assert 0 < sum(found) < len(seeds) * (0.1 if bug is deep else 0.6)
        assert await shown(host, bug, seeds) == found

    host.run(main)


@pytest.mark.parametrize("bug", BUGS)
def test_first_in_first_out_hides_a_planted_bug(bug: Callable[[], Awaitable[bool]]) -> None:
    async def main(host: Host) -> None:
        assert not any(await shown(host, bug, [None] * 50))

    HOSTS["asyncio"]().run(main)


@pytest.mark.parametrize("bug", BUGS)
def test_trio_of_its_own_hides_a_planted_bug(bug: Callable[[], Awaitable[bool]]) -> None:
    async def main() -> None:
        for _ in range(50):
            assert not await bug()

    trio.run(main)


def test_no_seed_is_first_in_first_out_on_asyncio() -> None:
    async def main(host: Host) -> None:
        for seed in (5, None):
            host.schedule(seed)
        order: list[int] = []

        async def say(number: int) -> None:
            for _ in range(2):
                order.append(number)
                await pause(1)

        async with create_task_group() as group:
            for number in range(5):
                group.start_soon(say, number)
        assert order == [*range(5), *range(5)]

    HOSTS["asyncio"]().run(main)


def test_no_seed_is_seed_0_on_trio() -> None:
    async def main(host: Host) -> None:
        start = await cancelled_siblings(host)
        for seed in (0, None):
            host.schedule(1)
            host.schedule(seed)
            assert await cancelled_siblings(host) == start

    HOSTS["trio"]().run(main)
