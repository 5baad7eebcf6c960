"""Case files: a failing trace as a file that ``probate replay`` runs again."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path
from typing import Final

from probate_conformance.errors import ReportError, UsageError
from probate_conformance.report import Report
from probate_conformance.shrinking import without_dangling
from probate_conformance.trace import Trace, dump

CASES_DIR: Final = Path("probate-cases")
"""Where cases are written if no other folder is named."""
_LONGEST: Final = 60


def cases_dir(named: Path | None) -> Path:
    """Give the folder that cases are to be written to; it is made when there is one.

    One that was named is looked at, so that a wrong name is known before anything is run. The other may well be where
    nothing can be written, as long as there is nothing to write.

    :raises UsageError: if nothing could be written to the one that was named
    """
    if named is None:
        return CASES_DIR
    place = named
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not os.path.isdir(place):
        fault = errno.ENOTDIR
    elif not os.access(place, os.W_OK | os.X_OK):
        fault = errno.EACCES
    else:
        return named
    raise UsageError(
        f"cases can't be written there: {os.strerror(fault)}",
        where=str(named),
        mend="name a folder that can be written to, or made: --cases-dir",
    )


def slug(name: str) -> str:
    """Give the name of a backend as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:_LONGEST].strip("-") or "backend"


def slugs_of(names: Iterable[str]) -> dict[str, str]:
    """Give the slug of each name, no two the same."""
    slugs: dict[str, str] = {}
    for name in names:
        plain = slug(name)
        others = (f"{plain}-{number}" for number in count(2))
        slugs[name] = next(one for one in chain([plain], others) if one not in slugs.values())
    return slugs


def with_case_files(report: Report, folder: Path, name: str) -> Report:
    """Write the cases of a report; gives the report with their paths in it.

    :param name: of the backend, as a part of the files' names
    :raises ReportError: if one can't be written
    """
    end = f"seed{report.setting.seed}"

    def path_of(what: str, trace: Trace) -> str:
        return str(write_case(folder, f"{name}-{what}-{end}", trace))

    failures = [one.model_copy(update={"file": path_of(one.clause, one.case)}) for one in report.failures]
    troubles = [
        one.model_copy(update={"file": path_of(f"trace{one.number}", one.case)}) if one.case else one
        for one in report.troubles
    ]
    return report.model_copy(update={"failures": tuple(failures), "troubles": tuple(troubles)})


def write_case(folder: Path, name: str, trace: Trace) -> Path:
    """Write a case, replacing one of the same name; without what refers to nothing, so that it can be read again.

    :raises ReportError: if it can't be written
    """
    path = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(dump(without_dangling(trace)), encoding="utf-8")
    except OSError as error:
        raise ReportError(
            f"the case can't be written: {error.strerror}", where=str(path), mend="name another folder: --cases-dir"
        ) from error
    return path
