"""An exploration: one bound searched, with what it comes to.

The verdicts are those of the kit, one for each property: it holds of all that is within the bound, or fails, with the
shortest way there as a case; or it is inconclusive, because a limit was reached before all was looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from probate_conformance.exploring import fibers, subagents, tasks
from probate_conformance.exploring.bounds import BOUNDS, Bound
from probate_conformance.exploring.caching import CachedSpace
from probate_conformance.exploring.casting import cast
from probate_conformance.exploring.covering import Coverage, covered
from probate_conformance.exploring.rooms import RoomBound, RoomPosition, RoomSpace, Theme, cast_room
from probate_conformance.exploring.searching import Limits, Searched, memory, search
from probate_conformance.lockstep import Verdict
from probate_conformance.trace import Trace

PROPERTIES: Final[dict[str, str]] = {
    "L1": "the log is balanced: turns, steps and tool calls nest, and nothing is outside of a turn",
    "L2": "records and turns are numbered one after the other",
    "L3": "an accepted prompt is in one place, and comes from nowhere and goes nowhere by itself",
    "L4": "the queue changes at its ends only",
    "L5": "a cancel that finds nothing changes nothing",
    "L6": "a cancel is announced once, before all of its effects",
    "L7": "an agent has one driver: no two turns overlap, and no body is outside of a turn",
    "L8": "the status alternates, and nothing follows disposed",
    "L9": "what is announced as ended was announced as created, once",
    "L10": "the registries hold pairs of what is published",
    "L11": "the registries hold an id once",
    "L12": "nothing is published of what was deactivated",
    "L24": "every settle ends, and every wait for idle ends or waits for a held gate",
    "L25": "every dispose returns, or waits for a held gate",
    "L26": "every accepted prompt is claimed, discarded or dropped",
    "L27": "every unload returns, whatever setups do",
    "L28": "an id that nobody holds can be created, and one that is held can't",
}
"""What is held to, by the numbers of the fact sheet's list."""

ROOM_PROPERTIES: Final[dict[str, dict[str, str]]] = {
    "tasks": {
        "L16": "the owner of a task does not change, and a task is not forgotten while its executor lives",
        "L17": "the end of a task is told once, and never after its executor was disposed",
    },
    "fibers": {
        "L23": "the members of an effect are undone in reverse, one by one, before the unload of its fiber ends",
    },
    "subagents": {
        "L20": "the result of a run settles once, is told as it is, and is never raised",
    },
}
"""What is held to beside that, in bounds of a later profile."""

THEMES: Final[dict[str, Theme]] = {"tasks": tasks.THEME, "fibers": fibers.THEME, "subagents": subagents.THEME}

ROOM_BOUNDS: Final = {
    bound.name: bound
    for bound in (
        RoomBound("tasks", "tasks", things=1, agents=2, more=0),
        RoomBound("executors", "tasks", things=1, agents=1),
        RoomBound("turn-tasks", "tasks", things=1, agents=1, more=0, turns=True),
        RoomBound("two-tasks", "tasks", things=2, more=0),
        RoomBound("two-callers", "tasks", things=1, calls=2, more=0),
        RoomBound("no-registry", "tasks", things=1, agents=1, more=0, registries=True),
        RoomBound("fibers", "fibers", things=2, more=0),
        RoomBound("effects", "fibers", things=1),
        RoomBound("services", "fibers", things=2, holds=0),
        RoomBound("three-fibers", "fibers", things=3, holds=0, more=0),
        RoomBound("late-services", "fibers", things=2, more=2, late=True),
        RoomBound("fiber-agents", "fibers", things=1, agents=1, more=0, turns=True),
        RoomBound("run", "subagents", things=1, more=0),
        RoomBound("talking-run", "subagents", things=1, calls=0),
        RoomBound("two-runs", "subagents", things=2, holds=0, more=0),
    )
}
"""The bounds of the later profiles that have a name."""

ALL_BOUNDS: Final[dict[str, Bound | RoomBound]] = {**BOUNDS, **ROOM_BOUNDS}


def properties_of(bound: Bound | RoomBound) -> dict[str, str]:
    """Give what is held to within a bound."""
    return {**PROPERTIES, **(ROOM_PROPERTIES[bound.profile] if isinstance(bound, RoomBound) else {})}


class Fault(NamedTuple):
    """Something that should not be, and the shortest way there."""

    says: str
    case: Trace

    @property
    def number(self) -> str:
        """The number of the property that does not hold."""
        return self.says.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Explored:
    """What the exploration of one bound came to."""

    bound: Bound | RoomBound
    states: int
    transitions: int
    expanded: int
    rests: int
    seconds: float
    megabytes: int
    by_rules: int
    """How many stretches were taken by the rules."""
    anew: int
    """How many transitions could not be taken from a list, since they depend on more than one agent."""
    limit: str | None
    faults: tuple[Fault, ...]
    coverage: Coverage

    @property
    def verdict(self) -> Verdict:
        """What became of all."""
        if self.faults:
            return Verdict.FAIL
        return Verdict.PASS if self.limit is None else Verdict.INCONCLUSIVE

    def verdicts(self) -> dict[str, Verdict]:
        """Give what became of each property."""
        failed = {fault.number for fault in self.faults}
        other = Verdict.PASS if self.limit is None and not failed else Verdict.INCONCLUSIVE
        return {number: Verdict.FAIL if number in failed else other for number in properties_of(self.bound)}


def explore(
    bound: Bound | RoomBound,
    limits: Limits = Limits(),  # noqa: B008
    progress: Callable[[Searched[int] | Searched[RoomPosition]], None] | None = None,
) -> Explored:
    """Explore a bound until all is looked at, something is found, or a limit is reached.

    :param progress: called now and then with what the search has come to
    """
    if isinstance(bound, RoomBound):
        theme = THEMES[bound.profile]
        room = RoomSpace(bound, theme)
        within = search(room, limits, progress)
        cases = [cast_room(bound, theme, [room.choices[number] for number in found.path]) for found in within.findings]
        return _explored(bound, within, cases, room.coverage, by_rules=within.transitions)
    space = CachedSpace(bound)
    searched = search(space, limits, progress)
    cases = [cast([space.choices[number] for number in found.path], bound.edition) for found in searched.findings]
    coverage = covered(space.stretches(), bound.edition)
    return _explored(bound, searched, cases, coverage, by_rules=space.misses, anew=space.anew)


def _explored(
    bound: Bound | RoomBound,
    searched: Searched[int] | Searched[RoomPosition],
    cases: list[Trace],
    coverage: Coverage,
    *,
    by_rules: int,
    anew: int = 0,
) -> Explored:
    return Explored(
        bound=bound,
        states=len(searched.states),
        transitions=searched.transitions,
        expanded=searched.expanded,
        rests=searched.rests,
        seconds=searched.seconds,
        megabytes=memory(),
        by_rules=by_rules,
        anew=anew,
        limit=searched.limit,
        faults=tuple(Fault(finding.fault, case) for finding, case in zip(searched.findings, cases, strict=True)),
        coverage=coverage,
    )
