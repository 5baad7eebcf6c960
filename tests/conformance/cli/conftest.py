from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from probate_conformance.cli import main

ROOT = Path(__file__).resolve().parents[3]
ODD = "tests.conformance.cli.odd"


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def body(self) -> str:
        """The report but for its first line."""
        return self.out.partition("\n")[2]


Probate = Callable[..., Ran]


@pytest.fixture
def environment() -> dict[str, str]:
    """What a command is given: no wish about colour that whoever runs the tests may have."""
    ambient = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**ambient, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}


@pytest.fixture
def probate(tmp_path: Path, environment: dict[str, str]) -> Probate:
    """Run the real command line, in an empty directory."""

    def run(*arguments: object, **changes: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "probate_conformance", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, **changes},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Probate]:
    """Run the command line in this process, for what needs no process of its own: that is much faster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("NO_COLOR", "FORCE_COLOR", "PROBATE_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> Ran:
        code = main([*map(str, arguments)])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield run
    # What was imported from this directory is not there for anybody else.
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]
