"""The plug-in runtimes from PyPI: what is there of each, and that each is driven where it is installed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from probate_conformance.backends import cordis
from probate_conformance.backends.cordis import COMPLETE, PARTIAL, RUNTIMES, cordis_backend
from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.backends.registry import BUILT_IN
from probate_conformance.checking import check
from probate_conformance.cli import main
from probate_conformance.errors import BackendAbsent
from probate_conformance.lockstep import Verdict
from probate_conformance.plan import Plan

HERE = Path(cordis.__file__).parent


def shim(name: str) -> Path:
    return HERE / "shims" / f"{name.replace('-', '_')}_shim.py"


def test_six_are_complete_and_three_partial_and_all_are_built_in() -> None:
    assert (len(COMPLETE), len(PARTIAL)) == (6, 3)
    assert set(RUNTIMES) <= set(BUILT_IN)


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_shim_is_short_and_says_why_of_what_it_leaves_out(name: str) -> None:
    source = shim(name).read_text()
    assert len(source.splitlines()) < 100
    assert ast.get_docstring(ast.parse(source))
    assert "NOTES = (" in source


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_lock_names_the_runtime_and_hashes_all_of_it(name: str) -> None:
    lock = RUNTIMES[name].lock.read_text()
    pinned = [line for line in lock.splitlines() if "==" in line]
    assert any(line.startswith(f"{name}==") for line in pinned)
    assert lock.count("--hash=sha256:") >= len(pinned)


def test_one_that_is_not_installed_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(BackendAbsent):
        cordis_backend("cordispy")


def test_without_its_python_it_is_absent(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("")
    with pytest.raises(BackendAbsent, match=r"needs Python 9\.9"):
        PipRuntime("odd", lock, ("9.9",)).found()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNTIMES)
def test_each_is_driven_and_judged_or_reported_as_not_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What they do is for the reports; here it is only asked that the kit can ask, or says that it can't."""
    absent = ""
    try:
        made = cordis_backend(name)
    except BackendAbsent as error:
        absent = error.what
    if absent:
        assert main(["check", name, "--profile", "fibers", "--cases", "1"]) == 5
        assert f"not all was run: {absent}" in " ".join(capsys.readouterr().out.split())
        return
    with made as backend:
        assert backend.manifest.name == name
        assert backend.manifest.profiles == ("fibers",)
        assert backend.manifest.notes
        plan = Plan(seed=0, cases=20, profile="fibers", stop_at_first=True)
        checked = backend.converse(check(backend.manifest, plan, lambda _: None))
        assert checked.traces
        assert [trouble for trouble in checked.troubles if trouble.verdict is Verdict.BROKEN] == []
