"""The clauses: every one is defined, carried by a rule, and demanded by generated traces; so is every choice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest

import probate_model
from probate_conformance.backends.model import ModelBackend
from probate_conformance.generation import generate_rehearsed
from probate_conformance.lockstep import examine
from probate_conformance.manifest import FEATURES, OP_NAMES
from probate_conformance.trace import MODELLED_PROFILES
from probate_model.alphabet.editions import EDITION_2026_06, EDITION_2026_08, EDITIONS, VARIATIONS, Edition
from probate_model.alphabet.events import EVENT_KINDS
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.items import Settle
from probate_model.alphabet.refusals import is_code
from probate_model.clauses import CLAUSES, demand, extra_clause
from probate_model.machine import apply, settle
from probate_model.world import new_world
from probate_model.worlds import EVERYTHING
from tests.model.helpers import items

ID = re.compile(r"[A-Z]{3,10}-\d\d")


def named(path: Path) -> Iterator[str]:
    """Yield the ids of clauses that the code of a file names, apart from where they are defined."""
    tree = ast.parse(path.read_text())
    definitions = {
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_clause"
    }
    for node in ast.walk(tree):
        if node in definitions or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if ID.fullmatch(node.value):
            yield node.value


def in_the_model() -> set[str]:
    """Give the ids that the model's rules name: for an edge, a field, a silence, an extra, or itself."""
    (root,) = probate_model.__path__
    return {name for path in Path(root).rglob("*.py") for name in named(path)}


def test_every_clause_that_is_named_is_defined_and_every_one_that_is_defined_is_named() -> None:
    assert in_the_model() == set(CLAUSES)


def test_a_demand_of_what_is_not_defined_is_refused() -> None:
    with pytest.raises(ValueError, match="no clause CANCEL-99"):
        demand("CANCEL-99")
    with pytest.raises(ValueError, match="no clause CANCEL-99"):
        demand("CANCEL-01", cause="CANCEL-99")


@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_is_one_sentence_with_a_reason_and_a_source(name: str) -> None:
    clause = CLAUSES[name]
    assert clause.id == name
    assert ID.fullmatch(name)
    for text in (clause.sentence, clause.why):
        assert text.endswith(".")
        assert text.count(". ") == 0
        assert "\n" not in text
        assert 5 < len(text) <= 120
    assert re.search(r"S1|S2|sheet [A-OT]", clause.source)


@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_says_how_it_is_observed_and_what_it_needs(name: str) -> None:
    clause = CLAUSES[name]
    assert clause.seen
    assert set(clause.seen) <= {*EVENT_KINDS, "snapshot"}
    assert set(clause.needs) <= {*OP_NAMES, *GateKind, *FEATURES, *EVENT_KINDS}
    assert all(map(is_code, clause.codes))
    assert clause.profile in MODELLED_PROFILES
    assert clause.choice is None or clause.choice in EDITION_2026_06.choices()


def test_sentences_are_not_said_twice() -> None:
    assert len({clause.sentence for clause in CLAUSES.values()}) == len(CLAUSES)


def test_every_kind_of_event_has_a_clause_for_one_too_many() -> None:
    for edition in (EDITION_2026_06, *(EDITION_2026_06.flipped([name]) for name in CHOICES), EDITION_2026_08):
        assert all(CLAUSES[extra_clause(kind, edition)].holds_in(edition) for kind in EVENT_KINDS)


TRACES = {"core": 600, "sessions": 200, "fibers": 120, "tasks": 150, "bridge": 150, "subagents": 60}
"""How many traces of each profile are looked at."""


def holding(profile: str, edition: Edition) -> set[str]:
    """Give the clauses of a profile that hold in an edition, in whatever way of its declared variations."""
    ways = (edition, edition.flipped(VARIATIONS)) if profile == "fibers" else (edition,)
    of_it = [clause for clause in CLAUSES.values() if clause.profile == profile]
    return {clause.id for clause in of_it if any(map(clause.holds_in, ways))}


@pytest.mark.parametrize(
    ("profile", "edition"),
    [(profile, edition) for edition in EDITIONS.values() for profile in TRACES if holding(profile, edition)],
)
def test_every_clause_is_demanded_by_generated_traces(profile: str, edition: Edition) -> None:
    """What no trace demands can't pass (decision 42). The backend is the model, so nothing else is in the way."""
    left = holding(profile, edition)
    for number, flipped in product(range(TRACES[profile]), ((), VARIATIONS) if profile == "fibers" else ((),)):
        if not left:
            break
        one = edition.flipped(flipped)
        trace, rehearsals = generate_rehearsed(1, number, profile=profile, edition=one)
        trace = trace.model_copy(update={"flipped": flipped})
        examined = ModelBackend(one).converse(examine(trace, EVERYTHING, rehearsals))
        assert examined.divergence is None
        assert all(CLAUSES[name].holds_in(one) for name in examined.demanded)
        left -= set(examined.demanded)
    assert left == set()


