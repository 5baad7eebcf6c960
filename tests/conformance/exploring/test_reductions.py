"""What the explorer leaves out makes no difference: names and counts, and when a settlement is delivered."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from probate_conformance.exploring.bounds import BOUNDS, FRESH, ONE_MORE, PLAIN, Bound
from probate_conformance.exploring.casting import Cast
from probate_conformance.exploring.menu import Replacing, forgettable
from probate_conformance.exploring.normal import creation, forget, normal
from probate_conformance.exploring.plain import PlainSpace
from probate_conformance.exploring.searching import search
from probate_conformance.exploring.walking import Position, choices, start, take
from probate_model.alphabet.items import Settle
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import Send
from probate_model.machine import Step, apply, bind, enabled, fire
from probate_model.world import World

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Give a value with every name in it that is known by another one."""
    if isinstance(value, str):
        return type(value)(names.get(value, value)) if type(value) is str else value
    if isinstance(value, tuple):
        parts = [renamed(part, names) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Send):
        return replace(value, text=FRESH)
    if is_dataclass(value) and not isinstance(value, type) and type(value).__name__ in ("Gate", "React"):
        return replace(value, **{field.name: renamed(getattr(value, field.name), names) for field in fields(value)})
    return value


def as_normal(cast: Cast) -> World:
    """Give the world of a cast in normal form, without the agents that are forgotten."""
    world = cast.world
    names: dict[str, str] = {label: creation(place) for place, label in enumerate(cast.places)}
    agents = tuple(agent for agent in world.agents if agent.label in names)
    ids = {real: name for name, real in cast.ids.items()}
    kept = world._replace(
        agents=tuple(agent._replace(id=ids[agent.id]) for agent in agents),
        unloads=tuple(
            unload._replace(awaited=tuple(label for label in unload.awaited if label in names))
            for unload in world.unloads
        ),
        gates=tuple(state for state in world.gates if state.gate.creation in names),
    )
    return normal(renamed(kept, names))


@pytest.mark.parametrize(
    "name", sorted(set(BOUNDS) - {bound.name for bound in ONE_MORE} - {"reload", "children", "family", "one-creation"})
)
def test_a_world_that_forgets_nothing_goes_the_same_way(name: str) -> None:
    """A walk on the real world, with all of its names and counts, stays with the walk on the normal one."""
    bound = BOUNDS[name]
    compared = 0
    for seed in range(25):
        order = random.Random(seed)
        cast, position = Cast(), start()
        for _ in range(60):
            choice = order.choice(list(choices(bound, position)))
            if isinstance(choice, Step):
                cast.fire(choice, position)
            elif isinstance(choice, Settle):
                cast.world = bind(cast.world)
            else:
                if isinstance(choice, Replacing):
                    cast.forget(position)
                cast.apply(cast.item(choice.create if isinstance(choice, Replacing) else choice))
            position = take(position, choice).position
            assert as_normal(cast) == position.world, (seed, choice)
            assert [step.activity for step in enabled(cast.world)] == [
                step.activity for step in enabled(position.world)
            ]
            compared += len(cast.world.agents) > len(position.world.agents)
            if not list(choices(bound, position)):
                break
    assert compared > 20 or bound.agents > 1


TINY = Bound(
    "tiny",
    agents=1,
    ids=1,
    prompts=1,
    calls=2,
    holds=0,
    reactions=0,
    unloads=1,
    ops=frozenset({"create", "send", "await_idle", "dispose", "unload_owner"}),
    made=(PLAIN,),
)


def undelivered(bound: Bound) -> set[tuple[World, bool]]:
    """Give all worlds within a bound, found with settlements that are steps of their own; without what is due.

    What is due twice is due once here, since there would be no end of it else.
    """

    def tidy(world: World) -> World:
        due = {due._replace(call=Label("")) for due in world.due}
        return normal(world)._replace(due=tuple(sorted(due, key=str)))

    first = start()
    found = {(first.world, False)}
    waiting = deque(found)
    while waiting:
        world, settling = waiting.popleft()
        following = [(tidy(fire(world, step).world), True) for step in enabled(world)]
        if not settling:
            for choice in choices(bound, Position(world)):
                if not isinstance(choice, Step | Settle):
                    if isinstance(choice, Replacing):
                        gone = forgettable(world.agents)
                        assert gone is not None
                        following.append((tidy(apply(forget(world, gone), choice.create).world), False))
                    else:
                        following.append((tidy(apply(world, choice).world), False))
        elif not following:
            following.append((tidy(bind(world)), False))
        for one in following:
            if one not in found:
                found.add(one)
                waiting.append(one)
    return {(world._replace(due=()), settling) for world, settling in found}


def test_settlements_that_come_at_once_lose_nothing() -> None:
    bound = replace(TINY, calls=1)
    quick = {(position.world, position.settling) for position in search(PlainSpace(bound)).states}
    assert {world for world, settling in undelivered(bound)} == {world for world, _ in quick}
