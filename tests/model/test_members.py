"""Tests of the enumerations whose members are quick to read: they are enumerations as any other."""

from __future__ import annotations

import pickle
from enum import EnumType

import pytest

from probate_model.alphabet.events import Status
from probate_model.world import Stage


def test_is_an_enumeration() -> None:
    """Given a plain enumeration, then it is listed, called and asked as any other."""
    assert isinstance(Status, EnumType)
    assert [member.value for member in Status] == ["idle", "running", "disposed"]
    assert Status("idle") is Status["IDLE"] is Status.IDLE
    assert pickle.loads(pickle.dumps(Stage.LIVE)) is Stage.LIVE
    assert Stage.LIVE.name == "LIVE"


def test_finds_what_is_no_member() -> None:
    """Given a plain enumeration, then what is of its bases is found, and bound to it."""
    assert Stage.from_bytes(b"\4", "big") is Stage.LIVE
    assert Stage.mro()[1].__name__ == "IntEnum"


def test_has_no_other_members() -> None:
    """Given a plain enumeration, when something else is read or a member written, then that is refused as ever."""
    with pytest.raises(AttributeError, match="'Stage' has no attribute 'NOWHERE'"):
        getattr(Stage, "NOWHERE")  # noqa: B009 - the type checker would refuse it
    with pytest.raises(AttributeError, match="cannot reassign member 'LIVE'"):
        setattr(Stage, "LIVE", Stage.BEGUN)  # noqa: B010 - so would it this
