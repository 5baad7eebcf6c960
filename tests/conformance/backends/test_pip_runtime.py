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


def test_what_may_not_be_looked_at_is_passed_over(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is too long stands for every place that the system does not let us look at, even as root."""
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / ("x" * 1000)))
    with pytest.raises(BackendAbsent, match=r"toy needs Python 2\.0, with pip, and none is found here"):
        PipRuntime("toy", lock, ("2.0",)).found()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("x" * 1000)))
    with pytest.raises(BackendAbsent, match="toy is not installed"):
        PipRuntime("toy", lock, (HERE,)).found()


def test_what_pyenv_has_is_found(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "py[e]nv" / "versions" / "2.0.7" / "bin" / "python2.0"
    made.parent.mkdir(parents=True)
    made.write_text("#!/bin/sh\necho 2.0\n")
    made.chmod(0o700)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "py[e]nv"))
    runtime = PipRuntime("toy", lock, ("2.0",))
    runtime.folder("2.0").mkdir(parents=True)
    assert runtime.found() == (made, runtime.folder("2.0"))


@pytest.mark.parametrize("place", ["taken", "x" * 1000])
def test_a_cache_folder_that_cannot_be_written_to(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
    runtime = PipRuntime("toy", lock, (HERE,))
    with pytest.raises(BackendAbsent) as raised:
        runtime.install()
    where = runtime.folder(HERE).parent
    assert str(raised.value).startswith(f"{where}: nothing can be installed there: ")
    assert str(raised.value).endswith("\n  set XDG_CACHE_HOME to a folder that can be written to")


def test_pip_fails(lock: Path) -> None:
    lock.write_text("toy @ file:///nowhere/toy-1.0-py3-none-any.whl\n")
    runtime = PipRuntime("toy", lock, (HERE,))
    with pytest.raises(BackendAbsent, match=r"can't be installed: pip ended with exit code 1 and said\n"):
        runtime.install()
    assert not runtime.folder(HERE).exists()
    assert [one.name for one in runtime.folder(HERE).parent.iterdir()] == ["lock"]
