"""Bounds: how much of everything there may be at once.

The model has no end of worlds, so an exploration is always of the worlds within a bound. A bound counts what is there
at one moment and not what there ever was: two agents are two at a time, after any number that are gone. Together with
the normal form, which forgets what no rule looks at, that makes the worlds finitely many and lets runs go on for ever,
which is what liveness is about.

A bound is a record of numbers and of words, and says all that an exploration depends on: the same bound gives the same
worlds, transitions and verdicts everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from probate_model.alphabet.editions import EDITION_2026_06, EDITION_2026_08, Edition
from probate_model.alphabet.gates import ERROR, FAIL, OK, TEXT, THROW, GateKind, GateOutcome, Temper
from probate_model.alphabet.items import Action, Pattern, Throw
from probate_model.alphabet.names import THIS, AgentId, Label, OwnerName, Tag, Text
from probate_model.alphabet.ops import (
    ByOwner,
    Cancel,
    Create,
    CreationSignal,
    Send,
    Setup,
    UnloadOwner,
    Withdraw,
)

HOST: Final = OwnerName("host")
"""The one owner there is in an exploration."""

FRESH: Final = Text("fresh")
"""The text of a prompt that is about to be accepted; the normal form names it by its place."""

_REACTION: Final = Label("r0.0")


def creation_id(number: int) -> AgentId:
    """Give the ``number``-th id, from 0."""
    return AgentId("abcdefgh"[number])


@dataclass(frozen=True, slots=True)
class Made:
    """How a creation is made."""

    setup: Setup = Setup.NONE
    cleanup: bool = False
    signal: CreationSignal = CreationSignal.NONE
    child: bool = False
    """Whether it is made on behalf of another agent."""


@dataclass(frozen=True, slots=True)
class Held:
    """A gate that may be held, and what it may be released with."""

    kind: GateKind
    outcomes: tuple[GateOutcome, ...]
    tempers: tuple[Temper, ...] = (Temper.HONOURS,)


@dataclass(frozen=True, slots=True)
class Reaction:
    """A listener that may be installed."""

    on: Pattern
    do: tuple[Action, ...]


PLAIN: Final = Made()
PRE_ABORTED: Final = Made(signal=CreationSignal.PRE_ABORTED)
FULL: Final = Made(Setup.PLAIN, cleanup=True, signal=CreationSignal.ARMED)
CHILD: Final = Made(child=True)

SETUP: Final = Held(GateKind.SETUP, (OK, THROW))
PREPARE: Final = Held(GateKind.PREPARE, (OK, THROW), (Temper.HONOURS, Temper.DEAF))
MODEL: Final = Held(GateKind.MODEL, (TEXT, ERROR, GateOutcome("tools:1")), (Temper.HONOURS, Temper.DEAF))
TOOL: Final = Held(GateKind.TOOL, (OK, ERROR), (Temper.HONOURS, Temper.DEAF))
FLUSH: Final = Held(GateKind.FLUSH, (OK, FAIL))
CLEANUP: Final = Held(GateKind.CLEANUP, (OK, FAIL))


def _on(event: str, *do: Action, **where: str) -> Reaction:
    return Reaction(Pattern(event, tuple(where.items())), do)


_THROW: Final = Throw(Tag("veto"))
VETO: Final = _on("agent/created", _THROW)
WITHDRAW: Final = _on("session/created", Withdraw(_REACTION, THIS))
REUSE: Final = _on("agent/disposed", Create(_REACTION, creation_id(0), ByOwner(HOST)))
CANCEL: Final = _on("agent/status", Cancel(_REACTION, THIS), status="running")
REPLACE: Final = _on("signal", Send(_REACTION, THIS, FRESH))
SWEPT: Final = _on("agent/cancel-requested", Send(_REACTION, THIS, FRESH))
CANCEL_CREATED: Final = _on("agent/created", Cancel(_REACTION, THIS))
FAIL_QUEUED: Final = _on("agent/queued", _THROW)
UNLOAD: Final = _on("agent/created", UnloadOwner(_REACTION, HOST))
END_IN_TURN: Final = _on("log", Withdraw(_REACTION, THIS), record="turn/start")

ALL_OPS: Final = frozenset(
    {"create", "abort", "withdraw", "send", "steer", "inject", "cancel", "await_idle", "dispose", "bad"}
    | {"unload_owner", "unload_provider", "load_owner", "load_provider"}
)
"""The ops that may be on the menu; ``bad`` is to send what can't be kept."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How much there may be at once, and of which kinds."""

    name: str
    agents: int = 2
    ids: int = 2
    prompts: int = 2
    """Texts that are accepted and neither logged nor dropped, and flushes of idle injections."""
    calls: int = 2
    """Calls that wait: for an agent to be idle, or to be disposed."""
    holds: int = 1
    reactions: int = 1
    unloads: int = 1
    """Calls that wait for an unload."""
    ops: frozenset[str] = ALL_OPS
    made: tuple[Made, ...] = (PLAIN, FULL)
    gates: tuple[Held, ...] = (MODEL, FLUSH, SETUP, CLEANUP)
    listeners: tuple[Reaction, ...] = (VETO, WITHDRAW, CANCEL, REPLACE)
    edition: Edition = EDITION_2026_06
    """Whose reading of the contract it is."""

    def says(self) -> str:
        """Say how much there may be, in words."""
        parts = [
            many(self.agents, "agent"),
            many(self.ids, "id"),
            many(self.prompts, "prompt"),
            many(self.calls, "waiting call"),
            many(self.holds, "held gate"),
            many(self.reactions, "reaction"),
            many(self.unloads, "unload"),
        ]
        return f"{', '.join(parts)}{'' if self.edition is EDITION_2026_06 else f', in edition {self.edition.name}'}"

    def kinds(self) -> str:
        """Say what can be done, in words."""
        return ", ".join(sorted(self.ops))


