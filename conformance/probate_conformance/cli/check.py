"""``probate check``: run generated traces on backends and report which clauses hold."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from probate_conformance.backends.base import Backend
from probate_conformance.backends.registry import DEFAULTS, make_backend
from probate_conformance.checking import Plan
from probate_conformance.cli.casefiles import slug, write_case
from probate_conformance.cli.options import (
    add_color,
    add_deadline,
    natural,
    positive,
    require_edition,
    require_profile,
)
from probate_conformance.cli.output import ReportFile, emit
from probate_conformance.errors import BackendBroke, Exit, ReportError
from probate_conformance.render import ndjson, text
from probate_conformance.render.progress import ProgressLine
from probate_conformance.render.style import style_for
from probate_conformance.report import INTERRUPTED, Header, Report, Run, end_of
from probate_conformance.running import Interrupt, check_backend, not_run

NAME: Final = "check"
SUMMARY: Final = "run generated traces on backends and report which clauses of the contract hold"
DESCRIPTION: Final = """\
Run generated traces on each backend and hold what is observed to the model. A failure is run
again to confirm it, shrunk, told as a story and written as a case that `probate replay` runs.
The same seed gives the same traces everywhere, and the same report but for its first line.
"""
CASES: Final = 2000
"""How many traces each backend runs by default: about 40 seconds for the two default backends on two slow cores."""


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
        "--cases", type=natural, default=CASES, metavar="N", help="traces for each backend (default: %(default)s)"
    )
    parser.add_argument(
        "--schedules",
        type=positive,
        default=1,
        metavar="N",
        help="schedules that each trace runs under: the backend's own, then seeded ones (default: %(default)s)",
    )
    parser.add_argument("--edition", default="2026-06", metavar="E", help="of the contract (default: %(default)s)")
    parser.add_argument("--profile", default="core", metavar="P", help="of the contract (default: %(default)s)")
    parser.add_argument("-x", dest="stop_at_first", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "--cases-dir",
        type=Path,
        default=Path("probate-cases"),
        metavar="DIR",
        help="where failing cases are written; made when there is one (default: ./%(default)s)",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report as lines of JSON to a file")
    parser.add_argument(
        "--format",
        choices=("text", "ndjson"),
        default="text",
        help="how the report is written to standard output (default: %(default)s)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="tell how often each clause was demanded")
    add_deadline(parser)
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Check the backends and report.

    :raises UsageError: if a name means nothing
    :raises BackendAbsent: if a backend is not installed
    :raises ReportError: if the report or a case can't be written
    """
    require_edition(arguments.edition)
    require_profile(arguments.profile)
    names = list(dict.fromkeys(arguments.backends or DEFAULTS))
    backends = {name: _made(name, arguments.deadline) for name in names}
    with ReportFile(arguments.report) as file:
        outcome, unwritten = _check(backends, arguments)
        emit(_rendered(outcome, arguments))
        file.write(ndjson.render(outcome))
    if unwritten is not None:
        raise unwritten
    return outcome.end.exit


def _made(name: str, deadline: float) -> Backend | BackendBroke:
    try:
        return make_backend(name, deadline=deadline)
    except BackendBroke as broke:
        return broke


def _rendered(outcome: Run, arguments: argparse.Namespace) -> str:
    if arguments.format == "ndjson":
        return ndjson.render(outcome)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    return text.render(outcome, style, verbose=arguments.verbose)


def _check(
    backends: dict[str, Backend | BackendBroke], arguments: argparse.Namespace
) -> tuple[Run, ReportError | None]:
    """Check all; gives the run, and the error of a case that could not be written."""
    plan = Plan(
        seed=arguments.seed,
        cases=arguments.cases,
        edition=arguments.edition,
        profile=arguments.profile,
        schedules=arguments.schedules,
        stop_at_first=arguments.stop_at_first,
    )
    started = datetime.now(UTC)
    clock = time.monotonic()
    reports: list[Report] = []
    unwritten: ReportError | None = None
    interrupt = Interrupt()
    with interrupt.taken():
        for name, backend in backends.items():
            if interrupt.requested:
                reports.append(not_run(name, plan, INTERRUPTED))
                continue
            if plan.stop_at_first and any(report.failures for report in reports):
                reports.append(not_run(name, plan, "stopped at the first failure"))
                continue
            progress = ProgressLine(name, sys.stderr, os.environ)
            try:
                report = check_backend(name, backend, plan, interrupt, progress)
            finally:
                progress.clear()
            try:
                report = _written(report, plan, arguments.cases_dir)
            except ReportError as error:
                unwritten = unwritten or error
            reports.append(report)
    header = Header(
        version=version("probate"),
        started=started.strftime("%Y-%m-%d %H:%M:%S UTC"),
        seconds=round(time.monotonic() - clock, 1),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=f"{platform.system()} {platform.machine()}",
    )
    return Run(header=header, reports=tuple(reports), end=end_of(tuple(reports))), unwritten


def _written(report: Report, plan: Plan, folder: Path) -> Report:
    """Write the cases of a report; gives the report with the names of their files."""
    name = slug(report.setting.backend)
    end = f"seed{plan.seed}"
    failures = tuple(
        failure.model_copy(update={"file": str(write_case(folder, f"{name}-{failure.clause}-{end}", failure.case))})
        for failure in report.failures
    )
    troubles = [
        trouble.model_copy(
            update={"file": str(write_case(folder, f"{name}-trace{trouble.number}-{end}", trouble.case))}
        )
        if trouble.case
        else trouble
        for trouble in report.troubles
    ]
    return report.model_copy(update={"failures": failures, "troubles": tuple(troubles)})
