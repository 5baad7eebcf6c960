"""What can be asked of ``probate check``: some clauses only, a time, expected failures, JUnit."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest

from probate_conformance import running

from .conftest import ODD, Probate

FORGETFUL = f"{ODD}:Forgetful"


def parts(out: str, kind: str) -> list[dict[str, Any]]:
    return [part for part in map(json.loads, out.splitlines()) if part["part"] == kind]


def test_only_some_clauses(here: Probate) -> None:
    """Verdict, table and exit code are about those only; what ends at others is told, and is no failure."""
    ran = here("check", FORGETFUL, "--cases", "3", "-k", "call-*, DISPOSE-01", "--format", "ndjson")
    assert {part["id"] for part in parts(ran.out, "clause")} == {"CALL-01", "CALL-02", "DISPOSE-01"}
    assert parts(ran.out, "failure") == []
    (totals,) = parts(ran.out, "totals")
    assert totals["failed"] == 0
    assert totals["aside"]["DISPOSE-07"] > 0
    told = here("check", FORGETFUL, "--cases", "3", "-k", "CALL-*")
    assert told.code == 0
    assert "· only CALL-*" in told.out
    assert "ended at clauses that are not judged here" in told.out
    assert "✓ all 2 clauses held" in told.out


def test_only_the_clause_that_fails(here: Probate) -> None:
    ran = here("check", FORGETFUL, "--cases", "3", "-k", "DISPOSE-07", "-x")
    assert ran.code == 1
    assert "✗ DISPOSE-07 MUST" in ran.out
    assert "0 of 1 clauses held, 1 failed" in ran.out


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("FOO-*", "argument -k: 'FOO-*' matches no clause"),
        ("CALL-01,DISPOSE-8", "argument -k: 'DISPOSE-8' matches no clause; did you mean DISPOSE-08?"),
        ("", "argument -k: '' matches no clause"),
    ],
)
def test_a_pattern_that_matches_nothing(here: Probate, pattern: str, says: str) -> None:
    ran = here("check", "model", "-k", pattern)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"probate: {says}\n")


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look of a run at the clock come a tenth of a second after the one before it."""
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=count(0, 0.1).__next__))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_time_is_a_budget_and_no_verdict(here: Probate, ticking: None, jobs: str) -> None:
    ran = here("check", "model", "--time", "1.5", "-k", "CALL-*", "-j", jobs, "--format", "ndjson")
    assert ran.code == 0
    (totals,) = parts(ran.out, "totals")
    assert totals["traces"] >= 1
    assert totals["ended"] == "the time was up"
    told = here("check", "model", "--time", "0.5", "--cases", "100000", "-k", "CALL-*", "-j", jobs)
    assert told.code == 0
    assert re.search(r" traces? in 0\.5 s · only CALL-\*", told.out)
    assert "not all was run" not in told.out


def test_what_was_not_reached_in_time_is_not_green(here: Probate) -> None:
    ran = here("check", "model", "--time", "0.001", "-j", "1")
    assert ran.code == 3
    assert "not reached (" in ran.out


def expected(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "expected.toml"
    file.write_text(text)
    return file


def entry(clause: str, reason: str = "they know", backend: str | None = None) -> str:
    named = f"backend = {backend!r}\n" if backend else ""
    return f"[[expected]]\nclause = {clause!r}\nreason = {reason!r}\n{named}\n"


def known(here: Probate) -> list[str]:
    """Give the clauses that the forgetful backend fails by."""
    ran = here("check", FORGETFUL, "--cases", "3", "--format", "ndjson")
    return [part["id"] for part in parts(ran.out, "clause") if part["verdict"] == "fail"]


def test_an_expected_failure_fails_nothing_and_is_no_success(here: Probate, tmp_path: Path) -> None:
    file = expected(tmp_path, "".join(entry(clause) for clause in known(here)))
    ran = here("check", FORGETFUL, "--cases", "3", "--expected-failures", file, "-k", "DISPOSE-07,CALL-*")
    assert ran.code == 0
    assert "- DISPOSE-07 · failed in " in ran.out
    assert ", as expected\n  they know\n  again: probate replay " in ran.out
    assert "2 of 3 clauses held, 1 failed as expected" in ran.out
    assert "held, but for what is expected to fail (exit code 0)" in ran.out


def test_another_failure_fails_all_the_same(here: Probate, tmp_path: Path) -> None:
    file = expected(tmp_path, entry("DISPOSE-07"))
    ran = here("check", FORGETFUL, "--cases", "10", "-x", "--expected-failures", file)
    assert ran.code == 1
    assert "✗ " in ran.out


def test_an_entry_that_does_not_fail_fails_the_run(here: Probate, tmp_path: Path) -> None:
    file = expected(tmp_path, entry("CALL-01"))
    ran = here("check", "model", "--cases", "3", "-k", "CALL-*", "--expected-failures", file)
    assert ran.code == 1
    assert "✗ CALL-01 · expected to fail, but held: take it off the list of expected failures\n  they know" in ran.out


def test_an_entry_is_for_its_backend(here: Probate, tmp_path: Path) -> None:
    file = expected(tmp_path, entry("CALL-01", backend="reference") + entry("CALL-02", backend=FORGETFUL))
    assert here("check", "model", "--cases", "3", "-k", "CALL-*", "--expected-failures", file).code == 0
    assert here("check", FORGETFUL, "--cases", "3", "-k", "CALL-*", "--expected-failures", file).code == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[expected", "not TOML: "),
        ("known = 1", "has 'known' beside 'expected'"),
        ("expected = 1", "has an 'expected' that is no list of entries\n  an entry is [[expected]] with clause"),
        (entry("CALL-01").replace("[[expected]]", "[expected]"), "has an 'expected' that is no list of entries\n"),
        ("expected = [1]", "entry 1: is no table"),
        (entry("CALL-01") + "[[expected]]\nreason = 'x'", "entry 2: names no clause"),
        (entry("CALL-77"), "entry 1: unknown clause 'CALL-77'"),
        (entry("CALL-01", reason=" "), "entry 1: gives no reason for CALL-01"),
        ("[[expected]]\nclause = 'CALL-01'", "entry 1: gives no reason for CALL-01"),
        (entry("CALL-01") + "why = 'x'", "entry 1: has 'why'"),
        (entry("CALL-01", backend="dhs"), "entry 1: unknown backend 'dhs'\n  did you mean 'dsh'?"),
        (entry("CALL-01") + entry("CALL-01"), "entry 2: CALL-01 is there twice"),
    ],
)
def test_a_malformed_list_of_expected_failures(here: Probate, tmp_path: Path, text: str, says: str) -> None:
    file = expected(tmp_path, text)
    ran = here("check", "model", "--expected-failures", file)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"probate: {file}: {says}")
    assert len(ran.err.splitlines()) <= 2


