"""Lines that fit: wrapped text, and tables of a name and what is said of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from probate_conformance.render.style import Ink, Style, columns


def wrapped(text: str, indent: int, first: str | None = None) -> list[str]:
    """Give a text in lines that fit.

    :param indent: how many columns are left free before each line
    :param first: what stands there before the first line
    """
    space = " " * indent
    start = space if first is None else first
    return textwrap.wrap(
        text, columns(), initial_indent=start, subsequent_indent=space, break_long_words=False, break_on_hyphens=False
    ) or [start.rstrip()]


def table(rows: Sequence[tuple[str, str]], style: Style, *, width: int | None = None) -> Iterator[str]:
    """Give names, each with what is said of it; a name that is too long for its column stands on a line of its own.

    :param width: of the first column; the longest name's if none is given, within reason
    """
    column = width or min(28, max((len(name) for name, _ in rows), default=0) + 2)
    for name, said in rows:
        lines = wrapped(said, 2 + column)
        shown = style.ink(name, Ink.CYAN)
        if len(name) < column:
            yield f"  {shown}{' ' * (column - len(name))}{lines[0].strip()}"
            yield from lines[1:]
        else:
            yield f"  {shown}"
            yield from lines
