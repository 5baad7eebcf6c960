"""Checking: a run of many traces against one backend.

Traces are generated, run and judged one after the other. A failure is run once more to confirm it: one that does not
fail twice is inconclusive, because a contract that holds sometimes was not shown to hold or to fail. The first
confirmed failure of each clause is shrunk, to the smallest trace that fails by that clause, and becomes a case.

A backend that breaks, or is silent, costs a deadline each time. So the run gives up on one that breaks in three traces
one after the other, or in 25 all told, and shrinking gives up when three candidates broke.

Running a trace and making something of it are two things. ``Runner`` runs: what one number of a plan shows depends on
nothing else, so it can be done anywhere. ``Tally`` takes what was shown in order of number and nothing else, so what a
run comes to is the same whoever ran the traces, and in which order. Here both are done in turn; ``spreading`` has many
runners.

All of it is one conversation, so it runs wherever the backend lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from probate_conformance import garbage
from probate_conformance.drift import Reading
from probate_conformance.exploring.touring import Tour, Walk
from probate_conformance.generation import Palette, generate_rehearsed
from probate_conformance.lockstep import Drift, Examined, Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.report import AT_FIRST_FAILURE, Trouble
from probate_conformance.shrinking import shrinking
from probate_conformance.story import seen_line, story
from probate_conformance.trace import ExpectedDivergence, Trace, dangling
from probate_conformance.view import view_of
from probate_conformance.wire import Command, Reply
from probate_model.alphabet.editions import EDITIONS
from probate_model.alphabet.events import Raised, Settled
from probate_model.alphabet.items import BurstItem, Item, React, Reject, Settle, Throw
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import UnloadProvider
from probate_model.clauses import CLAUSES
from probate_model.rehearsal import Rehearsal
from probate_model.worlds import Divergence, View

BROKEN_IN_A_ROW: Final = 3
"""After how many broken traces one after the other a run gives up on a backend."""
BROKEN_IN_ALL: Final = 25
"""After how many broken traces a run gives up on a backend."""
UNLIMITED: Final = 1_000_000_000
"""The number of traces of a plan that has a time and no number."""
MOST_KEPT: Final = 5
"""Of how many traces that neither passed nor failed the trace itself is kept."""


@dataclass(frozen=True, slots=True)
class Case:
    """A confirmed failure, with what its last run showed."""

    clause: str
    number: int
    trace: Trace
    story: str


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


@dataclass(frozen=True, slots=True)
class Drifted:
    """A choice, or several at once, in which the backend was found to differ from the edition."""

    drift: Drift
    number: int
    """In which run."""


@dataclass(slots=True)
class Ran:
    """What one run of a plan showed, a failure confirmed."""

    number: int
    verdict: Verdict
    reason: str
    """Why it neither passed nor failed."""
    broke: bool
    steps: int
    voids: int
    bursts: int
    searched: int
    demanded: Counter[str]
    unknown: Counter[str]
    marks: Counter[str]
    reading: Reading
    """How the contract was read when the trace began."""
    shown: tuple[str, ...]
    """The choices that were seen to be as the contract was read."""
    sought: bool
    """Whether a divergence had to be explained, or could not be."""
    drifts: tuple[Drift, ...] = ()
    """The divergences that were explained by a choice, confirmed."""
    cases: tuple[Case, ...] = ()
    """One for each of them that is judged."""
    divergence: Divergence | None = None
    """What it fails by, unexplained."""
    trace: Trace | None = None
    """The trace; none if it passed, or failed by a clause that is not judged."""
    story: str = ""
    """Of a failure that is judged."""
    driven: tuple[int, ...] = ()
    """The transitions of a tour that it took, by their numbers."""

    def is_stale(self, reading: Reading) -> bool:
        """Tell whether what the trace showed might be another thing, the contract being read like this."""
        return self.reading != reading if self.sought else self.reading.flipped != reading.flipped


@dataclass(slots=True)
class Checked:
    """What a run showed, so far."""

    manifest: Manifest | None = None
    """What the backend said of itself; none if it never came to that."""
    planned: int = 0
    """How many runs there are to be."""
    traces: int = 0
    steps: int = 0
    voids: int = 0
    bursts: int = 0
    searched: int = 0
    demanded: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    aside: Counter[str] = field(default_factory=Counter)
    """How many traces ended at clauses that are not judged."""
    unknown: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    """The windows, holds and reactions that were reached, and the ops and refusals that were carried out."""
    driven: set[int] = field(default_factory=set)
    """The transitions of a tour that were taken."""
    cases: list[Case] = field(default_factory=list)
    """The first failure of each clause, in order of number; shrunk, once that is done."""
    troubles: list[Trouble] = field(default_factory=list)
    drifts: list[Drifted] = field(default_factory=list)
    """The choices that were flipped, in the order in which that was found."""
    broken: int = 0
    shrinking: str | None = None
    """The clause whose failure is being shrunk at the moment."""
    ended: str | None = None
    """Why not all was run that was planned."""
    gave_up: bool = False
    """Whether that was because the backend broke too often."""

    def replace(self, case: Case) -> None:
        """Take a case for the one of its clause."""
        self.cases = [case if other.clause == case.clause else other for other in self.cases]


Progress = Callable[[Checked], None]
Stop = Callable[[], str | None]
"""Tells why to end early; none to go on."""


def _silent(checked: Checked) -> None:
    del checked


def _never() -> None:
    return None


@dataclass(slots=True)
class Runner:
    """Runs single traces of a plan on a backend. Its methods are conversations."""

    manifest: Manifest
    plan: Plan
    name: str
    """By which cases call the backend."""
    view: View = field(init=False)
    _before: tuple[Walk, list[Rehearsal]] | None = field(default=None, init=False)
    """The last walk, and how it was rehearsed."""

    def __post_init__(self) -> None:
        self.view = view_of(self.manifest)

    def run(self, number: int, reading: Reading) -> Generator[Command, Reply, Ran]:
        """Run one trace, and run it again if it fails.

        :param reading: how the contract is read when it begins
        :raises Exception: only what is a defect of ours, with a note of the trace that shows it
        """
        try:
            trace, rehearsals = self.plan.rehearsed(number, self.manifest)
            if reading.flipped:
                flipped = (*self.manifest.variations, *reading.flipped)
                trace, rehearsals = trace.model_copy(update={"flipped": flipped}), []
            walk = self.plan.walk(number)
            if walk is not None and self.manifest.bursts != "no":
                rehearsals = self._rehearsed(walk)
            examined = yield from examine(trace, self.view, rehearsals, reading)
            ran = Ran(
                number=number,
                verdict=examined.verdict,
                reason=examined.reason,
                broke=examined.broke is not None,
                steps=examined.steps,
                voids=examined.voids,
                bursts=len(examined.exchanges),
                searched=examined.searched,
                demanded=examined.demanded,
                unknown=examined.unknown,
                marks=marks(examined),
                reading=reading,
                shown=tuple(sorted(examined.shown)),
                sought=examined.sought,
            )
            if walk is not None and trace.items:
                ran.driven = walk.transitions[: len(examined.exchanges)]
                self._before = walk, examined.rehearsals
            if examined.drifts:
                yield from self._confirm_drifts(trace, examined, ran)
            elif examined.divergence is not None:
                yield from self._confirm(trace, examined.divergence, ran)
            elif examined.verdict is not Verdict.PASS:
                ran.trace = trace
        except Exception as error:
            error.add_note(f"checking {self.name}, seed {self.plan.seed}, trace {number}")
            raise
        return ran

    def _rehearsed(self, walk: Walk) -> Sequence[Rehearsal]:
        """Give what a walk has in common with the last one, which is all of it under another schedule."""
        if self._before is None:
            return []
        before, rehearsals = self._before
        if before is walk:
            return rehearsals
        pairs = enumerate(zip(before.transitions, walk.transitions, strict=False))
        common = min(len(before.transitions), len(walk.transitions))
        return rehearsals[: next((place for place, (one, other) in pairs if one != other), common)]

    def _confirm(self, trace: Trace, divergence: Divergence, ran: Ran) -> Generator[Command, Reply, None]:
        ran.divergence, clause = divergence, divergence.clause
        if not self.plan.judges(clause):
            return
        again = yield from examine(trace, self.view)
        if again.divergence is None or again.divergence.clause != clause:
            ran.verdict, ran.broke = Verdict.INCONCLUSIVE, again.broke is not None
            ran.reason = f"failed by {clause} in one of two runs"
            ran.trace = trace
            return
        ran.trace = with_expectation(trace, again, self.name)
        ran.story = story(trace, again)

    def _confirm_drifts(self, trace: Trace, examined: Examined, ran: Ran) -> Generator[Command, Reply, None]:
        """Confirm what was explained, and what the trace failed by behind that."""
        again = yield from examine(trace, self.view, (), ran.reading)
        if _told(again) != _told(examined):
            ran.verdict, ran.broke = Verdict.INCONCLUSIVE, again.broke is not None
            ran.reason = "it drifted from the edition in two runs, each time in another way"
            ran.trace = trace
            return
        ran.drifts = tuple(again.drifts)
        ran.cases = tuple(
            self._case_of(trace, again, drift, ran.number)
            for drift in again.drifts
            if self.plan.judges(drift.divergence.clause)
        )
        if again.divergence is not None:
            ran.divergence = again.divergence
            if self.plan.judges(again.divergence.clause):
                last = again.drifts[-1]
                read = trace.model_copy(update={"flipped": (*last.flipped, *last.choices)})
                ran.trace = with_expectation(read, again, self.name)
                ran.story = story(read, again)
        elif again.verdict is not Verdict.PASS:
            ran.trace = trace

    def _case_of(self, trace: Trace, examined: Examined, drift: Drift, number: int) -> Case:
        read = trace.model_copy(update={"flipped": drift.flipped})
        until = Examined(divergence=drift.divergence, exchanges=examined.exchanges[: drift.exchanges])
        clause = drift.divergence.clause
        return Case(clause, number, with_expectation(read, until, self.name), story(read, until))

    def shrink(self, case: Case, go_on: Callable[[], bool]) -> Generator[Command, Reply, Case]:
        """Shrink a case; the same case if it does not fail this time.

        :param go_on: asked before each candidate; the smallest trace so far is given if it says no
        """
        trace = without_dangling(case.trace)
        examined = yield from examine(trace, self.view)
        if examined.divergence is None or examined.divergence.clause != case.clause:
            return case
        smallest, shown = yield from shrunk(trace, examined, self.view, go_on)
        return replace(case, trace=with_expectation(smallest, shown, self.name), story=story(smallest, shown))


_LAST: Final = Label("end")


def marks(examined: Examined) -> Counter[str]:
    """Count what a run came to: windows, holds and reactions, what was carried out and what was void, and refusals.

    The epilogue is no item of the trace, so what it carries out is not counted.
    """
    counted = Counter(examined.marks)
    exchanges = examined.exchanges
    written = [exchange for exchange in exchanges if not (_is_last(exchange.sent) or _is_last(exchange.void))]
    for name, times in Counter([item.item for exchange in written for item in exchange.sent]).items():
        counted[f"op:{name}"] += times
    for name, times in Counter([item.item for exchange in written for item in exchange.void]).items():
        counted[f"void:{name}"] += times
    settled = [event.outcome for exchange in exchanges for event in exchange.events if isinstance(event, Settled)]
    for outcome in settled:
        if isinstance(outcome, Raised):
            counted[f"code:{outcome.code.partition(':')[0]}"] += 1
    return counted


def _is_last(items: tuple[BurstItem, ...]) -> bool:
    """Tell whether these are items of the epilogue, which ends with the unload of the provider."""
    return bool(items) and isinstance(items[-1], UnloadProvider) and items[-1].label == _LAST


def _told(examined: Examined) -> tuple[object, ...]:
    """Give what two runs of a trace that drifts must agree on."""
    clause = examined.divergence.clause if examined.divergence is not None else None
    drifts = [(drift.choices, drift.divergence.clause) for drift in examined.drifts]
    return drifts, clause, examined.verdict


@dataclass(slots=True)
class Tally:
    """Makes something of what traces showed; takes them in order of number."""

    plan: Plan
    checked: Checked
    reading: Reading = field(default_factory=Reading, init=False)
    """How the contract is read when the next trace begins."""
    in_a_row: int = field(default=0, init=False)

    def add(self, ran: Ran) -> list[Case]:
        """Add what one run showed. Gives the cases that are the first of their clause, which are then to be shrunk."""
        self.reading = self.reading.after(ran.drifts, ran.shown, ran.divergence)
        cases = [self._drift(ran, drift) for drift in ran.drifts]
        cases.append(self._rest(ran))
        return [case for case in cases if case is not None]

    def _drift(self, ran: Ran, drift: Drift) -> Case | None:
        """Note that a choice is flipped from now on. Its clause has failed, once."""
        clause = drift.divergence.clause
        self.checked.drifts.append(Drifted(drift, ran.number))
        case = next((case for case in ran.cases if case.clause == clause and case.trace.flipped == drift.flipped), None)
        return None if case is None else self._failed(case)

    def _failed(self, case: Case) -> Case | None:
        checked = self.checked
        checked.failed[case.clause] += 1
        if checked.failed[case.clause] > 1:
            return None
        checked.cases.append(case)
        return case

    def _rest(self, ran: Ran) -> Case | None:
        checked = self.checked
        checked.traces += 1
        checked.steps += ran.steps
        checked.voids += ran.voids
        checked.bursts += ran.bursts
        checked.searched += ran.searched
        checked.demanded.update(ran.demanded)
        checked.unknown.update(ran.unknown)
        checked.marks.update(ran.marks)
        checked.driven.update(ran.driven)
        checked.broken += ran.broke
        self.in_a_row = self.in_a_row + 1 if ran.broke else 0
        if ran.verdict is Verdict.PASS:
            return None
        if ran.verdict is not Verdict.FAIL:
            kept = ran.trace if len(checked.troubles) < MOST_KEPT else None
            checked.troubles.append(
                Trouble(verdict=ran.verdict, number=ran.number, reason=ran.reason, case=kept),
            )
            return None
        assert ran.divergence is not None
        clause = ran.divergence.clause
        if ran.trace is None:
            checked.aside[clause] += 1
            return None
        return self._failed(Case(clause, ran.number, ran.trace, ran.story))

    def ended(self, why: str | None) -> bool:
        """Tell whether the run has come to its end; if that is before all was run, the reason is noted.

        :param why: a reason from outside
        """
        checked = self.checked
        gives_up = self._gives_up()
        if checked.traces >= self.plan.runs:
            return True
        if self.plan.stop_at_first and any(clause not in self.plan.expected for clause in checked.failed):
            why = why or AT_FIRST_FAILURE
        checked.ended = why or gives_up
        return checked.ended is not None

    def _gives_up(self) -> str | None:
        in_a_row, in_all = self.in_a_row >= BROKEN_IN_A_ROW, self.checked.broken >= BROKEN_IN_ALL
        self.checked.gave_up = in_a_row or in_all
        if in_a_row:
            return f"the backend broke, or was silent, in {BROKEN_IN_A_ROW} traces one after the other"
        return f"the backend broke, or was silent, in {BROKEN_IN_ALL} traces" if in_all else None


def check(
    manifest: Manifest,
    plan: Plan,
    progress: Progress = _silent,
    *,
    name: str | None = None,
    stop: Stop = _never,
    checked: Checked | None = None,
) -> Generator[Command, Reply, Checked]:
    """Run a plan. A conversation; gives what it showed.

    :param manifest: what the backend said of itself
    :param progress: called after every trace, and after every candidate of shrinking
    :param name: the name that cases call the backend by; that of its manifest if none is given
    :param stop: asked between traces why to end early
    :param checked: what the results are written into, for a caller who must have them even if the backend raises
    """
    checked = checked or Checked()
    checked.manifest, checked.planned = manifest, plan.runs
    runner, tally = Runner(manifest, plan, name or manifest.name), Tally(plan, checked)

    def go_on() -> bool:
        progress(checked)
        return stop() is None

    with garbage.seldom_looked_for():
        while not tally.ended(stop()):
            ran = yield from runner.run(checked.traces, tally.reading)
            for case in tally.add(ran):
                checked.shrinking = case.clause
                checked.replace((yield from runner.shrink(case, go_on)))
                checked.shrinking = None
            progress(checked)
    return checked


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
            loadable = without_dangling(candidate)
            shown = yield from examine(loadable, view)
            broken += shown.broke is not None
            fails = shown.divergence is not None and shown.divergence.clause == clause
            if fails:
                best = loadable, shown
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


def without_dangling(trace: Trace) -> Trace:
    """Give a trace without what refers to something that no item makes.

    That is void, so it changes nothing; but in a file it would be a mistake.
    """
    while faulty := Counter(number for number, _ in dangling(trace)):
        number, faults = next(iter(faulty.items()))
        before, item, after = trace.items[: number - 1], trace.items[number - 1], trace.items[number:]
        trace = trace.with_items((*before, *after))
        if not isinstance(item, React):
            continue
        for place in range(len(item.do)):
            lesser = trace.with_items((*before, *_without_action(item, place), *after))
            if sum(1 for other, _ in dangling(lesser) if other == number) < faults:
                trace = lesser
                break
    return trace


def _without_action(item: React, without: int) -> tuple[React, ...]:
    """Give a reaction without one of its actions; none if that was all it did."""
    kept = [action for place, action in enumerate(item.do) if place != without]
    named = tuple(
        action if isinstance(action, Throw | Reject) else replace(action, label=Label(f"{item.label}.{place}"))
        for place, action in enumerate(kept)
    )
    return (replace(item, do=named),) if named else ()
