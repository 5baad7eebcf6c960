"""Close what a crash has left open, by appending.

A log that ends inside a turn is not wrong, only unfinished. The next request to the model must find an answer to every
tool call and no open step, and the next turn must not begin inside the last. So the ends are written that the crash has
prevented: an error for each call of the open step that has no result, the end of the step, the end of the turn. What
happened is never touched, and a second load finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from probate_reference.records import (
    Record,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolOutcome,
    ToolResult,
    TurnEnd,
    TurnReason,
    TurnStart,
)

__all__ = ("closers",)

INTERRUPTED = "interrupted: whether the call had an effect is not known"
"""The result of a call that was begun and whose end nobody saw."""


def closers(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records that a log lacks at its end."""
    turn: int | None = None
    step: int | None = None
    unanswered: dict[int, None] = {}
    for record in records:
        match record:
            case TurnStart():
                turn = record.turn
            case TurnEnd():
                turn = None
            case StepStart():
                step = record.step
            case StepEnd():
                step = None
                unanswered.clear()
            case ToolCalled():
                unanswered[record.number] = None
            case ToolResult():
                unanswered.pop(record.number, None)
            case _:
                pass
    if turn is None:
        return ()
    ends: list[Record] = []
    if step is not None:
        ends += [ToolResult(number, ToolOutcome.ERROR, INTERRUPTED) for number in unanswered]
        ends.append(StepEnd(turn, step))
    return (*ends, TurnEnd(turn, TurnReason.INTERRUPTED))
