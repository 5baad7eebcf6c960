"""The known-bad variants: each is found, and named by its clause; none outlives its conversation."""

from __future__ import annotations

from types import ModuleType

import pytest

import probate_reference
from probate_conformance.backends.base import Backend
from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.backends.reference.known_bad import VARIANTS, backend, patching
from probate_conformance.backends.reference.known_bad.patching import NothingToChange, Patches
from probate_conformance.checking import check
from probate_conformance.generation import generate
from probate_conformance.lockstep import Verdict, examine
from probate_conformance.plan import Plan
from probate_conformance.tally import Checked
from probate_conformance.trace import Trace
from probate_conformance.wire import Conversation
from probate_model.alphabet.editions import EDITIONS
from probate_model.alphabet.items import Hold, Open, React, Release, Settle
from probate_model.clauses import CLAUSES
from probate_model.worlds import EVERYTHING
from probate_reference import core, driver
from probate_reference import lifecycle as lifecycles

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

BURST = "pre-run-cancel-forgets-waiters"
REACTION = "unannounced-agent-is-announced-as-disposed"
SCHEDULE = "handle-detaches-side-by-side"
OF_ORDER = [name for name, variant in VARIANTS.items() if variant.needs == "schedule"]

SHEET = frozenset(
    f"M{number}"
    for number in (
        *(1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24, 26, 27, 28, 29, 31, 32, 33, 34, 36),
        *(37, 38, 39, 41, 42, 43, 44, 46, 47, 48, 49, 51, 52, 53, 54, 56, 57, 58, 59, 61, 62, 63, 64),
        *(66, 67, 68, 69, 71, 72, 73, 74, 76, 77, 78, 79, 81, 82, 83, 84, 86, 87, 88, 89, 91, 92, 93, 121),
    )
)
"""The mutants of the fact sheet up to M93, and the last one about configurations."""
OF_THE_TREE = frozenset({"M56", "M79", "M81", "M82", "M83"})
"""The mutants of the plug-in tree."""
OF_SUBAGENTS = frozenset(f"M{number}" for number in (104, 106, 107, 108, 109, 111, 112, 113, 114, 116, 117, 118))
"""The mutants of subagents."""
NOT_THERE = {
    "M21": "only the edition 2026-08 has a wake latch",
    "M67": "what is ended inside its announcement is M59, whose variant takes both entries out there and then",
    "M68": "there is one flush gate for each agent, so no second listener; test_flushing.py has several",
    "M73": "working directories are not in the alphabet; test_reload.py of the persistence has metadata that differs",
    "M76": "configured agents are not in the alphabet; tests/reference/configured has two runs of one label",
    "M78": "configured agents are not in the alphabet; tests/reference/configured has a reload that waits",
    "M121": "holds in {3} only: a queue of refreshes of a configuration, of which the reference has none",
}
"""The mutants that the alphabet can't express, or that another one's variant shows, each with the reason."""


def _check(subject: Backend, plan: Plan) -> Checked:
    with subject:
        return subject.converse(check(subject.manifest, plan, lambda _: None))


def _found(name: str, cases: int, only: tuple[str, ...] = ()) -> list[str]:
    schedules = 4 if name in OF_ORDER else 1
    profile = VARIANTS[name].profile
    plan = Plan(seed=1, cases=cases, schedules=schedules, stop_at_first=True, profile=profile, only=only)
    checked = _check(backend(name), plan)
    return [case.clause for case in checked.cases]


@pytest.mark.parametrize("name", [BURST, REACTION, SCHEDULE])
def test_burst_reaction_and_schedule_each_show_a_defect(name: str) -> None:
    assert _found(name, 500) == [VARIANTS[name].clause]


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_defect_is_found_and_named(name: str) -> None:
    due = VARIANTS[name].clause
    found = _found(name, 2000)
    if found != [due]:  # as `probate selftest` does: another clause may have come first
        found = _found(name, 2000, only=(due,))
    assert found == [due]


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_defect_breaks_a_clause_and_not_the_kit(name: str) -> None:
    checked = _check(backend(name), Plan(seed=1, cases=100, profile=VARIANTS[name].profile))
    # What could mean too many worlds once something went wrong is inconclusive, and that is no fault of the kit.
    assert {trouble.verdict for trouble in checked.troubles} <= {Verdict.INCONCLUSIVE}
    assert VARIANTS[name].blunt or sum(checked.failed.values()) * 2 <= checked.traces


