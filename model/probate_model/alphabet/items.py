"""Items: what a trace is made of.

A trace is a list of items: an op, a reaction to install, something done to a gate, or ``settle``. Everything between
two settles is one *burst*: its items begin in order, in one tick, with nothing asynchronous in between. That is how a
window such as the one between a send and the driver's wake-up is reached.

References resolve at the last settle: what had not returned by then is unbound, and an item that names it is void.
Only ``abort``, ``withdraw`` and the gate items name the creation itself, and are bound from its item on. So any
sublist of the items of a trace is again a trace, which is what shrinking needs.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from probate_model.alphabet.gates import Gate, GateOutcome, Temper
from probate_model.alphabet.names import Label, OwnerName, Tag
from probate_model.alphabet.ops import Op
from probate_model.alphabet.values import value


@value(frozen=True, slots=True)
class Throw:
    """Raise from inside the dispatch. Only the last action of a reaction can be one."""

    tag: Tag
    item: Literal["throw"] = "throw"


@value(frozen=True, slots=True)
class Reject:
    """Fail asynchronously, after the dispatch. Never vetoes, is always contained."""

    tag: Tag
    item: Literal["reject"] = "reject"


Action: TypeAlias = Op | Throw | Reject

Scalar: TypeAlias = str | int | bool


@value(frozen=True, slots=True)
class Pattern:
    """Which events a reaction waits for: a kind, and fields with the values that they must have.

    For a ``log`` event the fields of its record can be named as if they were the event's own.
    """

    event: str
    where: tuple[tuple[str, Scalar], ...] = ()


@value(frozen=True, slots=True)
class React:
    """Install an ordinary listener that acts once, at the ``nth`` match, inside its dispatch.

    Its ops carry the labels ``LABEL.0``, ``LABEL.1`` and so on.
    """

    label: Label
    on: Pattern
    do: tuple[Action, ...]
    nth: int = 1
    item: Literal["react"] = "react"


@value(frozen=True, slots=True)
class Plan:
    """Set the outcomes of the next arrivals at an open gate."""

    gate: Gate
    outcomes: tuple[GateOutcome, ...]
    item: Literal["plan"] = "plan"


@value(frozen=True, slots=True)
class Hold:
    """Make later arrivals wait. May precede the creation."""

    gate: Gate
    temper: Temper = Temper.HONOURS
    item: Literal["hold"] = "hold"


@value(frozen=True, slots=True)
class Release:
    """Let the oldest waiting arrival go on with an outcome. Void if none waits."""

    gate: Gate
    outcome: GateOutcome
    item: Literal["release"] = "release"


@value(frozen=True, slots=True)
class Open:
    """End the hold: all that wait go on with the default, oldest first."""

    gate: Gate
    item: Literal["open"] = "open"


@value(frozen=True, slots=True)
class Settle:
    """Run until nothing can run: every activity is at its idle wait or at a held gate."""

    item: Literal["settle"] = "settle"


GateItem: TypeAlias = Plan | Hold | Release | Open
BurstItem: TypeAlias = Op | React | GateItem
Item: TypeAlias = BurstItem | Settle


@value(frozen=True, slots=True)
class WorldSpec:
    """What exists before the first item."""

    owners: tuple[OwnerName, ...] = (OwnerName("host"),)
    provider: bool = True
