"""Where reports go to, and what becomes of them when that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ODD, Probate

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def shell(line: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which ``$P`` is the command line."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=cwd,
        env={**environment, "P": f"{sys.executable} -m probate_conformance"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@needs_full
def test_a_full_disk_for_the_report(probate: Probate) -> None:
    ran = probate("check", "model", "--cases", "2", "--report", FULL)
    assert ran.code == 6
    assert ran.err == "probate: /dev/full: the report can't be written: No space left on device\n"
    assert "inconclusive: " in ran.out


@needs_full
def test_a_full_disk_for_standard_output(tmp_path: Path, environment: dict[str, str]) -> None:
    done = shell("$P check model --cases 2 --report r.ndjson >/dev/full", tmp_path, environment)
    assert done.returncode == 6
    assert (tmp_path / "r.ndjson").read_text().count('"part":"end"') == 1
    for verb in ("list", "--help", "schema trace", "--version"):
        done = shell(f"$P {verb} >/dev/full", tmp_path, environment)
        assert done.returncode == 6, verb
        assert done.stderr == "probate: standard output: can't be written to: No space left on device\n"


@needs_full
def test_a_full_disk_for_what_is_served(tmp_path: Path, environment: dict[str, str]) -> None:
    line = """printf '{"message":"hello","protocol":1}\\n' | $P serve model >/dev/full"""
    done = shell(line, tmp_path, environment)
    assert done.returncode == 6
    assert done.stderr == "probate: standard output: can't be written to: No space left on device\n"


def test_a_report_in_a_folder_that_is_not_there(probate: Probate, tmp_path: Path) -> None:
    """It is known before anything is run."""
    ran = probate("check", "--report", tmp_path / "nowhere" / "r.ndjson")
    assert ran.code == 2
    assert ran.out == ""
    assert "the report can't be written there: No such file or directory" in ran.err


def test_a_report_that_is_a_folder(probate: Probate, tmp_path: Path) -> None:
    ran = probate("check", "--report", tmp_path)
    assert ran.code == 2
    assert "the report can't be written there: Is a directory" in ran.err


def test_cases_that_cannot_be_written(probate: Probate, tmp_path: Path) -> None:
    """The verdict is told all the same."""
    name = "tests-conformance-cli-odd-Forgetful-DISPOSE-07-seed0.json"
    (tmp_path / "taken" / name).mkdir(parents=True)
    ran = probate("check", f"{ODD}:Forgetful", "--cases", "2", "--cases-dir", "taken")
    assert ran.code == 6
    assert "✗ DISPOSE-07 MUST" in ran.out
    assert ran.err.startswith(f"probate: taken/{name}: the case can't be written: Is a directory\n")


@pytest.mark.parametrize("verb", [("check", f"{ODD}:Forgetful"), ("explore",)])
@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_a_folder_for_cases_that_cannot_be_made(
    here: Probate, tmp_path: Path, verb: tuple[str, ...], place: str
) -> None:
    """It is known before anything is run."""
    (tmp_path / "taken").touch()
    ran = here(*verb, "--cases-dir", place)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"probate: {place}: cases can't be written there: Not a directory\n"
        "  name a folder that can be written to, or made: --cases-dir\n"
    )


def test_a_folder_for_cases_that_may_not_be_written_to(
    here: Probate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root, everything may be written to
    ran = here("check", "model", "--cases", "1", "--cases-dir", "deep/below")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("probate: deep/below: cases can't be written there: Permission denied\n")
    assert list(tmp_path.iterdir()) == []
    assert here("check", "model", "--cases", "1").code == 3


@pytest.mark.parametrize("there", [False, True])
def test_two_reports_in_one_file(here: Probate, tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "same").write_text("before\n")
    ran = here("check", "model", "--cases", "1", "--report", "same", "--junit", "./same")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "probate: same: --report and --junit name the same file, and one would write over the other\n"
        "  name another file: --junit\n"
    )
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before\n"] * there


def test_two_reports_to_nowhere(here: Probate) -> None:
    assert here("check", "model", "--cases", "1", "--report", os.devnull, "--junit", os.devnull).code == 3


def test_a_reader_that_goes_away(tmp_path: Path, environment: dict[str, str]) -> None:
    """Given a reader that has closed its end, Then nothing is complained of and the exit code is the verdict's."""
    for verb, code in (("check model --cases 2", 3), ("schema wire", 0), ("--help", 0)):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [sys.executable, "-m", "probate_conformance", *verb.split()],
            cwd=tmp_path,
            env=environment,
            stdout=write,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (code, ""), verb


def test_standard_output_that_is_closed(tmp_path: Path, environment: dict[str, str]) -> None:
    done = shell("$P list >&-", tmp_path, environment)
    assert done.returncode == 6
    assert done.stderr == "probate: standard output: can't be written to: it is closed\n"


@pytest.mark.parametrize(("verb", "needs"), [("run", "a conversation"), ("acp", "the protocol")])
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_stream_that_is_closed_for_who_talks(
    tmp_path: Path, environment: dict[str, str], verb: str, needs: str, closed: str
) -> None:
    (tmp_path / "c.toml").write_text('agents = [{ label = "a" }]\n')
    done = shell(f"$P {verb} c.toml {closed}", tmp_path, environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: standard input or output is closed; {needs} needs both\n"


def test_standard_error_that_is_closed(tmp_path: Path, environment: dict[str, str]) -> None:
    assert shell("$P chekc 2>&-", tmp_path, environment).returncode == 2
    assert shell("$P check model --cases 2 2>&-", tmp_path, environment).returncode == 3


def test_an_encoding_that_lacks_our_marks(probate: Probate) -> None:
    ran = probate("check", "model", "--cases", "2", PYTHONIOENCODING="ascii")
    assert ran.code == 3
    assert ran.out.isascii()
    assert " - edition" not in ran.out
    assert "  + FLUSH" in ran.out or "  . FLUSH" in ran.out


@pytest.mark.parametrize(
    ("changes", "colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "0"}, False),
    ],
)
def test_colour(probate: Probate, changes: dict[str, str], colored: bool) -> None:
    assert ("\x1b[" in probate("explain", "CALL-01", **changes).out) is colored


def test_the_wish_for_no_colour(probate: Probate) -> None:
    assert "\x1b[" not in probate("explain", "CALL-01", "--no-color", FORCE_COLOR="1").out