def many(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number} {what}{'' if number == 1 else 's'}"


_USUAL: Final = frozenset({"create", "send", "cancel", "dispose", "unload_owner"})
_PATIENT: Final = Held(GateKind.MODEL, (TEXT, ERROR))
"""The model's gate, for bodies that honour the signal."""

_ANY_ANSWER: Final = Held(
    GateKind.MODEL, (TEXT, ERROR, *map(GateOutcome, ("tools:1", "tools:2", "max-tokens+tools:1"))), tuple(Temper)
)

SMALLEST: Final = Bound("smallest", calls=1, ops=_USUAL, made=(PLAIN,), gates=(_PATIENT,), listeners=(CANCEL,))
"""The smallest bound that counts: two of what can race, and one of what makes it race."""

DRIFTED: Final = replace(SMALLEST, name="drifted", edition=EDITION_2026_08)
"""The same in the other edition."""

ONE_MORE: Final = (
    replace(SMALLEST, name="three-prompts", prompts=3),
    replace(SMALLEST, name="two-calls", calls=2),
    replace(SMALLEST, name="two-holds", holds=2),
    replace(SMALLEST, name="two-reactions", reactions=2),
    replace(SMALLEST, name="two-unloads", unloads=2),
)
"""The smallest one, with one more of each kind."""

CREATION: Final = Bound(
    "creation",
    prompts=0,
    calls=1,
    ops=_USUAL - {"send", "cancel"} | {"abort", "withdraw", "unload_provider"},
    made=(PLAIN, FULL, PRE_ABORTED),
    gates=(SETUP, CLEANUP),
    listeners=(VETO, WITHDRAW, UNLOAD, CANCEL_CREATED),
)
CHILDREN: Final = Bound(
    "children",
    prompts=1,
    calls=1,
    reactions=0,
    ops=_USUAL | {"withdraw"},
    made=(PLAIN, CHILD),
    gates=(MODEL,),
)

BOUNDS: Final = {
    bound.name: bound
    for bound in (
        SMALLEST,
        DRIFTED,
        *ONE_MORE,
        Bound("gates", calls=1, reactions=0, unloads=0, ops=_USUAL, made=(PLAIN,), gates=(MODEL, FLUSH), listeners=()),
        CREATION,
        replace(CREATION, name="one-creation", agents=1, ids=1, calls=2),
        CHILDREN,
        replace(CHILDREN, name="family", prompts=0, holds=0, gates=()),
        Bound(
            "turns",
            agents=1,
            ids=1,
            prompts=1,
            calls=1,
            unloads=0,
            reactions=1,
            ops=ALL_OPS - {"abort", "withdraw", "unload_owner", "unload_provider", "load_owner", "load_provider"},
            made=(PLAIN,),
            gates=(_ANY_ANSWER, TOOL, PREPARE, FLUSH),
            listeners=(CANCEL, REPLACE, SWEPT, END_IN_TURN, FAIL_QUEUED),
        ),
        Bound(
            "reuse",
            agents=1,
            ids=1,
            prompts=0,
            calls=1,
            holds=0,
            ops=frozenset({"create", "dispose", "withdraw", "unload_owner"}),
            made=(PLAIN,),
            gates=(),
            listeners=(REUSE,),
        ),
        Bound(
            "reload",
            prompts=1,
            calls=1,
            holds=1,
            reactions=0,
            ops=_USUAL | {"load_owner", "unload_provider", "load_provider"},
            made=(PLAIN,),
            gates=(FLUSH,),
        ),
    )
}
"""The bounds that have a name; together they come to every goal and to every clause."""
