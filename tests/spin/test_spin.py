"""SPIN's model of the small core names the same actions as ours; without SPIN the check says that it was not run."""

from __future__ import annotations

import pytest

from bench.agents import MOVES
from tests.spin import __main__ as spin


def test_both_models_name_the_same_actions() -> None:
    assert spin.named() == frozenset(MOVES)
    assert len(MOVES) >= 6


def test_without_spin_it_is_not_passed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    assert spin.main() == 5
    assert "spin and gcc not found" in capsys.readouterr().err


@pytest.mark.parametrize("defect", [1, 2])
def test_our_explorer_finds_what_is_planted(defect: int) -> None:
    assert spin.by_us(1, defect).wrong
