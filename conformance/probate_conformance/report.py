"""The report: what a run showed, as pure data that computes its own totals and exit code.

Renderers only render. What counts as green is decided here and nowhere else: a run in which nothing was executed is not
green, a clause that was never demanded did not pass, and what is not claimed is said so.

A run has a header that differs from run to run (when, where, how long); everything after it is a function of the
backends, the seed and the version of the kit.
"""

from __future__ import annotations

from collections.abc import Mapping
from signal import Signals
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from probate_conformance.errors import WORST_FIRST, Exit
from probate_conformance.lockstep import Verdict
from probate_conformance.manifest import Manifest
from probate_conformance.trace import Trace
from probate_model.clauses import CLAUSES

INTERRUPTED: Final = "interrupted"
"""Why a run ended that was broken off from outside: never green, however much was done by then."""

AT_FIRST_FAILURE: Final = "stopped at the first failure"
"""Why a run ended that was to find one failure only."""

TIME_UP: Final = "the time was up"
"""Why a run ended that was given a time. That is a budget and no verdict: what was run is judged."""

UNEXPLAINED: Final = "UNEXPLAINED"
"""What a divergence is put down to when the model's annotations say nothing: a defect of the model."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Header(_Part):
    """What differs from run to run."""

    part: Literal["header"] = "header"
    version: str
    """Of the kit."""
    started: str
    seconds: float
    python: str
    platform: str


class Setting(_Part):
    """What was asked for, of one backend."""

    part: Literal["setting"] = "setting"
    backend: str
    """The name that the command line knows it by."""
    manifest: Manifest | None
    """What the backend said of itself; none if it never came to that."""
    edition: str
    profile: str
    seed: int
    cases: int
    schedules: int = 1
    seconds: float | None = None
    """After what time no more was run; what is run then depends on how fast it goes."""
    only: tuple[str, ...] = ()
    """Patterns of the ids of the clauses to judge; all if there are none."""
    tour: str | None = None
    """The tour whose walks were to be run after the generated traces."""


class Failure(_Part):
    """The first failing trace of a clause, confirmed and shrunk."""

    part: Literal["failure"] = "failure"
    clause: str
    number: int
    """Which run of the seed it was, from 0."""
    story: str
    case: Trace
    file: str | None = None


class Drift(_Part):
    """A choice, or several at once, in which the backend was found to differ from the edition.

    The clause failed, once; from there on the contract was read with the choice made the other way.
    """

    part: Literal["drift"] = "drift"
    choices: dict[str, str]
    """The choices by name, and how the backend makes each."""
    clause: str
    """The clause that failed."""
    number: int
    """Which run of the seed it was, from 0."""
    seen: str
    """The observation that the choice explains."""


class Trouble(_Part):
    """A trace that neither passed nor failed."""

    part: Literal["trouble"] = "trouble"
    verdict: Verdict
    number: int | None
    """Which run of the seed it was, from 0; none if it was before any."""
    reason: str
    case: Trace | None = None
    """The trace as it was; it is not shrunk."""
    file: str | None = None


class ClauseResult(_Part):
    """What became of one clause."""

    part: Literal["clause"] = "clause"
    id: str
    verdict: Verdict
    demanded: int
    """How often it was demanded, in steps that were compared and held."""
    failed: int = 0
    """How many traces failed by it."""
    expected: str | None = None
    """Why it is expected to fail, if it is."""

    @property
    def fails(self) -> bool:
        """Whether it failed, and was not expected to."""
        return self.verdict is Verdict.FAIL and self.expected is None

    @property
    def stale(self) -> bool:
        """Whether it was expected to fail, and does not."""
        return self.expected is not None and self.verdict in (Verdict.PASS, Verdict.NOT_CLAIMED)


class Share(_Part):
    """How many items of one kind were carried out, and how many were void."""

    done: int
    void: int


class Reached(_Part):
    """What the traces came to on the way."""

    part: Literal["reached"] = "reached"
    windows: dict[str, int]
    """How many ops fell into each window; one that the backend does not claim enough for is left out."""
    holds: dict[str, int]
    """How often something waited at a held gate of each kind."""
    reactions: dict[str, int]
    """How often a reaction to each kind of event fired."""
    items: dict[str, Share]
    """What the traces were made of."""
    refusals: dict[str, int]
    """How many calls were settled with each code."""


class Driven(_Part):
    """How much of the settled model a tour took the backend through."""

    part: Literal["driven"] = "driven"
    tour: str
    burst: int
    """How many items there are at most in a burst."""
    states: int
    """How many states at rest there are within the bound."""
    transitions: int
    """How many transitions there are, each a state and a burst."""
    driven: int
    """How many of these were taken, each under every schedule, unless the run ended before."""
    unclaimed: int
    """How many are only on walks that need what the backend does not claim, and so are not driven."""
    walks: int
    bursts: int
    """How many bursts there are in all walks."""


class Totals(_Part):
    """What was carried out, on one backend."""

    part: Literal["totals"] = "totals"
    verdict: Verdict
    exit: Exit
    traces: int
    steps: int
    voids: int
    bursts: int
    searched: int
    """How many bursts needed more than the canonical run."""
    failed: int
    """How many traces failed."""
    aside: dict[str, int] = {}
    """How many traces ended at clauses that were not to be judged, so that what lies behind was not judged."""
    clauses: dict[Verdict, int]
    """How many clauses have each verdict."""
    unknown: dict[str, int]
    """Events that are not of the alphabet, and how often the backend named them."""
    ended: str | None = None
    """Why not all was run that was asked for."""


class Report(_Part):
    """What a run showed of one backend."""

    setting: Setting
    drifts: tuple[Drift, ...] = ()
    failures: tuple[Failure, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    clauses: tuple[ClauseResult, ...] = ()
    reached: Reached | None = None
    driven: Driven | None = None
    totals: Totals


class End(_Part):
    """What the whole run comes to."""

    part: Literal["end"] = "end"
    verdict: Verdict
    exit: Exit
    signal: str | None = None
    """The signal that ended the run, if the process says so: its exit code is then 128 and the number of that."""

    @property
    def code(self) -> int:
        """The exit code of the process."""
        return int(self.exit) if self.signal is None else 128 + Signals[self.signal]


class Run(_Part):
    """A whole run: one report for each backend."""

    header: Header
    reports: tuple[Report, ...]
    end: End


def clause_results(
    claimed: dict[str, bool],
    demanded: dict[str, int],
    failed: dict[str, int],
    *,
    ended_early: bool,
    expected: Mapping[str, str] | None = None,
) -> tuple[ClauseResult, ...]:
    """Give what became of every clause.

    :param claimed: the clauses of the profile, and whether the backend claims each
    :param demanded: how often each was demanded in a compared step that held
    :param failed: how many traces failed by each
    :param ended_early: whether traces ended at a divergence, so that what lies behind it was not judged
    :param expected: the clauses that are expected to fail, each with the reason
    """
    reasons = expected or {}
    results = []
    for name, is_claimed in claimed.items():
        count = demanded.get(name, 0)
        if failed.get(name):
            verdict = Verdict.FAIL
        elif not is_claimed:
            verdict = Verdict.NOT_CLAIMED
        elif count:
            verdict = Verdict.PASS
        else:
            verdict = Verdict.BLOCKED if ended_early else Verdict.NOT_REACHED
        results.append(
            ClauseResult(
                id=name, verdict=verdict, demanded=count, failed=failed.get(name, 0), expected=reasons.get(name)
            )
        )
    extra = [name for name in failed if name not in claimed]
    results += [ClauseResult(id=name, verdict=Verdict.FAIL, demanded=0, failed=failed[name]) for name in extra]
    return tuple(results)


def overall(
    clauses: tuple[ClauseResult, ...],
    troubles: tuple[Trouble, ...],
    steps: int,
    *,
    ended: str | None = None,
    broken: bool = False,
) -> tuple[Verdict, Exit]:
    """Give the verdict on one backend, and its exit code.

    :param clauses: what became of each clause
    :param troubles: the traces that neither passed nor failed
    :param steps: how many items were carried out
    :param ended: why not all was run that was asked for, if so
    :param broken: whether the run gave up on the backend; one that is silent once is only inconclusive
    """
    verdicts = {result.verdict for result in clauses}
    whole = ended in (None, TIME_UP)
    if any(result.failed for result in clauses if result.id not in CLAUSES):
        return Verdict.FAIL, Exit.DEFECT
    if any(result.fails or (result.stale and whole and steps) for result in clauses):
        return Verdict.FAIL, Exit.FAIL
    if broken or any(trouble.verdict is Verdict.BROKEN for trouble in troubles):
        return Verdict.BROKEN, Exit.BROKEN
    if troubles or ended == INTERRUPTED or (not whole and steps):
        return Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE
    # What is left of those that fail was expected to.
    if not steps or verdicts.isdisjoint((Verdict.PASS, Verdict.FAIL)):
        return Verdict.NOT_REACHED, Exit.NOT_RUN
    if Verdict.NOT_REACHED in verdicts or Verdict.BLOCKED in verdicts:
        return Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE
    return Verdict.PASS, Exit.PASS


def end_of(reports: tuple[Report, ...], by: str | None = None) -> End:
    """Give what several backends come to: the worst of them, in the order of ``errors.WORST_FIRST``.

    :param by: the signal that the process is to say that it was ended by
    """
    if not reports:
        return End(verdict=Verdict.NOT_REACHED, exit=Exit.NOT_RUN, signal=by)
    worst = min(reports, key=lambda report: WORST_FIRST.index(report.totals.exit))
    return End(verdict=worst.totals.verdict, exit=worst.totals.exit, signal=by)


class Replayed(_Part):
    """What one run of one case showed."""

    backend: str
    case: Trace
    verdict: Verdict
    exit: Exit
    story: str
    clause: str | None = None
    """The clause that it fails by."""
    seen: str | None = None
    """The observation that no run of the model explains."""
    reason: str = ""
    """Why it neither passed nor failed."""

    @property
    def as_expected(self) -> bool | None:
        """Whether it showed the divergence that the case expects; none if the case expects nothing."""
        expected = self.case.expected
        if expected is None:
            return None
        return (self.clause, self.seen) == (expected.clause, expected.seen)


def replayed_exit(verdict: Verdict, clause: str | None) -> Exit:
    """Give the exit code for the verdict on one case."""
    match verdict:
        case Verdict.PASS:
            return Exit.PASS
        case Verdict.FAIL:
            return Exit.FAIL if clause in CLAUSES else Exit.DEFECT
        case Verdict.BROKEN:
            return Exit.BROKEN
        case Verdict.NOT_REACHED:
            return Exit.NOT_RUN
        case _:
            return Exit.INCONCLUSIVE
