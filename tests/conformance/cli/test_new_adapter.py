"""The templates: what `new-adapter` writes works as it stands, and passes all that it claims."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from probate_conformance import templates
from probate_conformance.backends.install import find_node
from probate_conformance.templates import TEMPLATES

from .conftest import Probate

CASES = 40
"""So many traces reach every clause that the templates claim."""


@pytest.fixture
def on_path(tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """Give an environment in which ``probate``, ``python3`` and ``node`` are found."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, target in {"python3": sys.executable, "node": find_node().executable}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{target}" "$@"\n')
    (programs / "probate").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m probate_conformance "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    return {**environment, "PATH": os.pathsep.join((str(programs), environment.get("PATH", os.defpath)))}


@pytest.mark.parametrize("language", TEMPLATES)
def test_what_is_written_passes_all_that_it_claims(
    here: Probate, tmp_path: Path, on_path: dict[str, str], language: str
) -> None:
    assert here("new-adapter", language, "my adapter").code == 0
    folder = tmp_path / "my adapter"
    done = subprocess.run(
        ["./check", "--cases", str(CASES), "--report", "report.ndjson"],
        cwd=folder,
        env=on_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = [json.loads(line) for line in (folder / "report.ndjson").read_text().splitlines()]
    verdicts = [part["verdict"] for part in parts if part["part"] == "clause"]
    assert verdicts.count("pass") >= 55
    assert set(verdicts) == {"pass", "not claimed"}


@pytest.mark.parametrize("language", TEMPLATES)
def test_the_doctor_is_content_with_it(here: Probate, tmp_path: Path, on_path: dict[str, str], language: str) -> None:
    TEMPLATES[language].write(tmp_path / "it")
    program, *arguments = TEMPLATES[language].command.split()
    command = [shutil.which(program, path=on_path["PATH"]) or program, *(tmp_path / "it" / one for one in arguments)]
    assert here("doctor", *command).code == 0


@pytest.mark.parametrize("language", TEMPLATES)
def test_the_folder_holds_the_files_and_the_next_steps_are_told(here: Probate, tmp_path: Path, language: str) -> None:
    ran = here("new-adapter", language, "new/folder")
    template = TEMPLATES[language]
    folder = tmp_path / "new" / "folder"
    assert sorted(file.name for file in folder.iterdir()) == sorted(template.files)
    assert stat.S_IMODE((folder / "check").stat().st_mode) == 0o755
    assert f"  cd new/folder\n  probate doctor {template.command}\n  ./check --cases 20\n" in ran.out
    assert f"probate doctor {template.command}" in (folder / "README.md").read_text()


def test_who_stops_waiting_for_the_toy_disturbs_nobody() -> None:
    """As when a world is closed early: whoever waited is cancelled, and the agent ends or comes to rest later."""
    toy = runpy.run_path(str(Path(templates.__file__).parent / "python" / "toy.py"))

    async def answer(*_: object) -> str:
        return "text"

    async def stop_waiting() -> list[object]:
        complaints: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        runtime = toy["Runtime"](answer)
        runtime.load_provider()
        runtime.load_owner("o")
        agent = await runtime.create("o", "a")
        agent.send("hello")
        agent.idle().cancel()  # while a prompt is queued
        end = agent.dispose()
        agent.idle().cancel()  # while it ends
        await end
        return [*complaints, agent._driver.exception()]

    assert asyncio.run(stop_waiting()) == [None]


def test_nothing_is_written_over(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "adapter.py").write_text("mine")
    ran = here("new-adapter", "python", "mine")
    assert (ran.code, ran.err) == (2, "probate: mine: is not empty\n  name a folder that is not there yet\n")
    assert [file.read_text() for file in (tmp_path / "mine").iterdir()] == ["mine"]


def test_a_folder_that_cannot_be(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = here("new-adapter", "python", "file/folder")
    assert ran.code == 2
    assert "file/folder: can't be made: Not a directory" in ran.err


def test_a_language_that_there_is_no_template_for(here: Probate) -> None:
    ran = here("new-adapter", "typoscript", "it")
    assert ran.code == 2
    assert "unknown language 'typoscript'\n  did you mean 'typescript'? known are python, typescript" in ran.err
    assert "any language" in ran.err
