"""Running single traces of a plan: what one number of it shows, a failure confirmed.

A failure is run once more to confirm it: one that does not fail twice is inconclusive, because a contract that holds
sometimes was not shown to hold or to fail. What a trace shows depends on nothing but its number and how the contract is
read, so it can be run anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from probate_conformance.drift import Reading
from probate_conformance.exploring.touring import Walk
from probate_conformance.lockstep import Drift, Examined, Exchange, Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.shrinking import shrunk, with_expectation, without_dangling
from probate_conformance.story import story
from probate_conformance.trace import Trace
from probate_conformance.view import view_of
from probate_conformance.wire import Command, Reply
from probate_model.alphabet.events import Raised, Settled
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import UnloadProvider
from probate_model.rehearsal import Rehearsal
from probate_model.worlds import Divergence, View


@dataclass(frozen=True, slots=True)
class Case:
    """A confirmed failure, with what its last run showed."""

    clause: str
    number: int
    trace: Trace
    story: str


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
    written = exchanges[:-1] if exchanges and _is_epilogue(exchanges[-1]) else exchanges
    for name, times in Counter([item.item for exchange in written for item in exchange.sent]).items():
        counted[f"op:{name}"] += times
    for name, times in Counter([item.item for exchange in written for item in exchange.void]).items():
        counted[f"void:{name}"] += times
    settled = [event.outcome for exchange in exchanges for event in exchange.events if isinstance(event, Settled)]
    for outcome in settled:
        if isinstance(outcome, Raised):
            counted[f"code:{outcome.code.partition(':')[0]}"] += 1
    return counted


def _is_epilogue(exchange: Exchange) -> bool:
    """Tell whether these are the items of the epilogue, which ends with the unload of the provider."""
    last = (items[-1] for items in (exchange.sent, exchange.void) if items)
    return any(isinstance(item, UnloadProvider) and item.label == _LAST for item in last)


def _told(examined: Examined) -> tuple[object, ...]:
    """Give what two runs of a trace that drifts must agree on."""
    clause = examined.divergence.clause if examined.divergence is not None else None
    drifts = [(drift.choices, drift.divergence.clause) for drift in examined.drifts]
    return drifts, clause, examined.verdict
