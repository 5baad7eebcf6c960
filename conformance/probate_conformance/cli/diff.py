"""``probate diff``: what became of each clause from one report to another."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from probate_conformance.cli.options import add_color
from probate_conformance.cli.output import emit
from probate_conformance.comparing import Change, Comparison, Kind, Pair, compare, read
from probate_conformance.errors import Exit
from probate_conformance.lockstep import Verdict
from probate_conformance.printable import printable
from probate_conformance.render.layout import wrapped
from probate_conformance.render.style import Ink, Style, style_for

NAME: Final = "diff"
SUMMARY: Final = "compare two reports: which clauses newly fail, pass, or are not judged any more"
DESCRIPTION: Final = """\
Compare two reports, as `probate check --report FILE` writes them: what is said of each clause,
for each backend of the same name, edition and profile that is in both. Two reports of one
backend each are compared whatever its name. Exit code 1 if a clause fails in the second and not
in the first; 3 if one that held is not shown to hold there, or a backend is missing; 5 if the
reports have no backend or no clause in common; else 0.
"""

_VERDICTS: Final = {
    Kind.FAILING: Verdict.FAIL,
    Kind.PASSING: Verdict.PASS,
    Kind.NOT_CLAIMED: Verdict.NOT_CLAIMED,
    Kind.BLOCKED: Verdict.BLOCKED,
    Kind.UNDEMANDED: Verdict.NOT_REACHED,
    Kind.GONE: Verdict.INCONCLUSIVE,
}


_BETWEEN: Final = {
    Kind.FAILING: "fail in the second and not in the first",
    Kind.PASSING: "hold in the second and not in the first",
    Kind.NOT_CLAIMED: "not claimed by the second, so not compared",
    Kind.BLOCKED: "blocked in the second, so not compared",
    Kind.UNDEMANDED: "not reached in the second, so not compared",
    Kind.GONE: "not in the second, so not compared",
}
"""What is said of the clauses of two backends, of which neither was before the other."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("first", type=Path, metavar="A", help="the report of before")
    parser.add_argument("second", type=Path, metavar="B", help="the report of now")
    parser.add_argument(
        "--format",
        choices=("text", "ndjson"),
        default="text",
        help="ndjson: a line for each backend, then one for each change, as JSON (default: %(default)s)",
    )
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Compare, and tell.

    :raises UsageError: if a file is no report, or not whole
    """
    comparison = compare(read(arguments.first), read(arguments.second))
    if arguments.format == "ndjson":
        lines = _lines(comparison)
    else:
        lines = _told(comparison, style_for(sys.stdout, os.environ, no_color=arguments.no_color))
    emit("".join(f"{line}\n" for line in lines))
    return comparison.exit


def _lines(comparison: Comparison) -> Iterator[str]:
    for pair in comparison.pairs:
        yield pair.model_dump_json(exclude={"changes"})
        yield from (change.model_dump_json() for change in pair.changes)
    yield comparison.model_dump_json(exclude={"pairs"})


def _told(comparison: Comparison, style: Style) -> Iterator[str]:
    for pair in comparison.pairs:
        yield from _pair(pair, style)
    for which, names in (("first", comparison.only_first), ("second", comparison.only_second)):
        for name in names:
            yield f"only in the {which} report: {printable(name)}"
    if not comparison.pairs:
        yield "nothing to compare: no backend is in both reports with the same edition and profile"
        yield "  two backends can be compared if each report is of one of them: `probate check NAME --report FILE`"


def _pair(pair: Pair, style: Style) -> Iterator[str]:
    two = pair.before != pair.backend
    title = f"{printable(pair.before)} and {printable(pair.backend)}" if two else printable(pair.backend)
    yield style.ink(title, Ink.BOLD)
    yield f"  first   {printable(pair.first)}"
    yield f"  second  {printable(pair.second)}"
    if not pair.same_profile:
        yield "  nothing to compare: each profile has clauses of its own"
        return
    if two:
        yield "  two backends: a clause that one of them does not claim can't be compared"
    if pair.kits is not None:
        was, now = map(printable, pair.kits)
        yield f"  judged by probate {was} and by probate {now}: what changed may be due to that"
    if not pair.same_traces:
        yield "  not the same traces: what was not reached in one may be due to that"
    order = list(Kind)
    changes = sorted(pair.changes, key=lambda change: order.index(change.kind))
    for kind, members in groupby(changes, key=lambda change: change.kind):
        group = list(members)
        yield ""
        yield f"{style.mark(_VERDICTS[kind])} {_BETWEEN[kind] if two else kind} ({len(group)})"
        for was, alike in groupby(sorted(group, key=_was), key=_was):
            names = ", ".join(printable(change.clause) for change in alike)
            yield from wrapped(f"{names} ({'in the first' if two else 'before'}: {was})", 2)
    yield ""
    yield f"{pair.unchanged} {'alike' if two else 'unchanged'}, of {pair.common} clauses that are in both"


def _was(change: Change) -> str:
    return str(change.was) if change.was else "not judged"
