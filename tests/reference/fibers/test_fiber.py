"""A fiber carries out one transition at a time, and every path reaches its one end."""

from __future__ import annotations

import anyio
import pytest

from probate_reference import Fiber, FiberState, Inactive, NoPersistence, OwnerDisposed, OwnerInactive, WouldDeadlock
from tests.reference.fibers.kit import Tree, held, quiet_runtime
from tests.reference.kit import DISPOSED

pytestmark = pytest.mark.anyio


async def test_a_body_runs_in_a_later_step(tree: Tree) -> None:
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("p"), name="p")
        assert tree.lines == ["p loading"]
        await fiber.rest()
        assert tree.lines == ["p loading", "body p", "p active"]
        assert tree.runtime.fibers.statistics().active == 1


async def test_a_plain_function_will_do_as_a_body(tree: Tree) -> None:
    def plugin(fiber: Fiber) -> None:
        tree.note(f"config {fiber.config}")

    async with tree.runtime:
        fiber = tree.root.plug(plugin, config=3)
        await fiber.rest()
        assert fiber.name == "plugin"
        assert "config 3" in tree.lines


async def test_what_is_disposed_at_once_never_runs_its_body(tree: Tree) -> None:
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("p"), name="p")
        await fiber.dispose()
        assert tree.lines == ["p loading", "p unloading", "p disposed"]


async def test_a_body_is_not_interrupted(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("p", ("a",), gate=gate), name="p")
        arrival = await gate.arrival()
        end = fiber.dispose()
        assert fiber.state is FiberState.LOADING
        with pytest.raises(Inactive):
            fiber.effect(lambda: tree.undo("late"))
        arrival.release()
        await end
        assert tree.lines == ["p loading", "body p", "p unloading", "undo a", "undone a", "p disposed"]


async def test_a_body_that_fails_leaves_nothing_behind(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("p", ("a",), gate=gate), name="p")
        (await gate.arrival()).release(ValueError("no"))
        await fiber.rest()
        assert tree.lines[-4:] == ["p unloading", "undo a", "undone a", "p failed"]
        assert isinstance(fiber.error, ValueError)
        with pytest.raises(Inactive):
            fiber.effect(lambda: tree.undo("late"))
        with pytest.raises(OwnerInactive):
            await fiber.create("x")
        again = fiber.restart()
        (await gate.arrival()).release()
        await again
        assert fiber.state is FiberState.ACTIVE
        assert fiber.error is None


async def test_a_restart_unloads_and_loads_again(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p", ("a",))
        tree.take()
        await fiber.restart()
        assert tree.take() == ["p unloading", "undo a", "undone a", "p loading", "body p", "p active"]
        await fiber.dispose()
        with pytest.raises(Inactive):
            await fiber.restart()


async def test_a_restart_while_it_loads_is_nothing(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("p", gate=gate), name="p")
        arrival = await gate.arrival()
        again = fiber.restart()
        arrival.release()
        await again
        assert tree.lines == ["p loading", "body p", "p active"]


async def test_children_end_with_their_parent_and_it_waits_for_them(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        parent = await tree.plugged("p", ("a",))
        child = parent.plug(tree.body("c"), name="c")
        await child.rest()
        child.effect(lambda: tree.undo("slow", gate))
        assert parent.children == (child,)
        tree.take()
        end = parent.dispose()
        arrival = await gate.arrival()
        assert child.state is FiberState.UNLOADING
        await tree.until("undone a")
        assert parent.state is FiberState.UNLOADING
        arrival.release()
        await end
        lines = tree.take()
        assert lines[:3] == ["p unloading", "c unloading", "undo a"]
        assert lines[-3:] == ["undone slow", "c disposed", "p disposed"]
        assert child.dispose().done
        assert child.dispose() is child.dispose()


async def test_leaving_the_runtime_ends_the_root_for_good(tree: Tree) -> None:
    async with tree.runtime:
        await tree.plugged("p", ("a",))
        for end in (tree.root.dispose, tree.root.restart):
            with pytest.raises(RuntimeError, match="root"):
                _ = end()
    assert tree.lines[-2:] == ["undone a", "p disposed"]
    with pytest.raises(Inactive):
        tree.root.plug(tree.body("q"))


async def test_a_runtime_that_is_cancelled_still_unloads(tree: Tree) -> None:
    gate = held()
    with anyio.CancelScope() as scope:
        async with tree.runtime:
            await tree.plugged("p", ("a", "b"))
            tree.root.plug(tree.body("q", ("c",), gate=gate), name="q")
            await gate.arrival()
            scope.cancel()
            await anyio.sleep_forever()
    undone = [line for line in tree.lines if line.startswith("undone")]
    assert sorted(undone) == ["undone a", "undone b", "undone c"]
    assert undone.index("undone b") < undone.index("undone a")
    assert {"p disposed", "q disposed"} <= set(tree.lines)


async def test_nothing_can_be_plugged_in_before_the_start() -> None:
    runtime = quiet_runtime()
    with pytest.raises(RuntimeError, match="started"):
        runtime.fibers.root.plug(lambda fiber: None)
    assert runtime.fibers.fibers == ()


async def test_an_observer_that_fails_harms_nobody(tree: Tree) -> None:
    def fail(fiber: Fiber, state: FiberState) -> None:
        raise ValueError("no")

    async with tree.runtime:
        remove = tree.runtime.fibers.observe(fail)
        fiber = await tree.plugged("p", ("a",))
        remove()
        await fiber.dispose()
        assert [place for place, _ in tree.reports] == ["fiber observer"] * 2
        assert tree.lines[-1] == "p disposed"


async def test_agents_hang_in_the_tree(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p", ("a",))
        handle = await fiber.create("a")
        tree.flush.hold()
        handle.agent.send("hello")
        arrival = await tree.flush.arrival()
        tree.take()
        end = fiber.dispose()
        await tree.until("undone a")
        assert not end.done
        assert "a" in tree.runtime.sessions
        arrival.release()
        await end
        assert [line for line in tree.lines if line in DISPOSED] == DISPOSED
        assert tree.lines[-1] == "p disposed"
        assert handle.dispose().done
        with pytest.raises(OwnerInactive):
            await fiber.create("b")
        with pytest.raises(NoPersistence):
            await fiber.resume("b")


async def test_a_pending_creation_is_called_off_with_its_fiber(tree: Tree) -> None:
    gate = held()
    async with tree.runtime:
        fiber = await tree.plugged("p")
        creation = fiber.create("a", setup=gate.pass_through)
        await gate.arrival()
        end = fiber.dispose()
        with pytest.raises(OwnerDisposed):
            await creation
        await end


async def test_who_waits_for_a_fiber_is_told_of_the_circle(tree: Tree) -> None:
    async def body(fiber: Fiber) -> None:
        await fiber.rest()

    async with tree.runtime:
        fiber = tree.root.plug(body, name="p")
        await fiber.rest()
        assert isinstance(fiber.error, WouldDeadlock)
        parent = await tree.plugged("q")

        async def cleanup() -> None:
            await parent.dispose()

        handle = await parent.create("a", cleanups=(cleanup,))
        await parent.dispose()
        assert handle.dispose().done
    assert [type(failure) for _, failure in tree.reports] == [WouldDeadlock, WouldDeadlock]
