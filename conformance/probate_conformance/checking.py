"""Checking: a run of many traces against one backend.

Traces are generated, run and judged one after the other. A failure is run once more to confirm it: one that does not
fail twice is inconclusive, because a contract that holds sometimes was not shown to hold or to fail. The first
confirmed failure of each clause is shrunk, to the smallest trace that fails by that clause, and becomes a case.

All of it is one conversation, so it runs wherever the backend lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from probate_conformance.generation import Palette, generate
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.report import Trouble
from probate_conformance.shrinking import shrinking
from probate_conformance.story import seen_line
from probate_conformance.trace import ExpectedDivergence, Trace
from probate_conformance.view import view_of
from probate_conformance.wire import Command, Reply
from probate_model.worlds import View


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

    traces: int = 0
    steps: int = 0
    voids: int = 0
    bursts: int = 0
    searched: int = 0
    demanded: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    cases: list[Case] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)

    def count(self, examined: Examined) -> None:
        """Add what one run of one trace showed."""
        self.traces += 1
        self.steps += examined.steps
        self.voids += examined.voids
        self.bursts += len(examined.exchanges)
        self.searched += examined.searched
        self.demanded.update(examined.demanded)
        self.unknown.update(examined.unknown)


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

    def trace(self, number: int, palette: Palette) -> Trace:
        """Give the ``number``-th run: traces in order, each under its schedules."""
        trace = generate(self.seed, number // self.schedules, palette)
        schedule = number % self.schedules
        changes: dict[str, object] = {"edition": self.edition, "profile": self.profile}
        if schedule:
            changes["schedule"] = schedule
        return trace.model_copy(update=changes)


Progress = Callable[[Checked], None]


def check(manifest: Manifest, plan: Plan, progress: Progress) -> Generator[Command, Reply, Checked]:
    """Run a plan. A conversation; gives what it showed.

    :param manifest: what the backend said of itself
    :param progress: called after every trace
    """
    checked = Checked()
    view = view_of(manifest)
    palette = Palette.of(manifest.unclaimed)
    for number in range(plan.cases * plan.schedules):
        trace = plan.trace(number, palette)
        examined = yield from examine(trace, view)
        checked.count(examined)
        if examined.verdict is not Verdict.PASS:
            yield from _look_closer(trace, number, examined, checked, view, manifest.name)
            if plan.stop_at_first and checked.cases:
                progress(checked)
                break
        progress(checked)
    return checked


def _look_closer(
    trace: Trace, number: int, examined: Examined, checked: Checked, view: View, backend: str
) -> Generator[Command, Reply, None]:
    if examined.divergence is None:
        checked.troubles.append(Trouble(verdict=examined.verdict, number=number, reason=examined.reason))
        return
    clause = examined.divergence.clause
    again = yield from examine(trace, view)
    if again.divergence is None or again.divergence.clause != clause:
        reason = f"failed by {clause} in one of two runs"
        checked.troubles.append(Trouble(verdict=Verdict.INCONCLUSIVE, number=number, reason=reason))
        return
    checked.failed[clause] += 1
    if checked.failed[clause] == 1:
        smallest, shown = yield from shrunk(trace, again, view)
        case = with_expectation(smallest, shown, backend)
        checked.cases.append(Case(clause, number, case, shown))


def shrunk(trace: Trace, examined: Examined, view: View) -> Generator[Command, Reply, tuple[Trace, Examined]]:
    """Shrink a failing trace, keeping the clause that it fails by; gives the trace and its last run."""
    assert examined.divergence is not None
    clause = examined.divergence.clause
    search = shrinking(trace)
    best = examined
    try:
        candidate = next(search)
        while True:
            shown = yield from examine(candidate, view)
            fails = shown.divergence is not None and shown.divergence.clause == clause
            if fails:
                best = shown
            candidate = search.send(fails)
    except StopIteration as stop:
        smallest: Trace = stop.value
        return smallest, best


def with_expectation(trace: Trace, examined: Examined, backend: str) -> Trace:
    """Give a failing trace as a case: with the divergence that it is expected to show."""
    assert examined.divergence is not None
    expected = ExpectedDivergence(
        clause=examined.divergence.clause, backend=backend, seen=seen_line(examined.divergence)
    )
    return trace.model_copy(update={"expected": expected})
