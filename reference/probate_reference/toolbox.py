"""Keep the tools that models can call, and call them.

A tool comes and goes with what brought it, while agents live on. So the box is asked at each call, and
never remembers on behalf of an agent. When a part of the program is loaded anew, the new tool may be
added before the old one was taken out: the newest of a name is the one that is called, and taking one
out takes out exactly that one.

A model writes the arguments, so they are foreign text. They are read as JSON and held against the
tool's schema before the tool sees them, and what is wrong is said in words that a model can mend its
call by.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from .refusals import Refusal

if TYPE_CHECKING:
    from .seams import Tool, ToolCall, ToolContext

__all__ = ("InvalidArguments", "Toolbox", "UnknownTool")

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


class UnknownTool(Refusal):
    """Raised when a model calls a tool that is not there (any more)."""

    code = "unknown-tool"


class InvalidArguments(Refusal):
    """Raised when the arguments of a call are no JSON object, or do not agree with the tool's schema."""

    code = "invalid-arguments"


class Toolbox:
    """Holds tools by name."""

    __slots__ = ("_entries", "_listed")

    def __init__(self) -> None:
        self._entries: dict[object, Tool] = {}
        self._listed: tuple[Tool, ...] | None = None

    def add(self, tool: Tool) -> Callable[[], None]:
        """Add a tool; until it is removed it hides older ones of its name.

        :return: a function that removes it; a call of it that has begun goes on
        """
        key = object()
        self._entries[key] = tool
        self._listed = None

        def remove() -> None:
            self._entries.pop(key, None)
            self._listed = None

        return remove

    def list(self) -> tuple[Tool, ...]:
        """Return the tools that can be called, one of each name, in the order in which the names came."""
        if self._listed is None:
            self._listed = tuple({tool.name: tool for tool in self._entries.values()}.values())
        return self._listed

    def get(self, name: str) -> Tool | None:
        """Return the tool that a call of this name would reach, or ``None``."""
        return next((tool for tool in self.list() if tool.name == name), None)

    async def call(self, call: ToolCall, context: ToolContext) -> str:
        """Carry out one call.

        :param call: the tool's name, and its arguments as text
        :param context: who calls
        :return: what the tool returns
        :raises UnknownTool: if there is no such tool
        :raises InvalidArguments: if it cannot be called with these arguments; it was not called then
        :raises TypeError: if the tool returns something else than a text
        :raises Exception: what the tool raises, as it is
        """
        tool = self.get(call.name)
        if tool is None:
            raise UnknownTool(f"no tool {call.name!r}")
        text = await tool.call(_arguments(tool, call.arguments), context)
        if not isinstance(text, str):
            raise TypeError(f"tool {call.name!r} returned {type(text).__name__}, not a str")
        return text


def _arguments(tool: Tool, text: str) -> Mapping[str, object]:
    """Read the arguments of a call and hold them against the tool's schema.

    Of a schema the types, the required names and the closed set of names are looked at, which is what the arguments of
    a tool need; a tool looks at the rest itself.
    """
    try:
        arguments = json.loads(text) if text else {}
    except (ValueError, RecursionError) as failure:
        raise InvalidArguments(f"the arguments of {tool.name!r} are no JSON: {failure}") from None
    if not isinstance(arguments, dict):
        raise InvalidArguments(f"the arguments of {tool.name!r} must be a JSON object")
    schema = tool.parameters
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    assert isinstance(required, list | tuple)
    assert isinstance(properties, Mapping)
    for name in required:
        if name not in arguments:
            raise InvalidArguments(f"{tool.name!r} needs the argument {name!r}")
    for name, value in arguments.items():
        if name in properties:
            _check_type(tool, name, value, properties[name])
        elif schema.get("additionalProperties") is False:
            raise InvalidArguments(f"{tool.name!r} has no argument {name!r}; it takes {', '.join(properties)}")
    return arguments


def _check_type(tool: Tool, name: str, value: object, schema: Mapping[str, object]) -> None:
    wanted = schema.get("type")
    if not isinstance(wanted, str) or wanted not in _TYPES:
        return
    # In Python a truth value is an integer too; in JSON it is not.
    fits = isinstance(value, _TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))
    if not fits:
        raise InvalidArguments(f"the argument {name!r} of {tool.name!r} must be of type {wanted}")
