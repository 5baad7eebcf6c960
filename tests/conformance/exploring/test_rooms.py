"""Bounds of the later profiles: looked at to the end. That each of their properties can fail is in ``test_planted``."""

from __future__ import annotations

import pytest

from probate_conformance.cli import main
from probate_conformance.errors import Exit
from probate_conformance.exploring.exploration import explore
from probate_conformance.exploring.rooms import RoomBound
from probate_conformance.lockstep import Verdict
from tests.conformance.exploring.room_defects import (
    CALLED,
    EFFECT,
    FIBER,
    IN_TURN,
    LATE,
    OWNED,
    PROGRAM,
    RELOADED,
    SERVICE,
    TASK,
)

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

WHOLE: dict[str, tuple[RoomBound, int, int]] = {
    bound.name: (bound, states, transitions)
    for bound, states, transitions in (
        (TASK, 596, 2_422),
        (OWNED, 458, 1_544),
        (IN_TURN, 1_059, 2_870),
        (RELOADED, 512, 2_106),
        (FIBER, 253, 748),
        (SERVICE, 652, 1_512),
        (EFFECT, 637, 1_324),
        (LATE, 535, 1_809),
        (PROGRAM, 230, 418),
        (CALLED, 454, 906),
    )
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_of_it_is_looked_at(name: str) -> None:
    bound, states, transitions = WHOLE[name]
    explored = explore(bound)
    assert explored.verdict is Verdict.PASS
    assert (explored.states, explored.transitions) == (states, transitions)


def test_what_a_room_has_nothing_of_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "fibers", "--reactions", "2"]) == Exit.USAGE
    assert "fibers says nothing of reactions" in capsys.readouterr().err


def test_one_bound_of_each_sort_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "fibers", "tasks", "--holds", "0", "--calls", "0", "--no-color"]) == Exit.PASS
    shown = capsys.readouterr().out
    assert "all bounds of profile fibers together" in shown
    assert "all bounds of profile tasks together" in shown
