"""``probate check``: run generated traces on backends and report which clauses hold."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Final

from probate_conformance.backends.base import Backend
from probate_conformance.backends.registry import DEFAULTS, make_backend
from probate_conformance.cli.casefiles import CASES_DIR, cases_dir, slugs_of, with_case_files
from probate_conformance.cli.expectations import Expectations
from probate_conformance.cli.options import (
    add_color,
    add_deadline,
    add_jobs,
    clause_patterns,
    natural,
    positive,
    profiles_of,
    require_edition,
    require_profile,
    seconds,
)
from probate_conformance.cli.output import ReportFile, emit, require_apart
from probate_conformance.compiled import is_compiled
from probate_conformance.errors import BackendAbsent, BackendBroke, ReportError, UsageError, unknown_name
from probate_conformance.exploring.touring import TOURS, Tour, tour
from probate_conformance.interrupts import Interrupt
from probate_conformance.manifest import Manifest
from probate_conformance.plan import UNLIMITED, Plan
from probate_conformance.render import junit, ndjson, text
from probate_conformance.render.progress import ProgressLine
from probate_conformance.render.style import style_for
from probate_conformance.report import AT_FIRST_FAILURE, INTERRUPTED, Header, Report, Run, end_of
from probate_conformance.running import Spread, check_backend, manifest_of, not_run
from probate_conformance.spreading import jobs_for, spread
from probate_model.alphabet.editions import EDITIONS

NAME: Final = "check"
SUMMARY: Final = "run generated traces on backends and report which clauses of the contract hold"
DESCRIPTION: Final = """\
Run generated traces on each backend and hold what is observed to the model. A failure is run
again to confirm it, shrunk, told as a story and written as a case that `probate replay` runs.
The same seed gives the same traces everywhere, and the same report but for its first line.
Ctrl-C ends the check with a report of what was done by then. So does TERM, with exit code 143.
"""
TOURED: Final = "2026-06"
"""The edition that tours are planned in."""
CASES: Final[Mapping[str, int]] = MappingProxyType(
    {"core": 3000, "sessions": 300, "fibers": 300, "tasks": 120, "bridge": 250, "subagents": 100}
)
"""How many traces of each profile a backend runs by default; for the two default backends, all in about a minute."""


_Made = Backend | BackendAbsent | BackendBroke
"""A backend, or why there is none: one that is absent keeps no other from being checked."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "backends",
        nargs="*",
        metavar="BACKEND",
        help=f"what to check; `probate list --backends` tells the names (default: {' '.join(DEFAULTS)})",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of the traces (default: %(default)s)")
    parser.add_argument(
        "--cases",
        type=natural,
        metavar="N",
        help=f"traces for each backend and profile (default: {CASES['core']} for core, less for the later profiles; "
        "with --time as many as there is time for)",
    )
    parser.add_argument(
        "--time",
        type=seconds,
        metavar="SECONDS",
        help="stop after that time on each backend, and judge what was run by then; "
        "how much that is depends on the machine, so such a report can't be had again",
    )
    parser.add_argument(
        "--schedules",
        type=positive,
        default=1,
        metavar="N",
        help="schedules that each trace runs under: the backend's own, then seeded ones (default: %(default)s)",
    )
    parser.add_argument("--edition", default="2026-06", metavar="E", help="of the contract (default: %(default)s)")
    parser.add_argument("--profile", metavar="P", help="of the contract (default: each that the backend claims)")
    parser.add_argument(
        "--exhaustive",
        nargs="?",
        const=next(iter(TOURS)),
        metavar="TOUR",
        help="also drive the backend through every transition of the settled model within a bound: "
        f"{', '.join(TOURS)}, or none (default: {next(iter(TOURS))}; without the option it is done to the reference, "
        "where neither --cases nor --time says how much is to be run)",
    )
    add_jobs(parser)
    parser.add_argument("-x", dest="stop_at_first", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "-k",
        dest="only",
        type=clause_patterns,
        default=(),
        metavar="EXPR",
        help="judge only the clauses that match, as in 'CANCEL-*,DISPOSE-05'",
    )
    parser.add_argument(
        "--expected-failures",
        type=Path,
        metavar="FILE",
        help="clauses that are known to fail, as TOML: [[expected]] with clause, reason and, if need be, backend; "
        "one that does not fail is a failure",
    )
    parser.add_argument(
        "--cases-dir",
        type=Path,
        metavar="DIR",
        help=f"where failing cases are written; made when there is one (default: ./{CASES_DIR})",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report as lines of JSON to a file")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write what became of each clause as JUnit XML")
    parser.add_argument(
        "--format",
        choices=("text", "ndjson"),
        default="text",
        help="how the report is written to standard output (default: %(default)s)",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="tell how often each clause was demanded, and what was reached"
    )
    add_deadline(parser)
    add_color(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check the backends and report.

    :return: the exit code: that of the report, or, if TERM has ended the check, what that says to whoever sent it
    :raises UsageError: if a name means nothing, or a file or folder that was named can't be written to
    :raises ReportError: if the report or a case can't be written
    """
    require_edition(arguments.edition)
    if arguments.exhaustive not in (None, "none", *TOURS):
        raise unknown_name("tour", arguments.exhaustive, [*TOURS, "none"])
    if arguments.exhaustive in TOURS and arguments.edition != TOURED:
        raise UsageError(
            f"no tour is planned in edition {arguments.edition}", mend=f"leave out --exhaustive, or --edition {TOURED}"
        )
    if arguments.profile is not None:
        require_profile(arguments.profile, arguments.edition)
    names = list(dict.fromkeys(arguments.backends or DEFAULTS))
    expectations = Expectations.read(arguments.expected_failures, names)
    arguments.cases_dir = cases_dir(arguments.cases_dir)
    require_apart("--report", arguments.report, "--junit", arguments.junit)
    backends = {name: _made(name, arguments.deadline) for name in names}
    interrupt = Interrupt()
    with ReportFile(arguments.report) as file, ReportFile(arguments.junit) as junit_file:
        outcome, unwritten = _check(backends, expectations, interrupt, arguments)
        writes: tuple[Callable[[], None], ...] = (
            lambda: emit(_rendered(outcome, arguments)),
            lambda: file.write(ndjson.render(outcome)),
            lambda: junit_file.write(junit.render(outcome)),
        )
        for write in writes:  # each, even if another fails
            try:
                write()
            except ReportError as error:
                unwritten.append(error)
    if unwritten:
        raise unwritten[0]
    return outcome.end.code


def _made(name: str, deadline: float) -> _Made:
    try:
        return make_backend(name, deadline=deadline)
    except (BackendAbsent, BackendBroke) as error:
        return error


def _rendered(outcome: Run, arguments: argparse.Namespace) -> str:
    if arguments.format == "ndjson":
        return ndjson.render(outcome)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    return text.render(outcome, style, verbose=arguments.verbose)


def _check(
    backends: dict[str, _Made], expectations: Expectations, interrupt: Interrupt, arguments: argparse.Namespace
) -> tuple[Run, list[ReportError]]:
    """Check all; gives the run, and the errors of cases that could not be written."""
    plan = Plan(
        seed=arguments.seed,
        cases=0,
        edition=arguments.edition,
        schedules=arguments.schedules,
        stop_at_first=arguments.stop_at_first,
        seconds=arguments.time,
        only=arguments.only,
    )
    started = datetime.now(UTC)
    clock = time.monotonic()
    reports: list[Report] = []
    unwritten: list[ReportError] = []
    slugs = slugs_of(backends)
    with interrupt.taken(), interrupt.taken(signal.SIGTERM):
        for name, backend in backends.items():
            for report in _by_profile(name, backend, plan, expectations, interrupt, reports, arguments):
                try:
                    reports.append(with_case_files(report, arguments.cases_dir, slugs[name]))
                except ReportError as error:
                    unwritten.append(error)
                    reports.append(report)
    header = Header(
        version=version("probate"),
        started=started.strftime("%Y-%m-%d %H:%M:%S UTC"),
        seconds=round(time.monotonic() - clock, 1),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=f"{platform.system()} {platform.machine()}{', model compiled' if is_compiled() else ''}",
    )
    by = signal.SIGTERM.name if interrupt.by is signal.SIGTERM else None
    return Run(header=header, reports=tuple(reports), end=end_of(tuple(reports), by)), unwritten


def _tour(name: str, profile: str, arguments: argparse.Namespace) -> Tour | None:
    """Plan the tour that a backend is to be taken on, if it is to be."""
    asked: str | None = arguments.exhaustive
    if asked is None and name in DEFAULTS and arguments.cases is None and arguments.time is None:
        asked = next(iter(TOURS))
    if asked in (None, "none") or profile != "core" or arguments.edition != TOURED:
        return None
    return _planned(asked)


@cache
def _planned(name: str) -> Tour:
    return tour(name)


def _by_profile(
    name: str,
    backend: _Made,
    plan: Plan,
    expectations: Expectations,
    interrupt: Interrupt,
    before: list[Report],
    arguments: argparse.Namespace,
) -> Iterator[Report]:
    """Check a backend by the profile that was asked for, or by each that it claims."""
    asked = arguments.profile
    profiles = profiles_of(EDITIONS[plan.edition]) if asked is None else [asked]
    waiting = list(profiles)
    manifest: Manifest | None = None
    while waiting:
        profile = waiting.pop(0)
        part = replace(
            plan,
            profile=profile,
            cases=_cases(profile, arguments),
            expected=expectations.of(name, profile),
            tour=_tour(name, profile, arguments),
        )
        jobs = jobs_for(name, part, arguments.jobs)
        spreading: Spread | None = partial(spread, jobs, deadline=arguments.deadline) if jobs > 1 else None
        progress = ProgressLine(name, sys.stderr, os.environ, profile=profile, profiles=profiles)
        report = _report(name, backend, part, interrupt, before, progress, spreading)
        stopped = report.totals.ended in (INTERRUPTED, AT_FIRST_FAILURE)
        manifest = report.setting.manifest or manifest or (_unasked(name, backend) if stopped else None)
        if manifest is not None:
            waiting = [other for other in waiting if other in manifest.profiles]
        elif not stopped:
            waiting = []
        if manifest is None or profile in manifest.profiles or not waiting:
            yield report
        if waiting and not interrupt.requested:
            backend = _made(name, arguments.deadline)  # what was left is not entered again


def _unasked(name: str, backend: _Made) -> Manifest | None:
    """Give what a backend says of itself that is not entered any more, if it says it without.

    A run that was stopped names each profile that it left out, and all of them where nobody knows what is claimed.
    """
    if isinstance(backend, BackendAbsent | BackendBroke):
        return None
    with contextlib.suppress(BackendBroke):
        return manifest_of(backend, name)
    return None


def _cases(profile: str, arguments: argparse.Namespace) -> int:
    if arguments.cases is not None:
        return int(arguments.cases)
    return CASES[profile] if arguments.time is None else UNLIMITED


def _report(
    name: str,
    backend: _Made,
    plan: Plan,
    interrupt: Interrupt,
    before: list[Report],
    progress: ProgressLine,
    spreading: Spread | None,
) -> Report:
    """Check one backend, unless what came before it ended the whole run."""
    if interrupt.requested:
        return not_run(name, plan, INTERRUPTED)
    if plan.stop_at_first and any(result.fails for report in before for result in report.clauses):
        return not_run(name, plan, AT_FIRST_FAILURE)
    if isinstance(backend, BackendAbsent):
        return not_run(name, plan, "; ".join(part for part in (backend.what, backend.mend) if part))
    try:
        return check_backend(name, backend, plan, interrupt, progress, spreading)
    finally:
        progress.clear()
