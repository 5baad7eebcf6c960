"""The toolbox: which tool is called, and what it is called with."""

import json
from collections.abc import Mapping

import pytest

from probate_reference import FunctionTool, InvalidArguments, Toolbox, ToolCall, ToolContext, UnknownTool

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "loud": {"type": "boolean"},
        "words": {"type": "array"},
        "more": {"type": "object"},
        "any": {},
    },
    "required": ["text"],
    "additionalProperties": False,
}


async def echo(arguments: Mapping[str, object], context: ToolContext) -> str:
    return json.dumps(arguments)


def saying(name: str, word: str) -> FunctionTool:
    async def say(arguments: Mapping[str, object], context: ToolContext) -> str:
        return word

    return FunctionTool(name, say)


async def test_the_newest_tool_of_a_name_is_called_and_each_is_removed_exactly() -> None:
    box = Toolbox()
    old, other, new = saying("a", "old"), saying("b", "other"), saying("a", "new")
    remove_old = box.add(old)
    box.add(other)
    assert await box.call(ToolCall("a"), ToolContext()) == "old"
    remove_new = box.add(new)
    assert box.list() == (new, other)
    remove_old()
    remove_old()
    assert await box.call(ToolCall("a"), ToolContext()) == "new"
    remove_new()
    assert box.get("a") is None
    assert box.list() == (other,)
    with pytest.raises(UnknownTool, match="no tool 'a'"):
        await box.call(ToolCall("a"), ToolContext())


async def test_an_older_tool_is_there_again_when_the_newer_one_is_gone() -> None:
    box = Toolbox()
    old = saying("a", "old")
    box.add(old)
    box.add(saying("a", "new"))()
    assert box.get("a") is old


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": ""},
        {"text": "a", "count": 1, "share": 0.5, "loud": True, "words": [], "more": {}, "any": None},
        {"text": "a", "share": 1},
    ],
)
async def test_arguments_that_fit_reach_the_tool_as_they_are(arguments: dict[str, object]) -> None:
    box = Toolbox()
    box.add(FunctionTool("echo", echo, "Says it again.", SCHEMA))
    assert json.loads(await box.call(ToolCall("echo", json.dumps(arguments)), ToolContext())) == arguments


async def test_no_arguments_are_the_empty_object_and_open_schemas_take_any_name() -> None:
    box = Toolbox()
    box.add(FunctionTool("echo", echo))
    assert await box.call(ToolCall("echo"), ToolContext()) == "{}"
    assert await box.call(ToolCall("echo", '{"x": 1}'), ToolContext()) == '{"x": 1}'


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{", "are no JSON"),
        ("[" * 100_000, "are no JSON"),
        ("[]", "must be a JSON object"),
        ("", "needs the argument 'text'"),
        ('{"text": 1}', "'text' of 'echo' must be of type string"),
        ('{"text": "", "count": 1.5}', "'count' of 'echo' must be of type integer"),
        ('{"text": "", "count": true}', "'count' of 'echo' must be of type integer"),
        ('{"text": "", "share": "1"}', "'share' of 'echo' must be of type number"),
        ('{"text": "", "loud": 1}', "'loud' of 'echo' must be of type boolean"),
        ('{"text": "", "words": {}}', "'words' of 'echo' must be of type array"),
        ('{"text": "", "more": []}', "'more' of 'echo' must be of type object"),
        ('{"text": "", "volume": 1}', "has no argument 'volume'; it takes text, count"),
    ],
)
async def test_arguments_that_do_not_fit_never_reach_the_tool(arguments: str, says: str) -> None:
    async def never(arguments: Mapping[str, object], context: ToolContext) -> str:
        raise AssertionError("the tool was called")

    box = Toolbox()
    box.add(FunctionTool("echo", never, "Is never called.", SCHEMA))
    with pytest.raises(InvalidArguments, match=says):
        await box.call(ToolCall("echo", arguments), ToolContext())


async def test_a_tool_that_returns_no_text_has_failed() -> None:
    async def silent(arguments: Mapping[str, object], context: ToolContext) -> None:
        pass

    box = Toolbox()
    box.add(FunctionTool("silent", silent))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tool 'silent' returned NoneType, not a str"):
        await box.call(ToolCall("silent"), ToolContext())
