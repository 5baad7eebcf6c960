"""Write a session's log as the conversation that chat endpoints read.

The log is the only memory, so it is read anew for each request, and what a model is told is the same before
and after a restart. Calls have no names in the log beyond their place, so their ids are made of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from probate_reference.records import (
    AssistantMessage,
    ContextMessage,
    StepStart,
    ToolCalled,
    ToolResult,
    UserMessage,
)

if TYPE_CHECKING:
    from probate_reference.records import Record

__all__ = ("conversation",)


def conversation(log: Iterable[Record], system: str = "") -> list[dict[str, Any]]:
    """Write a log as messages.

    :param system: what the model is told before everything else
    """
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    speaking: dict[str, Any] = {}
    step = (0, 0)
    for record in log:
        match record:
            case StepStart():
                step = (record.turn, record.step)
            case UserMessage() | ContextMessage():
                messages.append({"role": "user", "content": record.text})
            case AssistantMessage():
                speaking = {"role": "assistant", "content": record.text}
                messages.append(speaking)
            case ToolCalled():
                function = {"name": record.name, "arguments": record.arguments or "{}"}
                call = {"id": _id(step, record.number), "type": "function", "function": function}
                speaking.setdefault("tool_calls", []).append(call)
            case ToolResult():
                messages.append({"role": "tool", "tool_call_id": _id(step, record.number), "content": record.text})
            case _:
                pass
    return messages


def _id(step: tuple[int, int], number: int) -> str:
    return f"call_{step[0]}_{step[1]}_{number}"
