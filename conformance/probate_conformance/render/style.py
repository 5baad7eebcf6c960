"""Colour and marks: whether a stream gets them, and what they are."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TextIO

from probate_conformance.lockstep import Verdict

WIDTH: Final = 100
"""How many columns a report fills: the same everywhere, so that a report is, but for a terminal that has fewer."""

_NARROWEST: Final = 40


def columns() -> int:
    """Give how many columns there are for what is written to standard output."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it is closed, or no file, or no terminal
        wide = os.get_terminal_size(sys.stdout.fileno()).columns
        return max(_NARROWEST, min(WIDTH, wide)) if wide else WIDTH  # one without a size says 0
    return WIDTH


class Ink(Enum):
    """The colours, as the terminal's codes for them."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"


_INKS: Final = {
    Verdict.PASS: Ink.GREEN,
    Verdict.FAIL: Ink.RED,
    Verdict.BROKEN: Ink.RED,
    Verdict.INCONCLUSIVE: Ink.YELLOW,
    Verdict.BLOCKED: Ink.YELLOW,
    Verdict.NOT_REACHED: Ink.YELLOW,
    Verdict.NOT_CLAIMED: Ink.DIM,
}
_MARKS: Final = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.BROKEN: "✗",
    Verdict.INCONCLUSIVE: "?",
    Verdict.BLOCKED: "·",
    Verdict.NOT_REACHED: "·",
    Verdict.NOT_CLAIMED: "-",
}
_PLAIN: Final = {"✓": "+", "✗": "x", "·": "."}


@dataclass(frozen=True, slots=True)
class Style:
    """How a stream is written to."""

    color: bool = False
    unicode: bool = True

    def ink(self, text: str, *inks: Ink) -> str:
        """Give a text in colour."""
        if not (self.color and text and inks):
            return text
        return f"\033[{';'.join(ink.value for ink in inks)}m{text}\033[0m"

    def verdict(self, text: str, verdict: Verdict, *more: Ink) -> str:
        """Give a text in the colour of a verdict."""
        return self.ink(text, _INKS[verdict], *more)

    def mark(self, verdict: Verdict) -> str:
        """Give the mark of a verdict."""
        mark = _MARKS[verdict]
        return self.verdict(mark if self.unicode else _PLAIN.get(mark, mark), verdict, Ink.BOLD)

    @property
    def separator(self) -> str:
        """What stands between the parts of a line."""
        return " · " if self.unicode else " - "

    @property
    def dot(self) -> str:
        """The separator, dimmed."""
        return self.ink(self.separator, Ink.DIM)


def style_for(stream: TextIO | None, environment: Mapping[str, str], *, no_color: bool = False) -> Style:
    """Tell how a stream is to be written to.

    No colour if the user wants none (``no_color``, or ``NO_COLOR`` is set and not empty); else colour if
    ``FORCE_COLOR`` is set, and neither empty nor 0; else colour on a terminal that is not dumb.
    """
    if stream is None:
        return Style()
    forced = environment.get("FORCE_COLOR", "") not in ("", "0")
    terminal = stream.isatty() and environment.get("TERM") != "dumb"
    return Style(
        color=(forced or terminal) and not (no_color or environment.get("NO_COLOR")),
        unicode=_is_utf(stream.encoding),
    )


def _is_utf(encoding: str | None) -> bool:
    try:
        return codecs.lookup(encoding or "ascii").name.startswith("utf")
    except LookupError:
        return False
