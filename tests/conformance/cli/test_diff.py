"""Two reports compared, through the command line, and the comparison itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probate_conformance.comparing import Kind, Read, compare
from probate_conformance.errors import Exit
from probate_conformance.lockstep import Verdict
from probate_conformance.manifest import Manifest
from probate_conformance.report import Setting

from .conftest import ODD, Probate

VERDICTS = (Verdict.PASS, Verdict.FAIL, Verdict.NOT_CLAIMED, Verdict.BLOCKED, Verdict.NOT_REACHED, None)


def judged(backend: str = "it", version: str = "1", seed: int = 0, **clauses: Verdict | None) -> Read:
    manifest = Manifest(name="it", version=version, language="any")
    setting = Setting(backend=backend, manifest=manifest, edition="2026-06", profile="core", seed=seed, cases=3)
    return Read(setting, {name.replace("_", "-"): verdict for name, verdict in clauses.items() if verdict})


@pytest.mark.parametrize("was", VERDICTS)
@pytest.mark.parametrize("now", VERDICTS)
def test_each_pair_of_verdicts(was: Verdict | None, now: Verdict | None) -> None:
    compared = compare([judged(CALL_01=was)], [judged(CALL_01=now)])
    (pair,) = compared.pairs
    if was is now:
        assert (pair.changes, pair.unchanged, compared.exit) == ((), 0 if was is None else 1, Exit.PASS)
        return
    (change,) = pair.changes
    kinds = (Kind.PASSING, Kind.FAILING, Kind.NOT_CLAIMED, Kind.BLOCKED, Kind.UNDEMANDED, Kind.GONE)
    assert (change.was, change.now, change.kind) == (was, now, kinds[VERDICTS.index(now)])
    if now is Verdict.FAIL:
        assert compared.exit is Exit.FAIL
    else:
        assert compared.exit is (Exit.INCONCLUSIVE if was is Verdict.PASS else Exit.PASS)


def test_one_backend_each_is_compared_whatever_its_name() -> None:
    compared = compare([judged("old", "1", seed=1)], [judged("new", "2")])
    assert [(pair.backend, pair.first[:4], pair.second[:4]) for pair in compared.pairs] == [("new", "it 1", "it 2")]
    assert not compared.pairs[0].same_traces


def test_several_backends_are_compared_by_name() -> None:
    compared = compare([judged("a"), judged("b")], [judged("b"), judged("c"), judged("d")])
    assert [pair.backend for pair in compared.pairs] == ["b"]
    assert (len(compared.only_first), len(compared.only_second), compared.exit) == (1, 2, Exit.INCONCLUSIVE)
    assert compare([judged("a"), judged("b")], [judged("c")]).exit is Exit.NOT_RUN


@pytest.fixture
def reports(here: Probate) -> None:
    """A report of the model, and one of a backend that never answers a cancel."""
    here("check", "model", "--cases", 5, "--report", "well.ndjson")
    assert here("check", f"{ODD}:Forgetful", "--cases", 5, "--report", "ill.ndjson").code == 1


def failed() -> list[str]:
    """Give the clauses that fail in the report of the one that is ill."""
    parts = map(json.loads, Path("ill.ndjson").read_text().splitlines())
    return [part["id"] for part in parts if part["part"] == "clause" and part["verdict"] == "fail"]


@pytest.mark.usefixtures("reports")
def test_what_newly_fails_and_what_passes_again(here: Probate) -> None:
    ill = Path("ill.ndjson")
    ill.write_text(ill.read_text().replace(f'"backend":"{ODD}:Forgetful"', '"backend":"model"'))
    worse = here("diff", "well.ndjson", "ill.ndjson")
    assert worse.code == 1
    failing = failed()
    assert f"✗ newly failing ({len(failing)})\n  {', '.join(failing)} (before: pass)\n" in worse.out
    assert " unchanged, of 85 clauses that are in both\n" in worse.out
    better = here("diff", "ill.ndjson", "well.ndjson")
    assert better.code == 0
    assert "✓ newly passing" in better.out
    assert f"  {', '.join(failing)} (before: fail)\n" in better.out
    same = here("diff", "well.ndjson", "well.ndjson")
    assert same.code == 0
    assert "newly" not in same.out


@pytest.mark.usefixtures("reports")
def test_two_backends_are_told_beside_each_other_and_not_as_before_and_after(here: Probate) -> None:
    ran = here("diff", "well.ndjson", "ill.ndjson")
    assert ran.code == 1
    assert ran.out.startswith(
        f"model and {ODD}:Forgetful\n  first   model 1, edition 2026-06, profile core\n  second  "
    )
    assert "  two backends: a clause that one of them does not claim can't be compared\n" in ran.out
    failing = failed()
    told = f"✗ fail in the second and not in the first ({len(failing)})\n  {', '.join(failing)} (in the first: pass)\n"
    assert told in ran.out
    assert " alike, of 85 clauses that are in both\n" in ran.out
    assert "newly" not in ran.out
    assert "before" not in ran.out


def test_two_profiles_have_nothing_in_common(here: Probate) -> None:
    for profile in ("core", "fibers"):
        here("check", "reference", "--cases", 2, "--profile", profile, "--exhaustive", "none", "--report", profile)
    ran = here("diff", "core", "fibers")
    assert (ran.code, ran.out.splitlines()[-1]) == (5, "  nothing to compare: each profile has clauses of its own")


@pytest.mark.usefixtures("reports")
def test_lines_of_json(here: Probate) -> None:
    ran = here("diff", "well.ndjson", "ill.ndjson", "--format", "ndjson")
    parts: list[dict[str, Any]] = [json.loads(line) for line in ran.out.splitlines()]
    assert [parts[0]["part"], parts[-1]["part"]] == ["pair", "comparison"]
    failing = [part for part in parts if part.get("kind") == "newly failing"]
    assert [(part["clause"], part["was"], part["now"]) for part in failing] == [
        (clause, "pass", "fail") for clause in failed()
    ]


def test_reports_of_two_versions_are_told_as_such(here: Probate, tmp_path: Path) -> None:
    now = here("check", "model", "--cases", 5, "--format", "ndjson").out
    kit = json.loads(now.splitlines()[0])["version"]
    (tmp_path / "now").write_text(now)
    (tmp_path / "then").write_text(now.replace(f'"version":"{kit}"', '"version":"0.0.1"', 1))
    told = f"  judged by probate 0.0.1 and by probate {kit}: what changed may be due to that\n"
    assert told in here("diff", "then", "now").out
    assert "judged by" not in here("diff", "now", "now").out
    pair = json.loads(here("diff", "then", "now", "--format", "ndjson").out.splitlines()[0])
    assert pair["kits"] == ["0.0.1", kit]


def test_what_check_writes_to_standard_output_is_a_report_too(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "one.ndjson").write_text(here("check", "model", "--cases", 5, "--format", "ndjson").out)
    assert here("diff", "one.ndjson", "one.ndjson").code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "can't read the report: No such file or directory"),
        ("", "is not a whole report"),
        ("lorem\n", "line 1: is no JSON"),
        ('{"part": "sermon"}\n', "line 1: "),
        ('{"part": "end", "verdict": "pass", "exit": 0}\n', "is not a whole report"),
        ("CUT", "is not a whole report"),
        ("\ud800", "can't read the report: it is not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_report(here: Probate, tmp_path: Path, text: str | None, says: str) -> None:
    if text == "CUT":
        text = "".join(here("check", "model", "--cases", 2, "--format", "ndjson").out.splitlines(keepends=True)[:-1])
    if text is not None:
        (tmp_path / "bad").write_bytes(text.encode("utf-8", "surrogatepass"))
    ran = here("diff", "bad", "bad")
    assert ran.code == 2
    assert f"bad: {says}" in ran.err
