"""``probate check``: what it runs, what it reports, and what it never calls green."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from probate_conformance.backends.reference.known_bad import VARIANTS
from probate_conformance.cli.casefiles import slugs_of
from probate_conformance.cli.options import profiles_of
from probate_conformance.render.ndjson import PART
from probate_conformance.trace import MODELLED_PROFILES, load
from probate_model.alphabet.editions import EDITIONS

from .conftest import ODD, Probate

EVENTS = """
from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.generation import generate
from probate_conformance.lockstep import examine
from probate_model.worlds import EVERYTHING

def conversation():
    for number in range({traces}):
        examined = yield from examine(generate(0, number, profile="{profile}"), EVERYTHING)
        for exchange in examined.exchanges:
            print(*exchange.events, exchange.snapshot, sep="\\n")

for loop in ("asyncio", "trio"):
    with ReferenceBackend(loop, processes={processes}) as backend:
        backend.converse(conversation())
"""
"""Tells all that is seen in some traces on both loops."""


def test_the_default_backends(here: Probate) -> None:
    ran = here("check", "--cases", "5")
    lines = ran.out.splitlines()
    assert ran.code == 3  # five traces do not reach every clause
    assert lines[0].startswith("probate ")
    told = [line for line in lines if line in ("reference", "reference-trio")]  # one report for each profile
    assert list(dict.fromkeys(told)) == ["reference", "reference-trio"]
    assert "  edition 2026-06 · profile core · seed 0 · 5 traces" in lines
    assert lines[-1] == "inconclusive: not all was shown to hold or to fail (exit code 3)"
    assert ran.err == ""


def test_a_failure_is_a_story_and_a_case_that_replays(probate: Probate, tmp_path: Path) -> None:
    name = f"{ODD}:Forgetful"
    ran = probate("check", name, "--cases", "20", "--seed", "3", "-x")
    assert ran.code == 1
    (file,) = tmp_path.glob("probate-cases/*.json")
    assert file.name == "tests-conformance-cli-odd-Forgetful-DISPOSE-07-seed3.json"
    assert f"  again: probate replay probate-cases/{file.name}" in ran.out
    case = load(file)
    assert case.expected is not None
    assert (case.expected.clause, case.expected.backend) == ("DISPOSE-07", name)
    for part in (
        "✗ DISPOSE-07 MUST · failed in 1 trace, first in number 0 · shrunk to 1 item",
        "  The session is detached after the agent and announced once as session/disposed.",
        "allowed  agent/disposed",
        "seen     session/disposed",
        "1 failed",
        "fail: the contract does not hold (exit code 1)",
    ):
        assert part in ran.out

    again = probate("replay", file)
    assert again.code == 1
    assert "✗ fails: this is the expected divergence (exit code 1)" in again.out
    elsewhere = probate("replay", file, "--backend", "model")
    assert elsewhere.code == 0
    assert "✓ holds: the divergence that the case expects did not show (exit code 0)" in elsewhere.out


def test_a_known_defect_is_found_and_named(here: Probate) -> None:
    variant = VARIANTS["pre-run-cancel-forgets-waiters"]
    ran = here("check", f"bad:{variant.name}", "--cases", "100", "-x")
    assert ran.code == 1
    assert f"✗ {variant.clause} MUST" in ran.out
    assert "not all was run: stopped at the first failure" in ran.out


@pytest.mark.parametrize(
    "name",
    [
        "resume-appends-what-it-loads",
        "second-effect-dispose-returns-early",
        "nobody-reaches-everything",
        "cancel-leaves-it-to-the-turn",
        "torn-pipe-is-an-abort",
    ],
)
def test_a_failure_of_any_profile_fails_again_out_of_its_file(here: Probate, tmp_path: Path, name: str) -> None:
    variant = VARIANTS[name]
    checked = here("check", f"bad:{name}", "--profile", variant.profile, "--cases", "200", "-k", variant.clause, "-x")
    assert checked.code == 1
    (file,) = tmp_path.glob("probate-cases/*.json")
    again = here("replay", file)
    assert again.code == 1
    assert "✗ fails: this is the expected divergence (exit code 1)" in again.out


def test_the_first_failure_can_end_the_run(here: Probate) -> None:
    ran = here("check", f"{ODD}:Forgetful", "model", "--cases", "20", "-x")
    assert ran.code == 1
    assert "failed in 1 trace, first in number 0" in ran.out
    assert ran.out.count("not all was run: stopped at the first failure") == 2
    assert "· nothing was run" in ran.out


def test_a_failure_that_is_not_confirmed_is_inconclusive(here: Probate, tmp_path: Path) -> None:
    ran = here("check", f"{ODD}:Wavering", "--cases", "5")
    assert ran.code == 3
    assert "? inconclusive · trace 0\n  failed by" in ran.out
    (file,) = tmp_path.glob("probate-cases/*-trace0-seed0.json")
    assert f"probate replay probate-cases/{file.name} --backend {ODD}:Wavering" in ran.out


def test_two_backends_of_nearly_one_name_write_files_of_their_own() -> None:
    assert slugs_of(["a b", "a-b", "a:b", "?"]) == {"a b": "a-b", "a-b": "a-b-2", "a:b": "a-b-3", "?": "backend"}


def test_nothing_run_is_not_green(here: Probate) -> None:
    ran = here("check", "model", "--cases", "0")
    assert ran.code == 5
    assert "· nothing was run" in ran.out
    assert ran.out.endswith("not reached: nothing was shown; that is not a success (exit code 5)\n")


def test_a_profile_that_the_backend_does_not_claim(here: Probate) -> None:
    ran = here("check", f"{ODD}:other_profile", "--cases", "5")
    assert ran.code == 5
    assert "not all was run: it does not claim profile core" in ran.out


def test_a_profile_of_which_the_edition_has_no_clause_is_refused(here: Probate) -> None:
    ran = here("check", "model", "--profile", "sessions", "--edition", "2026-08", "--cases", "5")
    assert ran.code == 2
    assert ran.err == (
        "probate: edition 2026-08 has no clause of profile 'sessions', so there is nothing to judge\n"
        "  name an edition that has: 2026-06; or another profile: core, fibers, tasks, bridge, subagents\n"
    )


def test_without_a_profile_those_are_judged_of_which_the_edition_has_clauses() -> None:
    assert profiles_of(EDITIONS["2026-06"]) == list(MODELLED_PROFILES)
    assert profiles_of(EDITIONS["2026-08"]) == [name for name in MODELLED_PROFILES if name != "sessions"]


def test_an_edition_that_the_backend_does_not_follow_is_told(here: Probate) -> None:
    ran = here("check", f"{ODD}:other_edition", "--cases", "5")
    assert "  note: by its own word it follows edition 2026-08\n" in ran.out


def test_a_backend_without_bursts_gets_one_item_at_a_time(here: Probate) -> None:
    ran = here("check", f"{ODD}:one_at_a_time", "--cases", "5", "--format", "ndjson")
    totals = next(part for part in map(json.loads, ran.out.splitlines()) if part["part"] == "totals")
    assert totals["bursts"] > totals["steps"] * 0.7  # the epilogue is one burst still
    assert totals["failed"] == 0


def test_schedules_multiply_the_runs(here: Probate) -> None:
    ran = here("check", "model", "--cases", "3", "--schedules", "2")
    assert "seed 0 · 3 traces x 2 schedules" in ran.out
    assert "\n  6 traces · " in ran.out


def test_every_clause_can_be_told(here: Probate) -> None:
    ran = here("check", "model", "--cases", "5", "--verbose")
    assert "  CREATE      ✓ 01" in ran.out


def test_the_same_seed_gives_the_same_report_under_every_hash_seed(probate: Probate, tmp_path: Path) -> None:
    """But for the first line; failures, shrinking and case files included."""

    def run(seed: str) -> tuple[str, str, dict[str, bytes]]:
        ran = probate(
            *("check", "reference", "reference-trio", f"{ODD}:Forgetful", "bad:pre-run-cancel-forgets-waiters"),
            *("--profile", "core", "--cases", "6", "--seed", "5", "--report", "report.ndjson"),
            PYTHONHASHSEED=seed,
        )
        assert ran.code == 1
        lines = (tmp_path / "report.ndjson").read_text().partition("\n")[2]
        return ran.body, lines, {file.name: file.read_bytes() for file in tmp_path.glob("probate-cases/*")}

    assert run("0") == run("1")


@pytest.mark.no_cover  # what it looks at happens in other processes
@pytest.mark.parametrize(("profile", "processes", "traces"), [("tasks", False, 12), ("subagents", True, 4)])
def test_the_same_seed_gives_the_same_events_whatever_processes_there_are(
    profile: str, processes: bool, traces: int, environment: dict[str, str]
) -> None:
    """How fast a process is, the report may not show: it says what held and not in which order all came."""

    def run(seed: str) -> list[str]:
        program = EVENTS.format(profile=profile, processes=processes, traces=traces)
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            encoding="utf-8",
            timeout=600,
            check=True,
        )
        return ran.stdout.splitlines()

    first = run("0")
    assert len(first) > 10 * traces
    assert run("1") == first


def test_lines_of_json(here: Probate, tmp_path: Path) -> None:
    """Standard output gets the report and nothing else, and the file gets the same."""
    file = tmp_path / "report.ndjson"
    file.write_text("what was there before\n" * 10_000)
    ran = here("check", "model", f"{ODD}:Forgetful", "--cases", "5", "--format", "ndjson", "--report", file)
    parts = [PART.validate_json(line) for line in ran.out.splitlines()]
    assert [part.part for part in parts if part.part != "clause"] == [
        "header",
        *("setting", "reached", "totals"),
        *("setting", "failure", "reached", "totals"),
        "end",
    ]
    assert file.read_text() == ran.out
    assert ran.err == ""


def test_what_a_backend_says_is_told_but_never_obeyed(here: Probate) -> None:
    ran = here("check", f"{ODD}:Chatty", "--cases", "2")
    assert "(chat\\x1b[31mty 1\\n2)" in ran.out
    assert "note: a\\x07b" in ran.out
    assert "? events that are not of the alphabet (2): ignored" in ran.out
    assert "weather/changed x " in ran.out
    assert not {letter for letter in ran.out if not letter.isprintable()} - {"\n"}


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        ("raising", f"{ODD}:raising: the factory raised ZeroDivisionError: no luck today"),
        ("leaving", f"{ODD}:leaving: the factory raised SystemExit: 0"),
        ("Raising", f"{ODD}:Raising: raised out of `converse`: ZeroDivisionError: nobody expects this"),
        ("Closed", f"{ODD}:Closed: raised out of `__enter__`: ZeroDivisionError: closed today"),
        ("Sticky", f"{ODD}:Sticky: raised out of `__exit__`: ZeroDivisionError: stuck"),
        ("Confused", f"{ODD}:Confused: answered `open` with something of type dict give an Opened"),
        ("Leaving", f"{ODD}:Leaving: came back from `converse` before the conversation was over"),
        ("Breaking", "breaking: ran out of luck"),
        ("no_manifest", f"{ODD}:no_manifest: has a manifest of type dict"),
        (
            "strange_fields",
            f"{ODD}:strange_fields: the factory raised Unclaimed: fields[0]: unknown field 'agent/status:mood'",
        ),
    ],
)
def test_a_backend_in_process_that_breaks(here: Probate, factory: str, says: str) -> None:
    ran = here("check", f"{ODD}:{factory}", "--cases", "50")
    assert ran.code == 4
    assert says in " ".join(ran.out.split())
    assert ran.out.endswith("harness error: the backend broke (exit code 4)\n")


@pytest.mark.parametrize("factory", ["Interrupting", "Pressing"])
def test_an_interrupt_ends_the_run_in_order(probate: Probate, factory: str) -> None:
    """Pressed once, the trace is finished; pressed again, it is broken off. What was done is told, and is not green."""
    ran = probate("check", f"{ODD}:{factory}", "model", "--cases", "500")
    assert ran.code == 3
    assert ran.out.count("not all was run: interrupted") == 2
    assert "traces · " in ran.out


def test_term_ends_the_run_in_order_too(probate: Probate, tmp_path: Path) -> None:
    """It has the report of an interrupt, and the exit code that tells who sent it that it was heard."""
    ran = probate("check", f"{ODD}:Terminated", "model", "--cases", "500", "--report", "r.ndjson")
    assert (ran.code, ran.err) == (128 + signal.SIGTERM, "")
    assert ran.out.count("not all was run: interrupted") == 2
    assert ran.out.endswith("inconclusive: not all was shown to hold or to fail (exit code 143: ended by SIGTERM)\n")
    end = json.loads((tmp_path / "r.ndjson").read_text().splitlines()[-1])
    assert (end["exit"], end["signal"]) == (3, "SIGTERM")


def left_out(out: str) -> list[tuple[str, str, str | None]]:
    """Give what a report is about: backends and profiles, and why not all of each was run."""
    parts = [json.loads(line) for line in out.splitlines()]
    settings = [part for part in parts if part["part"] == "setting"]
    totals = [part for part in parts if part["part"] == "totals"]
    return [
        (one["backend"].removeprefix(f"{ODD}:"), one["profile"], total["ended"])
        for one, total in zip(settings, totals, strict=True)
    ]


def test_what_an_interrupt_left_out_is_named(probate: Probate) -> None:
    """Each profile that the backend claims; all, where it can't be known without starting it."""
    child = f"cmd:{sys.executable} -m probate_conformance serve model"
    ran = probate("check", f"{ODD}:Diligent", f"{ODD}:no_tools", child, "--format", "ndjson", "-j", "1")
    assert ran.code == 3
    assert left_out(ran.out) == [
        ("Diligent", "core", "interrupted"),
        ("Diligent", "sessions", "interrupted"),
        ("Diligent", "tasks", "interrupted"),
        ("no_tools", "core", "interrupted"),
        *((child, name, "interrupted") for name in profiles_of(EDITIONS["2026-06"])),
    ]


def test_a_module_without_its_factory_is_told_as_such(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "mybackend.py").write_text("raise RuntimeError('it is not imported for that')")
    ran = here("check", "mybackend")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "probate: mybackend: is a module, and no backend by itself\n"
        "  name what in it makes one, as in mybackend:factory\n"
    )


def test_what_the_first_failure_left_out_is_named(here: Probate) -> None:
    ran = here("check", f"{ODD}:Forgetful", "reference", "--cases", "5", "-x", "--format", "ndjson")
    assert ran.code == 1
    assert left_out(ran.out) == [
        ("Forgetful", "core", "stopped at the first failure"),
        *(("reference", name, "stopped at the first failure") for name in profiles_of(EDITIONS["2026-06"])),
    ]
