"""A report as lines of JSON: one part on each line, for programs.

In order: the header; then for each backend its setting, drifts, failures, troubles, clauses, what was reached, and
totals; then the end. A report without its last line is not whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from probate_conformance.codec import said_of
from probate_conformance.errors import UsageError
from probate_conformance.report import (
    ClauseResult,
    Drift,
    Driven,
    End,
    Failure,
    Header,
    Reached,
    Report,
    Run,
    Setting,
    Totals,
    Trouble,
)

Line: TypeAlias = Header | Setting | Drift | Failure | Trouble | ClauseResult | Reached | Driven | Totals | End
Part: TypeAlias = Annotated[Line, Field(discriminator="part")]
PART: Final[TypeAdapter[Line]] = TypeAdapter(Part)
"""Any line of a report."""


def render(run: Run) -> str:
    """Give a run as lines of JSON."""
    return "".join(f"{PART.dump_json(part).decode()}\n" for part in _parts(run))


def _parts(run: Run) -> Iterator[Line]:
    yield run.header
    for report in run.reports:
        yield report.setting
        yield from report.drifts
        yield from report.failures
        yield from report.troubles
        yield from report.clauses
        if report.reached is not None:
            yield report.reached
        if report.driven is not None:
            yield report.driven
        yield report.totals
    yield run.end


def read(text: str, *, where: str) -> Run:
    """Give the run that lines of JSON tell of.

    :param where: how errors call it
    :raises UsageError: if it is no report, or not a whole one
    """
    parts = [_part(number, line, where) for number, line in enumerate(text.splitlines(), 1)]
    if len(parts) < 2 or not isinstance(parts[0], Header) or not isinstance(parts[-1], End):
        raise UsageError("is not a whole report: it has a header first and an end last", where=where, mend=_WRITTEN)
    reports = []
    of_one: list[_Of] = []
    for part in parts[1:-1]:
        if isinstance(part, Header | End):
            raise UsageError(f"is not one report: there is another {part.part} in between", where=where, mend=_WRITTEN)
        of_one.append(part)
        if isinstance(part, Totals):
            reports.append(_report(of_one, part, where))
            of_one = []
    if of_one:
        raise UsageError("is not a whole report: a backend has no totals", where=where, mend=_WRITTEN)
    return Run(header=parts[0], reports=tuple(reports), end=parts[-1])


_Of: TypeAlias = Setting | Drift | Failure | Trouble | ClauseResult | Reached | Driven | Totals
_WRITTEN: Final = "name a file that `probate check --report FILE` has written to its end"


def _part(number: int, line: str, where: str) -> Header | _Of | End:
    try:
        return PART.validate_json(line)
    except ValidationError as error:
        raise UsageError(f"line {number}: {said_of(error)}", where=where, mend=_WRITTEN) from error


def _report(parts: list[_Of], totals: Totals, where: str) -> Report:
    setting = parts[0]
    if not isinstance(setting, Setting):
        raise UsageError(f"a backend begins with its {setting.part}", where=where, mend=_WRITTEN)
    return Report(
        setting=setting,
        drifts=tuple(part for part in parts if isinstance(part, Drift)),
        failures=tuple(part for part in parts if isinstance(part, Failure)),
        troubles=tuple(part for part in parts if isinstance(part, Trouble)),
        clauses=tuple(part for part in parts if isinstance(part, ClauseResult)),
        reached=next((part for part in parts if isinstance(part, Reached)), None),
        driven=next((part for part in parts if isinstance(part, Driven)), None),
        totals=totals,
    )
