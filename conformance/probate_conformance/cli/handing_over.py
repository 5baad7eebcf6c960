"""Become one of the reference's own programs.

The kit does not import the reference, and need not: this process is replaced.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

__all__ = ("become",)


def become(verb: str, loop: str, config: str | None) -> NoReturn:
    """Become ``python -m probate_reference``. Does not return."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # what is closed is told by the program itself
            stream.flush()
    options = ["--loop", loop, *(["--", config] if config is not None else [])]
    # -P: the folder that we were started in is no place to import from.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "probate_reference", verb, *options])  # noqa: S606
