"""All checks are confirmed; each fails on a planted defect; each has a witness for each of its branches."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from probate_model import decisions, environment
from probate_model.alphabet.events import StopCause, TurnOutcome
from probate_model.tasks import fence
from probate_model.world import Stage, Teardown
from tests.proofs import checks, inductive
from tests.proofs.proving import Check, prove


class Case(NamedTuple):
    """A check, the defect that it is shown to find, and arguments that meet its precondition, by branch."""

    check: Check
    module: ModuleType
    name: str
    wrong: Any
    witnesses: dict[str, tuple[Any, ...]]


_ERROR, _STARVED, _DONE = TurnOutcome.ERROR, TurnOutcome.MAX_TOKENS, TurnOutcome.COMPLETED
_USER, _DISPOSED = StopCause.USER, StopCause.DISPOSED


def _cancel_wins(due: TurnOutcome, fired: StopCause | None, *, disposed: bool, first_wins: bool) -> TurnOutcome:
    if fired is StopCause.USER:
        return TurnOutcome.ABORTED
    return TurnOutcome.DISPOSED if disposed else due


def _skips_drain(stage: Teardown, *, scope_last: bool, unwound: bool) -> Teardown:
    return Teardown.SCOPE if stage is Teardown.STOPPED else _AFTER(stage, scope_last=scope_last, unwound=unwound)


_AFTER = decisions.teardown_after


def _goes_back(stage: Teardown, *, scope_last: bool, unwound: bool) -> Teardown:
    return Teardown.ASKED if stage is Teardown.DETACHED else _AFTER(stage, scope_last=scope_last, unwound=unwound)


def _never_begun(stage: Stage, *, is_status: bool) -> Teardown:
    return Teardown.NONE


def _detach_id(entries: tuple[Any, ...], entry: Any) -> tuple[Any, ...]:
    return tuple(other for other in entries if other[1] != entry[1])


def _detach_all(entries: tuple[Any, ...], entry: Any) -> tuple[Any, ...]:
    return ()


def _detach_none(entries: tuple[Any, ...], entry: Any) -> tuple[Any, ...]:
    return entries


CASES = [
    Case(
        checks.owner_check,
        fence,
        "may_access",
        lambda owner, caller: not owner or owner == caller,
        {
            "nobody's": (None, "a"),
            "no agent": ("a", None),
            "empty": ("", ""),
            "same": ("ab", "ab"),
            "another": ("", "a"),
        },
    ),
    Case(
        checks.folding,
        environment,
        "folded",
        lambda letter: chr(ord(letter) - 32) if "a" <= letter < "z" else letter,
        {"lower": ("z",), "other": ("\xe9",)},
    ),
    Case(
        checks.matching,
        environment,
        "contains",
        lambda name, word: name.endswith(word),
        {"contains": ("xABx", "AB"), "lacks": ("AxB", "AB")},
    ),
    Case(
        checks.claiming,
        decisions,
        "claim",
        lambda queued: (queued[-1], queued[:-1]),
        {"last": ([(True, 1)],), "more": ([(True, 1), (False, 2)],)},
    ),
    Case(
        checks.requeueing,
        decisions,
        "requeue",
        lambda queued, steering: steering + queued,
        {"something": ([1], [2]), "nothing": ([], [])},
    ),
    Case(
        checks.cancelling,
        decisions,
        "cancel",
        lambda active, parked, pending, spares: decisions.Cancelled(active or pending, not active, not parked),
        {
            "turn": (True, False, True, False),
            "nothing": (False, True, False, False),
            "spared": (False, True, True, True),
            "parked": (False, True, True, False),
            "queued": (False, False, True, True),
        },
    ),
    Case(
        checks.precedence,
        decisions,
        "outcome",
        _cancel_wins,
        {
            "disposed": (_ERROR, _USER, True),
            "cancelled": (_ERROR, _USER, False),
            "error": (_ERROR, None, False),
            "max-tokens": (_STARVED, None, False),
            "completed": (_DONE, None, False),
        },
    ),
    Case(
        checks.first_wins,
        decisions,
        "outcome",
        _cancel_wins,
        {
            "error": (_ERROR, _USER, True),
            "unstopped": (_STARVED, None, True),
            "disposed": (_DONE, _DISPOSED, True),
            "cancelled": (_DONE, _USER, True),
        },
    ),
    Case(
        checks.teardown_order,
        decisions,
        "teardown_after",
        _skips_drain,
        {
            "rests": (Teardown.DONE, True, True),
            "ends": (Teardown.SCOPE, True, True),
            "unwinds": (Teardown.SCOPE, True, False),
            "unwinds first": (Teardown.STOPPED, False, False),
            "goes on": (Teardown.STOPPED, True, False),
        },
    ),
    Case(checks.teardown_ends, decisions, "teardown_after", _goes_back, {"ends": (Teardown.ASKED, True)}),
    Case(
        checks.teardown_begins,
        decisions,
        "teardown_begun",
        _never_begun,
        {
            "live": (Stage.LIVE, True),
            "asked": (Stage.PUBLISHING, True),
            "stopped": (Stage.PUBLISHING, False),
            "pending": (Stage.IN_SETUP, True),
        },
    ),
    Case(
        checks.detaching,
        decisions,
        "detach",
        _detach_id,
        {
            "entered": ([(1, 1), (2, 1)], 1, 1),
            "replaced": ([(2, 1)], 1, 1),
            "never entered": ([(2, 2)], 1, 1),
        },
    ),
    Case(
        checks.entering,
        decisions,
        "enter",
        lambda entries, entry: (entry, *entries),
        {"beside others": ([(1, 1)], 2, 1), "alone": ([], 1, 1)},
    ),
    Case(
        checks.holding,
        decisions,
        "holds",
        lambda pairs, name: any(label == name for label, _ in pairs),
        {"taken": ([(1, 2)], 2), "free": ([(2, 1)], 2)},
    ),
    Case(
        inductive.ops_of_one,
        decisions,
        "teardown_begun",
        _never_begun,
        {
            "PARKED": (0, 0, False, True),
            "MODEL": (1, 2, True, True),
            "EXITED": (2, 5, False, False),
        },
    ),
    Case(
        inductive.steps_of_one,
        decisions,
        "detach",
        _detach_none,
        {"steps": (0, 0, False, True), "rests": (2, 5, False, False)},
    ),
    Case(
        inductive.ops_of_two,
        decisions,
        "teardown_begun",
        _never_begun,
        {"one id": (3, 0, True), "two ids": (0, 1, False)},
    ),
    Case(
        inductive.steps_of_two,
        decisions,
        "detach",
        _detach_all,
        {"one id": (3, 0, True), "two ids": (2, 0, False)},
    ),
]

_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.check.__name__)


@_cases
def test_it_is_confirmed_over_all_paths(case: Case) -> None:
    proof = prove(case.check)
    assert proof.confirmed, proof.says


@_cases
def test_it_is_refuted_by_a_planted_defect(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case.module, case.name, case.wrong)
    proof = prove(case.check)
    assert proof.refuted, proof.says


@_cases
def test_it_has_a_witness_for_each_branch(case: Case) -> None:
    assert {branch: case.check(*arguments) for branch, arguments in case.witnesses.items()} == {
        branch: branch for branch in case.witnesses
    }


@_cases
def test_the_witnesses_leave_out_no_branch(case: Case) -> None:
    returns = [node for node in ast.walk(ast.parse(inspect.getsource(case.check))) if isinstance(node, ast.Return)]
    said = {
        leaf.value
        for node in returns
        for leaf in ast.walk(node)
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
    }
    assert said <= set(case.witnesses)


def test_a_check_that_could_not_be_decided_is_neither_confirmed_nor_refuted() -> None:
    proof = prove(_unbounded, patience=0.5)
    assert not proof.confirmed
    assert not proof.refuted


def _unbounded(owner: str, caller: str) -> str:
    """It has no bounds, and so no end."""
    assert isinstance(owner, str)
    same = all(mine == theirs for mine, theirs in zip(owner, caller, strict=False)) and len(owner) == len(caller)
    assert fence.may_access(owner, caller) == same
    return "any"
