"""``probate acp`` becomes the reference's own program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def probate(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "probate_conformance", "acp", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False, timeout=120)


def test_it_speaks_the_protocol_and_goes_with_its_client() -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    ran = probate("--loop", "trio", said=json.dumps(asked) + "\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    (line,) = ran.stdout.splitlines()
    assert json.loads(line)["result"]["protocolVersion"] == 1


def test_a_mistake_is_told_in_a_line(tmp_path: Path) -> None:
    ran = probate(str(tmp_path / "-none"))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("error: cannot read")
    assert ran.stderr.count("\n") == 1
