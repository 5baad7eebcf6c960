"""``python -m probate_conformance.docs.backends REPORTS FOLDER [CASES]`` writes the pages there, out of the reports.

``CASES`` is how many traces are run where there is no report yet; the default suite if it is not given.
"""

from __future__ import annotations

import sys
from pathlib import Path

from probate_conformance.docs.backends.families import FAMILIES, Family
from probate_conformance.docs.backends.page import CASES, Runs, files
from probate_conformance.docs.backends.runs import runs_of
from probate_conformance.errors import ProbateError


def write(family: Family, runs: Runs, folder: Path) -> None:
    """Write the page of a family and its cases, and remove cases that an earlier run wrote and this one does not."""
    made = {folder / name: text for name, text in files(family, runs).items()}
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (folder / CASES).glob(f"{family.name}-*.json"):
        if path not in made:
            path.unlink()


def main(arguments: list[str]) -> int:
    """Check what has no report, and write the pages; gives the exit code."""
    if len(arguments) not in (2, 3):
        sys.stderr.write("usage: python -m probate_conformance.docs.backends REPORTS FOLDER [CASES]\n")
        return 2
    reports, folder = map(Path, arguments[:2])
    cases = arguments[2] if len(arguments) > 2 else None
    try:
        for family in FAMILIES:
            runs = runs_of(family, reports / family.name, cases)
            if runs:
                write(family, runs, folder)
    except ProbateError as error:
        sys.stderr.write(f"error: {error}\n")
        return int(error.exit)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
