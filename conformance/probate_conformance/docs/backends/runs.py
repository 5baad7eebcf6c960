"""Checking the backends of a family, each in a process of its own, and keeping the reports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from probate_conformance.docs.backends.families import Family
from probate_conformance.errors import Exit, ReportError
from probate_conformance.render.ndjson import read
from probate_conformance.report import Run

_JUDGED: Final = (Exit.PASS, Exit.FAIL, Exit.INCONCLUSIVE, Exit.DEFECT)
"""How a run ends that has a report worth telling of."""


def runs_of(family: Family, reports: Path, cases: str | None = None) -> dict[tuple[str, str], Run]:
    """Give the run of each backend under each edition.

    One is made only if its report is not there; to have it made anew, remove that. What can't be run here is left out.

    :param reports: the folder of the reports
    :param cases: how many traces are run; the default suite if it is none
    :raises ReportError: if a backend broke, so that there is nothing to tell of it
    :raises UsageError: if a report that is there is none
    """
    found = {}
    for backend in family.backends:
        for edition in family.editions:
            file = reports / f"{backend}-{edition}.ndjson"
            if not file.exists() and not _check(backend, edition, family.profile, file, cases):
                continue
            found[backend, edition] = read(file.read_text(encoding="utf-8"), where=str(file))
    return found


def _check(backend: str, edition: str, profile: str, file: Path, cases: str | None) -> bool:
    """Check a backend, with the default suite and to its end; tells whether it could be run here at all."""
    sys.stderr.write(f"checking {backend} under {edition}\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_suffix(".unfinished")
    with tempfile.TemporaryDirectory(prefix="probate-cases-") as folder:
        command = ["check", backend, "--edition", edition, "--profile", profile, "--report", str(made)]
        command += [] if cases is None else ["--cases", cases]
        done = subprocess.run(
            [sys.executable, "-m", "probate_conformance", *command, "--cases-dir", folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    if done.returncode == Exit.NOT_RUN:
        made.unlink(missing_ok=True)
        return False
    if done.returncode not in _JUDGED:
        raise ReportError(f"ended with exit code {done.returncode}: {done.stderr.strip()}", where=backend)
    made.rename(file)
    return True
