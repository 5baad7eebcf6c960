"""``probate explain``: what one clause asks, why, and how it is observed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from probate_conformance.cli.options import add_color
from probate_conformance.cli.output import emit
from probate_conformance.errors import MOST_LISTED, Exit, UsageError, unknown_name
from probate_conformance.readings import only_where
from probate_conformance.render.layout import table, wrapped
from probate_conformance.render.style import Ink, Style, style_for
from probate_model.alphabet.editions import EDITIONS
from probate_model.clauses import CLAUSES, Clause

NAME: Final = "explain"
SUMMARY: Final = "tell what a clause asks, why, where it comes from, and how it is observed"
DESCRIPTION: Final = SUMMARY.capitalize() + "."
_LIST: Final = "`probate list --clauses` tells all"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("clause", metavar="CLAUSE", help="as in DISPOSE-08; `probate list --clauses` tells all")
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Explain the clause.

    :raises UsageError: if there is none of this name, or several are meant
    """
    name: str = arguments.clause.upper()
    several = [clause for clause in CLAUSES if fnmatchcase(clause, name) or clause.startswith(f"{name}-")]
    if several and name not in CLAUSES:
        raise UsageError(
            f"{arguments.clause!r} stands for {len(several)} clauses, and one is explained at a time",
            mend=f"name one of {', '.join(several)}" if len(several) <= MOST_LISTED else _LIST,
        )
    if name not in CLAUSES:
        raise unknown_name("clause", arguments.clause, CLAUSES, also=_LIST, near=name)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    emit("".join(f"{line}\n" for line in _explained(CLAUSES[name], style)))
    return Exit.PASS


def _explained(clause: Clause, style: Style) -> Iterator[str]:
    yield style.ink(clause.id, Ink.BOLD) + f"  {clause.level}, profile {clause.profile}"
    yield from (style.ink(line, Ink.BOLD) for line in wrapped(clause.sentence, 2))
    yield ""
    rows = [("why", clause.why), ("source", clause.source), ("seen by", ", ".join(clause.seen))]
    if clause.needs:
        rows.append(("needs", f"{', '.join(clause.needs)}: not claimed by a backend that lacks one of them"))
    if clause.codes:
        rows.append(("codes", ", ".join(clause.codes)))
    if clause.choice:
        readings = ", ".join(f"{edition.choices()[clause.choice]} in {name}" for name, edition in EDITIONS.items())
        rows.append(("choice", f"{clause.choice}: {readings}"))
    if only := only_where(clause):
        rows.append(("holds", only))
    yield from table(rows, style, width=9)
