"""``probate selftest``: show that the kit finds what it says it finds."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from probate_conformance.backends.reference.known_bad import BUDGET, VARIANTS, Result, selftest
from probate_conformance.cli.options import add_color, natural, positive
from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit, unknown_name
from probate_conformance.render.style import Ink, Style, style_for

NAME: Final = "selftest"
SUMMARY: Final = "show that the kit finds known defects, and names the clause of each"
DESCRIPTION: Final = """\
Run generated traces on the reference with one known defect at a time, until the defect is found.
Each must be found within the budget, and be reported by the clause that speaks of it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a defect, as `probate list --backends` names it; all without one"
    )
    parser.add_argument(
        "--budget",
        type=positive,
        default=BUDGET,
        metavar="RUNS",
        help="how many runs a defect may take until it is found (default: %(default)s)",
    )
    parser.add_argument("--seed", type=natural, default=1, help="the seed of the traces (default: %(default)s)")
    parser.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio", help="default: %(default)s")
    parser.add_argument("--stories", action="store_true", help="tell how each was found")
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Look for the defects, and tell of each when it is found.

    :raises UsageError: if there is no defect of a name
    """
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    names = [name.removeprefix("bad:") for name in arguments.names] or list(VARIANTS)
    for name in names:
        if name not in VARIANTS:
            raise unknown_name("known-bad backend", name, VARIANTS, also="`probate list --backends` shows all")
    variants = [VARIANTS[name] for name in dict.fromkeys(names)]
    emit(style.ink(f"{'defect':<44} {'clause':<12} {'runs':>5} {'items':>5}", Ink.BOLD) + "\n")
    missed = 0
    for result in selftest(variants, arguments.budget, seed=arguments.seed, loop=arguments.loop):
        missed += not result.passed
        emit(_line(result, style) + "\n")
        if arguments.stories and result.story:
            emit(f"  {result.variant.says}\n" + "".join(f"  {line}\n" for line in result.story.splitlines()) + "\n")
    found = len(variants) - missed
    emit(style.ink(f"{found} of {len(variants)} found and named", Ink.RED if missed else Ink.GREEN) + "\n")
    return Exit.FAIL if missed else Exit.PASS


def _line(result: Result, style: Style) -> str:
    variant = result.variant
    shown = f"{variant.name:<44} {variant.clause:<12} {result.runs:>5}"
    if result.clause is None:
        return f"{shown} {style.ink('not found', Ink.RED)}"
    line = f"{shown} {result.length:>5}"
    return line if result.passed else f"{line} {style.ink(f'reported by {result.clause}', Ink.RED)}"
