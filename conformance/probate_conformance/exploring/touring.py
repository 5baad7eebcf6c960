"""Touring: walks that together take every transition of the settled model, to be run on a backend.

What a backend can be driven through is the model as a tester sees it: a state at rest, a burst, and the state in which
that comes to rest in the canonical order. A *transition* is a state at rest and a burst. A burst is one item, or a few:
a second one is only begun in the same tick where the first has left something to run, since else it is the same as two
bursts.

Random traces see a fifth of the transitions that a tour of the same length takes. A tour is planned in time that grows
with its length and no faster: from the state that is farthest away and has a transition left, along the tree of
shortest ways, on from there by transitions that are left as long as there are any, and then anew from the start. Each
walk is a trace like any other, so it is replayed, confirmed, shrunk and told as any other.

Not every backend has everything. So what can be driven without what is most often left unclaimed is planned first, in
walks of its own: a walk that needs what a backend does not claim is not taken at all.

Most walks begin like another one, since all come from the start. They are put in order, so that each comes next to the
one that it has most in common with, and what the model makes of that need not be found out twice (see ``runner``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from probate_conformance.exploring.bounds import (
    CANCEL,
    CHILD,
    CLEANUP,
    FLUSH,
    FULL,
    MODEL,
    PLAIN,
    SETUP,
    VETO,
    WITHDRAW,
    Bound,
)
from probate_conformance.exploring.casting import Begun, cast_bursts
from probate_conformance.exploring.menu import Replacing, for_agent, for_nobody, room
from probate_conformance.exploring.normal import normal
from probate_conformance.exploring.walking import Choice, Position, start, take
from probate_conformance.trace import Trace
from probate_model.alphabet.gates import GateKind, Temper, tool_count
from probate_model.alphabet.items import BurstItem, Hold, Item, Open, React, Release, Settle
from probate_model.alphabet.ops import ByAgent, Create, CreationSignal, Setup
from probate_model.machine import Step, enabled, settle

Burst: TypeAlias = tuple[Begun, ...]
Place: TypeAlias = tuple[int, int]
"""A transition: the state that it comes from, and its place among those of that state."""

LONGEST: Final = 40
"""After how many bursts a walk takes no more transitions that are left."""


class Transition(NamedTuple):
    """A burst from one state at rest to another, by their numbers."""

    source: int
    burst: Burst
    target: int


class Walk(NamedTuple):
    """A trace, and the transitions that it takes, burst by burst."""

    trace: Trace
    transitions: tuple[int, ...]
    needs: frozenset[str]
    """The ops, gates, events and features that the trace is made of."""


@dataclass(frozen=True, slots=True)
class Tour:
    """Walks that take every transition within a bound."""

    bound: Bound
    burst: int
    states: int
    transitions: int
    walks: tuple[Walk, ...]

    @property
    def steps(self) -> int:
        """How many bursts there are in all walks."""
        return sum(len(walk.transitions) for walk in self.walks)

    def within(self, words: frozenset[str]) -> int:
        """Give how many transitions are taken by walks that are made of these words alone."""
        return len({number for walk in self.walks if walk.needs <= words for number in walk.transitions})


def bursts_from(bound: Bound, position: Position, most: int) -> Iterator[tuple[Burst, Position]]:
    """Give what can be begun in a state at rest, and where it comes to rest.

    :param most: how many items a burst may have
    """
    world = position.world
    has = room(bound, world)
    if has is None:
        return
    items: list[Choice] = []
    for place, agent in enumerate(world.agents):
        items += for_agent(bound, place, agent, world.gates, has)
    items += for_nobody(bound, world.agents, world.owners, world.provider, has)
    for item in items:
        begun = take(position, item).position
        first = Begun(item, position, begun)
        yield (first,), rested(begun)
        if most > 1 and enabled(begun.world):
            for more, after in bursts_from(bound, begun, most - 1):
                yield (first, *more), after


def rested(position: Position) -> Position:
    """Give where a position comes to rest in the canonical order."""
    return Position(normal(settle(position.world).world))


def graph(bound: Bound, most: int) -> list[list[Transition]]:
    """Give the transitions from each state at rest that can be reached within a bound."""
    first = rested(start())
    numbers = {first: 0}
    order = [first]
    found: list[list[Transition]] = []
    for position in order:
        source = len(found)
        found.append([])
        for burst, after in bursts_from(bound, position, most):
            if after not in numbers:
                numbers[after] = len(order)
                order.append(after)
            found[source].append(Transition(source, burst, numbers[after]))
    return found


def tour(name: str) -> Tour:
    """Plan walks that take every transition within a bound, one of ``TOURS``."""
    bound, burst = TOURS[name]
    found = graph(bound, burst)
    first: list[int] = [0]
    for transitions in found:
        first.append(first[-1] + len(transitions))
    walks = []
    for way in sorted(_planned(found)):
        trace = cast_bursts(found[source][place].burst for source, place in way)
        numbers = tuple(first[source] + place for source, place in way)
        walks.append(Walk(trace, numbers, frozenset(_needs(trace.items))))
    return Tour(bound, burst, len(found), first[-1], tuple(walks))


def _needs(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        match item:
            case React():
                yield from ("react", item.on.event)
                yield from (action.item for action in item.do)
            case Hold():
                yield item.gate.kind
                if item.temper is Temper.DEAF:
                    yield "deaf"
            case Create():
                yield item.item
                yield from ["setup"] if item.setup is Setup.PLAIN else []
                yield from ["cleanup"] if item.cleanup else []
                yield from ["signal"] if item.signal is not CreationSignal.NONE else []
                yield from ["by-agent"] if isinstance(item.by, ByAgent) else []
            case Release():
                yield item.gate.kind
                yield from [GateKind.TOOL] if tool_count(item.outcome) else []
            case Open():
                yield item.gate.kind
            case Settle():
                pass
            case _:
                yield item.item


Within: TypeAlias = Sequence[Mapping[int, Transition]]
"""The transitions that may be taken from each state, by their place."""

_SPARED: Final = (
    frozenset({GateKind.TOOL, GateKind.FLUSH}),
    frozenset({GateKind.TOOL}),
    frozenset({GateKind.FLUSH}),
    frozenset[GateKind](),
)
"""What walks do without, one after the other."""


def _planned(found: Sequence[Sequence[Transition]]) -> Iterator[list[Place]]:
    """Give walks that take every transition: the state, and the place of the transition among those of the state."""
    needs = [[frozenset(_needs(_items(transition.burst))) for transition in transitions] for transitions in found]
    taken: set[Place] = set()
    for spared in _SPARED:
        within = [
            {place: transition for place, transition in enumerate(transitions) if not needs[state][place] & spared}
            for state, transitions in enumerate(found)
        ]
        left = [{place: None for place in places if (state, place) not in taken} for state, places in enumerate(within)]
        for walk in _plan(within, left):
            taken.update(walk)
            yield walk


def _items(burst: Burst) -> Iterator[BurstItem]:
    for choice, _, _ in burst:
        assert not isinstance(choice, Step | Settle)
        yield choice.create if isinstance(choice, Replacing) else choice


def _plan(found: Within, left: list[dict[int, None]]) -> Iterator[list[Place]]:
    """Give walks that take every transition that is left, as far as one can come."""
    ways = _ways(found)
    for state in reversed(range(len(found))):
        while left[state] and (not state or state in ways):
            walk: list[Place] = []
            for place in _way(ways, state):
                _stay(found, left, place[0], walk)
                walk.append(place)
                left[place[0]].pop(place[1], None)
            at = state
            while len(walk) < LONGEST:
                _stay(found, left, at, walk)
                ahead = _ahead(found, left, at)
                if not ahead:
                    break
                for place in ahead:
                    walk.append(place)
                    left[place[0]].pop(place[1], None)
                    at = found[place[0]][place[1]].target
            yield walk


def _stay(found: Within, left: list[dict[int, None]], at: int, walk: list[Place]) -> None:
    """Take the transitions that are left and lead to where they came from."""
    for place in [place for place in left[at] if found[at][place].target == at]:
        walk.append((at, place))
        del left[at][place]


def _ahead(found: Within, left: list[dict[int, None]], at: int) -> list[Place]:
    """Give the next transition that is left, one that leads to more of them if there is one, and the way there."""
    if left[at]:
        return [(at, next((place for place in left[at] if left[found[at][place].target]), next(iter(left[at]))))]
    for place, transition in found[at].items():
        if left[transition.target]:
            return [(at, place)]
    return []


def _ways(found: Within) -> dict[int, Place]:
    """Give for each state but the first that can be reached the last transition of the shortest way there."""
    ways: dict[int, Place] = {}
    ahead = deque([0])
    while ahead:
        source = ahead.popleft()
        for place, transition in found[source].items():
            if transition.target and transition.target not in ways:
                ways[transition.target] = source, place
                ahead.append(transition.target)
    return ways


def _way(ways: dict[int, Place], state: int) -> list[Place]:
    """Give the shortest way to a state."""
    walk: list[Place] = []
    while state:
        walk.append(ways[state])
        state = ways[state][0]
    walk.reverse()
    return walk


_ONE: Final = Bound(
    "brief",
    agents=1,
    ids=1,
    calls=1,
    reactions=0,
    ops=frozenset({"create", "send", "cancel", "await_idle", "dispose", "unload_owner"}),
    made=(PLAIN,),
    gates=(MODEL, FLUSH),
)
_CREATING: Final = frozenset({"create", "abort", "withdraw", "dispose", "unload_provider"})

TOURS: Final[dict[str, tuple[Bound, int]]] = {
    "brief": (_ONE, 2),
    "pair": (replace(_ONE, name="pair", agents=2, ids=2, prompts=1, gates=(MODEL,)), 1),
    "reactions": (
        replace(_ONE, name="reactions", agents=2, ids=2, prompts=1, gates=(FLUSH,), reactions=1, listeners=(CANCEL,)),
        1,
    ),
    "creation": (
        replace(
            _ONE,
            name="creation",
            agents=2,
            ids=2,
            prompts=0,
            reactions=1,
            ops=_CREATING,
            made=(PLAIN, FULL),
            gates=(SETUP, CLEANUP),
            listeners=(VETO, WITHDRAW),
        ),
        1,
    ),
    "children": (replace(_ONE, name="children", agents=2, ids=2, prompts=1, made=(PLAIN, CHILD), gates=()), 2),
}
"""The tours by name, each with its bound and how many items there are at most in a burst; the first takes seconds."""
