"""Case files: a failing trace as a file that ``probate replay`` runs again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from probate_conformance.errors import ReportError
from probate_conformance.trace import Trace, dump

_LONGEST: Final = 60


def slug(name: str) -> str:
    """Give the name of a backend as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:_LONGEST].strip("-") or "backend"


def write_case(folder: Path, name: str, trace: Trace) -> Path:
    """Write a case, replacing one of the same name.

    :raises ReportError: if it can't be written
    """
    path = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(dump(trace), encoding="utf-8")
    except OSError as error:
        raise ReportError(
            f"the case can't be written: {error.strerror}", where=str(path), mend="name another folder: --cases-dir"
        ) from error
    return path
