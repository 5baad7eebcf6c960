"""The known-bad variants: each is found, and named by its clause; none outlives its conversation."""

from __future__ import annotations

import pytest

from probate_conformance.backends.base import Backend
from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.backends.reference.known_bad import VARIANTS, backend
from probate_conformance.backends.reference.known_bad.patching import NothingToChange, Patches
from probate_conformance.checking import Checked, Plan, check
from probate_reference import core, driver, teardown
from probate_reference import lifecycle as lifecycles


def _check(subject: Backend, plan: Plan) -> Checked:
    with subject:
        return subject.converse(check(subject.manifest, plan, lambda _: None))


@pytest.mark.parametrize(
    "name",
    [
        "pre-run-cancel-forgets-waiters",
        "unannounced-agent-is-announced-as-disposed",
        "handle-detaches-side-by-side",
    ],
)
def test_burst_reaction_and_schedule_each_show_a_defect(name: str) -> None:
    variant = VARIANTS[name]
    schedules = 4 if variant.needs == "schedule" else 1
    checked = _check(backend(name), Plan(seed=1, cases=500, schedules=schedules, stop_at_first=True))
    assert [case.clause for case in checked.cases] == [variant.clause]


def test_a_defect_of_order_does_not_show_first_in_first_out() -> None:
    checked = _check(backend("handle-detaches-side-by-side"), Plan(seed=1, cases=100))
    assert not checked.failed


def test_a_defect_of_order_shows_on_trio() -> None:
    variant = VARIANTS["handle-detaches-side-by-side"]
    checked = _check(backend(variant.name, "trio"), Plan(seed=1, cases=100, stop_at_first=True))
    assert [case.clause for case in checked.cases] == [variant.clause]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_defect_is_planted_somewhere_and_taken_out_again(name: str) -> None:
    before = {holder: dict(vars(holder)) for holder in (core.Core, driver, teardown, lifecycles, lifecycles.Lifecycle)}
    with Patches() as patches:
        VARIANTS[name].plant(patches)
        assert patches.changed
    assert not patches.changed
    assert {holder: dict(vars(holder)) for holder in before} == before


def test_the_reference_is_pristine_after_a_conversation() -> None:
    subject = backend("pre-run-cancel-forgets-waiters")
    _check(subject, Plan(seed=1, cases=50))
    assert not _check(ReferenceBackend(), Plan(seed=1, cases=150)).failed


def test_the_reference_is_pristine_after_a_conversation_that_raised() -> None:
    def broken(_: Checked) -> None:
        raise ZeroDivisionError

    before = driver.drive
    subject = backend("pre-run-cancel-forgets-waiters")
    with pytest.raises(BaseExceptionGroup), subject:
        subject.converse(check(subject.manifest, Plan(seed=1, cases=1), broken))
    assert driver.drive is before is vars(lifecycles)["drive"]
    _check(subject, Plan(seed=1, cases=1))


def test_two_defects_cannot_be_planted_at_once() -> None:
    outer, inner = backend("pre-run-cancel-forgets-waiters"), backend("unannounced-agent-is-announced-as-disposed")

    def also(_: Checked) -> None:
        _check(inner, Plan(seed=1, cases=1))

    with pytest.raises(BaseExceptionGroup) as raised, outer:
        outer.converse(check(outer.manifest, Plan(seed=1, cases=1), also))
    assert raised.group_contains(RuntimeError, match="one defect")


def test_a_change_of_what_is_not_there_is_an_error() -> None:
    with Patches() as patches:
        with pytest.raises(NothingToChange):
            patches.replace(driver, "no_such_function", None)
        with pytest.raises(NothingToChange):
            patches.edit(driver, "drive", ("no such line", ""))
        with pytest.raises(NothingToChange):
            patches.edit(core, "Core", ("Core", "Bore"))
