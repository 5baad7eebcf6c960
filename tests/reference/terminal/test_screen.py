"""What is shown: a turn as lines, and nothing that a terminal would obey."""

from __future__ import annotations

import pytest

from probate_reference import (
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
    TurnTrigger,
    UserMessage,
)
from probate_reference.terminal.screen import Screen, clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext \u00a0 \u00e9 \U0001f469\u200d\U0001f4bb", None),
        ("\x1b[2J\r\x07\x9b1m\x7f", "\\x1b[2J\\r\\x07\\x9b1m\\x7f"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
    ],
)
def test_nothing_is_left_to_obey(text: str, shown: str | None) -> None:
    assert clean(text) == (text if shown is None else shown)


def shown(*what: Record | str, **options: bool) -> str:
    """Show records, and pieces that are texts."""
    written: list[str] = []
    screen = Screen(written.append, **options)
    for one in what:
        if isinstance(one, str):
            screen.piece("a", one)
        else:
            screen.record("a", one)
    screen.close()
    return "".join(written)


def test_a_turn() -> None:
    assert shown(
        TurnStart(1, TurnTrigger.MESSAGE),
        UserMessage("go"),
        StepStart(1, 1),
        "I ",
        "look",
        AssistantMessage("I look."),
        ToolCalled(1, "bash", '{"command":\n "x"}'),
        ToolResult(1, ToolOutcome.OK, "\n".join(map(str, range(14)))),
        ToolCalled(2, "bash", "x" * 1000),
        ToolResult(2, ToolOutcome.ERROR, ""),
        StepEnd(1, 1),
        ContextMessage("by the way"),
        StepStart(1, 2),
        AssistantMessage("Done.\n"),
        StepEnd(1, 2),
        TurnEnd(1, TurnReason.COMPLETED),
    ).splitlines() == [
        "a: I look.",
        '  a calls bash {"command": "x"}',
        *[f"  | {number}" for number in range(12)],
        "  | ... and 2 more lines",
        f"  a calls bash {'x' * 300}...",
        "  | [error]",
        "  a is told: by the way",
        "a: Done.",
        "  [completed]",
    ]


def test_a_model_that_says_another_thing_in_the_end_is_not_shown_twice() -> None:
    assert shown("One", AssistantMessage("Two")) == "a: One\n"
    assert shown(StepStart(1, 1), AssistantMessage("")) == ""


def test_colour_only_repeats_the_words() -> None:
    turn = ("One", AssistantMessage("One"), TurnEnd(1, TurnReason.ABORTED))
    plain, colored = shown(*turn), shown(*turn, color=True)
    assert plain == "a: One\n  [aborted]\n"
    assert colored == "\033[1ma: \033[0mOne\n\033[31m  [aborted]\033[0m\n"


def test_a_note_that_comes_while_somebody_may_type_stands_before_the_prompt() -> None:
    written: list[str] = []
    screen = Screen(written.append, prompts=True)
    screen.prompt("a> ")
    screen.note("news")
    screen.entered()
    screen.note("more")
    screen.prompt("a> ")
    screen.close()
    assert "".join(written) == "a> \nnews\na> more\na> \n"
