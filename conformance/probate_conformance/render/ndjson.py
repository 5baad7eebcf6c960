"""A report as lines of JSON: one part on each line, for programs.

In order: the header; then for each backend its setting, failures, troubles, clauses, what was reached, and
totals; then the end. A report
without its last line is not whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, TypeAlias

from pydantic import Field, TypeAdapter

from probate_conformance.report import ClauseResult, End, Failure, Header, Reached, Run, Setting, Totals, Trouble

Part: TypeAlias = Annotated[
    Header | Setting | Failure | Trouble | ClauseResult | Reached | Totals | End, Field(discriminator="part")
]
PART: Final[TypeAdapter[Header | Setting | Failure | Trouble | ClauseResult | Reached | Totals | End]] = TypeAdapter(
    Part
)
"""Any line of a report."""


def render(run: Run) -> str:
    """Give a run as lines of JSON."""
    return "".join(f"{PART.dump_json(part).decode()}\n" for part in _parts(run))


def _parts(run: Run) -> Iterator[Header | Setting | Failure | Trouble | ClauseResult | Reached | Totals | End]:
    yield run.header
    for report in run.reports:
        yield report.setting
        yield from report.failures
        yield from report.troubles
        yield from report.clauses
        if report.reached is not None:
            yield report.reached
        yield report.totals
    yield run.end
