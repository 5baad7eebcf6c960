"""Show what agents do, as text that goes down a terminal or a pipe.

A turn is shown as it happens: who says it, what the model says while it says it, each tool with its arguments and its
result, and how the turn ended. The log is what counts: when a message is in the log, the rest of it is shown, so a
model that does not stream is shown as well, and one that does is not shown twice.

What is shown was written by others, so nothing in it is left that a terminal would obey. Colour only repeats what the
words say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final, assert_never

from probate_reference.records import (
    AssistantMessage,
    ContextMessage,
    Record,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolOutcome,
    ToolResult,
    TurnEnd,
    TurnReason,
    TurnStart,
    UserMessage,
)

__all__ = ("Screen", "clean")

MAX_ARGUMENTS: Final = 300
MAX_RESULT_LINES: Final = 12

_BOLD, _DIM, _RED = "1", "2", "31"
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make text run the other way, and so can make it look like another."""


def clean(text: str) -> str:
    """Return a text in which there is nothing for a terminal to obey; lines and tabs stay."""
    return "".join(repr(one)[1:-1] if _obeyed(one) else one for one in text)


def _obeyed(character: str) -> bool:
    return character in _TURNING or (unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t")


class Screen:
    """Shows agents, by the labels that people call them by.

    :param write: takes each piece of text
    :param color: whether to say it in colour too
    :param prompts: whether somebody types on the same terminal, and wants to be told when
    """

    def __init__(self, write: Callable[[str], object], *, color: bool = False, prompts: bool = False) -> None:
        self._write = write
        self._color = color
        self._prompts = prompts
        self._prompt = ""
        self._fresh = True
        self._speaker = ""
        self._streamed = ""

    # Between turns

    def prompt(self, text: str) -> None:
        """Tell that a line may be typed now."""
        if self._prompts:
            self._break()
            self._prompt = text
            self._write(text)

    def entered(self) -> None:
        """Take notice that a line was entered, and the cursor with it is in front of the next."""
        self._prompt = ""
        self._fresh = True

    def note(self, text: str, *, alarm: bool = False) -> None:
        """Tell something that no agent says."""
        self._line(text, _RED if alarm else _DIM)

    def interrupted(self) -> None:
        """Go on behind the ``^C`` that the terminal has written."""
        if self._prompts:
            self._fresh = False
            self._prompt = ""

    def close(self) -> None:
        """Leave the cursor in front of a line of its own."""
        if self._prompt:
            self._prompt, self._fresh = "", False
        self._break()

    # Turns

    def piece(self, label: str, text: str) -> None:
        """Show a piece of what a model is saying."""
        self._streamed += text
        self._say(label, text)

    def record(self, label: str, record: Record) -> None:
        """Show a record that was committed just now."""
        match record:
            case StepStart():
                self._streamed = self._speaker = ""
            case AssistantMessage():
                streamed, self._streamed = self._streamed, ""
                if record.text.startswith(streamed):
                    self._say(label, record.text[len(streamed) :])
                self._break()
            case ContextMessage():
                self._line(f"  {label} is told: {record.text}", _DIM)
            case ToolCalled():
                arguments = " ".join(record.arguments.split())
                short = arguments if len(arguments) <= MAX_ARGUMENTS else f"{arguments[:MAX_ARGUMENTS]}..."
                self._line(f"  {label} calls {record.name} {short}".rstrip())
            case ToolResult():
                lines = record.text.splitlines()
                for line in lines[:MAX_RESULT_LINES]:
                    self._line(f"  | {line}", _DIM)
                if len(lines) > MAX_RESULT_LINES:
                    self._line(f"  | ... and {len(lines) - MAX_RESULT_LINES} more lines", _DIM)
                if record.outcome is not ToolOutcome.OK:
                    self._line(f"  | [{record.outcome}]", _RED)
            case TurnEnd():
                self._line(f"  [{record.reason}]", _DIM if record.reason is TurnReason.COMPLETED else _RED)
            case TurnStart() | UserMessage() | StepEnd():
                pass
            case _:
                assert_never(record)

    def _say(self, label: str, text: str) -> None:
        if not text:
            return
        if self._fresh or self._speaker != label:
            self._break()
            if self._speaker != label:
                self._write(self._ink(f"{label}: ", _BOLD))
        self._speaker = label
        self._write(clean(text))
        self._fresh = text.endswith("\n")

    def _line(self, text: str, ink: str = "") -> None:
        prompt, self._prompt = self._prompt, ""
        if prompt:
            self._fresh = False
        self._break()
        self._write(f"{self._ink(clean(text), ink)}\n")
        if prompt:
            self.prompt(prompt)

    def _break(self) -> None:
        if not self._fresh:
            self._write("\n")
            self._fresh = True

    def _ink(self, text: str, ink: str) -> str:
        return f"\033[{ink}m{text}\033[0m" if self._color and ink else text
