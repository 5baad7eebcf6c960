"""A manifest says what a backend is and what it does not claim; what it can't mean is refused."""

from __future__ import annotations

from dataclasses import fields

import pytest
from pydantic import ValidationError

from probate_conformance.backends.model import ModelBackend
from probate_conformance.checking import check
from probate_conformance.generation import Palette, generate
from probate_conformance.manifest import FEATURES, FIELDS, OP_NAMES, Manifest, Unclaimed
from probate_conformance.plan import Plan as RunPlan
from probate_conformance.trace import EVENT_CLASSES, MODELLED_PROFILES, ops_of
from probate_conformance.view import claimed_clauses, view_of
from probate_model.alphabet.editions import EDITIONS
from probate_model.alphabet.events import Listed, Settled, Snapshot, Status
from probate_model.alphabet.fibers import ROOT, Plug
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.items import Hold, Open, Plan, React, Reject, Release, Throw
from probate_model.alphabet.ops import ByAgent, Create, CreationSignal, Op, Setup
from probate_model.clauses import CLAUSES
from probate_model.worlds import EVERYTHING
from tests.model.helpers import event


def manifest(**unclaimed: tuple[str, ...]) -> Manifest:
    """Give a manifest that leaves this unclaimed."""
    return Manifest(name="m", version="1", language="c", unclaimed=Unclaimed.model_validate(unclaimed))


def test_a_manifest_is_read_back() -> None:
    made = manifest(events=("signal",), ops=("withdraw",), codes=("thrown:V", "aborted"), fields=("snapshot:status",))
    assert Manifest.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        (
            "events",
            "agent/ready",
            "unknown event 'agent/ready'; did you mean 'agent/created'? `probate schema manifest` tells all",
        ),
        ("ops", "stop", "unknown op 'stop'; did you mean 'stored'? `probate schema manifest` tells all"),
        ("gates", "door", "unknown gate 'door'; did you mean 'tool'? known are setup"),
        ("codes", "abort", "unknown code 'abort'; did you mean 'aborted'? `probate schema wire` tells all, and"),
        ("codes", "thrown:", "unknown code 'thrown:'"),
        ("features", "magic", "unknown feature 'magic'; known are setup"),
    ],
)
def test_a_name_that_means_nothing_is_refused(field: str, value: str, fault: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Unclaimed.model_validate({field: [value]})
    assert fault in str(raised.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("version", ""),
        ("language", ""),
        ("profiles", ("game",)),
        ("edition", "1999"),
        ("bursts", "maybe"),
    ],
)
def test_a_manifest_that_says_nothing_is_refused(field: str, value: object) -> None:
    document: dict[str, object] = {"name": "m", "version": "1", "language": "c", field: value}
    with pytest.raises(ValidationError):
        Manifest.model_validate(document)


@pytest.mark.parametrize(
    ("op", "profile", "other"),
    [("create", "core", "fibers"), ("plug", "fibers", "core"), ("connect", "bridge", "core")],
)
def test_what_all_else_begins_with_cannot_be_unclaimed(op: str, profile: str, other: str) -> None:
    document = {"name": "m", "version": "1", "language": "c", "unclaimed": {"ops": [op]}}
    with pytest.raises(
        ValidationError, match=f"'{op}' can't be unclaimed in profile '{profile}', since without it nothing"
    ):
        Manifest.model_validate({**document, "profiles": [profile]})
    assert Manifest.model_validate({**document, "profiles": [other]}).unclaimed.ops == (op,)


def test_the_names_of_ops_are_those_of_the_alphabet() -> None:
    tags = {cls.__dataclass_fields__["item"].default for cls in Op.__args__}
    assert tags == set(OP_NAMES)


# What is not claimed is not generated.


@pytest.mark.parametrize("name", [name for name in OP_NAMES if name not in ("create", "resume")])
def test_an_op_that_is_not_claimed_is_not_generated(name: str) -> None:
    palette = Palette.of(Unclaimed(ops=(name,)))
    seen = {op.item for number in range(12) for item in generate(1, number, palette).items for op in ops_of(item)}
    assert name not in seen
    assert "create" in seen


@pytest.mark.parametrize("kind", [kind for kind in GateKind if kind is not GateKind.LOAD])
def test_a_gate_that_is_not_claimed_is_not_generated(kind: GateKind) -> None:
    palette = Palette.of(Unclaimed(gates=(kind.value,)))
    items = [item for number in range(12) for item in generate(1, number, palette).items]
    assert kind not in {item.gate.kind for item in items if isinstance(item, Plan | Hold | Release | Open)}


def features_of(items: list[object]) -> set[str]:
    """Give the features that items use."""
    found = set()
    for item in items:
        match item:
            case Hold(temper=temper) if temper.value == "deaf":
                found.add("deaf")
            case React(do=do):
                found.add("react")
                found |= {"throw" for action in do if isinstance(action, Throw)}
                found |= {"reject" for action in do if isinstance(action, Reject)}
                found |= features_of(list(do))
            case Create():
                found |= {"setup"} if item.setup is not Setup.NONE else set()
                found |= {"cleanup"} if item.cleanup else set()
                found |= {"signal"} if item.signal is not CreationSignal.NONE else set()
                found |= {"by-agent"} if isinstance(item.by, ByAgent) else set()
            case Plug():
                found |= {"services"} if item.inject or item.provides else set()
                found |= {"children"} if item.parent != ROOT else set()
            case _:
                pass
    return found


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_that_is_not_claimed_is_not_generated(feature: str) -> None:
    profile = "fibers" if feature in ("services", "children") else "core"

    def used(palette: Palette) -> set[str]:
        return features_of([item for number in range(30) for item in generate(1, number, palette, profile).items])

    assert feature in used(Palette())
    assert feature not in used(Palette.of(Unclaimed(features=(feature,))))


