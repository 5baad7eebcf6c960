"""Garbage: looked for seldom while traces are run.

A run of the model makes many small values that refer to nothing that refers back, so each is freed when nobody has it
any more. The collector still goes through them, and now and then through all that was imported: a tenth of the time of
a run, for nothing. A world of a backend may leave cycles; those are found, only later.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 20_000
"""How many more objects there must be than before the young ones are looked at; Python's own number is 700."""


@contextmanager
def seldom_looked_for() -> Iterator[None]:
    """Look for garbage seldom, and not among what exists now, as long as this is entered."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(SELDOM, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
