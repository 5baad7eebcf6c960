"""What a run comes to: verdicts, totals and exit codes."""

from __future__ import annotations

from itertools import permutations

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.checking import check
from probate_conformance.errors import WORST_FIRST, BackendBroke, Exit
from probate_conformance.generation import Palette
from probate_conformance.lockstep import Verdict
from probate_conformance.manifest import OP_NAMES, Manifest, Unclaimed
from probate_conformance.plan import Plan
from probate_conformance.reached import NEEDS, possible, reached
from probate_conformance.report import (
    INTERRUPTED,
    TIME_UP,
    UNEXPLAINED,
    ClauseResult,
    Report,
    Trouble,
    clause_results,
    end_of,
    overall,
    replayed_exit,
)
from probate_conformance.running import not_run, report_of
from probate_conformance.tally import Checked
from probate_model.windows import Window

PLAN = Plan(seed=0, cases=10)
MANIFEST = Manifest(name="some", version="1", language="python")


def results(*verdicts: Verdict) -> tuple[ClauseResult, ...]:
    names = ("CALL-01", "CALL-02", "CREATE-01")
    return tuple(
        ClauseResult(id=name, verdict=verdict, demanded=1, failed=int(verdict is Verdict.FAIL))
        for name, verdict in zip(names, verdicts, strict=False)
    )


def trouble(verdict: Verdict) -> Trouble:
    return Trouble(verdict=verdict, number=0, reason="some")


def test_what_becomes_of_a_clause() -> None:
    claimed = {"CALL-01": True, "CALL-02": True, "CREATE-01": False, "CREATE-02": True}
    found = clause_results(claimed, {"CALL-01": 7, "CALL-02": 3, "CREATE-01": 2}, {"CALL-02": 1}, ended_early=False)
    assert [(result.id, result.verdict, result.demanded, result.failed) for result in found] == [
        ("CALL-01", Verdict.PASS, 7, 0),
        ("CALL-02", Verdict.FAIL, 3, 1),
        ("CREATE-01", Verdict.NOT_CLAIMED, 2, 0),
        ("CREATE-02", Verdict.NOT_REACHED, 0, 0),
    ]


def test_what_was_not_reached_because_traces_ended_is_blocked() -> None:
    (result,) = clause_results({"CALL-01": True}, {}, {}, ended_early=True)
    assert result.verdict is Verdict.BLOCKED


def test_a_failure_that_no_clause_explains_is_listed() -> None:
    found = clause_results({}, {}, {UNEXPLAINED: 2}, ended_early=True)
    assert [(result.id, result.failed) for result in found] == [(UNEXPLAINED, 2)]
    assert overall(found, (), 5) == (Verdict.FAIL, Exit.DEFECT)


@pytest.mark.parametrize(
    ("clauses", "troubles", "steps", "expected"),
    [
        (results(Verdict.PASS, Verdict.PASS), (), 9, (Verdict.PASS, Exit.PASS)),
        (results(Verdict.PASS, Verdict.NOT_CLAIMED), (), 9, (Verdict.PASS, Exit.PASS)),
        (results(Verdict.PASS, Verdict.NOT_REACHED), (), 9, (Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE)),
        (results(Verdict.PASS, Verdict.BLOCKED), (), 9, (Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE)),
        (results(Verdict.NOT_CLAIMED), (), 9, (Verdict.NOT_REACHED, Exit.NOT_RUN)),
        (results(Verdict.PASS), (), 0, (Verdict.NOT_REACHED, Exit.NOT_RUN)),
        ((), (), 0, (Verdict.NOT_REACHED, Exit.NOT_RUN)),
        (results(Verdict.PASS, Verdict.FAIL), (trouble(Verdict.BROKEN),), 9, (Verdict.FAIL, Exit.FAIL)),
        (results(Verdict.PASS), (trouble(Verdict.BROKEN),), 9, (Verdict.BROKEN, Exit.BROKEN)),
        (results(Verdict.PASS), (trouble(Verdict.INCONCLUSIVE),), 9, (Verdict.INCONCLUSIVE, Exit.INCONCLUSIVE)),
    ],
)
def test_the_verdict_on_a_run(
    clauses: tuple[ClauseResult, ...], troubles: tuple[Trouble, ...], steps: int, expected: tuple[Verdict, Exit]
) -> None:
    assert overall(clauses, troubles, steps) == expected


def test_a_run_that_ended_early_is_not_green() -> None:
    passed = results(Verdict.PASS)
    assert overall(passed, (), 9, ended="whatever")[1] is Exit.INCONCLUSIVE
    assert overall(passed, (), 9, ended="whatever", broken=True)[1] is Exit.BROKEN
    assert overall((), (), 0, ended=INTERRUPTED)[1] is Exit.INCONCLUSIVE
    assert overall((), (), 0, ended="whatever")[1] is Exit.NOT_RUN


def test_several_backends_come_to_the_worst_in_any_order() -> None:
    def one(code: Exit) -> Report:
        report = not_run("some", PLAN, "whatever")
        return report.model_copy(update={"totals": report.totals.model_copy(update={"exit": code})})

    assert set(WORST_FIRST) == set(Exit)
    for place, worse in enumerate(WORST_FIRST):
        for better in WORST_FIRST[place:]:
            for pair in permutations((worse, better)):
                assert end_of(tuple(map(one, pair))).exit is worse
    assert end_of(()).exit is Exit.NOT_RUN


