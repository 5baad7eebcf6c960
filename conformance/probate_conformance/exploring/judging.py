"""Judging: what was found wrong, and where.

``properties`` says what is to hold. Here it is asked, as seldom as can be: of a choice once for each stretch that was
not met before, of an agent once for each value that it has with each value of the registries, of the registries once
for each value with the ids that there are. Whatever is the same was asked already.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate_conformance.exploring import properties
from probate_conformance.exploring.walking import Position, Taken
from probate_model.world import World


def of_a_choice(taken: Taken) -> Iterator[str]:
    """Give what is wrong with a choice."""
    yield from taken.breaches
    for between in properties.BETWEEN:
        yield from between(taken.before, taken.after, taken.events)
    for check in properties.OF_NAMES:
        yield from check(taken.after)


def of_an_agent(world: World, place: int) -> Iterator[str]:
    """Give what is wrong with one agent of a world."""
    alone = world._replace(agents=(world.agents[place],))
    for check in properties.OF_AN_AGENT:
        yield from check(alone)


def of_the_registries(world: World) -> Iterator[str]:
    """Give what is wrong with the registries of a world."""
    for check in properties.OF_THE_REGISTRIES:
        yield from check(world)


def at_rest(position: Position) -> Iterator[str]:
    """Give what is wrong with a world at rest."""
    for check in properties.AT_REST:
        yield from check(position.world)
