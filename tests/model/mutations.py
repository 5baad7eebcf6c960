"""Mutations: what was seen, changed so that no run of the model explains it.

Each is drawn by a seeded generator. A mutation is only of use if what comes out of it truly breaks the contract, so
pairs are swapped only where the contract closes their order: two events of one agent, a synchronous call's settlement
and what was seen just before it, and the cause of an asynchronous settlement and that settlement. The report of a
failed flush that no driver waits for is left alone: it may come at any time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TypeVar

from probate_model.alphabet.events import (
    AgentError,
    ErrorSource,
    Event,
    Logged,
    OfNoAgent,
    Raised,
    Returned,
    ScopeCleanup,
    SessionDisposed,
    SessionStarted,
    Settled,
    Settlement,
    Snapshot,
)
from probate_model.alphabet.names import AgentRef, Code, Label
from probate_model.alphabet.ops import AwaitIdle, Create, Dispose, UnloadOwner, UnloadProvider
from probate_model.monitors import Call

Calls = dict[Label, Call]
Mutation = Callable[[list[Event], random.Random, Calls], list[Event] | None]
"""Gives the changed list; none if nothing of it can be changed in this way."""

T = TypeVar("T")

_ASYNCHRONOUS = Create | Dispose | AwaitIdle | UnloadOwner | UnloadProvider


def swapped(seen: list[Event], order: random.Random, calls: Calls) -> list[Event] | None:
    """Swap two events that are causally ordered."""
    pairs = [*_of_one_agent(seen), *_of_one_call(seen, calls)]
    if not pairs:
        return None
    one, other = order.choice(pairs)
    changed = list(seen)
    changed[one], changed[other] = seen[other], seen[one]
    return changed


def _of_one_agent(seen: Sequence[Event]) -> list[tuple[int, int]]:
    pairs = []
    last: dict[AgentRef, int] = {}
    for place, event in enumerate(seen):
        if isinstance(event, OfNoAgent):
            continue
        if isinstance(event, AgentError) and event.source is ErrorSource.FLUSH:
            last.pop(event.agent, None)
            continue
        if event.agent in last:
            pairs.append((last[event.agent], place))
        last[event.agent] = place
    return pairs


def _of_one_call(seen: Sequence[Event], calls: Calls) -> list[tuple[int, int]]:
    pairs = []
    for place, event in enumerate(seen):
        if not isinstance(event, Settled) or event.call not in calls:
            continue
        op = calls[event.call].op
        if not isinstance(op, _ASYNCHRONOUS):
            if place:
                pairs.append((place - 1, place))
        elif isinstance(op, Create) and isinstance(event.outcome, Returned):
            ref = event.outcome.value
            pairs += [
                (cause, place)
                for cause, earlier in enumerate(seen[:place])
                if isinstance(earlier, SessionStarted) and earlier.agent == ref
            ]
        elif isinstance(op, Dispose):
            number = [p for p, e in enumerate(seen[:place]) if isinstance(e, ScopeCleanup) and e.creation == op.agent]
            pairs += [(cause, place) for cause in number]
    return pairs


def dropped(seen: list[Event], order: random.Random, calls: Calls) -> list[Event] | None:
    """Drop an event."""
    place = order.randrange(len(seen))
    return [*seen[:place], *seen[place + 1 :]]


def doubled(seen: list[Event], order: random.Random, calls: Calls) -> list[Event] | None:
    """Have an event twice."""
    place = order.randrange(len(seen))
    return [*seen[: place + 1], *seen[place:]]


def altered(seen: list[Event], order: random.Random, calls: Calls) -> list[Event] | None:
    """Change one field of an event."""
    place = order.randrange(len(seen))
    return [*seen[:place], alter(seen[place], order), *seen[place + 1 :]]


def alter(event: Event, order: random.Random) -> Event:
    """Change one field of an event, or of the record or the settlement that it carries."""
    if isinstance(event, Logged) and order.randrange(4):
        return replace(event, record=_altered(event.record, order))
    if isinstance(event, Settled) and order.randrange(8):
        return replace(event, outcome=_other_outcome(event.outcome))
    if isinstance(event, SessionDisposed):
        return replace(event, agent=AgentRef(f"{event.agent}1"))
    return _altered(event, order)


def _altered(value: T, order: random.Random) -> T:
    """Change one field of a dataclass: not the one that says what it is, nor one that holds another dataclass."""
    held = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    tags = {"event", *(["record"] if isinstance(held.get("record"), str) else [])}
    name = order.choice([name for name, one in held.items() if name not in tags and not is_dataclass(one)])
    return replace(value, **{name: _other(held[name])})  # type: ignore[type-var]


def _other(value: object) -> object:
    """Give another value of the same type."""
    match value:
        case bool():
            return not value
        case Enum():
            members = list(type(value))
            return members[(members.index(value) + 1) % len(members)]
        case int():
            return value + 1
        case _:
            return f"{value}1"


def _other_outcome(outcome: Settlement) -> Settlement:
    match outcome:
        case Raised(code):
            return Raised(Code("aborted" if code != "aborted" else "disposed"))
        case Returned(None):
            return Raised(Code("disposed"))
        case Returned(Snapshot() as seen):
            return Returned(replace(seen, sessions=(*seen.sessions, AgentRef("z#1"))))
        case Returned(value):
            return Returned(AgentRef(f"{value}1"))


MUTATIONS: dict[str, Mutation] = {"swap": swapped, "drop": dropped, "double": doubled, "field": altered}
