"""The report: what a run showed, as pure data that computes its own totals and exit code.

Renderers only render. What counts as green is decided here and nowhere else: a run in which nothing was executed is not
green, a clause that was never demanded did not pass, and what is not claimed is said so.

A report has a header line that differs from run to run (when, where, how long); everything after it is a function of
the backend, the seed and the version of the kit.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from probate_conformance.errors import Exit
from probate_conformance.lockstep import Verdict
from probate_conformance.manifest import Manifest
from probate_conformance.trace import Trace
from probate_model.clauses import CLAUSES

UNEXPLAINED = "UNEXPLAINED"
"""What a divergence is put down to when the model's annotations say nothing: a defect of the model."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Header(_Part):
    """What differs from run to run."""

    part: Literal["header"] = "header"
    started: str
    seconds: float
    python: str
    platform: str


class Setting(_Part):
    """What was asked for."""

    part: Literal["setting"] = "setting"
    version: str
    backend: str
    manifest: Manifest
    edition: str
    profile: str
    seed: int
    cases: int


class Failure(_Part):
    """One failing trace, confirmed and shrunk."""

    part: Literal["failure"] = "failure"
    clause: str
    number: int
    """Which trace of the seed it was."""
    story: str
    case: Trace
    file: str | None = None


class Trouble(_Part):
    """A trace that was neither passed nor failed."""

    part: Literal["trouble"] = "trouble"
    verdict: Verdict
    number: int
    reason: str
    file: str | None = None


class ClauseResult(_Part):
    """What became of one clause."""

    part: Literal["clause"] = "clause"
    id: str
    verdict: Verdict
    demanded: int
    failed: int = 0


class Totals(_Part):
    """What was carried out."""

    part: Literal["totals"] = "totals"
    verdict: Verdict
    exit: int
    traces: int
    steps: int
    voids: int
    bursts: int
    searched: int
    """How many bursts needed more than the canonical run."""
    failed: int
    passed_clauses: int
    failed_clauses: int
    unknown: dict[str, int]
    """Events that are not of the alphabet, and how often the backend named them."""


class Report(_Part):
    """A whole run."""

    header: Header
    setting: Setting
    failures: tuple[Failure, ...]
    troubles: tuple[Trouble, ...]
    clauses: tuple[ClauseResult, ...]
    totals: Totals


def clause_results(
    claimed: dict[str, bool], demanded: dict[str, int], failed: dict[str, int], *, ended_early: bool
) -> tuple[ClauseResult, ...]:
    """Give what became of every clause.

    :param claimed: the clauses of the profile, and whether the backend claims each
    :param demanded: how often each was demanded in a compared step that held
    :param failed: how many traces failed by each
    :param ended_early: whether traces ended at a divergence, so that what lies behind it was not judged
    """
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
        results.append(ClauseResult(id=name, verdict=verdict, demanded=count, failed=failed.get(name, 0)))
    extra = [name for name in failed if name not in claimed]
    results += [ClauseResult(id=name, verdict=Verdict.FAIL, demanded=0, failed=failed[name]) for name in extra]
    return tuple(results)


def overall(clauses: tuple[ClauseResult, ...], troubles: tuple[Trouble, ...], steps: int) -> tuple[Verdict, Exit]:
    """Give the verdict on a run, and its exit code."""
    verdicts = {result.verdict for result in clauses}
    if any(result.id == UNEXPLAINED or result.id not in CLAUSES for result in clauses if result.failed):
        return Verdict.FAIL, Exit.DEFECT
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL, Exit.FAIL
    if any(trouble.verdict is Verdict.BROKEN for trouble in troubles):
        return Verdict.BROKEN, Exit.BROKEN
    if troubles:
        return Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE
    if not steps or Verdict.PASS not in verdicts:
        return Verdict.NOT_REACHED, Exit.NOT_RUN
    if Verdict.NOT_REACHED in verdicts or Verdict.BLOCKED in verdicts:
        return Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE
    return Verdict.PASS, Exit.PASS
