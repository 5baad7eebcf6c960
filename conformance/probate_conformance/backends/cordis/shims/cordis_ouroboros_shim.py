"""cordis-ouroboros: tells each change of state, and its disposals are joined."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from base import CordisShim
from ouroboros import Context


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("cordis-ouroboros")
    UNCLAIMED = {"gates": ["effect"]}
    NOTES = ("A setup that takes time is cancelled by the end of its effect, so it can't wait at a gate.",)

    def make(self) -> Any:
        root = Context()
        root.on("internal/status", lambda fiber, _old: self.world.state(fiber, str(fiber.state.value)))
        return root

    def end(self, effect: Any) -> Any:
        return effect.dispose()
