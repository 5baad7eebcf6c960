"""Children in this process: fresh or forked, their parent's, and never louder than what they said themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from probate_reference import Agent, Handle, Reply, SessionCreated, TurnEnd, UserMessage
from probate_reference.subagents import (
    DelegationFailed,
    DepthExceeded,
    ForkProvider,
    RunRequest,
    RunResult,
    RunStop,
    SpawnProvider,
    Subagents,
    delegate,
)
from probate_reference.subagents.inprocess import completed_turns
from probate_reference.tasks import AbortSignal
from tests.reference.kit import MAX_TOKENS, World, tools
from tests.reference.subagents.fake import line

pytestmark = pytest.mark.anyio


class Family:
    """A parent ``p``, and a service that spawns and forks."""

    def __init__(self, world: World, subagents: Subagents, parent: Handle) -> None:
        self.world = world
        self.subagents = subagents
        self.handle = parent
        self.parent: Agent = parent.agent

    async def turn(self, text: str) -> None:
        self.parent.send(text)
        await self.parent.idle()


@asynccontextmanager
async def family(world: World, **options: int) -> AsyncIterator[Family]:
    names = iter(f"c{number}" for number in range(1, 100))
    async with world.runtime, Subagents() as subagents:
        owner = world.runtime.owner("me")
        subagents.on(lambda event: world.note(line(event)))
        subagents.register("spawn", SpawnProvider(owner, mint=lambda: next(names), **options))
        subagents.register("fork", ForkProvider(owner, mint=lambda: next(names), **options))
        yield Family(world, subagents, await owner.create("p", metadata={"cwd": "/work"}))


async def test_a_spawned_child_works_and_goes(world: World) -> None:
    """K20, K24."""
    async with family(world) as it:
        run = it.subagents.start("spawn", RunRequest("do it", it.parent))
        assert world.lines[-1] == "subagent/start spawn"
        assert await run.result == RunResult(RunStop.COMPLETED, ("answer",))
        await world.until("subagent/end spawn completed")
        child = world.runtime.agents.get(run.id)
        assert child is not None
        assert dict(child.session.metadata) == {"parent": "p", "depth": "1", "cwd": "/work"}
        assert child.session.records[1] == UserMessage("do it")
        await run.dispose()
        assert [agent.id for agent in world.runtime.agents.list()] == ["p"]
        await it.turn("go on")
        assert "p: turn/end 1 completed" in world.lines


async def test_a_fork_knows_the_completed_turns_and_not_the_open_one(world: World) -> None:
    async with family(world) as it:
        await it.turn("first")
        world.model.hold()
        it.parent.send("second")
        arrival = await world.model.arrival()
        run = it.subagents.start("fork", RunRequest("do it", it.parent))
        theirs = await world.model.arrival()
        child = world.runtime.agents.get(run.id)
        assert child is not None
        said = [record.text for record in child.session if isinstance(record, UserMessage)]
        assert said == ["first", "do it"]
        assert f"{run.id}: turn/start 2 message" in world.lines
        world.model.held = False
        theirs.release(Reply(""))
        # K22: the parent's last words are not the child's.
        assert await run.result == RunResult(RunStop.COMPLETED, ())
        arrival.release()
        await it.parent.idle()
        assert "p: turn/end 2 completed" in world.lines
        await run.dispose()


async def test_without_a_completed_turn_there_is_nothing_to_begin_with(world: World) -> None:
    async with family(world) as it:
        for request in (RunRequest("x", it.parent), RunRequest("x")):
            run = it.subagents.start("fork", request)
            assert (await run.result).stop is RunStop.COMPLETED
            child = world.runtime.agents.get(run.id)
            assert child is not None
            assert child.session.statistics().turns == 1
            await run.dispose()
    assert completed_turns(()) == ()


@pytest.mark.parametrize(
    ("outcomes", "result"),
    [
        ([MAX_TOKENS], RunResult(RunStop.MAX_TOKENS, ("long",))),
        ([tools(1), Reply("")], RunResult(RunStop.COMPLETED, ("tools",))),
        ([ValueError("x")], RunResult(RunStop.ERROR, (), "the child's turn ended: error")),
        ([tools(1), ValueError("x")], RunResult(RunStop.ERROR, ("tools",), "the child's turn ended: error")),
    ],
)
async def test_results(world: World, outcomes: list[object], result: RunResult) -> None:
    world.model.plan.extend(outcomes)
    async with family(world) as it:
        run = it.subagents.start("spawn", RunRequest("x", it.parent))
        assert await run.result == result
        await run.dispose()


async def test_a_cancel_is_the_parent_s(world: World) -> None:
    world.model.plan.append(tools(1))
    world.tool.hold()
    async with family(world) as it:
        signal = AbortSignal()
        run = it.subagents.start("spawn", RunRequest("x", it.parent, signal))
        await world.tool.arrival()
        signal.abort()
        assert await run.result == RunResult(RunStop.ABORTED, ("tools",))
        assert "agent/cancel-requested c1 parent" in world.lines
        assert signal._callbacks == {}
        await run.dispose()


@pytest.mark.parametrize("when", ["before", "at once", "published", "queued"])
async def test_a_cancel_before_the_child_s_turn_is_aborted_and_no_error(world: World, when: str) -> None:
    """K19, K3."""
    async with family(world) as it:
        signal = AbortSignal()
        if when == "before":
            signal.abort()
        if when == "published":
            world.when("agent/session-start c1 startup", lambda _event: signal.abort())
        if when == "queued":
            world.when("agent/queued c1 x False", lambda _event: signal.abort())
        run = it.subagents.start("spawn", RunRequest("x", it.parent, signal))
        if when == "at once":
            run.cancel()
        assert await run.result == RunResult(RunStop.ABORTED)
        assert not any(text.startswith("c1: turn") for text in world.lines)
        await run.dispose()
        assert len(world.runtime.agents) == 1


async def test_the_depth_is_limited_before_anything_exists(world: World) -> None:
    """K23."""
    async with family(world, depth_limit=2) as it:
        one = it.subagents.start("spawn", RunRequest("x", it.parent))
        await one.result
        child = world.runtime.agents.get(one.id)
        assert child is not None
        two = it.subagents.start("fork", RunRequest("x", child))
        await two.result
        grandchild = world.runtime.agents.get(two.id)
        assert grandchild is not None
        await world.until("subagent/end fork completed")
        world.take()
        for provider in ("spawn", "fork"):
            with pytest.raises(DepthExceeded):
                it.subagents.start(provider, RunRequest("x", grandchild))
        with pytest.raises(DepthExceeded):
            it.subagents.start("spawn", RunRequest("x", it.parent, depth_limit=0))
        assert world.take() == []
        assert it.subagents.runs == 2


async def test_the_parent_takes_its_children_along(world: World) -> None:
    world.model.hold()
    async with family(world) as it:
        run = it.subagents.start("spawn", RunRequest("x", it.parent))
        await world.model.arrival()
        await it.handle.dispose()
        result = await run.result
        assert (result.stop, result.failure) == (RunStop.ERROR, "the child's turn ended: disposed")
        await run.dispose()
        assert len(world.runtime.agents) == 0


@pytest.mark.parametrize("when", ["setup", "veto"])
async def test_a_parent_that_ends_meanwhile_leaves_nothing(world: World, when: str) -> None:
    """K28."""
    async with family(world) as it:
        if when == "veto":

            def veto(event: object) -> None:
                if isinstance(event, SessionCreated) and event.agent.id == "c1":
                    raise ValueError("veto")

            world.runtime.events.on(veto)
        run = it.subagents.start("spawn", RunRequest("x", it.parent))
        if when == "setup":
            _ = it.handle.dispose()
        result = await run.result
        assert result.stop is RunStop.ERROR
        assert result.failure == ("ValueError: veto" if when == "veto" else "owner-disposed: agent 'p' began to end"), (
            result
        )
        await run.dispose()
        assert "agent/created c1" not in world.lines


async def test_a_run_that_is_disposed_in_the_middle_has_a_result(world: World) -> None:
    world.model.hold()
    async with family(world) as it:
        run = it.subagents.start("spawn", RunRequest("x", it.parent))
        await world.model.arrival()
        await run.dispose()
        assert (await run.result).stop is RunStop.ERROR
        assert run.dispose() is run.dispose()


def delegating(world: World, subagents: Subagents) -> Callable[[], None]:
    return world.runtime.tools.add(delegate(subagents, "spawn"))


def delegation(prompt: str) -> Reply:
    from probate_reference import ToolCall

    return Reply("I delegate.", (ToolCall("delegate", f'{{"prompt": "{prompt}"}}'),))


async def test_a_model_can_delegate(world: World) -> None:
    async with family(world) as it:
        delegating(world, it.subagents)
        world.model.plan.extend([delegation("do it"), Reply("done by the child"), Reply("well done")])
        await it.turn("go")
        assert "p: tool/result 1 ok done by the child" in world.lines
        assert it.subagents.runs == 0
        assert len(world.runtime.agents) == 1


async def test_a_child_that_fails_is_an_error_with_what_it_said(world: World) -> None:
    """K31."""
    async with family(world) as it:
        delegating(world, it.subagents)
        world.model.plan.extend([delegation("do it"), tools(1), ValueError("x"), Reply("so what")])
        await it.turn("go")
        assert "p: tool/result 1 error subagent: error, the child's turn ended: error\ntools" in world.lines
        assert it.subagents.runs == 0


@pytest.mark.parametrize("how", ["cancel", "dispose"])
async def test_a_turn_that_stops_takes_the_delegation_along(world: World, how: str) -> None:
    async with family(world) as it:
        delegating(world, it.subagents)
        world.model.plan.append(delegation("do it"))
        world.when('p: tool/call 1 delegate {"prompt": "do it"}', lambda _event: world.model.hold())
        it.parent.send("go")
        await world.model.arrival()
        if how == "cancel":
            it.parent.cancel()
            await it.parent.idle()
            assert "agent/cancel-requested c1 parent" in world.lines
            assert "p: tool/result 1 aborted aborted" in world.lines
        else:
            await it.handle.dispose()
        await anyio.wait_all_tasks_blocked()
        assert it.subagents.runs == 0
        assert [agent.id for agent in world.runtime.agents.list()] == (["p"] if how == "cancel" else [])


async def test_nobody_but_an_agent_delegates(world: World) -> None:
    from probate_reference import ToolContext

    async with family(world) as it:
        with pytest.raises(DelegationFailed):
            await delegate(it.subagents, "spawn").call({"prompt": "x"}, ToolContext())


async def test_a_host_that_is_cancelled_leaves_no_child(world: World) -> None:
    world.model.hold()
    with anyio.CancelScope() as scope:
        async with family(world) as it:
            run = it.subagents.start("spawn", RunRequest("x", it.parent))
            await world.model.arrival()
            scope.cancel()
            await run.result
    assert run.result.done
    assert run.gone.done
    assert len(world.runtime.agents) == 0
    assert isinstance(it.parent.session.statistics().open_turn, TurnEnd | None)
