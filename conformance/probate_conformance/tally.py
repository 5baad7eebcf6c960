"""Counting: what the traces of a run come to, taken in order of number and nothing else.

So what a run comes to is the same whoever ran the traces, and in which order.

A backend that breaks, or is silent, costs a deadline each time. So a run gives up on one that breaks in three traces
one after the other, or in 25 all told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from probate_conformance.drift import Reading
from probate_conformance.lockstep import Drift, Verdict
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.report import AT_FIRST_FAILURE, Trouble
from probate_conformance.runner import Case, Ran
from probate_conformance.shrinking import BROKEN_IN_A_ROW

BROKEN_IN_ALL: Final = 25
"""After how many broken traces a run gives up on a backend."""
MOST_KEPT: Final = 5
"""Of how many traces that neither passed nor failed the trace itself is kept."""


@dataclass(frozen=True, slots=True)
class Drifted:
    """A choice, or several at once, in which the backend was found to differ from the edition."""

    drift: Drift
    number: int
    """In which run."""


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
