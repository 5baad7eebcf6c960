"""pycardia: has to be started, and loads and unloads when its registry settles."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from base import NO_STATES, CordisShim
from pycardia import Context


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("pycardia")
    UNCLAIMED = {"events": ["fiber/state"], "ops": ["effect", "end_effect"], "gates": ["effect"]}
    VARIATIONS = ("siblings",)
    NOTES = (
        NO_STATES,
        "An effect has one disposer; what is scripted as one effect is as many effects as it has members.",
        "The disposer that a registration returns does not undo anything; it gives the disposer back. Not claimed.",
        "Nothing is loaded until its host starts it; the shim does so when it is plugged in.",
    )

    def make(self) -> Any:
        return Context()

    def plug(self, label: str, parent: Any, body: Any, inject: list[str]) -> Any:
        async def plugin(ctx: Any, _config: Any) -> None:
            await body(ctx)

        plugin.inject = list(inject)  # type: ignore[attr-defined]
        plugin.__name__ = label
        fiber = (self.root if parent is None else parent.ctx).plugin(plugin)
        self.world.keep(asyncio.get_running_loop().create_task(fiber.start()))
        return fiber

    def effect(self, ctx: Any, disposers: list[Any]) -> Any:
        return [ctx.effect(lambda disposer=disposer: disposer) for disposer in disposers]

    def find(self, _fiber: Any, service: str) -> Any:
        return getattr(self.root, service, None)
