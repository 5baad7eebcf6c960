"""Show a session to a client: what happens in it as updates, as it happens or all at once.

The log is what counts. What a model says while it says it comes beside the log, as pieces; when the message
is in the log, the rest of it is sent, so a model that does not stream is shown all the same, and one that
does is not shown twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from probate_reference.records import (
    AssistantMessage,
    StepStart,
    ToolCalled,
    ToolOutcome,
    ToolResult,
    UserMessage,
)

from .protocol import Update, message_chunk, thought_chunk, tool_call, tool_call_ended, user_chunk

if TYPE_CHECKING:
    from probate_reference.records import Record

__all__ = ("Presentation", "call_id", "read_arguments")


def call_id(turn: int, step: int, number: int) -> str:
    """Name a tool call; the name is the same whenever the log is shown."""
    return f"call-{turn}-{step}-{number}"


def read_arguments(text: str) -> object:
    """Read the arguments of a call for showing them; as text, if they are no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant) if text else {}
    except (ValueError, RecursionError):
        return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


class Presentation:
    """Shows one session.

    :param send: takes each update
    """

    __slots__ = ("_open_call", "_send", "_step", "_streamed", "_turn")

    def __init__(self, send: Callable[[Update], object]) -> None:
        self._send = send
        self._turn = 0
        self._step = 0
        self._streamed = ""
        self._open_call: str | None = None

    def live(self, record: Record) -> None:
        """Show a record that was committed just now; the user knows already what the user has said."""
        if not isinstance(record, UserMessage):
            self._show(record)

    def piece(self, text: str, *, thought: bool) -> None:
        """Show a piece of what the model is saying."""
        if not text:
            return
        if thought:
            self._send(thought_chunk(text))
        else:
            self._streamed += text
            self._send(message_chunk(text))

    def replay(self, log: Iterable[Record]) -> None:
        """Show a whole log."""
        for record in log:
            self._show(record)

    def break_off(self) -> None:
        """Show that the call that is open will not be seen to end."""
        if self._open_call is not None:
            self._send(tool_call_ended(self._open_call, ToolOutcome.ABORTED, ""))
            self._open_call = None

    def _show(self, record: Record) -> None:
        match record:
            case StepStart():
                self._turn, self._step, self._streamed = record.turn, record.step, ""
            case UserMessage():
                self._send(user_chunk(record.text))
            case AssistantMessage():
                streamed, self._streamed = self._streamed, ""
                if record.text.startswith(streamed) and len(record.text) > len(streamed):
                    self._send(message_chunk(record.text[len(streamed) :]))
            case ToolCalled():
                self._open_call = call_id(self._turn, self._step, record.number)
                self._send(tool_call(self._open_call, record.name, read_arguments(record.arguments)))
            case ToolResult():
                self._open_call = None
                self._send(tool_call_ended(call_id(self._turn, self._step, record.number), record.outcome, record.text))
            case _:
                pass
