"""A runtime leaves nothing behind, however it is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import anyio
import pytest

from probate_reference import (
    CreationSignal,
    ModelRequest,
    OwnerInactive,
    ProviderInactive,
    Reply,
    Runtime,
    Signal,
)
from tests.reference.kit import CREATED, Gate, World, tools

pytestmark = pytest.mark.anyio


async def test_leaving_it_ends_every_agent(world: World) -> None:
    async with world.runtime as runtime:
        parent = await runtime.owner("o").create("a")
        await parent.agent.create("b")
        pending = runtime.owner("o").create("c", setup=Gate(None).pass_through)
    assert len(runtime.agents) == len(runtime.sessions) == runtime.statistics().lifecycles == 0
    assert parent.dispose().done
    assert pending.done


async def test_after_the_end_it_stays_ended(world: World) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
    with pytest.raises(OwnerInactive):
        await owner.create("a")
    with pytest.raises(RuntimeError, match="not running"):
        owner.load()
    with pytest.raises(RuntimeError, match="not running"):
        runtime.provider.load()
    with pytest.raises(RuntimeError, match="only once"):
        await runtime.__aenter__()
    with pytest.raises(ProviderInactive):
        await runtime.owner("new").create("a")


async def test_before_the_start_nothing_can_be_created(world: World) -> None:
    with pytest.raises(RuntimeError, match="not been started"):
        _ = world.runtime.owner("o").create("a")


async def test_what_the_block_raises_is_not_wrapped(world: World) -> None:
    async def run() -> None:
        async with world.runtime as runtime:
            handle = await runtime.owner("o").create("a")
            handle.agent.send("A")
            await world.model.arrival()
            raise LookupError

    world.deaf = True
    world.model.hold()
    with pytest.raises(LookupError):
        await run()
    assert world.lines[-5:] == [
        "a: step/end 1 1",
        "a: turn/end 1 disposed",
        "session/flush a 5",
        "agent/disposed a",
        "session/disposed a",
    ]
    assert len(world.flush.requests) == 1


@pytest.mark.parametrize(
    "raised", [LookupError(), SystemExit(3), KeyboardInterrupt(), ExceptionGroup("", [ValueError()])]
)
async def test_whatever_the_block_raises_is_raised_as_it_is(world: World, raised: BaseException) -> None:
    async def run() -> None:
        async with world.runtime as runtime:
            await runtime.owner("o").create("a")
            raise raised

    with pytest.raises(type(raised)) as seen:
        await run()
    assert seen.value is raised
    assert world.lines[-1] == "session/disposed a"


async def test_what_the_block_raises_is_not_lost_when_the_host_is_cancelled_meanwhile(world: World) -> None:
    async def cleanup() -> None:
        scope.cancel()
        await anyio.lowlevel.checkpoint()

    async def run() -> None:
        async with world.runtime as runtime:
            await runtime.owner("o").create("a", cleanups=(cleanup,))
            raise LookupError

    with pytest.raises(LookupError), anyio.CancelScope() as scope:
        await run()


async def test_what_the_block_raises_hides_nothing_that_broke_the_runtime(world: World) -> None:
    class BreakError(BaseException):
        pass

    async def cleanup() -> None:
        raise BreakError

    async def run() -> None:
        async with world.runtime as runtime:
            await runtime.owner("o").create("a", cleanups=(cleanup,))
            raise LookupError

    with pytest.raises(BaseExceptionGroup) as seen:
        await run()
    assert seen.group_contains(BreakError)
    assert seen.group_contains(LookupError)


async def test_a_cancelled_host_leaves_closed_logs_and_runs_cleanups(world: World) -> None:
    async def cleanup() -> None:
        await anyio.lowlevel.checkpoint()
        world.note("cleanup")

    world.model.plan.append(tools(2))
    world.tool.hold()
    world.deaf = True
    with anyio.CancelScope() as scope:
        async with world.runtime as runtime:
            handle = await runtime.owner("o").create("a", cleanups=(cleanup,))
            await handle.agent.create("b")
            pending = runtime.owner("o").create("c", setup=never)
            waiter = handle.agent.idle()
            handle.agent.send("A")
            waiter = handle.agent.idle()
            await world.tool.arrival()
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    kinds = [record.kind for record in handle.agent.session]
    assert kinds.count("tool/call") == kinds.count("tool/result") == 2
    assert kinds[-2:] == ["step/end", "turn/end"]
    assert {"cleanup", "session/disposed a", "session/disposed b"} < set(world.lines)
    assert waiter.done
    assert handle.dispose().done
    assert pending.done
    assert runtime.statistics().lifecycles == 0


async def never(scope: object) -> None:
    await anyio.sleep_forever()


async def test_a_cancelled_host_does_not_lose_a_flush(world: World) -> None:
    world.flush.hold()
    with anyio.CancelScope() as scope:
        async with world.runtime as runtime, anyio.create_task_group() as task_group:

            async def let_go() -> None:
                with anyio.CancelScope(shield=True):
                    arrival = await world.flush.arrival()
                    scope.cancel()
                    world.flush.held = False
                    await anyio.lowlevel.checkpoint()
                    arrival.release()

            handle = await runtime.owner("o").create("a")
            task_group.start_soon(let_go)
            handle.agent.send("A")
            await anyio.sleep_forever()
    assert "a: turn/end 1 completed" in world.lines
    assert world.lines[-1] == "session/disposed a"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # on trio nobody but a cancelled scope raises Cancelled
async def test_a_stray_cancellation_in_a_model_is_its_own_failure() -> None:
    async def model(request: ModelRequest, signal: Signal) -> Reply:
        raise asyncio.CancelledError

    async with Runtime(model) as runtime:
        agent = (await runtime.owner("o").create("a")).agent
        agent.send("A")
        await agent.idle()
        assert [record.kind for record in agent.session][-1] == "turn/end"
        assert agent.status.value == "idle"


async def test_two_runtimes_know_nothing_of_each_other() -> None:
    first, second = World(), World()
    async with first.runtime, second.runtime:
        await first.runtime.owner("o").create("a")
        await second.runtime.owner("o").create("a")
        await first.runtime.provider.unload()
        assert "a" in second.runtime.agents
        assert second.runtime.statistics().owners == 1


@pytest.mark.parametrize("verb", ["create", "child", "send", "steer", "inject", "cancel", "idle"])
async def test_another_thread_is_told_where_the_runtime_runs(world: World, verb: str) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        agent = (await owner.create("a")).agent
        calls: dict[str, Callable[[], object]] = {
            "create": partial(owner.create, "b"),
            "child": partial(agent.create, "b"),
            "send": partial(agent.send, "A"),
            "steer": partial(agent.steer, "A"),
            "inject": partial(agent.inject, "A"),
            "cancel": agent.cancel,
            "idle": agent.idle,
        }
        await told(calls[verb])
        assert runtime.statistics().lifecycles == 1
        assert world.lines == CREATED


@pytest.mark.parametrize("verb", ["dispose", "withdraw", "abort", "owner", "provider"])
async def test_another_thread_ends_nothing(world: World, verb: str) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        signal = CreationSignal()
        handle = await owner.create("a")
        gate = Gate(None)
        gate.hold()
        creation = owner.create("b", setup=gate.pass_through, signal=signal)
        await gate.arrival()
        calls: dict[str, Callable[[], object]] = {
            "dispose": handle.dispose,
            "withdraw": creation.withdraw,
            "abort": signal.abort,
            "owner": owner.unload,
            "provider": runtime.provider.unload,
        }
        await told(calls[verb])
        assert owner.active
        assert runtime.provider.active
        assert not signal.aborted
        assert creation.agent is not None
        assert not creation.agent._core.lifecycle.ending
        assert world.lines == CREATED


async def told(call: Callable[[], object]) -> None:
    with pytest.raises(RuntimeError, match=r"another thread: .* anyio\.from_thread"):
        await anyio.to_thread.run_sync(call)
