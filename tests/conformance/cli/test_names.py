"""Names that mean nothing, or not yet: one message, exit code 2, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import ODD, Probate


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chekc"], "unknown verb 'chekc'\n  did you mean 'check'? known are check, replay"),
        (["check", "refrence"], "unknown backend 'refrence'\n  did you mean 'reference'?"),
        (["check", "bad:nothing"], "unknown known-bad backend 'nothing'"),
        (["check", "bad:pre-run-cancel-forgets-waiters@gevent"], "unknown loop 'gevent'\n  known are asyncio, trio"),
        (["check", "--profile", "cor"], "unknown profile 'cor'\n  did you mean 'core'?"),
        (["check", "--profile", "acp"], "profile 'acp' is known, but its rules are not modelled yet"),
        (["check", "--edition", "2025"], "unknown edition '2025'"),
        (["explain", "DISPOSE-8"], "unknown clause 'DISPOSE-8'\n  did you mean 'DISPOSE-08'?"),
        (["schema", "tarce"], "unknown schema 'tarce'\n  did you mean 'trace'?"),
        (["serve", "modell"], "unknown backend 'modell'\n  did you mean 'model'?"),
        (["backends", "install", "dhs"], "unknown runtime 'dhs'\n  did you mean 'dsh'?"),
        (["check", "--cases", "-1"], "argument --cases: -1 is less than 0"),
        (["check", "--cases", "many"], "argument --cases: 'many' is no whole number"),
        (["check", "--schedules", "0"], "argument --schedules: 0 is less than 1"),
        (["check", "--seed", "-7"], "argument --seed: -7 is less than 0"),
        (["check", "--deadline", "0"], "argument --deadline: 0 is not more than 0"),
        (["check", "--deadline", "nan"], "argument --deadline: nan is not more than 0"),
        (["check", "--frmat", "text"], "unrecognized arguments: --frmat"),
        (["replay"], "the following arguments are required: FILE"),
    ],
)
def test_a_name_or_number_that_means_nothing(here: Probate, arguments: list[str], says: str) -> None:
    ran = here(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"probate: {says}")
    assert len(ran.err.splitlines()) <= 2


def test_it_is_so_in_a_process_of_its_own(probate: Probate) -> None:
    ran = probate("chekc")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("probate: unknown verb 'chekc'\n  did you mean 'check'? known are check, ")
    assert probate("check", "--cases", "-1").code == 2


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("nowhere:factory", 2, "nowhere:factory: can't be imported: No module named 'nowhere'"),
        ("python:nowhere:factory", 2, "python:nowhere:factory: can't be imported: No module named 'nowhere'"),
        ("broken:factory", 2, "broken:factory: can't be imported: RuntimeError: at import"),
        ("leaving:factory", 2, "leaving:factory: can't be imported: SystemExit: 0"),
        (f"{ODD}:Forgetfull", 2, f"{ODD}:Forgetfull: module '{ODD}' has no 'Forgetfull'; did you mean 'Forgetful'?"),
        (f"{ODD}:NUMBER", 2, f"{ODD}:NUMBER: is no callable but something of type int"),
        (f"{ODD}:nothing", 2, f"{ODD}:nothing: the factory gave None, and that is no backend"),
        ("cmd:", 2, "cmd:: names no program"),
        ("cmd:sh -c 'unfinished", 2, "cmd:sh -c 'unfinished: can't be split into words: No closing quotation"),
    ],
)
def test_a_backend_that_cannot_be_made(here: Probate, tmp_path: Path, name: str, code: int, says: str) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('at import')")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)")
    ran = here("check", name)
    assert ran.code == code
    assert ran.err.startswith(f"probate: {says}")
    assert ran.out == ""


def test_a_module_in_the_current_directory(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from probate_conformance.backends.model import ModelBackend as factory\n")
    ran = here("check", "mine:factory", "--cases", "1")
    assert ran.code == 3
    assert "mine:factory (model 1)" in ran.out


def test_a_backend_that_a_package_announces(probate: Probate, tmp_path: Path) -> None:
    """Given a package with entry points, When its backend is named, Then it is checked; a built-in name stays ours."""
    folder = tmp_path / "site" / "theirs-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(
        f"[probate.backends]\ntheirs = {ODD}:Forgetful\nreference = {ODD}:Forgetful\nlost = nowhere:factory\n"
    )
    path = f"{tmp_path / 'site'}:{Path(__file__).resolve().parents[3]}"
    listed = " ".join(probate("list", PYTHONPATH=path).out.split())
    assert f"theirs announced by an installed package: {ODD}:Forgetful" in listed
    assert "forgetful 1" in probate("check", "theirs", "--cases", "1", PYTHONPATH=path).out
    assert "forgetful" not in probate("check", "reference", "--cases", "1", PYTHONPATH=path).out
    lost = probate("check", "lost", PYTHONPATH=path)
    assert lost.code == 2
    assert "'nowhere:factory', which an installed package announces, can't be imported" in lost.err


def test_a_backend_that_is_not_installed(probate: Probate, tmp_path: Path) -> None:
    ran = probate(
        "check", "model", "dsh", "--cases", 30, "-k", "CALL-*", XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path)
    )
    assert ran.code == 5
    assert "\ndsh\n" in ran.out
    assert "not all was run: the packages of dsh are not installed; " in ran.out
    assert "probate backends install dsh" in " ".join(ran.out.split())
    assert " traces · " in ran.out  # of the other one, which is checked all the same


def test_replaying_on_a_backend_that_is_not_installed(probate: Probate, tmp_path: Path) -> None:
    """Given a Python that the backend runs on, so that only its packages are missing, whatever this machine has."""
    python = tmp_path / "bin" / "python3.13"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho 3.13\n")
    python.chmod(0o755)
    (tmp_path / "case.json").write_text('{"items": [{"item": "look", "label": "k1"}]}')
    ran = probate("replay", "case.json", "--backend", "ph-core", XDG_CACHE_HOME=str(tmp_path), PATH=str(python.parent))
    assert ran.code == 5
    assert ran.out == ""
    assert ran.err.startswith("probate: ph-core is not installed\n  install it: probate backends install ph-core")
