"""``probate check --exhaustive``: backends are taken through every transition within bounds larger than the default."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probate_conformance.cli import main
from probate_conformance.errors import Exit
from probate_conformance.exploring.touring import TOURS

DRIVEN = {"brief": 3_914, "pair": 9_963, "reactions": 12_793, "creation": 3_447, "children": 4_118}
"""How many transitions there are in each tour."""


def driven(tour: str, backend: str, schedules: int, folder: Path) -> None:
    """Take a backend on a tour, in two processes, and see that it was driven through all of it."""
    report = folder / "report"
    asked = ["--profile", "core", "--cases", "1", "--exhaustive", tour, "--schedules", str(schedules), "-j", "2"]
    where = ["--cases-dir", str(folder / "cases"), "--report", str(report), "--no-color"]
    # A tour comes to its own clauses only, so not all are shown to hold; none may fail.
    assert main(["check", backend, *asked, *where]) in (Exit.PASS, Exit.INCONCLUSIVE)
    parts = [json.loads(line) for line in report.read_text().splitlines()]
    (part,) = [part for part in parts if part.get("part") == "driven"]
    assert (part["driven"], part["transitions"]) == (DRIVEN[tour], DRIVEN[tour])


@pytest.mark.no_cover  # as the tour of the default check, only longer
def test_the_reference_is_driven_through_a_larger_bound(tmp_path: Path) -> None:
    driven("children", "reference", 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["reference", "reference-trio"])
@pytest.mark.parametrize("tour", TOURS)
def test_and_through_all_under_several_schedules(tour: str, backend: str, tmp_path: Path) -> None:
    driven(tour, backend, 2, tmp_path)


def test_every_tour_is_pinned() -> None:
    assert set(DRIVEN) == set(TOURS)
