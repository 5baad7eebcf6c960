"""Rooms: bounds of the later profiles, explored on whole worlds.

A profile beyond ``core`` keeps what it has in a room of its own (see ``probate_model.rooms``), and most of what it can
do is done there. So nothing is gained by taking a world apart, and these bounds are explored as they are, each choice
by the rules. They are small, and they count otherwise than the bounds of ``bounds``: what is started, plugged in or
created is counted once and for all, and what is over stays in the world, where it can still be named. So nothing has to
be forgotten, and every name is the one that it was given: the first of its kind that is free. The price is that nothing
goes on for ever; what holds is shown of all that happens until the bound is used up.

What an agent counts is started anew all the same, as it is for the core, and so are incarnations. What a profile has to
say for itself (its menu, its normal form, what it remembers, what is held to) is a ``Theme``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import count
from typing import Any, Literal, NamedTuple

from probate_conformance.exploring import judging
from probate_conformance.exploring.bounds import HOST, many
from probate_conformance.exploring.casting import Cast
from probate_conformance.exploring.covering import Coverage
from probate_conformance.exploring.menu import Replacing, used_by
from probate_conformance.exploring.normal import NUMBERS, counted_anew, normal
from probate_conformance.exploring.searching import Ahead
from probate_conformance.exploring.walking import SETTLE, Choice, Position, Taken, delivered, watch_all
from probate_conformance.exploring.watching import Watch
from probate_conformance.trace import Trace
from probate_model.alphabet.events import Event
from probate_model.alphabet.gates import Gate
from probate_model.alphabet.items import BurstItem, Item, Settle, WorldSpec
from probate_model.alphabet.names import Label, OwnerName
from probate_model.machine import Step, apply, begin, bind, enabled, fire, somebody_waits
from probate_model.run import Run
from probate_model.world import World, new_world


@dataclass(frozen=True, slots=True)
class RoomBound:
    """How much there may be within a bound of a later profile."""

    name: str
    profile: Literal["tasks", "fibers", "subagents"]
    things: int
    """Tasks or runs that are started, or fibers that are plugged in, in all."""
    agents: int = 0
    """Agents that are created, in all."""
    calls: int = 1
    """Calls that wait, at once."""
    holds: int = 1
    """Gates that are held, at once."""
    more: int = 1
    """What can be made again, or beside: executors and loads of the tool, or effects and services, of each in all; or
    words of each run."""
    turns: bool = False
    """Whether agents take prompts and calls of the tool are made in turns."""
    registries: bool = False
    """Whether the registry of agents can be missing, or broken."""
    late: bool = False
    """Whether the first fiber is the one that uses the service, which comes later and from outside, without effects."""

    def says(self) -> str:
        """Say how much there may be, in words."""
        what = {
            "tasks": ("task", "executor and tool"),
            "fibers": ("fiber", "effect and service"),
            "subagents": ("run", "word of each"),
        }
        thing, beside = what[self.profile]
        ever = [many(self.things, thing), many(self.agents, "agent"), f"{self.more} more {beside}"]
        at_once = [many(self.calls, "waiting call"), many(self.holds, "held gate")]
        return f"{', '.join(at_once)}; in all: {', '.join(ever)}"

    def kinds(self) -> str:
        """Say what can be done, in words."""
        of_agents = ", create, dispose" * (self.agents > 0) + ", send, cancel" * self.turns
        return f"those of profile {self.profile}{of_agents}"


class RoomPosition(NamedTuple):
    """Where a walk is."""

    world: World
    watches: tuple[Watch, ...] = ()
    memory: Hashable = ()
    """What was seen of the room, as far as it matters."""
    settling: bool = False


Between = Callable[[World, World, Sequence[Event]], Iterator[str]]


class Theme(NamedTuple):
    """What a profile has to say of its bounds."""

    items: Callable[[RoomBound, World], Iterator[BurstItem]]
    """What can be done."""
    tidy: Callable[[World], World]
    """Gives a world with what no rule looks at left out of the room."""
    remember: Callable[[Any, World, Sequence[Event], list[str]], Hashable]
    """Advances what was seen of the room, and says what does not fit."""
    between: tuple[Between, ...]
    """What is asked of a choice."""
    at_rest: tuple[Callable[[World], Iterator[str]], ...]
    """What is asked of a world at rest."""
    owners: tuple[OwnerName, ...] = (HOST,)
    """Who is there before the first item."""


def forgetful(memory: Hashable, world: World, events: Sequence[Event], breaches: list[str]) -> Hashable:
    """Remember nothing."""
    del world, events, breaches
    return memory


def free(prefix: str, used: Sequence[Label]) -> Label:
    """Give the first name of a kind that is not in use."""
    return next(name for number in count() if (name := Label(f"{prefix}{number}")) not in used)


def waiting(world: World) -> int:
    """Count the calls that wait for agents."""
    return sum(used_by(agent).calls for agent in world.agents)


def waits_at(world: World, gate: Gate) -> bool:
    """Tell whether something waits at a gate: whether a release would not be void."""
    return somebody_waits(Run(world, begin), gate)


class RoomSpace:
    """The positions within a bound of a later profile, and what leads from each to which."""

    def __init__(self, bound: RoomBound, theme: Theme) -> None:
        self.bound, self._theme = bound, theme
        world = new_world(WorldSpec(theme.owners), profile=bound.profile)._replace(numbers=NUMBERS)
        self.start = RoomPosition(theme.tidy(world))
        self.choices: list[Choice] = [SETTLE]
        self._ids: dict[Choice, int] = {SETTLE: 0}
        self._shown: list[tuple[int, Taken]] = []
        self.coverage = Coverage(profile=bound.profile)
        """What was come to; each time that a choice is taken counts, since none is known from before."""

    def _choices(self, state: RoomPosition) -> Iterator[Choice]:
        if not state.settling:
            yield from self._theme.items(self.bound, state.world)
        steps = enabled(state.world)
        yield from steps or [SETTLE]

    def _take(self, state: RoomPosition, choice: Choice) -> tuple[RoomPosition, Taken]:
        world = state.world
        if isinstance(choice, Settle):
            after = bind(world)
            return self._at(state._replace(settling=False), after), Taken(Position(after), world, after)
        outcome = delivered(fire(world, choice) if isinstance(choice, Step) else apply(world, _item(choice)))
        after, events = outcome.world, outcome.events
        breaches: list[str] = []
        watches = watch_all(after.agents, state.watches, events, breaches, world.edition)
        memory = self._theme.remember(state.memory, after, events, breaches)
        taken = Taken(
            Position(after, watches),
            world,
            after,
            outcome.expected,
            outcome.silences,
            outcome.marks,
            tuple(breaches),
        )
        return self._at(RoomPosition(world, watches, memory, isinstance(choice, Step)), after), taken

    def _at(self, state: RoomPosition, world: World) -> RoomPosition:
        return state._replace(world=normal(counted_anew(self._theme.tidy(world))))

    def successors(self, state: RoomPosition) -> tuple[list[RoomPosition], Ahead]:
        """Give all positions that can come next, and what sort of a list that is."""
        following = []
        last: Choice | None = None
        for last in self._choices(state):
            number = self._ids.setdefault(last, len(self.choices))
            if number == len(self.choices):
                self.choices.append(last)
            position, taken = self._take(state, last)
            self._shown.append((number, taken))
            following.append(position)
        return following, "rest" if last is SETTLE else "steps" if state.settling else "any"

    def numbers(self, state: RoomPosition) -> list[int]:
        """Give the number of the choice that leads to each of these, in the same order."""
        return [self._ids[choice] for choice in self._choices(state)]

    def shown(self) -> Iterator[tuple[int, Taken]]:
        """Give the choices that were taken since this was asked last, each with its number."""
        shown, self._shown = self._shown, []
        for number, taken in shown:
            self.coverage.add(self.choices[number], taken)
            yield number, taken

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give what is wrong with a choice."""
        yield from judging.of_a_choice(taken)
        for between in self._theme.between:
            yield from between(taken.before, taken.after, taken.events)

    def faults(self, state: RoomPosition) -> Iterator[str]:
        """Give what is wrong with a position."""
        for place in range(len(state.world.agents)):
            yield from judging.of_an_agent(state.world, place)
        yield from judging.of_the_registries(state.world)

    def rest_faults(self, state: RoomPosition) -> Iterator[str]:
        """Give what is wrong with a position in that it is at rest."""
        yield from judging.at_rest(Position(state.world))
        for check in self._theme.at_rest:
            yield from check(state.world)


