"""Text that somebody else wrote, made fit to be shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """Give a text on one line, and with nothing in it that a terminal would obey."""
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
