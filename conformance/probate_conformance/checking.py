"""Checking: a run of many traces against one backend.

Traces are generated, run and judged one after the other. A failure is run once more to confirm it: one that does not
fail twice is inconclusive, because a contract that holds sometimes was not shown to hold or to fail. The first
confirmed failure of each clause is shrunk, to the smallest trace that fails by that clause, and becomes a case.

A backend that breaks, or is silent, costs a deadline each time. So the run gives up on one that breaks in three traces
one after the other, or in 25 all told, and shrinking gives up when three candidates broke.

All of it is one conversation, so it runs wherever the backend lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Final

from probate_conformance.generation import Palette, generate_rehearsed
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.rehearsal import Rehearsal
from probate_conformance.report import AT_FIRST_FAILURE, INTERRUPTED, Trouble
from probate_conformance.shrinking import shrinking
from probate_conformance.story import seen_line
from probate_conformance.trace import ExpectedDivergence, Trace
from probate_conformance.view import view_of
from probate_conformance.wire import Command, Reply
from probate_model.alphabet.items import Item, Settle
from probate_model.worlds import View

BROKEN_IN_A_ROW: Final = 3
"""After how many broken traces one after the other a run gives up on a backend."""
BROKEN_IN_ALL: Final = 25
"""After how many broken traces a run gives up on a backend."""
MOST_KEPT: Final = 5
"""Of how many traces that neither passed nor failed the trace itself is kept."""


@dataclass(frozen=True, slots=True)
class Case:
    """A confirmed failure, shrunk, with what its last run showed."""

    clause: str
    number: int
    trace: Trace
    examined: Examined


@dataclass(slots=True)
class Checked:
    """What a run showed, so far."""

    planned: int = 0
    """How many runs there are to be."""
    traces: int = 0
    steps: int = 0
    voids: int = 0
    bursts: int = 0
    searched: int = 0
    demanded: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    """The windows, holds and reactions that were reached, and the ops and refusals that were carried out."""
    cases: list[Case] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    broken: int = 0
    shrinking: str | None = None
    """The clause whose failure is being shrunk at the moment."""
    ended: str | None = None
    """Why not all was run that was planned."""
    gave_up: bool = False
    """Whether that was because the backend broke too often."""

    def count(self, examined: Examined) -> None:
        """Add what one run of one trace showed."""
        self.traces += 1
        self.steps += examined.steps
        self.voids += examined.voids
        self.bursts += len(examined.exchanges)
        self.searched += examined.searched
        self.demanded.update(examined.demanded)
        self.unknown.update(examined.unknown)
        self.marks.update(examined.marks)


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

    @property
    def runs(self) -> int:
        """How many runs there are: every trace under every schedule."""
        return self.cases * self.schedules

    def trace(self, number: int, manifest: Manifest) -> Trace:
        """Give the trace of the ``number``-th run; see ``rehearsed``."""
        return self.rehearsed(number, manifest)[0]

    def rehearsed(self, number: int, manifest: Manifest) -> tuple[Trace, Sequence[Rehearsal]]:
        """Give the ``number``-th run, from 0: traces in order, each under its schedules; and its canonical run.

        A backend that can't begin several items in one tick gets each in a burst of its own.
        """
        palette = Palette.of(manifest.unclaimed)
        trace, rehearsals = generate_rehearsed(self.seed, number // self.schedules, palette)
        schedule = number % self.schedules
        changes: dict[str, object] = {"edition": self.edition, "profile": self.profile}
        if schedule:
            changes["schedule"] = schedule
        if manifest.bursts == "no":
            changes["items"] = tuple(apart(trace.items))
            rehearsals = []
        return trace.model_copy(update=changes), rehearsals


def apart(items: tuple[Item, ...]) -> Generator[Item, None, None]:
    """Give the items with each in a burst of its own, for a backend that can't begin several in one tick."""
    for item in items:
        yield item
        if not isinstance(item, Settle):
            yield Settle()


Progress = Callable[[Checked], None]


def _silent(checked: Checked) -> None:
    del checked


def _never() -> bool:
    return False


def check(
    manifest: Manifest,
    plan: Plan,
    progress: Progress = _silent,
    *,
    name: str | None = None,
    stop: Callable[[], bool] = _never,
    checked: Checked | None = None,
) -> Generator[Command, Reply, Checked]:
    """Run a plan. A conversation; gives what it showed.

    :param manifest: what the backend said of itself
    :param progress: called after every trace, and after every candidate of shrinking
    :param name: the name that cases call the backend by; that of its manifest if none is given
    :param stop: asked between traces whether to end early
    :param checked: what the results are written into, for a caller who must have them even if the backend raises
    """
    run = _Run(manifest, plan, progress, name or manifest.name, stop, checked or Checked())
    return (yield from run.all())


