"""``probate run`` becomes the reference's own program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def probate(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "probate_conformance", "run", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=120)


def test_it_holds_a_conversation(tmp_path: Path) -> None:
    config = tmp_path / "-c.toml"
    config.write_text('agents = [{ label = "a", session = "s1" }]\n')
    ran = probate("--loop", "trio", "--", str(config), said="to be\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "a is ready: s1, new\na: to be \n  [completed]\n"


def test_a_mistake_is_told_in_a_line(tmp_path: Path) -> None:
    ran = probate(str(tmp_path / "none"))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error: cannot read")
    assert ran.stderr.count("\n") == 1
