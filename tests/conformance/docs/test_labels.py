"""What stands beside a mark, typed by hand, where no picture of the page shows it."""

from __future__ import annotations

import pytest

from probate_conformance.docs.labels import Naming
from probate_model.alphabet.events import (
    AgentError,
    ErrorSource,
    Flushed,
    Raised,
    Returned,
    Settled,
    Snapshot,
    Status,
    StatusChanged,
)
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome
from probate_model.alphabet.items import BurstItem, Open, Reject, Release
from probate_model.alphabet.names import AgentRef, Code, Label, OwnerName, Tag
from probate_model.alphabet.ops import Abort, Cancel, Cause, LoadOwner, LoadProvider, UnloadProvider, Withdraw

ALONE = Naming(creations=False, agents=False, numbers=False)
MANY = Naming(creations=True, agents=True, numbers=True)
C, X = Label("c"), Label("x")


@pytest.mark.parametrize(
    ("item", "alone", "many"),
    [
        (Abort(X, C), "abort", "abort c"),
        (Withdraw(X, C), "withdraw", "withdraw c"),
        (Cancel(X, C, Cause.PARENT), "cancel as parent", "cancel c as parent"),
        (LoadOwner(X, OwnerName("host")), "load host → x", "load host → x"),
        (UnloadProvider(Label("unload")), "unload provider", "unload provider"),
        (LoadProvider(X), "load provider → x", "load provider → x"),
        (Open(Gate(GateKind.TOOL, C)), "open tool", "open tool c"),
        (Release(Gate(GateKind.FLUSH, C), GateOutcome("fail")), "release flush: fail", "release flush c: fail"),
    ],
)
def test_items(item: BurstItem, alone: str, many: str) -> None:
    assert (ALONE.item(item), MANY.item(item)) == (alone, many)


def test_events() -> None:
    ref = AgentRef("a#2")
    assert ALONE.event(AgentError(ref, 0, ErrorSource.FLUSH)) == "error flush"
    assert MANY.event(Flushed(ref, 3)) == "session/flush upto 3 · a#2"
    assert (
        Naming(creations=True, agents=True, numbers=False).event(StatusChanged(ref, Status.IDLE)) == "status idle · a"
    )
    assert ALONE.event(Settled(X, Raised(Code("disposed")))) == "x: disposed"


def test_settlements_and_actions() -> None:
    assert ALONE.settled(Label("r1.0"), None, Returned(Snapshot())) == "r1 shows nobody"
    assert ALONE.action(Reject(Tag("T"))) == "fails 'T' later"
