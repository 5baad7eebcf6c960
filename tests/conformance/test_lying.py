"""Edition ``2026-08`` put to the test: there is a lie for each of its clauses, and each is reported by its clause."""

from __future__ import annotations

import pytest

from probate_conformance.backends.lying import EDITION, LIES, Lie, LyingBackend
from probate_conformance.generation import generate_rehearsed
from probate_conformance.lockstep import examine
from probate_conformance.trace import Trace
from probate_model.clauses import CLAUSES
from probate_model.rehearsal import Rehearsal
from probate_model.worlds import EVERYTHING

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

MOST_TRACES = 400


def test_there_is_one_for_each_clause() -> None:
    assert list(LIES) == [
        clause.id for clause in CLAUSES.values() if clause.profile == "core" and clause.holds_in(EDITION)
    ]


def test_each_is_reported_by_its_clause() -> None:
    left = dict(LIES)
    for number in range(MOST_TRACES):
        if not left:
            break
        trace, rehearsals = generate_rehearsed(0, number, edition=EDITION)
        trace = trace.model_copy(update={"edition": EDITION.name})
        for lie in list(left.values()):
            if reported(lie, trace, rehearsals) == lie.clause:
                del left[lie.clause]
    assert list(left) == []


def reported(lie: Lie, trace: Trace, rehearsals: list[Rehearsal]) -> str | None:
    with LyingBackend(lie) as backend:
        examined = backend.converse(examine(trace, EVERYTHING, rehearsals))
    return examined.divergence.clause if examined.divergence else None
