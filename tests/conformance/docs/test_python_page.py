"""The page for authors of adapters in Python: its files, as they grow on the page, and what its commands show."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "python.md"

_BLOCK = re.compile(r"^```(python|diff|console) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def changed(text: str, change: str) -> str:
    """Apply a change that shows a place of a file as it was and as it is to be."""
    lines = change.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    assert text.count(before) == 1, before
    return text.replace(before, "".join(line[1:] for line in lines if not line.startswith("-")))


def followed(page: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Do what the page says, in its order; gives each command, what it printed, and what the page says of that."""
    program = [sys.executable, "-m", "probate_conformance"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR")}
    for kind, name, text in _BLOCK.findall(page):
        file = folder / name
        if kind == "python":
            file.write_text((file.read_text() if file.exists() else "") + text)
        elif kind == "diff":
            file.write_text(changed(file.read_text(), text))
        else:
            command, _, shown = text.partition("\n")
            words = shlex.split(command.removeprefix("$ probate "))
            done = subprocess.run(
                [*program, *words], cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False
            )
            assert "Traceback" not in done.stderr
            yield command, done.stdout, shown


def test_every_command_shows_what_the_page_says(tmp_path: Path) -> None:
    ran = list(followed(PAGE.read_text(), tmp_path))
    assert len(ran) == 6
    for command, printed, shown in ran:
        pattern = re.sub(r"^\.\.\.\n", "*", re.sub(r"([][?*])", r"[\1]", shown), flags=re.MULTILINE)
        assert fnmatch.fnmatchcase(printed, pattern), f"{command}\n{printed}"