def test_a_report_adds_up() -> None:
    checked = Checked(planned=10, traces=4, steps=40, voids=3, bursts=12, searched=1)
    checked.demanded["CALL-02"] = 5
    checked.failed["CALL-01"] = 2
    checked.failed["CREATE-01"] = 1
    checked.unknown.update(["b", "a", "b"])
    report = report_of("some", MANIFEST, PLAN, checked)
    totals = report.totals
    assert totals.failed == 3
    assert list(totals.unknown.items()) == [("a", 1), ("b", 2)]
    assert totals.clauses[Verdict.FAIL] == 2
    assert totals.clauses[Verdict.PASS] == 1
    assert sum(totals.clauses.values()) == len(report.clauses)
    assert (totals.verdict, totals.exit) == (Verdict.FAIL, Exit.FAIL)
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_what_is_not_claimed_is_never_passed() -> None:
    manifest = MANIFEST.model_copy(update={"unclaimed": Unclaimed(ops=("look",))})
    checked = Checked(traces=1, steps=1)
    checked.demanded.update({"REGISTRY-01": 5, "CALL-02": 1})
    report = report_of("some", manifest, PLAN, checked)
    verdicts = {result.id: result.verdict for result in report.clauses}
    assert verdicts["REGISTRY-01"] is Verdict.NOT_CLAIMED
    assert verdicts["CALL-02"] is Verdict.PASS


def test_a_backend_that_broke_is_a_trouble_of_the_trace_it_was_in() -> None:
    report = report_of("some", MANIFEST, PLAN, Checked(traces=3, steps=9), BackendBroke("is gone", where="some"))
    assert [(one.number, one.reason) for one in report.troubles] == [(3, "some: is gone")]
    assert report.totals.exit is Exit.BROKEN
    before = report_of("some", None, PLAN, Checked(), BackendBroke("is gone"))
    assert before.troubles[0].number is None
    assert before.clauses == ()


@pytest.mark.parametrize(
    ("verdict", "clause", "code"),
    [
        (Verdict.PASS, None, Exit.PASS),
        (Verdict.FAIL, "CALL-01", Exit.FAIL),
        (Verdict.FAIL, UNEXPLAINED, Exit.DEFECT),
        (Verdict.BROKEN, None, Exit.BROKEN),
        (Verdict.INCONCLUSIVE, None, Exit.INCONCLUSIVE),
        (Verdict.NOT_REACHED, None, Exit.NOT_RUN),
    ],
)
def test_the_exit_code_of_one_case(verdict: Verdict, clause: str | None, code: Exit) -> None:
    assert replayed_exit(verdict, clause) is code


def test_what_is_expected_to_fail_fails_nothing_and_passes_nothing() -> None:
    known = {"CALL-02": "they know"}
    claimed = {"CALL-01": True, "CALL-02": True}
    failing = clause_results(claimed, {"CALL-01": 7}, {"CALL-02": 1}, ended_early=True, expected=known)
    assert [result.fails for result in failing] == [False, False]
    assert failing[1].verdict is Verdict.FAIL
    assert overall(failing, (), 9) == (Verdict.PASS, Exit.PASS)
    assert overall(failing, (trouble(Verdict.BROKEN),), 9)[1] is Exit.BROKEN
    both = clause_results(claimed, {"CALL-01": 7}, {"CALL-01": 1, "CALL-02": 1}, ended_early=True, expected=known)
    assert overall(both, (), 9)[1] is Exit.FAIL


def test_what_is_expected_to_fail_and_does_not_fails_a_whole_run() -> None:
    known = {"CALL-02": "they know"}
    held = clause_results({"CALL-02": True}, {"CALL-02": 7}, {}, ended_early=False, expected=known)
    assert overall(held, (), 9)[1] is Exit.FAIL
    assert overall(held, (), 9, ended=TIME_UP)[1] is Exit.FAIL
    assert overall(held, (), 9, ended=INTERRUPTED)[1] is Exit.INCONCLUSIVE
    missed = clause_results({"CALL-02": True}, {}, {}, ended_early=False, expected=known)
    assert overall(missed, (), 9)[1] is Exit.NOT_RUN  # it may fail yet


def test_a_run_that_ended_by_its_time_is_judged_by_what_was_run() -> None:
    assert overall(results(Verdict.PASS), (), 9, ended=TIME_UP) == (Verdict.PASS, Exit.PASS)
    assert overall((), (), 0, ended=TIME_UP)[1] is Exit.NOT_RUN


def test_every_window_can_be_reached_by_who_claims_everything_and_none_by_who_claims_nothing() -> None:
    assert possible(MANIFEST) == tuple(Window)
    nothing = MANIFEST.model_copy(update={"unclaimed": Unclaimed(ops=OP_NAMES)})
    assert possible(nothing) == ()


def test_all_that_windows_need_can_be_claimed() -> None:
    palette = Palette()
    names = palette.ops | palette.gates | palette.events | palette.features
    assert {
        name for windows in NEEDS.values() for needs in windows.values() for group in needs for name in group
    } <= names


@pytest.mark.no_cover  # as the run of other tests, only longer
def test_the_default_run_reaches_every_window_and_most_items_are_carried_out() -> None:
    """The first 1,000 traces of seed 0, on the model itself."""
    with ModelBackend() as backend:
        checked = backend.converse(check(backend.manifest, Plan(seed=0, cases=1000)))
    came_to = reached(checked.marks, backend.manifest)
    assert len(came_to.windows) == 12
    assert [name for name, count in came_to.windows.items() if not count] == []
    of_rooms = {
        "load",
        "permission",
        "body",
        "effect",
        "disposer",
        "exit",
        *("initialize", "new-session", "answer", "leave"),
    }
    assert set(came_to.holds) == Palette().gates - of_rooms
    assert set(came_to.refusals) >= {"aborted", "disposed", "id-exists", "owner-inactive", "thrown"}
    done, void = (sum(getattr(share, name) for share in came_to.items.values()) for name in ("done", "void"))
    assert done / (done + void) >= 0.7
    assert checked.steps > done  # that counts the epilogues too
