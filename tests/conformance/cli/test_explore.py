"""``probate explore``."""

from __future__ import annotations

from pathlib import Path

import pytest

from probate_conformance.cli import main
from probate_conformance.errors import Exit
from probate_conformance.exploring.bounds import BOUNDS

SMALL = ["smallest", "--agents", "1", "--holds", "0", "--reactions", "0", "--no-color"]


def test_a_bound_that_was_looked_at_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", *SMALL]) == Exit.PASS
    shown = capsys.readouterr().out
    assert "hold to all 17 properties" in shown
    assert "by the rules" in shown


def test_a_limit_makes_it_undetermined(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "smallest", "--states", "5000", "--no-color", "-v"]) == Exit.INCONCLUSIVE
    shown = capsys.readouterr().out
    assert "undetermined: the limit of 5,000 states was reached" in shown
    assert "goals not reached" in shown


def test_what_means_nothing_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["explore", "smalest"]) == Exit.USAGE
    assert capsys.readouterr().err.endswith("\n  did you mean 'smallest'? `probate explore --list` tells all\n")
    assert main(["explore", "--agents", "0"]) == Exit.USAGE
    assert "--agents 0 leaves nothing" in capsys.readouterr().err


def test_the_list_tells_every_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--list", "--no-color"]) == Exit.PASS
    shown = capsys.readouterr().out
    assert all(name in shown for name in BOUNDS)
    assert "L28" in shown


def test_a_compiled_model_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probate_conformance.cli.explore.is_compiled", lambda: True)
    assert main(["explore", *SMALL]) == Exit.USAGE
    assert "the model here is compiled" in capsys.readouterr().err
