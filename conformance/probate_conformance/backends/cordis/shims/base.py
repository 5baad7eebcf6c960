"""What most of the runtimes have in common: a context with ``plugin``, ``effect``, ``provide`` and ``get``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

NO_STATES = (
    "It does not tell each change of a fiber's state, so states are not claimed; what they come to is seen in bodies "
    "and disposers."
)


class CordisShim:
    """A runtime of the common shape."""

    VERSION = ""
    UNCLAIMED: dict[str, list[str]] = {}
    VARIATIONS: tuple[str, ...] = ()
    NOTES: tuple[str, ...] = ()

    def __init__(self, world: Any) -> None:
        self.world = world
        self.root = self.make()

    def make(self) -> Any:
        """Make a root context."""
        raise NotImplementedError

    def context(self, fiber: Any) -> Any:
        """Give the context of a fiber."""
        return fiber.ctx

    def plug(self, label: str, parent: Any, body: Any, inject: list[str]) -> Any:
        """Plug a plug-in in."""

        async def plugin(ctx: Any, _config: Any) -> None:
            await body(ctx)

        plugin.inject = list(inject)  # type: ignore[attr-defined]
        plugin.__name__ = label
        return (self.root if parent is None else self.context(parent)).plugin(plugin)

    def effect(self, ctx: Any, disposers: list[Any]) -> Any:
        """Register an effect with these members."""

        def setup() -> Any:
            yield from disposers

        return ctx.effect(setup)

    def slow_effect(self, ctx: Any, disposers: list[Any], gate: Any) -> tuple[Any, Any]:
        """Register an effect whose setup goes through a gate; give it, and what ends with the setup."""

        async def setup() -> AsyncIterator[Any]:
            for disposer in disposers:
                yield disposer
            await gate()

        effect = ctx.effect(setup)
        return effect, effect

    def provide(self, ctx: Any, service: str, value: str) -> Any:
        """Provide a service."""
        return ctx.provide(service, value)

    def end(self, effect: Any) -> Any:
        """Dispose an effect."""
        return effect()

    def dispose(self, fiber: Any) -> Any:
        """Dispose a fiber."""
        return fiber.dispose()

    def restart(self, fiber: Any) -> Any:
        """Restart a fiber."""
        return fiber.restart()

    def use(self, fiber: Any, service: str) -> Any:
        """Use a declared service."""
        return getattr(self.context(fiber), service)

    def find(self, _fiber: Any, service: str) -> Any:
        """Look a service up."""
        return self.root.get(service)
