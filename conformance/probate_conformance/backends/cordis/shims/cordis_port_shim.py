"""cordis-port: a port of the original, line by line."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from base import NO_STATES, CordisShim
from cordis_port import Context


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("cordis-port")
    UNCLAIMED = {"events": ["fiber/state"], "gates": ["effect"]}
    VARIATIONS = ("effect_dispose",)
    NOTES = (
        NO_STATES,
        "The disposer of an effect is single-shot.",
        "Who waits for a setup that takes time disposes it then, so such setups are not claimed.",
    )

    def make(self) -> Any:
        return Context()
