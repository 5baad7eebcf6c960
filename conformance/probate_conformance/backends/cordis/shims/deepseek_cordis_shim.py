"""deepseek-cordis: an effect is a single-shot disposer that can be awaited for its setup."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from base import NO_STATES, CordisShim
from deepseek_cordis import Context, PluginMeta, PluginSpec


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("deepseek-cordis")
    UNCLAIMED = {"events": ["fiber/state"]}
    VARIATIONS = ("effect_dispose",)
    NOTES = (NO_STATES, "An effect is a single-shot disposer, as its documentation says.")

    def make(self) -> Any:
        return Context()

    def plug(self, label: str, parent: Any, body: Any, inject: list[str]) -> Any:
        async def plugin(ctx: Any, _config: Any) -> None:
            await body(ctx)

        spec = PluginSpec(plugin, PluginMeta(name=label, inject=list(inject)))
        return (self.root if parent is None else parent.ctx).plugin(spec)

    def restart(self, fiber: Any) -> Any:
        return fiber.restart().wait()

    def use(self, fiber: Any, service: str) -> Any:
        return fiber.ctx.require(service)
