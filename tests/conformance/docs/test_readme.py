"""The first page: its samples run as they stand, and what it tells to install is what there is to install."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from probate_reference.acp.config import Scripted, read_config

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "README.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


SAMPLES = dict(zip(("model", "reference", "subagents"), blocks("python"), strict=True))


def ran(name: str, folder: Path) -> str:
    """Run a sample as it stands, with the programs of this environment on the path, and give what it prints."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SAMPLES[name]],
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join(paths), "SOME_API_KEY": "none"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_model_cancels_a_prompt_that_never_runs(tmp_path: Path) -> None:
    printed = ran("model", tmp_path)
    assert "Settled" in printed
    assert "running" not in printed


def test_the_reference_ends_in_order(tmp_path: Path) -> None:
    assert ran("reference", tmp_path) == ""


def test_a_subagent_is_asked(tmp_path: Path) -> None:
    (tmp_path / "helper.toml").write_text('[model]\nkind = "echo"\n')
    assert "List what is to be done." in ran("subagents", tmp_path)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_import_of_a_sample_is_used(name: str) -> None:
    text = SAMPLES[name]
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names]
    assert [imported for imported in names if len(re.findall(rf"\b{imported}\b", text)) < 2] == []


def test_every_configuration_is_understood(tmp_path: Path) -> None:
    read = []
    for number, text in enumerate(blocks("toml")):
        if "[[expected]]" not in text:
            model = "" if "[model]" in text else '[model]\nkind = "echo"\n'
            (tmp_path / f"{number}.toml").write_text(text + model)
            read.append(read_config(tmp_path / f"{number}.toml"))
    assert len(read) == 3
    scripted = next(config.model for config in read if isinstance(config.model, Scripted))
    assert [len(reply.reply.tool_calls) for reply in scripted.replies] == [1, 0]


def test_every_page_can_be_come_by() -> None:
    """Given the links of all pages, Then each leads somewhere, and each page is found from the first one."""
    found, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        found.add(page)
        if page.suffix == ".md":
            links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())}
            targets = {(page.parent / link).resolve() for link in links if link and "://" not in link}
            assert [str(target) for target in targets if not target.exists()] == [], page
            todo += [target for target in targets - found if target.is_file()]
    pages = [page for suffix in ("md", "txt") for page in (ROOT / "docs").rglob(f"*.{suffix}")]
    assert [page.name for page in pages if page not in found] == []


@pytest.mark.parametrize("file", ["README.md", "docs/pytest.md"])
def test_what_is_to_be_installed_is_a_package_of_an_extra(file: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    known = {re.split(r"[<>=]", one)[0] for name in ("dsh", "hypothesis", "model", "reload") for one in extras[name]}
    told = re.findall(r"pip install '([\w-]+)", (ROOT / file).read_text())
    assert told
    assert set(told) <= known