def plain(trace: Trace) -> Trace:
    """Give a trace without reactions and held gates, each of whose items is a burst of its own."""
    kept = (item for item in trace.items if not isinstance(item, React | Hold | Release | Open | Settle))
    return trace.with_items([one for item in kept for one in (item, Settle())])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, variant in VARIANTS.items() if variant.needs and variant.profile == "core"]
)
def test_a_defect_that_needs_a_burst_a_reaction_or_a_held_gate_does_not_show_without(name: str) -> None:
    def verdicts() -> Conversation[list[Verdict]]:
        found = []
        for number in range(150):
            examined = yield from examine(plain(generate(5, number, profile=VARIANTS[name].profile)), EVERYTHING)
            found.append(examined.verdict)
        return found

    with backend(name) as subject:
        assert set(subject.converse(verdicts())) == {Verdict.PASS}


@pytest.mark.parametrize("name", OF_ORDER)
def test_a_defect_of_order_does_not_show_first_in_first_out(name: str) -> None:
    assert not _check(backend(name), Plan(seed=1, cases=100)).failed


@pytest.mark.parametrize("name", OF_ORDER)
def test_a_defect_of_order_shows_on_trio(name: str) -> None:
    variant = VARIANTS[name]
    assert variant.loops == ("trio",)
    checked = _check(backend(name, "trio"), Plan(seed=1, cases=100, stop_at_first=True))
    assert [case.clause for case in checked.cases] == [variant.clause]


# The list.


def test_the_list_is_as_long_and_as_deep_as_asked_for() -> None:
    assert len(VARIANTS) >= 40
    assert sum(variant.needs in ("burst", "reaction", "gate") for variant in VARIANTS.values()) >= 10
    assert len(OF_ORDER) >= 2


def test_every_clause_of_the_core_has_a_defect_of_its_own() -> None:
    edition = EDITIONS["2026-06"]
    clauses = {name for name, clause in CLAUSES.items() if clause.profile == "core" and clause.holds_in(edition)}
    assert clauses <= {variant.clause for variant in VARIANTS.values()}


def test_every_mutant_of_the_sheet_is_there_or_has_a_reason_not_to_be() -> None:
    assert {variant.mutant for variant in VARIANTS.values()} & SHEET == SHEET - NOT_THERE.keys()


def test_every_mutant_of_the_plug_in_tree_is_there() -> None:
    mutants = {variant.mutant for variant in VARIANTS.values() if variant.profile == "fibers"}
    assert mutants >= OF_THE_TREE


def test_every_mutant_of_subagents_is_there_and_every_clause_has_a_defect() -> None:
    variants = [variant for variant in VARIANTS.values() if variant.profile == "subagents"]
    assert {variant.mutant for variant in variants} >= OF_SUBAGENTS
    assert {variant.clause for variant in variants} == {
        name for name, clause in CLAUSES.items() if clause.profile == "subagents"
    }


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_says_what_is_wrong_and_by_which_clause(name: str) -> None:
    variant = VARIANTS[name]
    assert variant.name == name
    assert variant.clause in CLAUSES
    assert variant.says.endswith(".")
    assert variant.says.count(". ") == 0


# What is planted is taken out again.


def _names() -> dict[tuple[str, str], object]:
    """Everything that the reference has: the names of its modules, and of the classes in them."""
    found: dict[tuple[str, str], object] = {}
    for module in patching.modules():
        for name, value in vars(module).items():
            found[module.__name__, name] = value
            if isinstance(value, type) and value.__module__.startswith(probate_reference.__name__):
                found.update({(f"{module.__name__}.{name}", part): inner for part, inner in vars(value).items()})
    return found