@pytest.mark.parametrize(
    ("done", "clause", "demanded"),
    [
        ("create c a", "CREATE-09", False),
        ("hold setup c\ncreate c a setup\nunload host", "CREATE-09", True),
        ("send c A", "TURN-09", False),
        ("inject c X\nsettle\nsend c A", "TURN-09", False),
        ("send c A\nsend c B", "TURN-09", True),
        ("send c A", "INBOX-04", False),
        ("steer c A", "INBOX-04", True),
        ("inject c X", "INJECT-01", False),
        ("hold model c\nsend c A\nsettle\ninject c X", "INJECT-01", True),
        ("react session/created do withdraw this\ncreate d b", "PUBLISH-04", False),
        ("react session/created do throw V\ncreate d b", "PUBLISH-04", True),
    ],
)
def test_a_clause_is_demanded_by_what_it_speaks_of_and_by_nothing_else(done: str, clause: str, demanded: bool) -> None:
    """What passes was demanded; so a demand that a clause does not speak of would let it pass untried."""
    world = new_world()
    found: set[str] = set()
    for item in items((done if "create c" in done else f"create c a\nsettle\n{done}") + "\nsettle"):
        outcome = settle(world) if isinstance(item, Settle) else apply(world, item)
        world = outcome.world
        found.update(name for expected in outcome.expected for name in expected.demand.clauses)
        found.update(silence.clause for silence in outcome.silences)
    assert (clause in found) is demanded


def test_every_clause_that_depends_on_a_choice_names_it() -> None:
    for clause in CLAUSES.values():
        choices = {field.name for field in fields(Edition) for one in clause.under if one in type_of(field.name)}
        assert not choices or clause.choice in choices
    assert {clause.choice for clause in CLAUSES.values()} - {None} == {*CHOICES, *DECLARED}


def type_of(choice: str) -> list[object]:
    """Give the values of a choice."""
    value = getattr(EDITION_2026_06, choice, None)
    return list(type(value)) if isinstance(value, StrEnum) else []


# Editions.

CHOICES = {
    "wake": ("deferred", "within-send"),
    "pre_run_cancel": ("vanishes", "empty-turn"),
    "queue_events": ("queued", "inbox-records"),
    "cancel_requested": ("announced", "silent"),
    "cancel_cause": ("optional", "required"),
    "idle_cancel": ("silent", "may-discard"),
    "precedence": ("disposal-wins", "first-wins"),
    "error_ends": ("turn", "driver"),
    "closing_flush": ("in-turn", "none"),
    "user_message": ("before-step", "after-step"),
    "teardown": ("scope-last", "scope-first"),
    "id_free": ("at-detach", "after-scope"),
    "disposed_status": ("yes", "no"),
    "partial_text_on_abort": ("no", "yes"),
    "fence": ("token", "exact-owner"),
}
"""The choices of decisions 43 to 46, as 2026-06 | 2026-08."""

DECLARED = {
    "failing_member": ("skips-rest", "isolated"),
    "effect_dispose": ("joined", "single-shot"),
    "siblings": ("together", "one-by-one"),
}
"""The variations of decision 48, as in both editions | what a backend may declare."""


def test_every_edition_makes_every_choice() -> None:
    drifted = EDITION_2026_08.choices()
    of_both = {name: (old, drifted[name]) for name, old in EDITION_2026_06.choices().items()}
    assert {name: pair for name, pair in of_both.items() if name not in DECLARED} == CHOICES
    assert all(of_both[name] == (ours, ours) for name, (ours, _) in DECLARED.items())
    assert tuple(DECLARED) == VARIATIONS
    assert EDITIONS == {"2026-06": EDITION_2026_06, "2026-08": EDITION_2026_08}
    assert Edition().choices() == EDITION_2026_06.choices()


def test_every_choice_is_an_enumeration_of_two() -> None:
    for field in fields(Edition):
        if field.name != "name":
            value = getattr(EDITION_2026_06, field.name)
            assert isinstance(value, StrEnum)
            both = {**CHOICES, **DECLARED}[field.name]
            assert tuple(type(value)) in (both, both[::-1])


def test_every_choice_that_core_can_show_is_tied_to_a_clause() -> None:
    tied = {clause.choice for clause in CLAUSES.values() if clause.choice is not None}
    # The two of them that only editions to come can show: when a waking send opens its turn, and inbox records.
    assert set(CHOICES) - tied <= {"wake", "queue_events", "id_free"}
