"""The smaller verbs, the help, and what is admitted when probate itself fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from probate_conformance import cli, runner
from probate_conformance.cli import explain
from probate_conformance.manifest import PROFILES
from probate_conformance.schemas import SCHEMAS, schema_text
from probate_conformance.wire import FROM_BACKEND, Close, Closed, Hello, HelloReply, Opened
from probate_conformance.wire import Open as OpenWorld
from probate_model.alphabet.editions import EDITIONS
from probate_model.alphabet.items import WorldSpec
from probate_model.clauses import CLAUSES

from .conftest import Probate


def say(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line in this process."""
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list(probate: Probate) -> None:
    ran = probate("list")
    assert ran.code == 0
    for name in (*PROFILES, *EDITIONS, "reference", "reference-trio", "model", "dsh"):
        assert f"\n  {name} " in ran.out
    for name in EDITIONS["2026-06"].choices():
        assert f"\n  {name} " in ran.out


def test_list_clauses(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = say(capsys, "list", "--clauses")
    assert code == 0
    assert all(f"  {name} " in out for name in CLAUSES)
    assert max(map(len, out.splitlines())) <= 100
    words = " ".join(out.split())
    for clause in CLAUSES.values():
        assert (f"{clause.sentence} (only " in words) is not clause.holds_in(EDITIONS["2026-06"]), clause.id
    assert f"{CLAUSES['CANCEL-13'].sentence} (only in edition 2026-08)" in words


def test_list_an_edition_and_all_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = say(capsys, "list", "--edition")
    assert code == 0
    for name, clause in CLAUSES.items():
        holds = [clause.holds_in(edition) for edition in EDITIONS.values()]
        marks = " ".join(f"{'holds' if one else '-':<7}" for one in holds)
        assert (f"\n  {name:<12}{marks}" in out) == any(holds), name
    for edition in EDITIONS:
        code, out, _ = say(capsys, "list", "--edition", edition)
        assert code == 0
        listed = {name for name in CLAUSES if f"\n  {name} " in out}
        assert listed == {name for name, clause in CLAUSES.items() if clause.holds_in(EDITIONS[edition])}
        assert max(map(len, out.splitlines())) <= 100


def test_an_edition_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "list", "--edition", "2026-07") == (
        2,
        "",
        "probate: unknown edition '2026-07'\n  did you mean '2026-08'? known are 2026-06, 2026-08\n",
    )


@pytest.mark.parametrize(
    ("verb", "code"), [("run", "0      the input has ended"), ("acp", "0      the client has gone")]
)
def test_the_help_of_a_program_with_exit_codes_of_its_own_tells_those(
    capsys: pytest.CaptureFixture[str], verb: str, code: str
) -> None:
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    out = capsys.readouterr().out
    assert out.count("exit codes") == 1
    assert f"  {code}\n" in out
    assert "a clause failed" not in out


@pytest.mark.parametrize("name", ["FLUSH-*", "flush"])
def test_to_explain_takes_one_clause(capsys: pytest.CaptureFixture[str], name: str) -> None:
    family = [clause for clause in CLAUSES if clause.startswith("FLUSH-")]
    code, out, err = say(capsys, "explain", name)
    assert (code, out) == (2, "")
    assert err == (
        f"probate: {name!r} stands for {len(family)} clauses, and one is explained at a time\n"
        f"  name one of {', '.join(family)}\n"
    )
    assert say(capsys, "explain", "*")[2].endswith("\n  `probate list --clauses` tells all\n")


def test_list_backends(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = say(capsys, "list", "--backends")
    assert "bad:pre-run-cancel-forgets-waiters" in out


def test_explain_every_clause(capsys: pytest.CaptureFixture[str]) -> None:
    for name, clause in CLAUSES.items():
        code, out, _ = say(capsys, "explain", name.lower())
        words = " ".join(out.split())
        assert code == 0
        assert out.startswith(f"{name}  {clause.level}")
        assert clause.sentence in words
        assert clause.why in words
        assert clause.choice is None or f"choice {clause.choice}: " in words
        assert (" holds only " in words) is not clause.holds_in(EDITIONS["2026-06"])


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_printed_and_the_files_are_current(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """If this fails: probate schema NAME > conformance/probate_conformance/schemas/NAME.json"""
    code, out, _ = say(capsys, "schema", name)
    assert code == 0
    assert out == schema_text(name)
    file = Path(cli.__file__).parents[1] / "schemas" / f"{name}.json"
    assert file.read_text(encoding="utf-8") == out


def test_serve(tmp_path: Path, environment: dict[str, str]) -> None:
    messages = [Hello(), OpenWorld(world=WorldSpec()), Close()]
    done = subprocess.run(
        [sys.executable, "-m", "probate_conformance", "serve", "reference-trio"],
        input="".join(f"{message.model_dump_json()}\n" for message in messages),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    hello, *rest = map(FROM_BACKEND.validate_json, done.stdout.splitlines())
    assert isinstance(hello, HelloReply)
    assert hello.manifest.name == "reference-trio"
    assert rest == [Opened(), Closed()]
    assert (done.returncode, done.stderr) == (0, "")


def test_backends(probate: Probate, tmp_path: Path) -> None:
    ran = probate("backends", XDG_CACHE_HOME=str(tmp_path))
    assert ran.code == 0
    assert "not installed\n  dsh" in ran.out
    assert "  reference  " in ran.out


@pytest.mark.parametrize("verb", [verb.NAME for verb in cli.VERBS if verb.NAME not in ("run", "acp")])
def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([verb, "--help"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert cli.EXIT_CODES.strip() in out


def test_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = say(capsys)
    assert code == 2
    assert out.startswith("usage: probate ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "--version")[1].startswith("probate 0.")


def test_a_defect_of_ours_in_a_run_is_told_with_its_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr(runner, "examine", fail)
    code, out, err = say(capsys, "check", "model", "--seed", "4", "--cases", "3")
    assert (code, out) == (6, "")
    assert err.startswith(
        "probate: probate itself failed: ZeroDivisionError: oh no\n  checking model, seed 4, trace 0\n"
    )


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_serve_needs_its_streams(tmp_path: Path, environment: dict[str, str], stream: str) -> None:
    line = f"{sys.executable} -m probate_conformance serve model {stream}"
    assert subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, check=False).returncode == 2


@pytest.mark.parametrize("debug", [False, True])
def test_a_defect_of_ours_is_admitted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], debug: bool
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr(explain, "wrapped", fail)
    monkeypatch.setenv("PROBATE_DEBUG", "1" if debug else "")
    code, _, err = say(capsys, "explain", "CALL-01")
    assert code == 6
    assert err.startswith("probate: probate itself failed: ZeroDivisionError: oh no\n  this is a defect of probate;")
    assert ("Traceback" in err) is debug


def test_an_interrupt_where_nothing_is_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explain, "wrapped", interrupt)
    code, _, err = say(capsys, "explain", "CALL-01")
    assert code == 3
    assert err == "probate: interrupted\n"
