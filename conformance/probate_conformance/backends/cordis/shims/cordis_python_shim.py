"""cordis-python: effects of a fiber are undone one by one, and failures are isolated."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from base import NO_STATES, CordisShim
from cordis_py import Context


class Shim(CordisShim):
    """How the program speaks to it."""

    VERSION = version("cordis-python")
    UNCLAIMED = {"events": ["fiber/state"], "gates": ["effect"]}
    VARIATIONS = ("siblings", "failing_member", "effect_dispose")
    NOTES = (
        NO_STATES,
        "Effects are undone one by one, and failures isolated, on purpose; a disposer is single-shot.",
        "Nothing tells when a setup that takes time has ended.",
    )

    def make(self) -> Any:
        return Context()
