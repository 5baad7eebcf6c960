"""python-cordis: synchronous. Its bodies and disposers can't wait, so no gate can be held."""

from __future__ import annotations

import contextlib
import sys
from importlib.metadata import version
from types import ModuleType
from typing import Any

for name in ("omegaconf",):  # of its configuration, which is not driven, and which no wheel can be had of
    module = ModuleType(name)
    module.OmegaConf = module.DictConfig = module.ListConfig = type(name, (), {})  # type: ignore[attr-defined]
    sys.modules.setdefault(name, module)

from base import NO_STATES, CordisShim  # noqa: E402 - after what it stands on
from python_cordis import Context  # noqa: E402


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("python-cordis")
    UNCLAIMED = {
        "events": ["fiber/state", "effect/disposed"],
        "ops": ["restart", "end_effect"],
        "gates": ["body", "disposer", "effect"],
    }
    VARIATIONS = ("siblings",)
    NOTES = (
        NO_STATES,
        "It is synchronous: bodies and disposers can't wait, so no gate is claimed, nor the end of a disposer.",
        "It has no restart; an effect is one callable, so one with members is scripted as so many.",
        "Its configuration library is replaced by an empty one: it can't be had as a wheel.",
    )

    def make(self) -> Any:
        return Context()

    def plug(self, label: str, parent: Any, body: Any, inject: list[str]) -> Any:
        class Component:
            def apply(self, ctx: Any, _config: Any) -> None:
                with contextlib.suppress(StopIteration):
                    body(ctx).send(None)

        component = Component()
        component.inject = tuple(inject)  # type: ignore[attr-defined]
        return (self.root if parent is None else parent.ctx).use(component)

    def effect(self, ctx: Any, disposers: list[Any]) -> Any:
        return [ctx.effect(lambda disposer=disposer: disposer().close()) for disposer in disposers]

    def provide(self, ctx: Any, service: str, value: str) -> Any:
        return self.root.register(service, value)

    def dispose(self, fiber: Any) -> Any:
        fiber.dispose()

    def find(self, _fiber: Any, service: str) -> Any:
        return getattr(self.root, service, None)
