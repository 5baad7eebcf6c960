"""Colour, marks and lines that fit."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import termios

import pytest

from probate_conformance.lockstep import Verdict
from probate_conformance.printable import printable
from probate_conformance.render.layout import table, wrapped
from probate_conformance.render.style import Ink, Style, columns, style_for


class Stream(io.StringIO):
    def __init__(self, encoding: str | None = "utf-8", *, terminal: bool = False) -> None:
        super().__init__()
        self._encoding = encoding
        self._terminal = terminal

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "environment", "no_color", "colored"),
    [
        (False, {}, False, False),
        (True, {}, False, True),
        (True, {"TERM": "dumb"}, False, False),
        (True, {"NO_COLOR": "1"}, False, False),
        (True, {"NO_COLOR": ""}, False, True),
        (True, {}, True, False),
        (False, {"FORCE_COLOR": "1"}, False, True),
        (False, {"FORCE_COLOR": "0"}, False, False),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        (True, {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_who_gets_colour(terminal: bool, environment: dict[str, str], no_color: bool, colored: bool) -> None:
    assert style_for(Stream(terminal=terminal), environment, no_color=no_color).color is colored


@pytest.mark.parametrize(
    ("encoding", "unicode"),
    [("utf-8", True), ("UTF8", True), ("ascii", False), ("latin-1", False), (None, False), ("?", False)],
)
def test_who_gets_our_marks(encoding: str | None, unicode: bool) -> None:
    style = style_for(Stream(encoding), {})
    assert style.unicode is unicode
    assert all(style.mark(verdict).isascii() for verdict in Verdict) is not unicode


def test_no_stream_at_all() -> None:
    assert style_for(None, {"FORCE_COLOR": "1"}) == Style()


def test_ink() -> None:
    assert Style().ink("text", Ink.RED) == "text"
    assert Style(color=True).ink("text", Ink.RED, Ink.BOLD) == "\x1b[31;1mtext\x1b[0m"
    assert Style(color=True).ink("", Ink.RED) == ""
    assert Style(color=True).ink("text") == "text"


def test_wrapped() -> None:
    assert wrapped("", 2) == [""]
    assert wrapped("word " * 30, 4) == ["    " + " ".join(["word"] * 19), "    " + " ".join(["word"] * 11)]


def test_a_table() -> None:
    rows = [("a", "first"), ("b" * 40, "second " * 20)]
    lines = list(table(rows, Style()))
    assert lines[0] == "  " + "a".ljust(28) + "first"
    assert lines[1] == "  " + "b" * 40
    assert all(line.startswith(" " * 30 + "second") for line in lines[2:])


def test_printable() -> None:
    assert printable("a ✓") == "a ✓"
    assert printable("a\x1b[31m\n\u202e") == "a\\x1b[31m\\n\\u202e"


def test_a_report_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())  # no terminal
    assert columns() == 100
    for wide, fits in ((80, 80), (200, 100), (10, 40), (0, 100)):
        master, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, wide, 0, 0))
        with open(terminal, "w") as stream, monkeypatch.context() as patch:
            patch.setattr("sys.stdout", stream)
            assert columns() == fits
            assert max(map(len, wrapped("word " * 100, 4))) <= fits
        os.close(master)
