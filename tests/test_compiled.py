"""The compiled model is the model: the same runs, world by world, and the same reports of the kit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from probate_conformance.generation import WRITERS, generate_rehearsed
from probate_model.alphabet.editions import EDITIONS

ROOT = Path(__file__).resolve().parent.parent
CASES = 150
ADDRESS = re.compile(" at 0x[0-9a-f]+")
RUNS = "from tests.test_compiled import runs; print(runs())"
WHICH = "from probate_model import machine, world; print(machine.__file__, world.__file__)"

# A profile whose rules an edition does not have is refused there.
PLANS = [(profile, "2026-06") for profile in WRITERS] + [("core", "2026-08"), ("fibers", "2026-08")]


def runs() -> str:
    """Give a digest of all canonical runs: of each event, demand, silence and mark, and of each world at rest."""
    digest = sha256()
    for profile, edition in PLANS:
        for number in range(CASES):
            for rehearsal in generate_rehearsed(7, number, profile=profile, edition=EDITIONS[edition])[1]:
                shown = (rehearsal.expected, rehearsal.silences, rehearsal.marks, rehearsal.begun, rehearsal.stretches)
                told = repr((shown, rehearsal.world, rehearsal.snapshot))
                digest.update(ADDRESS.sub("", told).encode())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    subprocess.run([sys.executable, ROOT / "model" / "compile.py", folder], check=True)
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the compiled model comes first."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.mark.slow
def test_it_runs_as_the_source_does(compiled: Path, tmp_path: Path) -> None:
    assert python(compiled, "-c", WHICH).stdout.count(".so") == 2
    assert python(tmp_path, "-c", WHICH).stdout.count(".so") == 0
    ran = python(compiled, "-c", RUNS)
    assert len(ran.stdout.strip()) == 64, ran.stderr
    assert ran.stdout == python(tmp_path, "-c", RUNS).stdout


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["reference", "reference-trio", "bad:cancel-forgets-queue"])
def test_it_judges_as_the_source_does(compiled: Path, tmp_path: Path, backend: str) -> None:
    def check(folder: Path) -> tuple[int, list[object]]:
        report = tmp_path / "report.ndjson"
        ran = python(
            folder, "-m", "probate_conformance", "check", backend, "--cases", "100", "-j", "1", "--no-color",
            "--report", str(report), "--cases-dir", str(tmp_path / "cases"),
        )  # fmt: skip
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        assert ("model compiled" in lines[0]["platform"]) is (folder == compiled), ran.stderr
        return ran.returncode, lines[1:]

    assert check(compiled) == check(tmp_path)


@pytest.mark.slow
def test_it_is_not_explored(compiled: Path) -> None:
    ran = python(compiled, "-m", "probate_conformance", "explore")
    assert ran.returncode == 2, ran.stderr
    assert "the model here is compiled" in ran.stderr
