"""The bounds that have a name, each looked at to its end: so many states and transitions, all of them sound."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from probate_conformance.exploring.covering import Coverage
from probate_conformance.exploring.exploration import ALL_BOUNDS, Explored, explore
from probate_conformance.exploring.searching import Limits
from probate_conformance.lockstep import Verdict

WHOLE: Final = {
    "smallest": (204_598, 627_379),
    "three-prompts": (364_386, 1_116_747),
    "two-calls": (387_502, 1_239_331),
    "two-holds": (428_036, 1_451_015),
    "two-reactions": (293_170, 914_354),
    "two-unloads": (363_072, 1_088_507),
    "drifted": (220_698, 716_148),
    "gates": (220_540, 799_215),
    "reload": (305_899, 943_380),
    "turns": (161_484, 1_049_789),
    "reuse": (91, 202),
    "creation": (501_685, 1_685_458),
    "one-creation": (4_869, 15_163),
    "family": (1_408, 3_941),
    "children": (831_178, 3_558_620),
    "tasks": (19_596, 70_301),
    "executors": (30_492, 118_554),
    "turn-tasks": (8_651, 26_916),
    "two-tasks": (12_744, 53_787),
    "two-callers": (1_858, 8_267),
    "no-registry": (13_230, 63_462),
    "fibers": (12_584, 43_940),
    "effects": (14_294, 46_997),
    "services": (45_438, 116_477),
    "three-fibers": (21_164, 55_147),
    "late-services": (21_996, 85_769),
    "fiber-agents": (4_681, 11_045),
    "run": (73_254, 202_134),
    "talking-run": (25_502, 66_422),
    "two-runs": (56_532, 125_426),
}
"""How many states and transitions there are in each bound that can be looked at in minutes."""


@cache
def explored(name: str) -> Explored:
    """Explore a bound, once for all tests."""
    return explore(ALL_BOUNDS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_all_of_it_is_looked_at(name: str) -> None:
    found = explored(name)
    assert found.verdict is Verdict.PASS, found.faults
    assert (found.states, found.transitions) == WHOLE[name]


def test_what_is_beyond_a_limit_is_undetermined() -> None:
    found = explore(ALL_BOUNDS["creation"], Limits(states=2_000))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert set(found.verdicts().values()) == {Verdict.INCONCLUSIVE}


def test_every_bound_is_pinned() -> None:
    assert set(WHOLE) == set(ALL_BOUNDS)


MISSED: Final[dict[str, tuple[list[str], list[str]]]] = {
    "core": ([], ["PUBLISH-04", "INBOX-04"]),
    "subagents": (
        ["run cancelled before its child has a turn", "fork of a parent that is in a turn"],
        ["INSIDE-03", "INSIDE-04", "INSIDE-05", "INSIDE-06", "DELEGATE-01"],
    ),
}
"""The goals and clauses of what no bound has: runs whose children are agents, and the tool that delegates.

Since a clause is demanded only by what its sentence speaks of, two of the core are beyond the bounds as well.
"""


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["core", "tasks", "fibers", "subagents"])
def test_together_they_come_to_every_goal_and_clause(profile: str) -> None:
    together = Coverage(profile=profile)
    for name in WHOLE:
        if explored(name).coverage.profile == profile and name != "drifted":
            together.join(explored(name).coverage)
    assert (together.missed(), together.unreached()) == MISSED.get(profile, ([], []))
