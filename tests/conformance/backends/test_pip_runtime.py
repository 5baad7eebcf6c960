"""Runtimes that are installed for a Python of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.errors import BackendAbsent

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock in which nothing is, and a cache folder in which nothing is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "lock.txt"
    made.write_text("# nothing\n")
    return made


def test_it_is_found_once_it_is_installed(lock: Path) -> None:
    runtime = PipRuntime("toy", lock, ("2.0", HERE))
    with pytest.raises(BackendAbsent) as raised:
        runtime.found()
    assert str(raised.value) == "toy is not installed\n  install it: probate backends install toy"
    folder = runtime.install()
    assert runtime.found() == (Path(sys.executable), folder)
    assert runtime.install() == folder
    assert {one.name for one in folder.parent.iterdir()} == {folder.name, "lock"}


def test_another_lock_is_another_folder(lock: Path) -> None:
    runtime = PipRuntime("toy", lock, (HERE,))
    before = runtime.install()
    lock.write_text("# nothing else\n")
    with pytest.raises(BackendAbsent):
        runtime.found()
    assert runtime.folder(HERE) != before
    assert runtime.folder("9.9") != runtime.folder(HERE)


def test_there_is_no_python_for_it(lock: Path) -> None:
    runtime = PipRuntime("toy", lock, ("2.0", "2.1"))
    for ask in (runtime.found, runtime.install):
        with pytest.raises(BackendAbsent, match=r"toy needs Python 2\.0 or 2\.1, with pip, and none is found here"):
            ask()


def test_pip_fails(lock: Path) -> None:
    lock.write_text("toy @ file:///nowhere/toy-1.0-py3-none-any.whl\n")
    runtime = PipRuntime("toy", lock, (HERE,))
    with pytest.raises(BackendAbsent, match=r"can't be installed: pip ended with exit code 1 and said\n"):
        runtime.install()
    assert not runtime.folder(HERE).exists()
    assert [one.name for one in runtime.folder(HERE).parent.iterdir()] == ["lock"]