@pytest.mark.parametrize("name", VARIANTS)
def test_every_defect_is_planted_somewhere_and_taken_out_again(name: str) -> None:
    before = _names()
    with Patches() as patches:
        VARIANTS[name].plant(patches)
        assert patches.changed
        assert _names() != before
    assert not patches.changed
    after = _names()
    assert after.keys() == before.keys()
    assert [place for place, value in after.items() if value is not before[place]] == []


def test_a_function_is_changed_wherever_it_is_imported() -> None:
    before = driver.drive
    with Patches() as patches:
        patches.replace(driver, "drive", None)
        assert vars(lifecycles)["drive"] is None
    assert vars(lifecycles)["drive"] is before


def test_the_reference_is_pristine_after_a_conversation() -> None:
    _check(backend(BURST), Plan(seed=1, cases=50))
    assert not _check(ReferenceBackend(), Plan(seed=1, cases=150)).failed


def test_the_reference_is_pristine_after_a_conversation_that_raised() -> None:
    def broken(_: Checked) -> None:
        raise ZeroDivisionError

    before = _names()
    subject = backend(BURST)
    with pytest.raises(BaseExceptionGroup), subject:
        subject.converse(check(subject.manifest, Plan(seed=1, cases=1), broken))
    assert _names() == before
    _check(subject, Plan(seed=1, cases=1))


def test_the_reference_is_pristine_when_a_defect_cannot_be_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(driver, "drive")
    with pytest.raises(NothingToChange), backend(BURST) as subject:
        _check(subject, Plan(seed=1, cases=1))
    monkeypatch.undo()
    _check(backend(BURST), Plan(seed=1, cases=1))


def test_two_defects_cannot_be_planted_at_once() -> None:
    outer, inner = backend(BURST), backend(REACTION)

    def also(_: Checked) -> None:
        _check(inner, Plan(seed=1, cases=1))

    with pytest.raises(BaseExceptionGroup) as raised, outer:
        outer.converse(check(outer.manifest, Plan(seed=1, cases=1), also))
    assert raised.group_contains(RuntimeError, match="one defect")


# Changing a source.


def test_a_change_of_what_is_not_there_is_an_error() -> None:
    with Patches() as patches:
        with pytest.raises(NothingToChange):
            patches.replace(driver, "no_such_function", None)
        with pytest.raises(NothingToChange):
            patches.edit(driver, "drive", ("no such line", ""))
        with pytest.raises(NothingToChange):
            patches.edit(core, "Core", ("Core", "Bore"))


def _sample() -> ModuleType:
    module = ModuleType("sample")
    vars(module).update(sample=sample)
    return module


def sample(value: int) -> str:
    if value:
        return "some"
    return "none"


def test_an_edit_exchanges_lines_at_their_indentation() -> None:
    module = _sample()
    with Patches() as patches:
        patches.edit(
            module,
            "sample",
            (
                """
                if value:
                    return "some"
                """,
                """
                if value > 1:
                    return many
                """,
            ),
            many="many",
        )
        assert [vars(module)["sample"](value) for value in (0, 1, 2)] == ["none", "none", "many"]
        assert "many" in globals()
    assert "many" not in globals()
    assert vars(module)["sample"] is sample


@pytest.mark.parametrize("part", ["return", "else:"])
def test_an_edit_of_what_is_there_twice_or_elsewhere_is_an_error(part: str) -> None:
    with Patches() as patches, pytest.raises(NothingToChange):
        patches.edit(_sample(), "sample", (part, "pass"))


def test_a_name_that_new_lines_use_must_be_new() -> None:
    with Patches() as patches, pytest.raises(ValueError, match="of its own"):
        patches.edit(_sample(), "sample", ("if value:", "if pytest:"), pytest=None)
