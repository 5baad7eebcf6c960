"""Walking: the model as a graph, the way a trace walks it.

A trace begins items in one tick, a burst, and then lets everything run until nothing can run any more; the next burst
begins at rest. So a position is a world and whether it *settles*: while it does not, anything on the menu can be done;
once a step has run, only steps run until none is enabled; then the settle ends, which binds what has returned. Steps
are taken in every order, not just in the canonical one. So each path through the graph is a trace that could be run,
under some schedule, and what goes wrong on a path can be written down as a case.

Settlements that are due are delivered at once. Nothing hears of one: it changes nothing but the list of what is due, no
other step looks at that list, and it is enabled until it was delivered. So any order of them leads to the same worlds,
and the earliest delivery is the strictest for whoever watches the order.

This module takes choices with the model as it is, on whole worlds. It is the measure of the quick way (``caching``),
which has to come to the same positions, choice by choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from probate_conformance.exploring.bounds import HOST, Bound
from probate_conformance.exploring.menu import Replacing, for_agent, for_nobody, forgettable, room
from probate_conformance.exploring.normal import NUMBERS, counted_anew, forget, normal
from probate_conformance.exploring.watching import NOTHING_SEEN, OVER, Watch, watched
from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.events import Event, OfNoAgent, Settled
from probate_model.alphabet.items import BurstItem, Settle, WorldSpec
from probate_model.alphabet.names import AgentRef
from probate_model.alphabet.ops import LoadOwner, LoadProvider
from probate_model.clauses import demand_of
from probate_model.machine import Step, apply, bind, enabled, fire
from probate_model.run import Expected, Outcome, Silence
from probate_model.world import Agent, Teardown, World, new_world

Choice: TypeAlias = BurstItem | Replacing | Step | Settle
"""What can come next: an item of a burst, one in the place of an agent that is gone, a step, or the end of a settle."""

SETTLE: Final = Settle()


class Position(NamedTuple):
    """Where a walk is."""

    world: World
    """In its normal form."""
    watches: tuple[Watch, ...] = ()
    """One for each agent."""
    settling: bool = False


class Taken(NamedTuple):
    """What a choice led to."""

    position: Position
    before: World
    after: World
    """The world as it is before the normal form."""
    expected: tuple[Expected, ...] = ()
    silences: tuple[Silence, ...] = ()
    marks: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    """What the watches did not expect."""

    @property
    def events(self) -> list[Event]:
        """What was seen, in order."""
        return [entry.event for entry in self.expected]


def start(edition: Edition = EDITION_2026_06) -> Position:
    """Give where every walk begins."""
    return Position(new_world(WorldSpec((HOST,)), edition)._replace(numbers=NUMBERS))


def choices(bound: Bound, position: Position) -> Iterator[Choice]:
    """Give all that can come next within a bound; nothing if the world is beyond it."""
    world = position.world
    has = room(bound, world)
    if has is None:
        return
    if not position.settling:
        for place, agent in enumerate(world.agents):
            yield from for_agent(bound, place, agent, world.gates, has)
        yield from for_nobody(bound, world.agents, world.owners, world.provider, has)
    steps = enabled(world)
    yield from steps
    if not steps:
        yield SETTLE


def take(position: Position, choice: Choice) -> Taken:
    """Take a choice that can come next."""
    world, watches, _ = position
    match choice:
        case Settle():
            bound_world = bind(world)
            return Taken(Position(normal(bound_world), watches), world, bound_world)
        case Step():
            outcome = delivered(fire(world, choice))
        case Replacing(create):
            gone = forgettable(world.agents)
            assert gone is not None
            world = forget(world, gone)
            watches = (*watches[:gone], *watches[gone + 1 :])
            outcome = delivered(apply(world, create))
        case _:
            outcome = delivered(apply(world, choice))
    breaches: list[str] = []
    after = outcome.world
    watches = watch_all(after.agents, watches, outcome.events, breaches, world.edition)
    anew = counted_anew(after) if isinstance(choice, LoadOwner | LoadProvider) else after
    position = Position(normal(anew), watches, isinstance(choice, Step))
    return Taken(position, world, after, outcome.expected, outcome.silences, outcome.marks, tuple(breaches))


def delivered(outcome: Outcome) -> Outcome:
    """Deliver the settlements that are due."""
    due = tuple(Expected(Settled(due.call, due.outcome), demand_of(due.clause)) for due in outcome.world.due)
    return outcome._replace(world=outcome.world._replace(due=()), expected=(*outcome.expected, *due))


def watch_all(
    agents: tuple[Agent, ...], watches: tuple[Watch, ...], events: list[Event], breaches: list[str], edition: Edition
) -> tuple[Watch, ...]:
    """Advance the watches of agents by what was seen."""
    places: dict[AgentRef, int] = {agent.ref: place for place, agent in enumerate(agents) if agent.number}
    now = [*watches, *(NOTHING_SEEN for _ in agents[len(watches) :])]
    for event in events:
        if not isinstance(event, OfNoAgent):
            place = places[event.agent]
            now[place] = watched(now[place], event, breaches, edition)
    return tuple(OVER if agent.teardown is Teardown.DONE else watch for agent, watch in zip(agents, now, strict=True))