def test_a_list_of_expected_failures_that_cannot_be_read(here: Probate) -> None:
    ran = here("check", "model", "--expected-failures", "none.toml")
    assert ran.code == 2
    assert ran.err == "probate: none.toml: can't read the expected failures: No such file or directory\n"


def cases(suite: Element) -> dict[str, tuple[str, str, str]]:
    """Give what became of each test case: the kind, the message and the text."""
    found = {}
    for case in suite.iter("testcase"):
        below = next(iter(case), None)
        name = case.attrib["name"]
        found[name] = ("", "", "") if below is None else (below.tag, below.attrib["message"], below.text or "")
    return found


def test_junit(here: Probate, tmp_path: Path) -> None:
    """Only what held is a success."""
    file = expected(tmp_path, entry("PUBLISH-04", backend=FORGETFUL))
    here(
        *("check", FORGETFUL, f"{ODD}:no_tools", f"{ODD}:Chatty", "--cases", "3"),
        *("--junit", "j.xml", "--expected-failures", file),
    )
    root = fromstring((tmp_path / "j.xml").read_text(encoding="utf-8"))
    forgetful, no_tools, _ = (cases(suite) for suite in root)
    kind, message, text = forgetful["DISPOSE-07"]
    assert (kind, message[:10]) == ("failure", "failed in ")
    assert "allowed  agent/disposed" in text
    assert forgetful["CALL-01"] == ("", "", "")
    assert no_tools["TOOL-01"][:2] == ("skipped", "not claimed: the backend does not show what it is seen by")
    assert {kind for kind, message, _ in no_tools.values() if message.startswith("not reached")} == {"error"}
    assert {kind for kind, message, _ in forgetful.values() if message.startswith("blocked")} == {"error"}
    for suite in root:
        counted = [kind for kind, _, _ in cases(suite).values()]
        assert [int(suite.attrib[total]) for total in ("tests", "failures", "errors", "skipped")] == [
            len(counted),
            *(counted.count(kind) for kind in ("failure", "error", "skipped")),
        ]
    assert int(root.attrib["tests"]) == sum(int(suite.attrib["tests"]) for suite in root)


def test_junit_of_what_broke(here: Probate, tmp_path: Path) -> None:
    ran = here("check", f"{ODD}:Raising", f"{ODD}:other_profile", "--cases", "3", "--junit", "j.xml")
    assert ran.code == 4
    raising, other = (cases(suite) for suite in fromstring((tmp_path / "j.xml").read_text(encoding="utf-8")))
    assert raising["run"][:2] == ("error", "harness error")
    assert "ZeroDivisionError: nobody expects this" in raising["run"][2]
    assert other["run"][0] == "error"
    assert {kind for name, (kind, _, _) in other.items() if name != "run"} == {"skipped"}


def test_junit_that_cannot_be_written(here: Probate) -> None:
    ran = here("check", "model", "--junit", "nowhere/j.xml")
    assert (ran.code, ran.out) == (2, "")
    assert "nowhere/j.xml: the report can't be written there" in ran.err


def test_windows_that_were_missed_are_told_loudly(here: Probate) -> None:
    ran = here("check", "model", "--cases", "2")
    assert "· windows that no trace fell into (" in ran.out
    assert "\n  reuse of an id between the two detaches\n" in ran.out


def test_a_window_that_is_not_claimed_is_not_missed(here: Probate) -> None:
    ran = here("check", f"{ODD}:no_tools", "--cases", "2", "--format", "ndjson")
    (reached,) = parts(ran.out, "reached")
    assert "steer into a failing step" not in reached["windows"]
    assert "cancel before the claim" in reached["windows"]


def test_all_that_was_reached_can_be_told(here: Probate) -> None:
    ran = here("check", "model", "--cases", "20", "-v")
    for title in ("windows", "held gates", "reactions", "items carried out", "refusals"):
        assert f"\n  {title}\n" in ran.out
