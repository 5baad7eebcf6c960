"""cordispy: components declare what they inject and provide; ``use``, ``set`` and ``retire``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from base import NO_STATES, CordisShim
from cordispy import Component, Context, Inject


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("cordispy")
    UNCLAIMED = {"events": ["fiber/state"], "ops": ["restart"], "gates": ["effect"]}
    VARIATIONS = ("effect_dispose",)
    NOTES = (NO_STATES, "It has no restart.", "A setup that takes time is halted by the end of its effect.")

    def make(self) -> Any:
        return Context()

    def plug(self, label: str, parent: Any, body: Any, inject: list[str]) -> Any:
        async def apply(ctx: Any, _config: Any) -> None:
            await body(ctx)

        component = Component(apply, label, Inject(tuple(inject)), ("s", "t"))
        return (self.root if parent is None else parent.ctx).use(component)

    def provide(self, ctx: Any, service: str, value: str) -> Any:
        return ctx.set(service, value)

    def dispose(self, fiber: Any) -> Any:
        return fiber.retire()

    def find(self, _fiber: Any, service: str) -> Any:
        binding = self.root.active_binding(service)
        return None if binding is None else binding.value
