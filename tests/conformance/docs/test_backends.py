"""The pages about foreign backends: made of reports, and of reports only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from probate_conformance.backends.base import Backend
from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.reference import known_bad
from probate_conformance.docs.backends import __main__ as command
from probate_conformance.docs.backends import page
from probate_conformance.docs.backends.causes import Cause, Causes, causes_of
from probate_conformance.docs.backends.families import FAMILIES, Family
from probate_conformance.docs.backends.page import files
from probate_conformance.docs.backends.runs import runs_of
from probate_conformance.errors import ReportError, UsageError
from probate_conformance.interrupts import Interrupt
from probate_conformance.plan import Plan
from probate_conformance.render.ndjson import render
from probate_conformance.report import Drift, Header, Run, end_of
from probate_conformance.running import check_backend
from probate_conformance.trace import load
from probate_model.clauses import CLAUSES

EDITION = "2026-06"
BAD = "bad:cancel-forgets-queue"
TOY = Family("toy", "Toys", "What they are.\n", ("model", BAD), (EDITION,))


def run(name: str, backend: Backend) -> Run:
    report = check_backend(name, backend, Plan(seed=0, cases=50, edition=EDITION), Interrupt(), lambda _: None)
    header = Header(version="1", started="now", seconds=1234.4, python="CPython", platform="Linux")
    return Run(header=header, reports=(report,), end=end_of((report,)))


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, str], Run]:
    return {
        ("model", EDITION): run("model", ModelBackend()),
        (BAD, EDITION): run(BAD, known_bad.backend("cancel-forgets-queue", "asyncio")),
    }


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_causes_speak_of_clauses_and_backends_that_there_are(family: Family) -> None:
    known = causes_of(family.name)
    for cause in known.causes if known else ():
        assert set(cause.clauses) <= CLAUSES.keys(), cause.title
        assert set(cause.only) <= set(family.backends), cause.title


class TestPage:
    def test_tells_what_was_run(self, runs: dict[tuple[str, str], Run]) -> None:
        page = files(TOY, runs)["toy.md"]
        report = runs["model", EDITION].reports[0]
        row = next(line for line in page.splitlines() if line.startswith("| `model` "))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[2:5] == [f"`{EDITION}`", "50", f"{report.totals.steps:,}"]
        assert cells[-2:] == ["0", "1,234 s"]
        assert cells[5].split(" of ")[1] == str(len(report.clauses))

    def test_tells_of_each_clause_what_became_of_it(self, runs: dict[tuple[str, str], Run]) -> None:
        lines = files(TOY, runs)["toy.md"].splitlines()
        for name in (result.id for result in runs["model", EDITION].reports[0].clauses):
            (row,) = (line for line in lines if line.startswith(f"| {name} |"))
            assert row.startswith((f"| {name} | ✓ ", f"| {name} | ○ |"))
        row = next(line for line in lines if line.startswith("| CANCEL-03 |"))
        assert row.split("|")[3].strip().startswith("✗ ")

    def test_tells_of_each_fault_once_with_its_smallest_trace(
        self, runs: dict[tuple[str, str], Run], tmp_path: Path
    ) -> None:
        made = files(TOY, {**runs, ("model", EDITION): runs[BAD, EDITION]})
        (failure,) = (one for one in runs[BAD, EDITION].reports[0].failures if one.clause == "CANCEL-03")
        page = made["toy.md"]
        assert page.count("### CANCEL-03\n") == 1
        assert failure.story.rstrip() in page
        case = f"cases/toy-{EDITION}-CANCEL-03.json"
        assert f"]({case})" in page
        (tmp_path / "case.json").write_text(made[case])
        assert load(tmp_path / "case.json") == failure.case

    def test_tells_what_is_behind_the_faults_and_what_nobody_has_explained(
        self, runs: dict[tuple[str, str], Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        known = Cause(title="It forgets", clauses=("CANCEL-03", "CANCEL-02"), why="Because.", only=(BAD,))
        monkeypatch.setattr(page, "causes_of", lambda _: Causes(words="Found out.", cause=(known,)))
        told = files(TOY, runs)["toy.md"]
        assert f"- **It forgets.** Because. *CANCEL-03: {BAD}.*\n" in told
        assert "Not traced" not in told
        elsewhere = known.model_copy(update={"only": ("model",)})
        monkeypatch.setattr(page, "causes_of", lambda _: Causes(words="Found out.", cause=(elsewhere,)))
        told = files(TOY, runs)["toy.md"]
        assert "It forgets" not in told
        assert "\nNot traced to a cause yet: CANCEL-03.\n" in told

    def test_tells_which_choices_are_made_otherwise(self, runs: dict[tuple[str, str], Run]) -> None:
        drift = Drift(choices={"wake": "within-send", "teardown": "scope-first"}, clause="TURN-16", number=3, seen="it")
        report = runs["model", EDITION].reports[0].model_copy(update={"drifts": (drift,)})
        drifted = runs["model", EDITION].model_copy(update={"reports": (report,)})
        page = files(TOY, {**runs, ("model", EDITION): drifted})["toy.md"]
        assert "| `wake` | deferred | within-send | TURN-16 |  |\n" in page
        assert "| `teardown` | scope-last | scope-first | TURN-16 |  |\n" in page
        assert "Choices made otherwise" not in files(TOY, runs)["toy.md"]

    def test_tells_of_what_fails_under_both_editions_under_the_newer_one(
        self, runs: dict[tuple[str, str], Run]
    ) -> None:
        both = Family("toy", "Toys", "", ("toy",), ("2026-06", "2026-08"))
        failed = runs[BAD, EDITION]
        names = {failure.clause for failure in failed.reports[0].failures}
        made = files(both, {("toy", "2026-06"): failed, ("toy", "2026-08"): failed})
        assert {name for name in made if name != "toy.md"} == {f"cases/toy-2026-08-{name}.json" for name in names}
        made = files(both, {("toy", "2026-06"): failed, ("toy", "2026-08"): runs["model", EDITION]})
        assert {name for name in made if name != "toy.md"} == {f"cases/toy-2026-06-{name}.json" for name in names}

    def test_leaves_out_what_was_not_run(self, runs: dict[tuple[str, str], Run]) -> None:
        page = files(TOY, {("model", EDITION): runs["model", EDITION]})["toy.md"]
        assert BAD not in page
        assert "## Faults" not in page


class TestCommand:
    @pytest.fixture(autouse=True)
    def _toys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(command, "FAMILIES", (TOY,))

    def test_reports_that_are_there_are_not_made_again(
        self, runs: dict[tuple[str, str], Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        reports, folder = tmp_path / "reports", tmp_path / "pages"
        (reports / "toy").mkdir(parents=True)
        for (backend, edition), one in runs.items():
            (reports / "toy" / f"{backend}-{edition}.ndjson").write_text(render(one))
        stale = folder / "cases" / "toy-2026-06-CALL-01.json"
        stale.parent.mkdir(parents=True)
        stale.write_text("")
        assert command.main([str(reports), str(folder)]) == 0
        assert (folder / "toy.md").read_text() == files(TOY, runs)["toy.md"]
        assert not stale.exists()
        assert (folder / "cases" / "toy-2026-06-CANCEL-03.json").exists()

    def test_torn_report_is_an_error(
        self, tmp_path: Path, runs: dict[tuple[str, str], Run], capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "toy").mkdir()
        (tmp_path / "toy" / f"model-{EDITION}.ndjson").write_text(render(runs["model", EDITION])[:-20])
        assert command.main([str(tmp_path), str(tmp_path / "pages")]) == UsageError.exit
        assert capsys.readouterr().err.startswith(f"error: {tmp_path}/toy/model-{EDITION}.ndjson: line ")

    def test_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main([]) == 2
        assert capsys.readouterr().err.startswith("usage: ")


class TestRuns:
    def test_what_can_not_be_run_here_is_left_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        absent = Family("toy", "Toys", "", ("dsh@0.2.1rc2",), (EDITION,))
        assert runs_of(absent, tmp_path / "reports") == {}
        assert list((tmp_path / "reports").iterdir()) == []

    def test_checks_what_has_no_report(self, tmp_path: Path) -> None:
        toy = Family("toy", "Toys", "", ("model",), (EDITION,))
        (made,) = runs_of(toy, tmp_path / "reports", "2").values()
        assert made.reports[0].totals.traces == 2
        assert [path.name for path in (tmp_path / "reports").iterdir()] == [f"model-{EDITION}.ndjson"]

    def test_backend_that_breaks_is_an_error(self, tmp_path: Path) -> None:
        broken = Family("toy", "Toys", "", ("cmd:false",), (EDITION,))
        with pytest.raises(ReportError, match="cmd:false: ended with exit code 4"):
            runs_of(broken, tmp_path / "reports")


def test_families_have_names_of_their_own() -> None:
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names)
    assert all(family.backends and family.editions for family in FAMILIES)
