"""Running traces on the model, with a random step fired each time, and keeping what was seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from probate_conformance.trace import Trace
from probate_model.alphabet.events import Event, Snapshot
from probate_model.alphabet.items import BurstItem, Hold, Item, Open, Plan, React, Release
from probate_model.alphabet.names import Label
from probate_model.machine import apply, bind, enabled, fire
from probate_model.monitors import Recording
from probate_model.registry import snapshot
from probate_model.world import World, new_world


@dataclass(frozen=True, slots=True)
class Burst:
    """What one burst led to."""

    sent: tuple[BurstItem, ...]
    events: tuple[Event, ...]
    seen: Snapshot


@dataclass(slots=True)
class Played:
    """What a trace led to."""

    start: World
    end: World
    bursts: list[Burst] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        return [event for burst in self.bursts for event in burst.events]

    def recording(self) -> Recording:
        """Give what the monitors look at."""
        begun: dict[Label, int] = {}
        place = 0
        for burst in self.bursts:
            for item in burst.sent:
                if not isinstance(item, React | Plan | Hold | Release | Open):
                    begun[item.label] = place
            place += len(burst.events)
        items = [item for burst in self.bursts for item in burst.sent]
        return Recording(self.events, items, begun, self.start.edition)


Visit = Callable[[World, World, Sequence[Event]], None]


def ignore(before: World, after: World, events: Sequence[Event]) -> None:
    """Visit nothing."""


def play_out(
    bursts: Sequence[Sequence[BurstItem]],
    start: World,
    order: random.Random | None = None,
    visit: Visit = ignore,
    rest: Callable[[World], None] = lambda world: None,
) -> Played:
    """Run bursts: each time, fire a step that ``order`` draws, or the first one if there is no ``order``.

    :param visit: called with every stretch: the world before, the world after, and the events on the way
    :param rest: called with every world at rest
    """
    world = start
    played = Played(start, start)
    for items in bursts:
        sent: list[BurstItem] = []
        seen: list[Event] = []
        for item in items:
            outcome = apply(world, item)
            if outcome.void:
                continue
            sent.append(item)
            seen += outcome.events
            visit(world, outcome.world, outcome.events)
            world = outcome.world
        while steps := enabled(world):
            outcome = fire(world, order.choice(steps) if order else steps[0])
            seen += outcome.events
            visit(world, outcome.world, outcome.events)
            world = outcome.world
        world = bind(world)
        rest(world)
        played.bursts.append(Burst(tuple(sent), tuple(seen), snapshot(world)))
    played.end = world
    return played


def play_trace(
    trace: Trace,
    order: random.Random | None = None,
    visit: Visit = ignore,
    rest: Callable[[World], None] = lambda world: None,
) -> Played:
    """Run a trace with its epilogue."""
    return play_out(trace.bursts(), new_world(trace.world, profile=trace.profile), order, visit, rest)


def trace_of(items: Sequence[Item], like: Trace | None = None) -> Trace:
    """Give a trace of these items, which is known to be valid, in the world of another one."""
    made = Trace.model_construct(items=tuple(items))
    return made if like is None else made.model_copy(update={"world": like.world})