def test_a_backend_that_claims_no_gate_and_no_feature_is_given_traces_without_them() -> None:
    palette = Palette.of(Unclaimed(gates=tuple(GateKind), features=FEATURES))
    items = [item for number in range(12) for item in generate(1, number, palette).items]
    assert not any(isinstance(item, Plan | Hold | Release | Open | React) for item in items)
    assert features_of(list(items)) == set()


# What is not claimed is not compared, and no clause that needs it is claimed.


def test_a_whole_manifest_is_held_to_everything() -> None:
    assert view_of(manifest()) is EVERYTHING
    assert all(claimed_clauses(manifest(), "core").values())
    for edition in EDITIONS.values():
        for profile in MODELLED_PROFILES:
            of_it = [clause for clause in CLAUSES.values() if clause.profile == profile]
            holding = {clause.id for clause in of_it if clause.holds_in(edition)}
            assert set(claimed_clauses(manifest(), profile, edition)) == holding


def test_an_event_that_is_not_claimed_is_not_seen() -> None:
    view = view_of(manifest(events=("signal",)))
    assert view.event(event("signal a#1 turn=1 user")) is None
    kept = event("agent/status a#1 idle")
    assert view.event(kept) == kept
    claimed = claimed_clauses(manifest(events=("signal",)), "core")
    assert not claimed["CANCEL-05"]
    assert claimed["CANCEL-07"]
    assert claimed["CREATE-04"]  # it needs the feature of that name


def test_a_field_that_is_not_claimed_is_the_same_whatever_it_is() -> None:
    view = view_of(manifest(fields=("agent/error:source", "snapshot:status")))
    one, other = event("agent/error a#1 step=1 model"), event("agent/error a#1 step=1 internal")
    assert view.event(one) == view.event(other)
    assert view.event(one) != view.event(event("agent/error a#1 step=2 model"))
    idle, running = (event(f"settled k returned agents=a#1:{s} roots=a#1 sessions=a#1") for s in ("idle", "running"))
    assert view.event(idle) == view.event(running)
    assert isinstance(running, Settled)
    seen = running.outcome.value if running.outcome.settlement == "returned" else None
    assert isinstance(seen, Snapshot)
    assert view.snapshot(seen).agents[0].status is Status.IDLE


@pytest.mark.parametrize(
    ("unclaimed", "clause"),
    [
        ({"ops": ("withdraw",)}, "CREATE-11"),
        ({"gates": ("tool",)}, "TOOL-01"),
        ({"features": ("throw",)}, "PUBLISH-04"),
        ({"codes": ("id-exists",)}, "CREATE-12"),
        ({"events": ("agent/status",)}, "FLUSH-03"),
    ],
)
def test_a_clause_that_needs_what_is_not_claimed_is_not_claimed(
    unclaimed: dict[str, tuple[str, ...]], clause: str
) -> None:
    claimed = claimed_clauses(manifest(**unclaimed), "core")
    assert not claimed[clause]
    assert claimed["CREATE-01"]


@pytest.mark.parametrize("edition", ["2026-06", "2026-08"])
@pytest.mark.parametrize(
    "unclaimed",
    [
        {"gates": ("model",)},
        {"gates": ("tool",)},
        {"events": ("agent/status",)},
        {"events": ("session/created",)},
        {"events": ("settled",)},
        {"ops": ("dispose",)},
        {"ops": ("send",)},
        {"features": ("throw",)},
    ],
    ids=str,
)
def test_every_clause_that_is_claimed_can_be_reached(edition: str, unclaimed: dict[str, tuple[str, ...]]) -> None:
    """Given a model that leaves something unclaimed, Then each other clause is demanded, by some trace or other."""
    backend = ModelBackend()
    backend.manifest = manifest(**unclaimed).model_copy(update={"edition": edition})
    claimed = claimed_clauses(backend.manifest, "core", EDITIONS[edition])
    missing = {clause for clause, is_claimed in claimed.items() if is_claimed}
    for seed in range(15):
        plan = RunPlan(seed=seed, cases=200, edition=edition)
        checked = backend.converse(check(backend.manifest, plan, name="partial"))
        missing -= checked.demanded.keys()
        if not missing:
            break
    assert sorted(missing) == []


def test_every_field_that_can_be_left_unclaimed_exists_and_names_clauses_that_do() -> None:
    existing = {f"{kind}:{field.name}" for kind, cls in EVENT_CLASSES.items() for field in fields(cls)}
    existing |= {f"snapshot:{field.name}" for field in fields(Listed)}
    assert set(FIELDS) <= existing
    assert all(clause in CLAUSES for clauses in FIELDS.values() for clause in clauses)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_not_claimed_takes_its_clauses_along(field: str) -> None:
    claimed = claimed_clauses(manifest(fields=(field,)), "core")
    assert [clause for clause in FIELDS[field] if claimed[clause]] == []
