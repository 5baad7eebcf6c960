"""An agent ends in one order, once, whoever asks."""

from __future__ import annotations

import anyio
import pytest

from probate_reference import (
    Creation,
    Event,
    FlushRequest,
    IdExists,
    OwnerDisposed,
    OwnerInactive,
    Refusal,
    WouldDeadlock,
)
from tests.reference.kit import CREATED, DISPOSED, Gate, World, turn

pytestmark = pytest.mark.anyio


async def test_an_idle_agent(world: World) -> None:
    async with world.runtime as runtime:

        async def cleanup() -> None:
            world.note("cleanup")

        handle = await runtime.owner("o").create("a", cleanups=(cleanup,))
        world.take()
        ended = handle.dispose()
        assert world.lines == ["agent/status a disposed"]
        await ended
        assert world.lines == [*DISPOSED, "cleanup"]


async def test_in_the_middle_of_a_step(world: World) -> None:
    world.model.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        await world.model.arrival()
        handle.agent.send("B")
        world.take()
        await handle.dispose()
        assert world.lines == [
            "signal disposed",
            "agent/status a disposed",
            "a: step/end 1 1",
            "a: turn/end 1 disposed",
            "session/flush a 5",
            "agent/disposed a",
            "session/disposed a",
        ]


async def test_every_caller_joins_the_one_teardown(world: World) -> None:
    world.flush.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        arrival = await world.flush.arrival()
        first, second = handle.dispose(), handle.dispose()
        unload = runtime.owner("o").unload()
        assert [call.done for call in (first, second, unload)] == [False, False, False]
        arrival.release()
        await unload
        assert first.done
        assert second.done
        assert world.lines.count("agent/disposed a") == 1


async def test_a_prompt_in_the_pre_run_window_never_runs(world: World) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        await handle.dispose()
        assert len(handle.agent.session) == 0


async def test_disposal_upon_running_opens_no_turn(world: World) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        world.when("agent/status a running", lambda event: handle.dispose())
        handle.agent.send("A")
        await handle.agent.idle()
        await handle.dispose()
        assert world.lines[-4:] == ["agent/status a running", *DISPOSED]
        assert len(handle.agent.session) == 0


async def test_each_id_is_free_at_its_own_detach(world: World) -> None:
    creations: list[Creation] = []

    def create(event: Event) -> None:
        creations.append(world.runtime.owner("o").create("a"))

    gate = Gate(None)
    gate.hold()
    world.when("agent/disposed a", create)
    world.when("session/disposed a", create)
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a", cleanups=(gate.pass_through,))
        ended = handle.dispose()
        arrival = await gate.arrival()
        with pytest.raises(IdExists):
            await creations[0]
        second = await creations[1]
        assert not ended.done
        assert runtime.agents.get("a") is second.agent
        arrival.release()
        await ended
        assert runtime.agents.get("a") is second.agent


async def test_the_session_is_stored_when_its_agent_is_gone(world: World) -> None:
    seen: list[tuple[bool, bool]] = []

    def look(event: Event) -> None:
        seen.append(("a" in world.runtime.agents, "a" in world.runtime.sessions))

    world.runtime.events.on(look, "agent/disposed")
    world.runtime.events.on(look, "session/disposed")
    async with world.runtime as runtime:
        await (await runtime.owner("o").create("a")).dispose()
    assert seen == [(False, True), (False, False)]


async def test_failures_are_contained_and_reported(world: World) -> None:
    def fail(event: Event) -> None:
        raise ValueError

    async def cleanup() -> None:
        raise ValueError

    async def last() -> None:
        world.note("last")

    for kind in ("agent/status", "agent/disposed", "session/disposed"):
        world.runtime.events.on(fail, kind)
    async with world.runtime as runtime:
        await (await runtime.owner("o").create("a", cleanups=(last, cleanup))).dispose()
        assert world.lines == [*CREATED, *DISPOSED, "last"]
    assert [place for place, _ in world.reports] == [
        "listener agent/status",
        "listener agent/disposed",
        "listener session/disposed",
        "cleanup",
    ]


async def test_children_begin_to_end_before_the_cleanups(world: World) -> None:
    async def cleanup() -> None:
        world.note("cleanup")

    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a", cleanups=(cleanup,))
        await handle.agent.create("b")
        await handle.agent.create("c")
        assert runtime.agents.is_owned_by("b", handle.agent)
        assert runtime.agents.roots() == (handle.agent,)
        world.take()
        await handle.dispose()
        assert world.lines[:6] == [
            *DISPOSED,
            "agent/status c disposed",
            "agent/status b disposed",
            "cleanup",
        ]
        assert {"session/disposed b", "session/disposed c"} < set(world.lines)
        assert len(runtime.sessions) == 0


