"""While traces are run garbage is looked for seldom, and afterwards as before."""

from __future__ import annotations

import gc

from probate_conformance.backends.model import ModelBackend
from probate_conformance.checking import check
from probate_conformance.garbage import SELDOM
from probate_conformance.plan import Plan
from probate_conformance.tally import Checked


def test_the_collector_is_as_it_was_when_a_run_is_over() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    seen: list[tuple[int, bool]] = []

    def progress(_: Checked) -> None:
        seen.append((gc.get_threshold()[0], gc.get_freeze_count() > frozen))

    with ModelBackend() as backend:
        backend.converse(check(backend.manifest, Plan(seed=1, cases=3), progress))
    assert seen == [(SELDOM, True)] * 3
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
