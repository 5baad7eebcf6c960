"""A host runs one main at a time, lets its failures through, and can be used again after any."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import pytest
import trio
from anyio import create_task_group, current_time, sleep_forever, to_thread

from probate_conformance.loops import HOSTS, Host


class Broke(Exception):
    """What a main raises here."""


async def works(host: Host) -> str:
    """Use all of a host."""
    current_time()
    host.schedule(1)
    async with create_task_group() as group:
        group.start_soon(sleep_forever)
        with host.outside():
            await to_thread.run_sync(int)
        assert await host.quiet()
        group.cancel_scope.cancel()
    return host.name


def test_each_host_has_its_name() -> None:
    assert {name: HOSTS[name]().name for name in HOSTS} == {"asyncio": "asyncio", "trio": "trio"}


def test_main_is_run_with_the_host(host: Host) -> None:
    async def main(given: Host) -> Host:
        return given

    assert host.run(main) is host
    assert host.run(works) == host.name


def test_host_can_be_used_again_after_a_failure(host: Host) -> None:
    async def main(host: Host) -> None:
        host.schedule(5)
        raise Broke

    for _ in range(3):
        with pytest.raises(Broke):
            host.run(main)
        assert host.run(works) == host.name


def test_host_can_be_used_again_after_a_failure_inside_quiet(host: Host) -> None:
    async def fail() -> None:
        raise Broke

    async def main(host: Host) -> None:
        async with create_task_group() as group:
            group.start_soon(fail)
            with host.outside():
                await host.quiet()

    with pytest.raises(ExceptionGroup) as caught:
        host.run(main)
    assert caught.group_contains(Broke)
    assert host.run(works) == host.name


@pytest.mark.parametrize("seed", [None, 1])
def test_keyboard_interrupt_leaves_no_loop_open(host: Host, seed: int | None) -> None:
    async def main(host: Host) -> None:
        host.schedule(seed)
        loops.append(asyncio.get_running_loop() if host.name == "asyncio" else None)
        raise KeyboardInterrupt

    loops: list[asyncio.AbstractEventLoop | None] = []
    with pytest.raises(KeyboardInterrupt):
        host.run(main)
    for loop in loops:
        assert loop is None or loop.is_closed()
    with pytest.raises(RuntimeError):
        trio.lowlevel.current_task()
    assert host.run(works) == host.name


@pytest.fixture
def interruptible() -> Iterator[None]:
    """See that an interrupt is heard, also where the tests were started by something that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("seed", [None, 1])
def test_interrupt_during_quiet_ends_the_run(host: Host, seed: int | None) -> None:
    async def main(host: Host) -> None:
        host.schedule(seed)
        with host.outside():
            signal.raise_signal(signal.SIGINT)
            await host.quiet()

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        host.run(main)
    assert signal.getsignal(signal.SIGINT) is before
    assert host.run(works) == host.name


def test_host_runs_one_main_at_a_time(host: Host) -> None:
    async def main(host: Host) -> None:
        with pytest.raises(RuntimeError, match="running already"):
            host.run(works)
        assert await host.quiet()

    host.run(main)


def test_host_that_is_not_running_refuses(host: Host) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="isn't running"):
            host.schedule(1)
        with pytest.raises(RuntimeError, match="isn't running"):
            host.outside()
        with pytest.raises(RuntimeError, match="isn't running"):
            host.quiet().send(None)
        host.run(works)
