"""anvilcore: named capabilities, each with a scope, installed and unloaded by a manager."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from anvilcore.capability import CapabilityDescriptor
from anvilcore.manager import PluginManager
from base import NO_STATES, CordisShim


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("anvilcore")
    UNCLAIMED = {
        "events": ["fiber/state"],
        "ops": ["restart", "effect", "end_effect", "provide", "use"],
        "gates": ["effect"],
        "features": ["services", "children"],
    }
    VARIATIONS = ("siblings", "failing_member")
    NOTES = (
        NO_STATES,
        "Only its manager is driven: a plug-in is a capability without a parent, and depends on no other.",
        "There are no services by name, no effects from outside and no restart of the same capability.",
    )

    def make(self) -> Any:
        return PluginManager()

    def context(self, fiber: Any) -> Any:
        return fiber

    def plug(self, label: str, parent: Any, body: Any, inject: list[str]) -> Any:
        class Capability:
            def __init__(self, scope: Any) -> None:
                self.scope = scope

            async def install(self) -> None:
                await body(self.scope)

        self.root.register(CapabilityDescriptor(label, "1", Capability))
        self.world.follow_quietly(self.root.install(label))
        return label

    def effect(self, scope: Any, disposers: list[Any]) -> Any:
        for disposer in disposers:
            scope.on_dispose(disposer)

    def provide(self, ctx: Any, service: str, value: str) -> Any:
        return None

    def dispose(self, fiber: Any) -> Any:
        return self.root.unload(fiber)
