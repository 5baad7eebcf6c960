"""What the tests of the plug-in tree stand on: a tree that records, and plug-ins made of lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from probate_reference import Disposer, Fiber, FiberState, Reply, Runtime
from tests.reference.kit import Gate, World


class Tree(World):
    """A world whose plug-in tree is recorded too."""

    def __init__(self) -> None:
        super().__init__()
        self.runtime.fibers.observe(self._observed)

    @property
    def root(self) -> Fiber:
        """The root of the tree."""
        return self.runtime.fibers.root

    def _observed(self, fiber: Fiber, state: FiberState) -> None:
        if fiber.parent is not None:
            self.note(f"{fiber.name} {state}")

    def undo(self, name: str, gate: Gate | None = None) -> Disposer:
        """Give a disposer that notes its begin and its end, with a gate in between."""

        def disposer() -> Awaitable[None]:
            self.note(f"undo {name}")
            return ending()

        async def ending() -> None:
            if gate is not None:
                await gate.pass_through(name)
            self.note(f"undone {name}")

        return disposer

    def body(
        self, name: str, *effects: tuple[str, ...], provides: str = "", gate: Gate | None = None
    ) -> Callable[[Fiber], Awaitable[None]]:
        """Give a body that notes its begin, sets up effects with these members, and provides a service."""

        async def body(fiber: Fiber) -> None:
            self.note(f"body {name}")
            for members in effects:
                fiber.effect(lambda members=members: [self.undo(member) for member in members])  # type: ignore[misc]
            if provides:
                fiber.provide(provides, name)
            if gate is not None:
                await gate.pass_through(name)

        return body

    async def plugged(
        self, name: str, *effects: tuple[str, ...], provides: str = "", inject: tuple[str, ...] = ()
    ) -> Fiber:
        """Plug such a body into the root and wait for it to be loaded."""
        fiber = self.root.plug(self.body(name, *effects, provides=provides), name=name, inject=inject)
        await fiber.rest()
        return fiber


def held() -> Gate:
    """Give a gate that stops everybody."""
    gate = Gate(None)
    gate.hold()
    return gate


def quiet_runtime() -> Runtime:
    """Give a runtime with a model that answers at once."""

    async def model(request: object, signal: object) -> Reply:
        return Reply("answer")

    return Runtime(model)