async def test_a_pending_child_is_called_off_when_its_parent_begins_to_end(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        child = handle.agent.create("b", setup=gate.pass_through)
        await gate.arrival()
        ended = handle.dispose()
        _ = child.withdraw()
        with pytest.raises(OwnerDisposed):
            await child
        with pytest.raises(OwnerInactive):
            await handle.agent.create("c")
        await ended


async def test_a_sibling_is_untouched(world: World) -> None:
    async with world.runtime as runtime:
        first = await runtime.owner("o").create("a")
        second = await runtime.owner("o").create("b")
        await first.dispose()
        second.agent.send("A")
        await second.agent.idle()
        assert turn(1, "A", agent="b")[-1] in world.lines


async def test_a_registration_after_the_end_is_refused(world: World) -> None:
    scopes = []

    async def setup(scope: object) -> None:
        scopes.append(scope)

    async def cleanup() -> None:
        pass

    async with world.runtime as runtime:
        await (await runtime.owner("o").create("a", setup=setup)).dispose()
        with pytest.raises(OwnerInactive):
            scopes[0].on_cleanup(cleanup)  # type: ignore[attr-defined]


async def test_a_cleanup_that_awaits_its_own_teardown_gets_an_error(world: World) -> None:
    caught: list[str] = []

    async def cleanup() -> None:
        for name, call in (
            ("dispose", handle.dispose()),
            ("parent", parent.dispose()),
            ("unload", world.runtime.owner("o").unload()),
            ("provider", world.runtime.provider.unload()),
        ):
            try:
                await call
            except WouldDeadlock:
                caught.append(name)
        await handle.agent.idle()

    async with world.runtime as runtime:
        parent = await runtime.owner("o").create("p")
        handle = await parent.agent.create("a", cleanups=(cleanup,))
        await handle.dispose()
    assert caught == ["dispose", "parent", "unload", "provider"]


async def test_a_tool_or_a_flush_that_awaits_its_own_agent_gets_an_error(world: World) -> None:
    caught: list[str] = []

    async def flush(request: FlushRequest) -> None:
        try:
            await handle.agent.idle()
        except WouldDeadlock:
            caught.append("idle")
        try:
            await handle.dispose()
        except WouldDeadlock:
            caught.append("dispose")

    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        remove = runtime.on_flush(flush)
        handle.agent.send("A")
        await world.until("agent/disposed a")
        remove()
    assert caught == ["idle", "dispose"]


async def test_a_task_group_of_a_tool_that_awaits_its_own_agent_gets_an_error(world: World) -> None:
    caught: list[str] = []

    async def await_the_end() -> None:
        try:
            await handle.dispose()
        except WouldDeadlock:
            caught.append("dispose")

    async def await_idle_deeper_down() -> None:
        async with anyio.create_task_group() as below:
            below.start_soon(await_idle)

    async def await_idle() -> None:
        try:
            await handle.agent.idle()
        except WouldDeadlock:
            caught.append("idle")

    async def flush(request: FlushRequest) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(await_idle_deeper_down)
        async with anyio.create_task_group() as group:
            group.start_soon(await_the_end)

    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        remove = runtime.on_flush(flush)
        handle.agent.send("A")
        await world.until("agent/disposed a")
        remove()
    assert caught == ["idle", "dispose"]


async def test_a_setup_that_awaits_its_own_creation_gets_an_error(world: World) -> None:
    async def setup(scope: object) -> None:
        await creation

    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=setup)
        with pytest.raises(WouldDeadlock):
            await creation


async def test_a_task_that_such_code_started_may_await_it(world: World) -> None:
    async with world.runtime as runtime, anyio.create_task_group() as task_group:

        async def wait() -> None:
            await handle.dispose()
            world.note("waited")

        async def flush(request: FlushRequest) -> None:
            task_group.start_soon(wait)

        handle = await runtime.owner("o").create("a")
        remove = runtime.on_flush(flush)
        handle.agent.send("A")
        await world.until("waited")
        remove()


async def test_the_background_part_of_a_listener_may_await_it(world: World) -> None:
    async with world.runtime as runtime:

        async def wait() -> None:
            await handle.dispose()
            world.note("waited")

        world.when("agent/status a running", lambda event: wait())
        handle = await runtime.owner("o").create("a")
        handle.agent.send("A")
        await world.until("waited")


async def test_a_creation_through_an_ended_agent_is_refused_with_a_code(world: World) -> None:
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a")
        await handle.dispose()
        with pytest.raises(Refusal) as caught:
            await handle.agent.create("b")
        assert caught.value.code == "owner-inactive"
