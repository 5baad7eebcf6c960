"""Owners and the provider take along what belongs to them."""

from __future__ import annotations

import pytest

from probate_reference import Owner, OwnerDisposed, OwnerInactive, ProviderInactive, Runtime
from tests.reference.kit import Gate, World

pytestmark = pytest.mark.anyio


def disposals(world: World) -> list[str]:
    return [text for text in world.lines if text.endswith(" disposed")]


async def test_an_unload_ends_the_agents_newest_first_in_a_later_step(world: World) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        for name in "abc":
            await owner.create(name)
        await runtime.owner("other").create("d")
        unload = owner.unload()
        assert not owner.active
        assert disposals(world) == []
        await unload
        assert disposals(world) == [f"agent/status {name} disposed" for name in "cba"]
        assert [agent.id for agent in runtime.agents.list()] == ["d"]


async def test_all_teardowns_begin_before_one_ends(world: World) -> None:
    async with world.runtime as runtime:
        for name in "ab":
            await runtime.owner("o").create(name)
        world.take()
        await runtime.owner("o").unload()
        assert world.lines[:2] == ["agent/status b disposed", "agent/status a disposed"]


async def test_an_unload_calls_off_what_is_pending_at_once(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=gate.pass_through)
        await gate.arrival()
        unload = runtime.owner("o").unload()
        runtime.owner("o").load()
        second = runtime.owner("o").create("a")
        with pytest.raises(OwnerDisposed):
            await creation
        await second
        await unload
        assert "a" in runtime.agents


async def test_a_repeated_unload_is_joined(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        await owner.create("a", cleanups=(gate.pass_through,))
        first = owner.unload()
        arrival = await gate.arrival()
        second = owner.unload()
        assert not second.done
        arrival.release()
        await second
        assert first.done
        assert owner.unload().done


async def test_an_unload_waits_for_a_teardown_that_began_before(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        handle = await runtime.owner("o").create("a", cleanups=(gate.pass_through,))
        _ = handle.dispose()
        arrival = await gate.arrival()
        unload = runtime.owner("o").unload()
        assert "a" not in runtime.agents
        assert not unload.done
        arrival.release()
        await unload
        assert handle.dispose().done


async def test_a_new_incarnation_is_independent_of_the_old_one(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        await owner.create("a", cleanups=(gate.pass_through,))
        old = owner.unload()
        owner.load()
        owner.load()
        assert owner.active
        handle = await owner.create("b")
        arrival = await gate.arrival()
        await owner.unload()
        assert not old.done
        assert handle.dispose().done
        arrival.release()
        await old


async def test_the_provider_takes_all_agents_along(world: World) -> None:
    async with world.runtime as runtime:
        parent = await runtime.owner("o").create("a")
        await parent.agent.create("b")
        await runtime.owner("p").create("c")
        unload = runtime.provider.unload()
        assert not runtime.provider.active
        with pytest.raises(ProviderInactive):
            await runtime.owner("o").create("d")
        await unload
        assert disposals(world) == [f"agent/status {name} disposed" for name in "cba"]
        assert len(runtime.agents) == len(runtime.sessions) == 0
        assert parent.dispose().done
        runtime.provider.load()
        await runtime.owner("o").create("a")


async def test_the_provider_calls_pending_creations_off(world: World) -> None:
    gate = Gate(None)
    gate.hold()
    async with world.runtime as runtime:
        creation = runtime.owner("o").create("a", setup=gate.pass_through)
        await gate.arrival()
        await runtime.provider.unload()
        assert creation.done
        with pytest.raises(ProviderInactive):
            await creation


async def test_an_inactive_owner_refuses(world: World) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        assert runtime.owner("o") is owner
        assert owner.name == "o"
        await owner.unload()
        with pytest.raises(OwnerInactive):
            await owner.create("a")
        owner.load()
        await owner.create("a")


async def test_a_grandchild_goes_with_its_owner(world: World) -> None:
    async with world.runtime as runtime:
        parent = await runtime.owner("o").create("a")
        child = await parent.agent.create("b")
        grandchild = await child.agent.create("c")
        await runtime.owner("o").unload()
        assert grandchild.dispose().done
        assert runtime.statistics().lifecycles == 0


async def test_unloading_what_never_ran_is_done_at_once() -> None:
    owner: Owner = Runtime(World()._model).owner("o")
    assert owner.unload().done
    assert repr(owner) == "<Owner 'o' inactive>"
