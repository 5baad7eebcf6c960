"""``probate explore``: look at every state of the model within a bound."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Final

from probate_conformance.cli.casefiles import CASES_DIR, cases_dir, write_case
from probate_conformance.cli.options import add_color, natural, positive, seconds
from probate_conformance.cli.output import emit
from probate_conformance.compiled import is_compiled
from probate_conformance.errors import Exit, UsageError, unknown_name
from probate_conformance.exploring.bounds import SMALLEST, Bound
from probate_conformance.exploring.covering import Coverage, goals_of, reachable
from probate_conformance.exploring.exploration import ALL_BOUNDS, Explored, explore, properties_of
from probate_conformance.exploring.rooms import RoomBound, RoomPosition
from probate_conformance.exploring.searching import Limits, Searched, memory
from probate_conformance.lockstep import Verdict
from probate_conformance.render.layout import table, wrapped
from probate_conformance.render.style import Ink, Style, style_for

NAME: Final = "explore"
SUMMARY: Final = "look at every state of the model within a bound, and see that the invariants hold"
DESCRIPTION: Final = """\
Search the model breadth first: all that can be done in every state, and every order of what could
run. What should not be is told with the shortest trace that leads there, as a case that
`probate replay` runs. A limit that is reached makes the rest undetermined, which is never a pass.
"""
_ROOMS: Final = ("agents", "ids", "prompts", "calls", "holds", "reactions", "unloads")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "bounds",
        nargs="*",
        metavar="BOUND",
        help=f"which bounds to explore, by name: {', '.join(ALL_BOUNDS)}, or all (default: {SMALLEST.name})",
    )
    for name in _ROOMS:
        parser.add_argument(
            f"--{name}", type=natural, metavar="N", help=f"how many {name} there may be at once, instead of the bound's"
        )
    parser.add_argument("--states", type=positive, metavar="N", help="give up at so many states")
    parser.add_argument("--memory", type=positive, metavar="MB", help="give up when so much memory is taken")
    parser.add_argument("--time", type=seconds, metavar="SECONDS", help="give up on a bound after that time")
    parser.add_argument(
        "--cases-dir",
        type=Path,
        metavar="DIR",
        help=f"where the case of what was found is written (default: ./{CASES_DIR})",
    )
    parser.add_argument("--list", action="store_true", help="tell the bounds, and what is held to, and do nothing")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="tell which choices were taken in which state of their agent"
    )
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Explore the bounds, one after the other.

    :raises UsageError: if a name means nothing, a number leaves nothing to explore, no case can be written where it
        should be, or the model is compiled
    :raises ReportError: if a case can't be written
    """
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    if arguments.list:
        emit("".join(f"{line}\n" for line in _listed(style)))
        return Exit.PASS
    if is_compiled():
        raise UsageError("the model here is compiled, and a search looks into it", mend="run it without PYTHONPATH")
    limits = Limits(arguments.states, arguments.memory, arguments.time)
    worst = Exit.PASS
    together: dict[str, Coverage] = {}
    asked = _asked(arguments)
    arguments.cases_dir = cases_dir(arguments.cases_dir)
    for bound in asked:
        explored = explore(bound, limits, _Progress(bound.name))
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        emit("".join(f"{line}\n" for line in _told(explored, style, arguments)))
        coverage = explored.coverage
        together.setdefault(coverage.profile, Coverage(profile=coverage.profile)).join(coverage)
        if explored.verdict is Verdict.FAIL:
            worst = Exit.FAIL
        elif explored.verdict is Verdict.INCONCLUSIVE and worst is Exit.PASS:
            worst = Exit.INCONCLUSIVE
    if len(asked) > 1:
        for coverage in together.values():
            emit("".join(f"{line}\n" for line in _together(coverage, style)))
    return worst


def _asked(arguments: argparse.Namespace) -> list[Bound | RoomBound]:
    names = arguments.bounds or [SMALLEST.name]
    if "all" in names:
        names = list(ALL_BOUNDS)
    for name in names:
        if name not in ALL_BOUNDS:
            raise unknown_name("bound", name, [*ALL_BOUNDS, "all"], also="`probate explore --list` tells all")
    changes = {name: value for name in _ROOMS if (value := getattr(arguments, name)) is not None}
    for name in ("agents", "ids"):
        if not 1 <= changes.get(name, 1) <= 8:
            raise UsageError(f"--{name} {changes[name]} leaves nothing that could be explored", mend="1 to 8 will do")
    said = "".join(f" --{name} {value}" for name, value in changes.items())
    asked = [ALL_BOUNDS[name] for name in dict.fromkeys(names)]
    for bound in asked:
        if unknown := [name for name in changes if not hasattr(bound, name)]:
            raise UsageError(f"the bound {bound.name} says nothing of {unknown[0]}", mend=f"leave out --{unknown[0]}")
    return [replace(bound, name=f"{bound.name}{said}", **changes) for bound in asked]


