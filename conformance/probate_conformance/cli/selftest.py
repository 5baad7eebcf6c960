"""``probate selftest``: show that the kit finds the known-bad backends, each by the clause of its defect."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from probate_conformance.backends.lying import LIES, Lie
from probate_conformance.backends.reference.known_bad import BUDGET, VARIANTS
from probate_conformance.cli.options import add_color, natural, positive, require_edition
from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit, unknown_name
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Verdict
from probate_conformance.render.style import Ink, Style, style_for
from probate_conformance.selftest import Trial, Tried, selftest
from probate_conformance.spreading import MOST, processors
from probate_model.alphabet.editions import EDITION_2026_06

NAME: Final = "selftest"
SUMMARY: Final = "show that the kit finds what is known to be wrong, each by the clause of its defect"
DESCRIPTION: Final = """\
Check each known-bad backend, which is the reference with one defect, up to its first failure, and
shrink that. Exit code 1 if one survives, or is reported by other clauses only than its own. The reference
follows edition 2026-06; for 2026-08 it is the model that tells one lie about each clause, and what other
clauses make of that is not judged.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="known-bad backends, with or without 'bad:'; `probate list --backends` tells them; "
        "in edition 2026-08, clauses (default: all)",
    )
    parser.add_argument("--edition", default=EDITION_2026_06.name, metavar="E", help="(default: %(default)s)")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the traces (default: %(default)s)")
    parser.add_argument(
        "--cases", type=positive, default=BUDGET, metavar="N", help="the most traces for each (default: %(default)s)"
    )
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="also see that each but the blunt ones passes at least half of all traces",
    )
    parser.add_argument("--loop", choices=("asyncio", "trio"), help="default: the first on which the defect shows")
    parser.add_argument("--stories", action="store_true", help="tell how each was found")
    parser.add_argument(
        "-j", "--jobs", type=positive, metavar="N", help="over how many processes (default: as they help)"
    )
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Try them, and tell of each as soon as it is done.

    :raises UsageError: if a name means nothing
    :raises BackendBroke: if a process ends before its work is done
    """
    names = _names(arguments)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    emit(_line(style, " ", "mutant", "due", "reported", "traces", "items", "passes", "known-bad backend", Ink.DIM))
    interrupt = Interrupt()
    faults = 0
    with interrupt.taken():
        jobs = arguments.jobs or min(processors(), MOST)
        trial = Trial(arguments.seed, arguments.cases, arguments.loop, arguments.thorough)
        for tried in selftest(names, trial, jobs, interrupt):
            faults += tried.fault is not None
            emit(_told(tried, style))
            if arguments.stories and tried.story:
                emit("".join(f"  {line}\n" for line in (tried.defect.says, *tried.story.splitlines(), "")))
    what = "known-bad backend" if arguments.edition == EDITION_2026_06.name else "lie"
    many = f"{len(names)} {what}{'' if len(names) == 1 else 's'}"
    if faults:
        said, verdict = f"{faults} of {many} {'was' if faults == 1 else 'were'} not found as due", Verdict.FAIL
    else:
        said, verdict = f"all {many} were found, each by its clause", Verdict.PASS
    emit(f"\n{style.verdict(said, verdict, Ink.BOLD)}\n")
    return Exit.FAIL if faults else Exit.PASS


def _names(arguments: argparse.Namespace) -> list[str]:
    """Give what is to be tried, each once.

    :raises UsageError: if a name means nothing
    """
    require_edition(arguments.edition)
    if arguments.edition != EDITION_2026_06.name:
        names = [name.upper() for name in arguments.names] or list(LIES)
        for name in names:
            if name not in LIES:
                raise unknown_name("clause with a lie", name, LIES, also="`probate list --edition` shows all")
    else:
        names = [name.removeprefix("bad:") for name in arguments.names] or list(VARIANTS)
        for name in names:
            if name not in VARIANTS:
                raise unknown_name("known-bad backend", name, VARIANTS, also="`probate list --backends` shows all")
    return list(dict.fromkeys(names))


def _told(tried: Tried, style: Style) -> str:
    defect, fault = tried.defect, tried.fault
    passes = "" if tried.passed is None else f"{100 * tried.passed:.0f} %"
    said = defect.says if isinstance(defect, Lie) else tried.name
    first = f" (before it: {tried.before})" if tried.before else ""
    name = f"{said}{f': {fault}' if fault else first}"
    mark = style.mark(Verdict.FAIL if fault else Verdict.PASS)
    length = f"{tried.length}" if tried.clause else "-"
    inks = (Ink.RED,) if fault else ()
    return _line(
        style,
        mark,
        "-" if isinstance(defect, Lie) else defect.mutant,
        defect.clause,
        tried.clause or "-",
        f"{tried.traces:,}",
        length,
        passes,
        name,
        *inks,
    )


def _line(
    style: Style, mark: str, mutant: str, due: str, reported: str, traces: str, length: str, passes: str, name: str,
    *inks: Ink,
) -> str:  # fmt: skip
    columns = f"{mutant:<11} {due:<12} {reported:<12} {traces:>7} {length:>6} {passes:>7}  {name}"
    return f"{mark} {style.ink(columns, *inks)}\n"
