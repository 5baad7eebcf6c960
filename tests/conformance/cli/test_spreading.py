"""``-j``: several processes, one report; and what becomes of processes that break, die or are interrupted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from probate_conformance.generation import generate
from probate_conformance.plan import Plan
from probate_conformance.spreading import jobs_for
from probate_conformance.trace import load

from .conftest import ODD, Probate

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize(
    "arguments",
    [
        ("reference", "reference-trio", "--profile", "core", "--cases", "6"),
        ("reference", "--profile", "tasks", "--cases", "6"),
        ("bad:marker-swallows-later-prompts", f"{ODD}:Forgetful", "--cases", "40", "-x"),
        (f"{ODD}:Forgetful", "--cases", "6", "--schedules", "2", "-v"),
        (f"{ODD}:Chatty", f"{ODD}:one_at_a_time", f"{ODD}:other_profile", "--cases", "10"),
    ],
)
def test_the_report_is_the_same_for_any_number(here: Probate, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Failures, shrinking and case files included; but for the first line."""

    def run(jobs: str) -> tuple[int, str, str, dict[str, bytes]]:
        ran = here("check", *arguments, "--seed", "5", "--report", "report.ndjson", "-j", jobs)
        lines = (tmp_path / "report.ndjson").read_text().partition("\n")[2]
        return ran.code, ran.body, lines, {file.name: file.read_bytes() for file in tmp_path.glob("probate-cases/*")}

    assert run("1") == run("3")


def test_what_is_found_under_drift_is_the_same_for_any_number(here: Probate) -> None:
    """What was run ahead with a reading that has changed since is run again, and each trace goes on behind a flip."""
    arguments = ("check", f"{ODD}:Drifted", "--cases", "40", "-k", "FLUSH-01,DISPOSE-07")
    alone, spread = (here(*arguments, "-j", jobs) for jobs in ("1", "2"))
    assert (spread.code, spread.body) == (alone.code, alone.body)
    assert "✗ DISPOSE-07 MUST · failed in " in alone.out
    _, _, drift = alone.out.partition("✗ differs from edition 2026-06 in ")
    assert len({line.split("trace ")[1] for line in drift.split("\n\n")[0].splitlines()[1:]}) > 1


@pytest.mark.parametrize("factory", ["Raising", "Closed", "Sticky", "Confused", "Leaving", "Breaking", "no_manifest"])
def test_a_backend_that_breaks_is_told_as_in_one_process(here: Probate, factory: str) -> None:
    alone, spread = (here("check", f"{ODD}:{factory}", "--cases", "50", "-j", jobs) for jobs in ("1", "2"))
    assert (spread.code, spread.body) == (alone.code, alone.body)
    assert spread.code == 4


@pytest.mark.parametrize(("factory", "says"), [("Dying", "ended with exit code 9"), ("Killed", "was ended by SIGKILL")])
def test_a_process_that_dies_is_told(probate: Probate, factory: str, says: str) -> None:
    ran = probate("check", f"{ODD}:{factory}", "--cases", "200", "-j", "2")
    assert ran.code == 4
    assert f"{ODD}:{factory}: the process that ran it {says}" in ran.out
    assert ran.out.endswith("harness error: the backend broke (exit code 4)\n")


def test_a_process_that_dies_while_it_starts_is_told(probate: Probate) -> None:
    ran = probate("check", f"{ODD}:exiting", "--cases", "200", "-j", "2")
    assert ran.code == 4
    assert "before any trace" in ran.out
    assert "the process that ran it ended with exit code 9" in ran.out


def test_a_child_is_one_for_each_process(here: Probate) -> None:
    name = f"cmd:{sys.executable} -m probate_conformance serve model"
    alone, spread = (here("check", name, "--cases", "20", "-j", jobs) for jobs in ("1", "2"))
    assert (spread.code, spread.body) == (alone.code, alone.body)


@pytest.mark.parametrize("how", ["once", "everybody"])
def test_an_interrupt_ends_all_processes(tmp_path: Path, environment: dict[str, str], how: str) -> None:
    """Ctrl-C may reach the one that was called or, as at a terminal, all of them."""
    process = subprocess.Popen(
        [sys.executable, "-m", "probate_conformance", "check", f"{ODD}:Interrupted", "--cases", "100000", "-j", "2"],
        cwd=tmp_path,
        env={**environment, "PROBATE_ODD_HOW": how},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    # That comes back when nobody is left who could write.
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    assert err == ""
    assert "not all was run: interrupted" in out


def test_what_is_being_shrunk_at_an_interrupt_is_told_as_far_as_it_is(probate: Probate, tmp_path: Path) -> None:
    ran = probate("check", f"{ODD}:Interrupted", "--cases", "2", "-j", "2", PROBATE_ODD_HOW="shrinking")
    assert ran.code == 1
    assert "✗ DISPOSE-07 MUST · failed in " in ran.out
    (file,) = tmp_path.glob("probate-cases/*-DISPOSE-07-*.json")
    assert len(load(file).items) < len(generate(0, 0).items)


def test_a_silent_child_is_not_waited_for_when_interrupted(probate: Probate, tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        "import os, signal, sys\n"
        "from tests.conformance.cli.odd import kit_of\n"
        "from tests.conformance.backends.children import PRELUDE\n"
        "exec(PRELUDE)\n"
        "greet(); hear(); say(message='opened'); hear()\n"
        "os.kill(kit_of(os.getppid()), signal.SIGINT)\n"
        "hear()\n"
    )
    ran = probate("check", f"cmd:{sys.executable} {script}", "--deadline", "3600", "-j", "2")
    assert ran.code == 3
    assert "not all was run: interrupted" in ran.out


def test_how_many_processes_there_are() -> None:
    small, large = Plan(0, 5), Plan(0, 100_000)
    assert jobs_for("reference", small) == 1
    assert 1 <= jobs_for("reference", large) <= 4
    assert jobs_for("mine:factory", large) == 1  # it may have a port, or a file, of its own
    assert jobs_for("mine:factory", large, 7) == 7
    assert jobs_for("mine:factory", small, 7) == 5
