"""The registry knows exact agents and their direct owners."""

from __future__ import annotations

import pytest

from probate_reference import AgentRegistry, IdExists
from tests.reference.kit import World

pytestmark = pytest.mark.anyio


async def test_agents_stand_in_order_with_their_owners(world: World) -> None:
    async with world.runtime as runtime:
        first = (await runtime.owner("o").create("b")).agent
        second = (await first.create("a")).agent
        third = (await second.create("c")).agent
        agents = runtime.agents
        assert agents.list() == (first, second, third)
        assert agents.roots() == (first,)
        assert agents.is_owned_by("c", second)
        assert not agents.is_owned_by("c", first)
        assert not agents.is_owned_by("nobody", first)
        assert agents.owner_of("a") is first
        assert agents.owner_of("b") is agents.owner_of("nobody") is agents.get("nobody") is None
        assert (agents.statistics().agents, agents.statistics().roots) == (3, 1)
        assert "a" in agents


async def test_a_replacement_inherits_no_children(world: World) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        first = await owner.create("a")
        await first.dispose()
        second = await owner.create("a")
        child = await second.agent.create("b")
        assert runtime.agents.is_owned_by("b", second.agent)
        assert not runtime.agents.is_owned_by("b", first.agent)
        await child.dispose()


async def test_entries_are_exact(world: World) -> None:
    async with world.runtime as runtime:
        owner = runtime.owner("o")
        handle = await owner.create("a")
        first = handle.agent
        await handle.dispose()
        second = (await owner.create("a")).agent
    registry = AgentRegistry()
    registry._enter(first, None)
    with pytest.raises(IdExists):
        registry._enter(second, None)
    assert registry._detach(first)
    registry._enter(second, None)
    assert not registry._detach(first)
    assert registry.list() == (second,)
    assert registry