@dataclass(slots=True)
class _Run:
    manifest: Manifest
    plan: Plan
    progress: Progress
    name: str
    stop: Callable[[], bool]
    checked: Checked
    view: View = field(init=False)
    in_a_row: int = 0

    def __post_init__(self) -> None:
        self.view = view_of(self.manifest)
        self.checked.planned = self.plan.runs

    def all(self) -> Generator[Command, Reply, Checked]:
        checked = self.checked
        for number in range(self.plan.runs):
            trace, rehearsals = self.plan.rehearsed(number, self.manifest)
            examined = yield from examine(trace, self.view, rehearsals)
            checked.count(examined)
            self._note_broken(examined)
            if examined.verdict is not Verdict.PASS:
                yield from self._look_closer(trace, number, examined)
            self.progress(checked)
            ended = self._ended()
            if ended and number + 1 < self.plan.runs:
                checked.ended = ended
                break
        return checked

    def _note_broken(self, examined: Examined) -> None:
        self.in_a_row = self.in_a_row + 1 if examined.broke else 0
        self.checked.broken += examined.broke is not None

    def _ended(self) -> str | None:
        if self.stop():
            return INTERRUPTED
        if self.plan.stop_at_first and self.checked.failed:
            return AT_FIRST_FAILURE
        self.checked.gave_up = self.in_a_row >= BROKEN_IN_A_ROW or self.checked.broken >= BROKEN_IN_ALL
        if self.in_a_row >= BROKEN_IN_A_ROW:
            return f"the backend broke, or was silent, in {BROKEN_IN_A_ROW} traces one after the other"
        if self.checked.broken >= BROKEN_IN_ALL:
            return f"the backend broke, or was silent, in {BROKEN_IN_ALL} traces"
        return None

    def _look_closer(self, trace: Trace, number: int, examined: Examined) -> Generator[Command, Reply, None]:
        checked = self.checked
        if examined.divergence is None:
            checked.troubles.append(self._trouble(examined.verdict, number, examined.reason, trace))
            return
        clause = examined.divergence.clause
        again = yield from examine(trace, self.view)
        if again.divergence is None or again.divergence.clause != clause:
            self._note_broken(again)
            reason = f"failed by {clause} in one of two runs"
            checked.troubles.append(self._trouble(Verdict.INCONCLUSIVE, number, reason, trace))
            return
        checked.failed[clause] += 1
        if checked.failed[clause] == 1:
            checked.shrinking = clause
            smallest, shown = yield from shrunk(trace, again, self.view, self._shrinking_on)
            checked.shrinking = None
            checked.cases.append(Case(clause, number, with_expectation(smallest, shown, self.name), shown))

    def _trouble(self, verdict: Verdict, number: int, reason: str, trace: Trace) -> Trouble:
        case = trace if len(self.checked.troubles) < MOST_KEPT else None
        return Trouble(verdict=verdict, number=number, reason=reason, case=case)

    def _shrinking_on(self) -> bool:
        self.progress(self.checked)
        return not self.stop()


def _always() -> bool:
    return True


def shrunk(
    trace: Trace, examined: Examined, view: View, go_on: Callable[[], bool] = _always
) -> Generator[Command, Reply, tuple[Trace, Examined]]:
    """Shrink a failing trace, keeping the clause that it fails by; gives the trace and its last run.

    :param go_on: asked before each candidate; the smallest trace so far is given if it says no
    """
    assert examined.divergence is not None
    clause = examined.divergence.clause
    search = shrinking(trace)
    best = trace, examined
    broken = 0
    try:
        candidate = next(search)
        while broken < BROKEN_IN_A_ROW and go_on():
            shown = yield from examine(candidate, view)
            broken += shown.broke is not None
            fails = shown.divergence is not None and shown.divergence.clause == clause
            if fails:
                best = candidate, shown
            candidate = search.send(fails)
    except StopIteration:
        pass
    return best


def with_expectation(trace: Trace, examined: Examined, backend: str) -> Trace:
    """Give a failing trace as a case: with the divergence that it is expected to show."""
    assert examined.divergence is not None
    expected = ExpectedDivergence(
        clause=examined.divergence.clause, backend=backend, seen=seen_line(examined.divergence)
    )
    return trace.model_copy(update={"expected": expected})
