"""How a packaged release is started, and how the plug-in finds the packages inside of it.

The releases are some hundred megabytes each, so here a script stands where the executable would be. It does what the
executable does that matters: it finds our row where it looks for rows, and mounts the plug-in from a module of its own
that lies where those of dsh lie. The packages are the real ones from npm.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from probate_conformance.backends.dsh import PACKAGES, dsh_backend, install_dsh
from probate_conformance.backends.dsh.releases import RELEASES
from probate_conformance.backends.install import find_node
from probate_conformance.errors import BackendBroke
from probate_conformance.wire import Burst, Close, Open, Quiet
from tests.conformance.backends.children import talk
from tests.conformance.backends.shorthand import WORLD, create, published, told

RELEASE = "0.2.1rc2"

HOST = """
import { readFileSync } from 'node:fs'
const [rows, plugin] = [process.argv.at(-1), /name: (.*)/]
const { apply } = await import(plugin.exec(readFileSync(rows, 'utf8'))[1])
process.env.SEEN && console.log('the runtime says something')
apply({})
"""

OLDER = ("dsh-jsonrpc-agent-pkg-linux-x64", 'rows="$1"')
NEWER = (
    "deepseek-harness-sdk-runtime-linux-x64",
    'test "$1" = --profile && rows="$DSH_HOME/profiles/$2/cordis.patch.yml"',
)


def put(folder: Path, executable: str, finds_rows: str, *, without: str = "") -> None:
    """Put a runtime of the real packages into a folder, but for one of them."""
    packages = folder / "node_modules" / "@deepseek-ai"
    (packages / "cordis").mkdir(parents=True)
    for real in (PACKAGES.folder / "node_modules" / "@deepseek-ai").iterdir():
        if real.name not in ("cordis", without):
            (packages / real.name).symlink_to(real)
    for part in ("lib", "package.json"):
        (packages / "cordis" / part).symlink_to(PACKAGES.folder / "node_modules" / "@deepseek-ai" / "cordis" / part)
    projection = packages / "dsh-session-projection" / "lib"
    projection.mkdir(parents=True)
    (projection / "index.js").write_text("export {}")
    (projection.parent / "package.json").write_text(json.dumps({"type": "module"}))
    host = packages / "cordis" / "host.mjs"
    host.write_text(HOST)
    runtime = folder / "deepseek_harness_runtime" / "runtime"
    runtime.mkdir(parents=True)
    (runtime / f"{executable}-rg").write_text("")
    script = runtime / executable
    node = shlex.quote(str(find_node().executable))
    script.write_text(f'#!/bin/sh\n{finds_rows}\nexec {node} {shlex.quote(str(host))} "$rows"\n')
    script.chmod(0o755)


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    install_dsh()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder where the release is looked for."""
    monkeypatch.setattr("probate_conformance.backends.install.WheelRuntime.folder", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("executable", "finds_rows"), [OLDER, NEWER])
def test_plugin_is_mounted_and_finds_the_packages(executable: str, finds_rows: str, folder: Path) -> None:
    put(folder, executable, finds_rows)
    with dsh_backend(f"dsh@{RELEASE}") as backend:
        assert backend.manifest.version == "0.1.0-rc.8"
        _, created, _ = backend.converse(talk(Open(world=WORLD), Burst(items=(create("c"),)), Close()))
    assert isinstance(created, Quiet)
    assert [told(event) for event in created.events] == published("x#1", "c")


def test_runtime_that_lacks_a_package(folder: Path) -> None:
    put(folder, *NEWER, without="dsh-tools")
    with pytest.raises(BackendBroke, match="ended with exit code 70"), dsh_backend(f"dsh@{RELEASE}"):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("version", [next(iter(RELEASES)), RELEASE])
def test_release(version: str) -> None:
    install_dsh(version)
    with dsh_backend(f"dsh@{version}") as backend:
        assert backend.manifest.version.replace("-rc.", "rc") == version
        _, created, _ = backend.converse(talk(Open(world=WORLD), Burst(items=(create("c"),)), Close()))
    assert isinstance(created, Quiet)
    assert [told(event) for event in created.events][-1] == "c returned x#1"
