"""The quick way and the plain way come to the same: positions, transitions, and what is at rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probate_conformance.exploring.bounds import (
    CANCEL,
    CHILD,
    CLEANUP,
    DRIFTED,
    FLUSH,
    FULL,
    MODEL,
    PLAIN,
    SETUP,
    VETO,
    WITHDRAW,
    Bound,
)
from probate_conformance.exploring.caching import CachedSpace
from probate_conformance.exploring.plain import PlainSpace
from probate_conformance.exploring.searching import search

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

LITTLE = Bound(
    "little",
    agents=1,
    ids=1,
    prompts=1,
    calls=1,
    holds=0,
    reactions=0,
    unloads=0,
    ops=frozenset({"create", "send", "cancel", "dispose"}),
    made=(PLAIN,),
    gates=(MODEL, FLUSH, SETUP, CLEANUP),
    listeners=(CANCEL,),
)

BOUNDS = {
    "one agent": LITTLE,
    "a held gate": replace(LITTLE, holds=1, gates=(FLUSH,)),
    "a reaction": replace(LITTLE, reactions=1, listeners=(CANCEL, VETO, WITHDRAW)),
    "an unload": replace(LITTLE, unloads=1, ops=LITTLE.ops | {"unload_owner", "unload_provider"}),
    "loads": replace(
        LITTLE, prompts=0, unloads=1, ops=frozenset({"create", "unload_owner", "load_owner", "load_provider"})
    ),
    "a full creation": replace(
        LITTLE, prompts=0, holds=1, gates=(SETUP, CLEANUP), made=(FULL,), ops=frozenset({"create", "abort", "withdraw"})
    ),
    "two agents": replace(LITTLE, agents=2, ids=2, prompts=0, ops=frozenset({"create", "dispose"})),
    "two agents that race": replace(
        LITTLE, agents=2, ids=2, unloads=1, ops=frozenset({"create", "send", "dispose", "unload_owner"})
    ),
    "a child": replace(
        LITTLE, agents=2, ids=2, prompts=0, calls=0, made=(PLAIN, CHILD), ops=frozenset({"create", "withdraw"})
    ),
    "another edition": replace(LITTLE, reactions=1, edition=DRIFTED.edition),
}


LONG = {"two agents that race"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in BOUNDS])
def test_they_come_to_the_same(name: str) -> None:
    cached, plain = CachedSpace(BOUNDS[name]), PlainSpace(BOUNDS[name])
    quick, slow = search(cached), search(plain)
    assert {cached.position_of(state) for state in quick.states} == set(slow.states)
    assert len(quick.states) == len(slow.states)
    assert (quick.transitions, quick.rests) == (slow.transitions, slow.rests)
    assert quick.findings == slow.findings == []
    assert quick.limit is slow.limit is None
    depths = {cached.position_of(state): len(quick.path(number)) for state, number in quick.states.items()}
    assert depths == {position: len(slow.path(number)) for position, number in slow.states.items()}
