"""Services decide who is loaded, and nobody loses one while it is used."""

from __future__ import annotations

import pytest

from probate_reference import Fiber, FiberState, Inactive, NotInjected, ServiceExists
from tests.reference.fibers.kit import Tree, held

pytestmark = pytest.mark.anyio


async def test_a_fiber_is_loaded_when_all_it_declares_is_there(tree: Tree) -> None:
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("c"), name="c", inject=("s", "t"))
        await tree.plugged("p", provides="s")
        assert tree.runtime.fibers.statistics().active == 1
        await tree.plugged("q", provides="t")
        await fiber.rest()
        assert fiber.state is FiberState.ACTIVE
        assert fiber.use("s") == "p"
        assert list(tree.runtime.fibers.services) == ["s", "t"]


async def test_a_provider_ends_after_those_that_use_it(tree: Tree) -> None:
    gate = held()
    used: list[object] = []
    async with tree.runtime:
        provider = await tree.plugged("p", provides="s")
        fiber = await tree.plugged("c", inject=("s",))

        async def disposer() -> None:
            await gate.pass_through()
            used.append((fiber.use("s"), provider.use("s"), tree.runtime.fibers.get("s")))

        fiber.effect(lambda: disposer)
        tree.take()
        end = provider.dispose()
        assert tree.take() == ["p unloading", "c unloading"]
        arrival = await gate.arrival()
        assert not end.done
        arrival.release()
        await end
        assert tree.take() == ["c pending", "p disposed"]
        assert used == [("p", "p", None)]
        with pytest.raises(Inactive):
            fiber.use("s")


async def test_a_replaced_provider_reloads_its_dependents_once(tree: Tree) -> None:
    async with tree.runtime:
        provider = await tree.plugged("p", provides="s")
        fiber = await tree.plugged("c", inject=("s",))
        tree.take()
        end = provider.dispose()
        other = tree.root.plug(tree.body("q", provides="s"), name="q")
        await end
        await other.rest()
        await fiber.rest()
        assert tree.lines.count("body c") == 1
        assert fiber.use("s") == "q"


async def test_a_provider_that_restarts_reloads_its_dependents(tree: Tree) -> None:
    async with tree.runtime:
        provider = await tree.plugged("p", provides="s")
        fiber = await tree.plugged("c", inject=("s",))
        tree.take()
        await provider.restart()
        await fiber.rest()
        assert tree.take() == [
            *("p unloading", "c unloading", "c pending"),
            *("p loading", "body p", "p active", "c loading", "body c", "c active"),
        ]


async def test_a_service_that_comes_back_while_a_dependent_loads_costs_nothing(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        provider = await tree.plugged("p")
        first = provider.provide("s", 1)
        fiber = tree.root.plug(tree.body("c", gate=gate), name="c", inject=("s",))
        arrival = await gate.arrival()
        end = first.dispose()
        provider.provide("s", 2)
        arrival.release()
        await end
        assert fiber.use("s") == 2
        assert tree.lines.count("body c") == 1
        assert first.dispose() is end


async def test_a_service_that_stays_away_is_seen_when_the_load_has_ended(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        provider = await tree.plugged("p", provides="s")
        fiber = tree.root.plug(tree.body("c", ("a",), gate=gate), name="c", inject=("s",))
        arrival = await gate.arrival()
        end = provider.dispose()
        assert fiber.state is FiberState.LOADING
        arrival.release()
        await end
        assert tree.lines[-5:] == ["c unloading", "undo a", "undone a", "c pending", "p disposed"]


async def test_a_name_is_taken_until_its_provider_begins_to_end(tree: Tree) -> None:
    async with tree.runtime:
        provider = await tree.plugged("p", provides="s")
        second = await tree.plugged("q", provides="s")
        assert isinstance(second.error, ServiceExists)
        assert tree.runtime.fibers.get("s") == "p"
        _ = provider.dispose()
        tree.root.provide("s", "root")
        assert tree.runtime.fibers.get("s") == "root"
        await second.restart()
        assert second.state is FiberState.FAILED


async def test_what_is_not_declared_can_only_be_looked_up(tree: Tree) -> None:
    async with tree.runtime:
        await tree.plugged("p", provides="s")
        stranger = await tree.plugged("x")
        with pytest.raises(NotInjected):
            stranger.use("s")
        assert tree.runtime.fibers.get("s") == "p"
        fiber = await tree.plugged("c", inject=("s",))
        child = fiber.plug(tree.body("d"), name="d")
        assert child.use("s") == "p"


async def test_a_service_of_a_provider_that_still_loads_is_not_there(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        tree.root.plug(tree.body("p", provides="s", gate=gate), name="p")
        arrival = await gate.arrival()
        assert tree.runtime.fibers.get("s") is None
        arrival.release()
        await tree.until("p active")
        assert tree.runtime.fibers.get("s") == "p"


async def test_a_failed_fiber_tries_again_when_a_dependency_changes(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        provider = await tree.plugged("p", provides="s")
        fiber = tree.root.plug(tree.body("c", gate=gate), name="c", inject=("s",))
        (await gate.arrival()).release(ValueError("no"))
        await fiber.rest()
        assert tree.lines[-1] == "c failed"
        restarted = provider.restart()
        (await gate.arrival()).release()
        await restarted
        await fiber.rest()
        assert fiber.state is FiberState.ACTIVE


async def test_nobody_waits_in_a_circle(tree: Tree) -> None:
    async with tree.runtime:
        outer = tree.root.plug(tree.body("x"), name="x", inject=("s",))
        inner = outer.plug(tree.body("d", provides="t"), name="d")
        await inner.rest()
        provider = tree.root.plug(tree.body("y", provides="s"), name="y", inject=("t",))
        await tree.until("x active")
        await provider.dispose()
        await outer.rest()
        assert outer.state is FiberState.PENDING


async def test_a_child_of_its_dependent_can_be_a_provider(tree: Tree) -> None:
    async with tree.runtime:
        outer = tree.root.plug(tree.body("x"), name="x", inject=("s",))
        inner: Fiber = outer.plug(tree.body("d", provides="s"), name="d")
        await tree.until("x active")
        await inner.dispose()
        await outer.rest()
        assert tree.lines[-2:] == ["d disposed", "x pending"]


async def test_what_ended_with_its_provider_has_ended_for_all(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        outer = tree.root.plug(tree.body("x"), name="x", inject=("s",))
        inner = outer.plug(tree.body("d"), name="d")
        await inner.rest()
        provision = inner.provide("s", "value")
        await tree.until("x active")
        outer.effect(lambda: [tree.undo("u", gate)])
        ended = inner.dispose()
        arrival = await gate.arrival()
        await ended
        await provision.dispose()
        assert outer.state is FiberState.UNLOADING
        arrival.release()
        await outer.rest()
