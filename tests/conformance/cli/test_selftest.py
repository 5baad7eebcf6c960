"""``probate selftest``: what it tells of the known-bad backends, and when it fails."""

from __future__ import annotations

import pytest

from probate_conformance.backends.reference.known_bad import VARIANTS
from probate_conformance.selftest import Tried

from .conftest import Probate

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

EARLY = ("marker-swallows-later-prompts", "children-are-roots")


def test_each_is_found_by_its_clause_whatever_the_number_of_processes(here: Probate) -> None:
    ran = here("selftest", *EARLY, f"bad:{EARLY[0]}", "--thorough", "-j", "2")
    assert ran.code == 0
    assert [line.split()[-1] for line in ran.out.splitlines()[1:3]] == list(EARLY)
    for name, line in zip(EARLY, ran.out.splitlines()[1:], strict=False):
        mark, mutant, due, reported, *_ = line.split()
        assert (mark, mutant, due, reported) == ("✓", VARIANTS[name].mutant, VARIANTS[name].clause, due)
        assert " % " in line
    assert ran.out.endswith("\nall 2 known-bad backends were found, each by its clause\n")
    assert here("selftest", *EARLY, "--thorough", "-j", "1").out == ran.out


def test_one_that_survives_fails(here: Probate) -> None:
    ran = here("selftest", "throwing-observer-starves-waiters", "--cases", "1")
    assert ran.code == 1
    assert ran.out.endswith("\n1 of 1 known-bad backend was not found as due\n")
    assert "throwing-observer-starves-waiters: survived" in ran.out


def test_what_another_clause_reports_first_is_reported_by_its_own_too(here: Probate) -> None:
    ran = here("selftest", "session-without-records-has-a-log")
    assert ran.code == 0
    assert " session-without-records-has-a-log (before it: " in ran.out


def test_how_one_was_found_can_be_told(here: Probate) -> None:
    ran = here("selftest", EARLY[1], "--stories")
    assert f"  {VARIANTS[EARLY[1]].says}\n" in ran.out
    assert "seen " in ran.out


def test_a_name_that_means_nothing(here: Probate) -> None:
    ran = here("selftest", "children-are-root")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("probate: unknown known-bad backend 'children-are-root'\n  did you mean 'children-are-")


def test_in_the_other_edition_lies_are_told_of_its_clauses(here: Probate) -> None:
    ran = here("selftest", "--edition", "2026-08", "inbox-10", "CANCEL-14", "-j", "1", "--stories")
    assert ran.code == 0
    assert [line.split()[:4] for line in ran.out.splitlines() if line.startswith("✓ -")] == [
        ["✓", "-", "INBOX-10", "INBOX-10"],
        ["✓", "-", "CANCEL-14", "CANCEL-14"],
    ]
    assert "seen " in ran.out
    assert ran.out.endswith("\nall 2 lies were found, each by its clause\n")
    ran = here("selftest", "--edition", "2026-08", "INBOX-01")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("probate: unknown clause with a lie 'INBOX-01'\n")


@pytest.mark.parametrize(
    ("clause", "passed", "fault"),
    [
        (None, None, "survived"),
        ("CALL-01", None, "reported by another clause"),
        ("REGISTRY-02", 0.4, "passes less than half of all traces"),
        ("REGISTRY-02", 0.5, None),
        ("REGISTRY-02", None, None),
    ],
)
def test_what_is_wrong(clause: str | None, passed: float | None, fault: str | None) -> None:
    assert Tried("children-are-roots", clause, 3, 2, "", passed).fault == fault
