"""What a section gives: tables to read, figures to keep, and goals with whether they are reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that is to be reached; none if it was not measured."""

    says: str
    value: float | None
    wanted: float
    at_most: bool = False
    unit: str = "x"

    @property
    def reached(self) -> bool | None:
        """Whether it is; none if it was not measured."""
        if self.value is None:
            return None
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted

    def line(self) -> str:
        """Say it in a line."""
        sign = "at most" if self.at_most else "at least"
        value = "not measured" if self.value is None else f"{self.value:,.3g}{self.unit}"
        word = {True: "reached", False: "NOT REACHED", None: "-"}[self.reached]
        return f"  {word:<12} {self.says}: {value} ({sign} {self.wanted:g}{self.unit})"


@dataclass(slots=True)
class Section:
    """One section."""

    title: str
    tables: list[str] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table: the first column is text, the others are numbers."""
        widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
        lines = []
        for row in (head, *rows):
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        self.tables.append("\n".join(lines))

    def note(self, text: str) -> None:
        """Add a line of text."""
        self.tables.append(f"  {text}")

    def text(self) -> str:
        """Give it all, as it is printed."""
        goals = "\n".join(goal.line() for goal in self.goals)
        return "\n\n".join([self.title.upper(), *self.tables, *([goals] if goals else [])]) + "\n"

    def json(self) -> dict[str, Any]:
        """Give it all, as it is kept."""
        goals = [
            {"says": goal.says, "value": goal.value, "wanted": goal.wanted, "reached": goal.reached}
            for goal in self.goals
        ]
        return {"title": self.title, "figures": self.figures, "goals": goals}


def check(done: bool, what: str) -> None:
    """Insist that what was timed was done: a wrong figure is worse than none.

    :raises RuntimeError: if it was not
    """
    if not done:
        raise RuntimeError(f"the measurement is void: {what}")
