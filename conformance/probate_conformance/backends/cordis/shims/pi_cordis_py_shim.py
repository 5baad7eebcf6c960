"""pi-cordis-py: close to the original, with its disposers called one right after the other."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from base import NO_STATES, CordisShim
from cordis import Context


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("pi-cordis-py")
    UNCLAIMED = {"events": ["fiber/state"]}
    VARIATIONS = ("siblings", "failing_member", "effect_dispose")
    NOTES = (NO_STATES, "Its fibers unload their effects one by one, and a failing disposer is isolated.")

    def make(self) -> Any:
        return Context()