def _item(choice: Choice) -> BurstItem:
    """Give an item; nothing is replaced where nothing is forgotten."""
    assert not isinstance(choice, Step | Settle | Replacing)
    return choice


def cast_room(bound: RoomBound, theme: Theme, choices: Sequence[Choice]) -> Trace:
    """Give a path as a trace; each item has a label of its own, and what was named last by a name has it."""
    cast = Cast()
    names: dict[str, str] = {}
    items: list[Item] = []
    for choice in choices:
        if isinstance(choice, Settle):
            items.append(choice)
        elif not isinstance(choice, Step):
            items.append(_renamed(_item(choice), names, cast))
    return Trace(profile=bound.profile, world=WorldSpec(theme.owners), items=tuple(items))


def _renamed(item: Any, names: dict[str, str], cast: Cast) -> Any:
    changed: dict[str, Any] = {}
    for field in fields(item):
        value = getattr(item, field.name)
        if field.name == "label":
            changed["label"] = cast.label()
        elif isinstance(value, Gate):
            changed[field.name] = replace(value, creation=Label(names.get(value.creation, value.creation)))
        elif type(value) is str and field.name not in ("id", "text", "service", "item"):
            changed[field.name] = names.get(value, value)
        elif is_dataclass(value) and not isinstance(value, type) and hasattr(value, "agent"):
            changed[field.name] = replace(value, agent=names.get(value.agent, value.agent))
        elif field.name == "text":
            changed["text"] = cast.label("t")
    if "label" in changed:
        names[item.label] = changed["label"]
    return replace(item, **changed)
