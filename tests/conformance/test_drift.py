"""Drift: choices in which a backend differs from the edition are found, one by one, and nothing is hidden by them."""

from __future__ import annotations

import pytest

from probate_conformance.backends.base import Backend
from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.reference import known_bad
from probate_conformance.backends.reference.backend import ReferenceBackend
from probate_conformance.checking import check
from probate_conformance.drift import TRIES, Reading
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.plan import Plan
from probate_conformance.report import Report
from probate_conformance.running import report_of
from probate_conformance.tally import Checked
from probate_conformance.trace import Trace, dump
from probate_model.alphabet.editions import EDITION_2026_06, EDITIONS, choices_of
from probate_model.clauses import CLAUSES
from probate_model.worlds import EVERYTHING

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

CORE = choices_of("core")
"""The choices that are about the core."""

NO_SAY = {
    "2026-06": {"idle_cancel": "nothing is ever parked, so there is nothing to drop"},
    "2026-08": {
        "pre_run_cancel": "there is no window before the claim where that is within the send",
        "id_free": "the scope has unwound when the entries go",
    },
}
"""For each edition, the choices of it that decide nothing beside its others, with the reason: so they can't be seen."""

SEED = 17
TRACES = 36
"""So few that come to everything are hard to find: to an id that is used again while a scope unwinds, and the like."""


def checked(backend: Backend, cases: int = TRACES, edition: str = "2026-06", seed: int = SEED) -> Checked:
    with backend:
        plan = Plan(seed, cases, edition, only=("REGISTRY-02",))  # so that nothing is shrunk
        return backend.converse(check(backend.manifest, plan))


def found(run: Checked) -> list[str]:
    return [name for drifted in run.drifts for name in drifted.drift.choices]


def ended(run: Checked) -> dict[str, int]:
    return {**run.failed, **run.aside}


@pytest.mark.parametrize("name", CORE)
def test_a_choice_that_is_made_the_other_way_is_found_and_named_alone(name: str) -> None:
    run = checked(ModelBackend(EDITION_2026_06.flipped([name])))
    assert found(run) == ([] if name in NO_SAY["2026-06"] else [name])
    assert ended(run) == {}
    assert run.troubles == []


@pytest.mark.parametrize(("follows", "asked"), [("2026-08", "2026-06"), ("2026-06", "2026-08")])
def test_another_edition_comes_out_as_the_list_of_its_choices(follows: str, asked: str) -> None:
    run = checked(ModelBackend(EDITIONS[follows]), edition=asked)
    assert sorted(found(run)) == sorted(set(CORE) - NO_SAY[follows].keys())
    assert ended(run) == {}
    assert run.troubles == []
    assert all(drifted.drift.divergence.clause in CLAUSES for drifted in run.drifts)


def test_the_reference_under_the_other_edition_comes_out_as_a_list_of_choices_too() -> None:
    run = checked(ReferenceBackend("asyncio"), cases=60, edition="2026-08", seed=0)
    # No trace of these comes to the two that are left.
    assert sorted(found(run)) == sorted(set(CORE) - {"idle_cancel", "id_free"})
    # It refuses a cancel by a hook, of which it knows nothing; no choice explains a burst that has one.
    assert "CANCEL-09" in ended(run)
    assert set(ended(run)) - {"CANCEL-09"} <= {drifted.drift.divergence.clause for drifted in run.drifts}
    assert run.troubles == []


def report(backend: Backend, plan: Plan) -> Report:
    run = Checked()
    with backend:
        backend.converse(check(backend.manifest, plan, checked=run))
    return report_of("it", run.manifest, plan, run)


def test_a_clause_that_a_choice_explains_fails_once_and_what_lies_behind_is_judged() -> None:
    told = report(ModelBackend(EDITION_2026_06.flipped(["closing_flush"])), Plan(SEED, TRACES))
    clauses = {result.id: result for result in told.clauses}
    (drift,) = told.drifts
    assert drift.choices == {"closing_flush": "none"}
    assert [name for name, result in clauses.items() if result.verdict is Verdict.FAIL] == [drift.clause]
    assert clauses[drift.clause].failed == 1
    assert clauses["FLUSH-05"].verdict is Verdict.PASS
    # What the choice makes impossible did not pass.
    assert clauses["FLUSH-02"].verdict is Verdict.BLOCKED
    assert told.totals.verdict is Verdict.FAIL
    assert list(clauses) == [name for name in CLAUSES if name in clauses]


def test_the_case_of_a_choice_that_was_found_later_holds_what_was_found_before() -> None:
    follows = EDITION_2026_06.flipped(["cancel_requested", "cancel_cause"])
    told = report(ModelBackend(follows), Plan(SEED, TRACES))
    first, second = told.drifts
    cases = {failure.clause: failure.case for failure in told.failures}
    assert cases[first.clause].flipped == ()
    assert cases[second.clause].flipped == tuple(first.choices)
    again = run_of(ModelBackend(follows), cases[second.clause])
    assert again.divergence is not None
    assert again.divergence.clause == second.clause
    assert '"flipped"' in dump(cases[second.clause])
    assert '"flipped"' not in dump(cases[first.clause])
    assert Trace.model_validate_json(dump(cases[second.clause])) == cases[second.clause]


def run_of(backend: Backend, trace: Trace) -> Examined:
    with backend:
        return backend.converse(examine(trace, EVERYTHING))


@pytest.mark.parametrize(
    "name",
    [
        # A choice that was seen to be made as the edition does is never flipped.
        "throwing-observer-prevents-flush",
        "half-tool-calls-are-dispatched",
        # With the choice flipped, the burst that looks like it would go on otherwise than it did.
        "cancelled-turn-strands-next-prompt",
        "injection-not-flushed",
    ],
)
def test_a_fault_that_looks_like_a_choice_is_none(name: str) -> None:
    run = checked(known_bad.backend(name, "asyncio"), cases=60, seed=0)
    assert found(run) == []
    assert ended(run) != {}


def test_the_like_of_what_no_choice_explained_is_looked_into_a_few_times_until_one_is_flipped() -> None:
    subject = ModelBackend(EDITION_2026_06.flipped(["closing_flush"]))
    plan = Plan(SEED, 1)

    def judged(number: int, reading: Reading) -> Examined:
        trace = plan.trace(number, subject.manifest)
        return subject.converse(examine(trace, EVERYTHING, (), reading))

    with subject:
        number = next(number for number in range(TRACES) if judged(number, Reading()).drifts)
        (drift,) = judged(number, Reading()).drifts
        reading = Reading()
        for _ in range(TRIES):
            assert judged(number, reading).drifts == [drift]
            reading = reading.after((), (), drift.divergence)
        again = judged(number, reading)
    assert again.drifts == []
    assert again.divergence == drift.divergence
    assert reading.after([drift], (), None).alike == ()
