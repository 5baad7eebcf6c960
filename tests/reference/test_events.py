"""Listeners are called in order, and what they do wrong is contained."""

from __future__ import annotations

import anyio
import pytest

from probate_reference import Event
from tests.reference.kit import World

pytestmark = pytest.mark.anyio


async def test_listeners_are_called_in_the_order_of_installation(world: World) -> None:
    heard: list[int] = []
    for number, kind in enumerate(["agent/created", None, "agent/created"]):

        def listener(event: Event, number: int = number) -> None:
            if event.kind == "agent/created":
                heard.append(number)

        world.runtime.events.on(listener, kind)
    async with world.runtime as runtime:
        await runtime.owner("o").create("a")
    assert heard == [0, 1, 2]


async def test_a_removed_listener_hears_nothing(world: World) -> None:
    heard: list[str] = []

    def listener(event: Event) -> None:
        heard.append(event.kind)

    remove = world.runtime.events.on(listener)
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        remove()
        await handle.dispose()
    assert heard == ["session/created", "agent/created", "agent/session-start"]


async def test_a_failing_listener_does_not_starve_the_next(world: World) -> None:
    def fail(event: Event) -> None:
        raise ValueError

    world.when("agent/status a disposed", fail)
    world.when("agent/status a disposed", lambda event: world.note("next"))
    async with world.runtime as runtime:
        await (await runtime.owner("o").create("a")).dispose()
    assert "next" in world.lines
    assert len(world.reports) == 1


async def test_an_awaitable_runs_in_the_background(world: World) -> None:
    go = anyio.Event()

    async def background() -> None:
        await go.wait()
        world.note("background")

    world.when("agent/created a", lambda event: background())
    async with world.runtime as runtime:
        await (await runtime.owner("o").create("a")).dispose()
        assert "background" not in world.lines
        go.set()
        await world.until("background")


async def test_after_the_end_there_is_no_background(world: World) -> None:
    async def background() -> None:
        raise AssertionError

    world.when("agent/cancel-requested a user", lambda event: background())
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        _ = handle.dispose()
    handle.agent.cancel()
    assert [str(failure) for _, failure in world.reports] == ["the runtime has ended"]


async def test_a_report_that_fails_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    from probate_reference import Runtime

    def report(place: str, failure: BaseException) -> None:
        raise ValueError("in the report")

    def fail(event: Event) -> None:
        raise ValueError("in the listener")

    runtime = Runtime(World()._model, report=report)
    runtime.events.on(fail, "agent/status")
    async with runtime:
        await (await runtime.owner("o").create("a")).dispose()
    assert "in the listener" in caplog.text
    assert "in the report" in caplog.text
