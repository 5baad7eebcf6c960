"""Effects end side by side, and the members of one in reverse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from probate_reference import Disposer, Effect, Inactive, WouldDeadlock
from tests.reference.fibers.kit import Tree, held

pytestmark = pytest.mark.anyio


async def test_siblings_begin_newest_first_before_one_has_ended(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p")
        gate = held()
        fiber.effect(lambda: tree.undo("a", gate))
        fiber.effect(lambda: tree.undo("b", gate))
        tree.take()
        end = fiber.dispose()
        first, second = await gate.arrival(), await gate.arrival()
        assert tree.take() == ["p unloading", "undo b", "undo a"]
        second.release()
        first.release()
        await end
        assert sorted(tree.take()) == ["p disposed", "undone a", "undone b"]


async def test_members_of_one_effect_end_strictly_in_reverse(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p", ("a", "b", "c"))
        tree.take()
        await fiber.dispose()
        assert tree.take() == [
            "p unloading",
            *("undo c", "undone c", "undo b", "undone b", "undo a", "undone a"),
            "p disposed",
        ]


async def test_a_failing_member_skips_the_rest_of_its_effect_only(tree: Tree) -> None:
    def fail() -> None:
        raise ValueError("no")

    async def reject() -> None:
        raise KeyError("no")

    async with tree.runtime:
        fiber = await tree.plugged("p", ("sibling",))
        fiber.effect(lambda: [tree.undo("a"), fail, tree.undo("b")])
        fiber.effect(lambda: [tree.undo("c"), reject])
        tree.take()
        await fiber.dispose()
        assert sorted(line for line in tree.take() if line.startswith("undone")) == ["undone b", "undone sibling"]
        assert sorted(str(type(failure).__name__) for _, failure in tree.reports) == ["KeyError", "ValueError"]


async def test_everybody_who_disposes_an_effect_joins_one_end(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p")
        gate = held()
        effect = fiber.effect(lambda: tree.undo("a", gate))
        first = effect.dispose()
        arrival = await gate.arrival()
        assert effect.dispose() is first
        end = fiber.dispose()
        assert not end.done
        arrival.release()
        await end
        assert first.done
        assert tree.lines.count("undo a") == 1


async def test_an_unload_waits_for_a_setup_and_undoes_what_it_adds(tree: Tree) -> None:
    gate = held()

    async def setup() -> AsyncIterator[Disposer]:
        yield tree.undo("a")
        await gate.pass_through()
        yield tree.undo("b")

    async with tree.runtime:
        fiber = await tree.plugged("p")
        effect = fiber.effect(setup)
        arrival = await gate.arrival()
        end = fiber.dispose()
        await tree.until("p unloading")
        ready = effect.ready
        assert not ready.done
        arrival.release()
        await end
        await ready
        assert tree.lines[-5:] == ["undo b", "undone b", "undo a", "undone a", "p disposed"]


async def test_a_setup_that_fails_is_undone_before_it_raises(tree: Tree) -> None:
    async def later() -> AsyncIterator[Disposer]:
        yield tree.undo("a")
        yield tree.undo("b")
        raise ValueError("third")

    def at_once() -> Iterator[Disposer]:
        yield tree.undo("c")
        raise ValueError("second")

    async with tree.runtime:
        fiber = await tree.plugged("p")
        tree.take()
        with pytest.raises(ValueError, match="third"):
            await fiber.effect(later).ready
        assert tree.take() == ["undo b", "undone b", "undo a", "undone a"]
        with pytest.raises(ValueError, match="second"):
            fiber.effect(at_once)
        await tree.until("undone c")
        assert fiber._life.members == ()


async def test_an_effect_can_be_a_member_of_another(tree: Tree) -> None:
    def outer() -> Iterator[Disposer | Effect]:
        yield tree.undo("first")
        yield inner

    async with tree.runtime:
        fiber = await tree.plugged("p")
        inner = fiber.effect(lambda: [tree.undo("a"), tree.undo("b")])
        fiber.effect(outer)
        tree.take()
        await fiber.dispose()
        assert [line for line in tree.take() if line.startswith("undo ")] == ["undo b", "undo a", "undo first"]


async def test_what_is_no_disposer_is_refused(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p")
        with pytest.raises(TypeError, match="not of int"):
            fiber.effect(lambda: [1])  # type: ignore[list-item]


async def test_a_dying_fiber_takes_no_effect(tree: Tree) -> None:
    refused: list[BaseException] = []

    async with tree.runtime:
        fiber = await tree.plugged("p")

        def late() -> None:
            with pytest.raises(Inactive) as caught:
                fiber.effect(lambda: tree.undo("late"))
            refused.append(caught.value)

        fiber.effect(lambda: late)
        await fiber.dispose()
        with pytest.raises(Inactive):
            fiber.effect(lambda: late)
    assert len(refused) == 1
    assert "undo late" not in tree.lines


async def test_an_effect_may_be_registered_while_its_fiber_is_pending(tree: Tree) -> None:
    async with tree.runtime:
        fiber = tree.root.plug(tree.body("p"), name="p", inject=("missing",))
        fiber.effect(lambda: tree.undo("a"))
        await fiber.dispose()
        assert tree.lines == ["p unloading", "undo a", "undone a", "p disposed"]


async def test_a_disposer_that_awaits_what_waits_for_it_is_told_so(tree: Tree) -> None:
    async with tree.runtime:
        fiber = await tree.plugged("p")

        async def circular() -> None:
            await fiber.dispose()

        async def itself() -> None:
            await effect.dispose()

        fiber.effect(lambda: circular)
        effect = fiber.effect(lambda: itself)
        await fiber.dispose()
    assert [type(failure) for _, failure in tree.reports] == [WouldDeadlock, WouldDeadlock]
