"""A plan: what to run, trace by trace. Everything else follows from it and from what the backend claims."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from probate_conformance.exploring.touring import Tour, Walk
from probate_conformance.generation import Palette, generate_rehearsed
from probate_conformance.manifest import Manifest
from probate_conformance.trace import Trace
from probate_model.alphabet.editions import EDITIONS
from probate_model.alphabet.items import Item, Settle
from probate_model.clauses import CLAUSES
from probate_model.rehearsal import Rehearsal

UNLIMITED: Final = 1_000_000_000
"""The number of traces of a plan that has a time and no number."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    seed: int
    cases: int
    edition: str = "2026-06"
    profile: str = "core"
    schedules: int = 1
    """How many schedules each trace runs under; the first is the backend's default."""
    stop_at_first: bool = False
    seconds: float | None = None
    """After what time no more is run."""
    only: tuple[str, ...] = ()
    """Patterns of the ids of the clauses to judge; all if there are none."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """The clauses that are known to fail, each with the reason."""
    tour: Tour | None = None
    """Walks that are run after the generated traces."""

    @property
    def runs(self) -> int:
        """How many runs there are: every trace and every walk under every schedule."""
        return (self.cases + (0 if self.tour is None else len(self.tour.walks))) * self.schedules

    def walk(self, number: int) -> Walk | None:
        """Give the walk that the ``number``-th run is; none if it is a generated trace."""
        place = number // self.schedules - self.cases
        return None if self.tour is None or place < 0 else self.tour.walks[place]

    def judges(self, clause: str) -> bool:
        """Tell whether a clause is one to judge. A defect of the model's annotations always is."""
        return not self.only or clause not in CLAUSES or any(fnmatchcase(clause, pattern) for pattern in self.only)

    def trace(self, number: int, manifest: Manifest) -> Trace:
        """Give the trace of the ``number``-th run; see ``rehearsed``."""
        return self.rehearsed(number, manifest)[0]

    def rehearsed(self, number: int, manifest: Manifest) -> tuple[Trace, Sequence[Rehearsal]]:
        """Give the ``number``-th run, from 0: traces in order, each under its schedules; and its canonical run.

        A backend that can't begin several items in one tick gets each in a burst of its own.
        """
        palette = Palette.of(manifest.unclaimed)
        edition = EDITIONS[self.edition].flipped(manifest.variations)
        walk = self.walk(number)
        rehearsals: Sequence[Rehearsal]
        if walk is not None:
            trace, rehearsals = walk.trace if walk.needs <= palette.words else Trace(items=()), []
        else:
            trace, rehearsals = generate_rehearsed(self.seed, number // self.schedules, palette, self.profile, edition)
        schedule = number % self.schedules
        changes: dict[str, object] = {"edition": self.edition, "profile": self.profile}
        if manifest.variations:
            changes["flipped"] = manifest.variations
        if schedule:
            changes["schedule"] = schedule
        if manifest.bursts == "no":
            changes["items"] = tuple(apart(trace.items))
            rehearsals = []
        changes = {name: value for name, value in changes.items() if getattr(trace, name) != value}
        return trace.model_copy(update=changes) if changes else trace, rehearsals


def apart(items: tuple[Item, ...]) -> Generator[Item, None, None]:
    """Give the items with each in a burst of its own, for a backend that can't begin several in one tick."""
    for item in items:
        yield item
        if not isinstance(item, Settle):
            yield Settle()