class _Progress:
    """A line on standard error that is written over, on a terminal and nowhere else."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __call__(self, searched: Searched[int] | Searched[RoomPosition]) -> None:
        if not self._shown:
            return
        left = len(searched.states) - searched.expanded
        rate = searched.transitions / searched.seconds if searched.seconds else 0
        line = (
            f"{self._name}: {len(searched.states):,} states, {left:,} of them to be looked at, "
            f"{searched.transitions:,} transitions, {rate:,.0f}/s, {memory():,} MB"
        )
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}")
            sys.stderr.flush()


def _told(explored: Explored, style: Style, arguments: argparse.Namespace) -> Iterator[str]:
    bound, verdict = explored.bound, explored.verdict
    yield style.ink(bound.name, Ink.BOLD)
    yield from wrapped(f"at once: {bound.says()}", 2)
    yield from wrapped(f"ops: {bound.kinds()}", 2)
    yield ""
    if verdict is Verdict.PASS:
        said = (
            f"all {explored.states:,} states and {explored.transitions:,} transitions hold to "
            f"all {len(properties_of(bound))} properties"
        )
    elif verdict is Verdict.INCONCLUSIVE:
        said = (
            f"undetermined: {explored.limit} was reached with {explored.expanded:,} of {explored.states:,} states "
            "looked at; nothing that is wrong was found in them"
        )
    else:
        said = f"something that should not be, after {explored.expanded:,} states"
    yield f"  {style.verdict(said, verdict)}"
    by_rules = 100 * explored.by_rules / max(1, explored.transitions)
    anew = 100 * explored.anew / max(1, explored.transitions)
    rate = explored.transitions / max(explored.seconds, 1e-9)
    yield (
        f"    {explored.rests:,} at rest · {explored.seconds:.1f} s · {rate:,.0f} transitions/s · "
        f"{explored.megabytes:,} MB · {by_rules:.1f} % of the transitions by the rules, {anew:.1f} % looked up, "
        "the rest known"
    )
    for place, fault in enumerate(explored.faults):
        path = write_case(arguments.cases_dir, f"model-{fault.number}-{bound.name.split()[0]}-{place}", fault.case)
        yield f"  {style.verdict(fault.says, Verdict.FAIL)}"
        yield f"    {properties_of(bound).get(fault.number, '')}"
        yield f"    {fault.case.length} items: probate replay {path}"
    yield from _coverage(explored, style, verbose=arguments.verbose)
    yield ""


def _coverage(explored: Explored, style: Style, *, verbose: bool) -> Iterator[str]:
    coverage = explored.coverage
    missed, unreached = coverage.missed(), coverage.unreached()
    goals, clauses = len(goals_of(coverage.profile)), len(reachable(coverage.edition, coverage.profile))
    yield (
        f"    {len(coverage.choices):,} pairs of an agent's state and a choice · {clauses - len(unreached)} of "
        f"{clauses} clauses carried out · {goals - len(missed)} of {goals} goals reached"
    )
    if not verbose:
        return
    yield from wrapped(f"goals not reached: {', '.join(missed) or 'none'}", 4)
    yield from wrapped(f"clauses not carried out: {', '.join(unreached) or 'none'}", 4)
    yield ""
    rows = sorted((str(kind), choice, times) for (kind, choice), times in coverage.choices.items())
    yield from table([(kind, f"{choice:<18} {times:>12,}") for kind, choice, times in rows], style)


def _together(coverage: Coverage, style: Style) -> Iterator[str]:
    """Tell what no bound came to: a rule that can't be reached is a defect of the model, if no bound is too small."""
    yield style.ink(f"all bounds of profile {coverage.profile} together", Ink.BOLD)
    for what, names in (("goals", coverage.missed()), ("clauses", coverage.unreached())):
        yield from wrapped(f"{what} that none came to: {', '.join(names) or 'none'}", 2)


def _listed(style: Style) -> Iterator[str]:
    yield style.ink("bounds", Ink.BOLD)
    for bound in ALL_BOUNDS.values():
        yield from table([(bound.name, bound.says())], style, width=12)
        yield from wrapped(f"ops: {bound.kinds()}", 15)
        if isinstance(bound, Bound):
            yield from wrapped(f"gates: {', '.join(held.kind.value for held in bound.gates) or 'none'}", 15)
    yield ""
    yield style.ink("what is held to", Ink.BOLD)
    held_to = {number: says for bound in ALL_BOUNDS.values() for number, says in properties_of(bound).items()}
    yield from table(sorted(held_to.items(), key=lambda item: int(item[0][1:])), style)


assert set(_ROOMS) <= {field.name for field in fields(Bound)}
