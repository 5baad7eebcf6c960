"""Whether the model that runs here is a compiled one: see ``model/compile.py``."""

from __future__ import annotations

from probate_model import run


def is_compiled() -> bool:
    """Tell whether the model runs compiled, and so can't be looked into."""
    return not run.__file__.endswith(".py")
