"""Quiet comes when nothing can run, no earlier and no later."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from itertools import pairwise

import pytest
from anyio import CancelScope, Event, create_task_group, run_process, sleep, sleep_forever, to_thread, wait_readable
from anyio.lowlevel import checkpoint

from probate_conformance.loops import Host

from .planted import pause

SEEDS = (None, 0, 1, 2)


async def spin() -> None:
    while True:
        await checkpoint()


def test_idle_is_quiet_at_once(host: Host) -> None:
    async def main(host: Host) -> None:
        for seed in SEEDS:
            host.schedule(seed)
            assert await host.quiet(limit=0)

    host.run(main)


def test_waiting_tasks_are_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        async with create_task_group() as group:
            for _ in range(3):
                group.start_soon(sleep_forever)
                group.start_soon(sleep, 3600)
            for _ in range(3):
                assert await host.quiet()
            group.cancel_scope.cancel()

    host.run(main)


def test_chain_of_wake_ups_is_seen_through(host: Host) -> None:
    async def main(host: Host) -> None:
        for seed in SEEDS:
            host.schedule(seed)
            events = [Event() for _ in range(51)]

            async def link(before: Event, after: Event) -> None:
                await before.wait()
                after.set()

            async with create_task_group() as group:
                for before, after in pairwise(events):
                    group.start_soon(link, before, after)
                assert await host.quiet()
                events[0].set()
                assert not events[1].is_set()
                assert await host.quiet()
                assert events[50].is_set()

    host.run(main)


def test_long_way_to_quiet_is_gone_to_its_end(host: Host) -> None:
    async def main(host: Host) -> None:
        done = []

        async def walk() -> None:
            await pause(2_000)
            done.append(True)

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                group.start_soon(walk)
                assert not await host.quiet(limit=1_000)
                assert not done
                assert await host.quiet()
                assert done.pop()

    host.run(main)


@pytest.mark.parametrize("spinners", [1, 5])
def test_spinning_task_is_never_quiet(host: Host, spinners: int) -> None:
    async def main(host: Host) -> None:
        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                for _ in range(spinners):
                    group.start_soon(spin)
                assert not await host.quiet()
                assert not await host.quiet(limit=0)
                group.cancel_scope.cancel()
            assert await host.quiet()

    host.run(main)


def test_driver_comes_next_when_it_is_never_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        steps = 0

        async def count() -> None:
            nonlocal steps
            while True:
                await checkpoint()
                steps += 1

        async with create_task_group() as group:
            for _ in range(20):
                group.start_soon(count)
            for seed in range(20):
                host.schedule(seed)
                assert not await host.quiet(limit=10)
                before = steps
                assert not await host.quiet(limit=0)
                # On asyncio, what was left of the turn in which the driver ran.
                assert steps <= before + 20
            group.cancel_scope.cancel()

    host.run(main)


def test_input_that_is_there_is_not_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        received = []

        async def receive(end: socket.socket) -> None:
            for _ in range(3):
                await wait_readable(end)
                received.append(end.recv(1))

        for seed in SEEDS:
            host.schedule(seed)
            ends = socket.socketpair()
            with ends[0], ends[1]:
                async with create_task_group() as group:
                    group.start_soon(receive, ends[0])
                    assert await host.quiet()
                    assert not received
                    ends[1].send(b"a")
                    assert await host.quiet()
                    assert received == [b"a"]
                    ends[1].send(b"bc")
                    assert await host.quiet()
                    assert received == [b"a", b"b", b"c"]
            received.clear()

    host.run(main)


def test_input_that_nobody_takes_is_never_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        async def look(end: socket.socket) -> None:
            while True:
                await wait_readable(end)

        ends = socket.socketpair()
        with ends[0], ends[1]:
            for seed in SEEDS:
                host.schedule(seed)
                async with create_task_group() as group:
                    group.start_soon(look, ends[0])
                    ends[1].send(b"a")
                    assert not await host.quiet(limit=300)
                    group.cancel_scope.cancel()
                assert await host.quiet()

    host.run(main)


def test_quiet_waits_for_a_thread(host: Host) -> None:
    async def main(host: Host) -> None:
        results: list[int] = []

        async def work(host: Host) -> None:
            with host.outside():
                # Far longer than 100 turns take, were they made and not waited for.
                results.append(await to_thread.run_sync(lambda: sum(range(300_000))))
            await pause(10)
            results.append(0)

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                group.start_soon(work, host)
                assert await host.quiet(limit=100)
                assert results == [44_999_850_000, 0]
            results.clear()

    host.run(main)


def test_quiet_waits_for_a_process(host: Host) -> None:
    async def main(host: Host) -> None:
        outputs: list[bytes] = []

        async def work(host: Host) -> None:
            with host.outside():
                process = await run_process([sys.executable, "-c", "print(input()[::-1])"], input=b"abc\n")
            outputs.append(process.stdout.strip())

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                group.start_soon(work, host)
                group.start_soon(work, host)
                assert await host.quiet(limit=200)
                assert outputs == [b"cba", b"cba"]
            outputs.clear()

    host.run(main)


def test_quiet_waits_for_a_process_that_fails(host: Host) -> None:
    async def main(host: Host) -> None:
        async def work() -> None:
            with pytest.raises(subprocess.CalledProcessError), host.outside():
                await run_process([sys.executable, "-c", "raise SystemExit(3)"])

        async with create_task_group() as group:
            group.start_soon(work)
            assert await host.quiet()

    host.run(main)


def test_spinning_beside_outside_work_is_never_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        release = threading.Event()

        async def work() -> None:
            with host.outside():
                await to_thread.run_sync(release.wait)

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                group.start_soon(work)
                with CancelScope() as spinning:
                    async with create_task_group() as inner:
                        inner.start_soon(spin)
                        assert not await host.quiet(limit=500)
                        spinning.cancel()
                release.set()
                assert await host.quiet()
            release.clear()

    host.run(main)


def test_spinning_that_begins_late_is_never_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        async def work() -> None:
            with host.outside():
                # The driver really waits until this is done.
                await to_thread.run_sync(int)
                await spin()

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                group.start_soon(work)
                assert not await host.quiet(limit=500)
                group.cancel_scope.cancel()
            assert await host.quiet()

    host.run(main)


def test_nested_outside_work_is_counted(host: Host) -> None:
    async def main(host: Host) -> None:
        gate = Event()
        seen: list[str] = []

        async def work() -> None:
            with host.outside():
                with host.outside():
                    await to_thread.run_sync(threading.Event().is_set)
                await to_thread.run_sync(threading.Event().is_set)
            seen.append("work")
            await gate.wait()
            seen.append("gate")

        async with create_task_group() as group:
            group.start_soon(work)
            assert await host.quiet()
            assert seen == ["work"]
            gate.set()
            assert await host.quiet()
            assert seen == ["work", "gate"]

    host.run(main)


def test_outside_work_is_counted_only_in_the_thread_of_the_loop(host: Host) -> None:
    async def main(host: Host) -> None:
        def enter() -> None:
            with host.outside():
                pass

        with pytest.raises(RuntimeError, match="in the thread of the loop"):
            await to_thread.run_sync(enter)
        assert await host.quiet()

    host.run(main)


def test_cancelling_ends_the_wait_for_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        release = threading.Event()

        async def work() -> None:
            with host.outside():
                await to_thread.run_sync(release.wait)

        async def cancel(scope: CancelScope) -> None:
            await pause(3)
            scope.cancel()
            # At once, so that the end of the work and the cancel wake the same driver.
            release.set()

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                group.start_soon(work)
                with CancelScope() as scope:
                    group.start_soon(cancel, scope)
                    await host.quiet()
                    pytest.fail("quiet came although there was work")
                assert scope.cancelled_caught
                assert await host.quiet()
            release.clear()

    host.run(main)


def test_cancel_may_meet_the_end_of_the_work(host: Host) -> None:
    async def main(host: Host) -> None:
        async def work(scope: CancelScope) -> None:
            with host.outside():
                await to_thread.run_sync(int)
                scope.cancel()

        for seed in SEEDS:
            host.schedule(seed)
            async with create_task_group() as group:
                with CancelScope() as scope:
                    group.start_soon(work, scope)
                    await host.quiet()
                    pytest.fail("quiet came although it was cancelled")
                assert await host.quiet()

    host.run(main)


def test_cancel_may_meet_the_limit(host: Host) -> None:
    async def main(host: Host) -> None:
        async def cancel(scope: CancelScope) -> None:
            await pause(5)
            scope.cancel()

        verdicts = set()
        for limit in range(15):
            async with create_task_group() as group:
                group.start_soon(spin)
                verdict = None
                with CancelScope() as scope:
                    group.start_soon(cancel, scope)
                    verdict = await host.quiet(limit)
                verdicts.add(verdict)
                group.cancel_scope.cancel()
            assert await host.quiet()
        assert verdicts == {None, False}

    host.run(main)


def test_quiet_is_a_checkpoint(host: Host) -> None:
    async def main(host: Host) -> None:
        with CancelScope() as scope:
            scope.cancel()
            await host.quiet()
            pytest.fail("quiet was no checkpoint")
        assert await host.quiet()

    host.run(main)


def test_only_one_task_waits_for_quiet(host: Host) -> None:
    async def main(host: Host) -> None:
        async def intrude() -> None:
            with pytest.raises(RuntimeError, match="another task waits"):
                await host.quiet()

        async with create_task_group() as group:
            group.start_soon(intrude)
            assert await host.quiet()

    host.run(main)
