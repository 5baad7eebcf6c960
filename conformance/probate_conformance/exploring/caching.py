"""Caching: the model explored part by part, as it is.

A state is a tuple of small numbers, one for each part of the world (see ``tracing``) and one for whether it settles;
each number stands for a value that was interned in its normal form. A choice is taken by the rules once for each
combination of the parts that it looks at, and never again: what it looked at, part by part, leads through a tree to
what it changed. A tree asks first for the part that the rules asked for first; which one they ask for next depends on
nothing but the answer. So the tree gives what the rules would have given, and there is nothing to prove about them.

The same trees hold which steps could run, since that is asked of a run as well. What a stretch showed is judged when it
enters a tree, once and not each time it is met: the judgement depends on nothing that the stretch did not look at.

Three things are done on whole worlds, each time: to forget an agent for a new one, and to load. They are counted, with
the stretches that were not in a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from probate_conformance.exploring import judging
from probate_conformance.exploring.bounds import Bound
from probate_conformance.exploring.menu import Replacing, Room, for_agent, for_nobody, used_by
from probate_conformance.exploring.normal import (
    NUMBERS,
    moved_agent,
    moved_gates,
    moved_unloads,
    new_ids,
    normal_agent,
    normal_gates,
    normal_listeners,
    normal_unloads,
    without,
)
from probate_conformance.exploring.tracing import SHARED, Part, Stem, TracingRun, stem
from probate_conformance.exploring.walking import SETTLE, Choice, Position, Taken, start, take, watch_all
from probate_conformance.exploring.watching import NOTHING_SEEN, OVER, Watch
from probate_model import machine
from probate_model.alphabet.editions import EDITION_2026_06
from probate_model.alphabet.events import Settled
from probate_model.alphabet.items import BurstItem, Settle
from probate_model.alphabet.ops import LoadOwner, LoadProvider
from probate_model.clauses import demand_of
from probate_model.machine import Step
from probate_model.run import Expected
from probate_model.world import Agent, Returned, Teardown, Unload, World

State = tuple[int, ...]

SETTLING: Final = 0
_FIRST_AGENT: Final = 1 + len(SHARED)
_SLOTS: Final = {name: 1 + place for place, name in enumerate(SHARED)}
_MOVED: Final[dict[str, Callable[[Any, int], Any]]] = {
    "registry": without,
    "sessions": without,
    "unloads": moved_unloads,
    "gates": moved_gates,
}
_NORMAL: Final[dict[str, Callable[[Any], Any]]] = {
    "unloads": normal_unloads,
    "listeners": normal_listeners,
    "gates": normal_gates,
}


class Seen(NamedTuple):
    """An agent and its watch: what stands in the place of an agent."""

    agent: Agent
    watch: Watch


class Table:
    """The values of one part, each with its number."""

    __slots__ = ("ids", "values")

    def __init__(self, *values: Hashable) -> None:
        self.values: list[Any] = list(values)
        self.ids: dict[Hashable, int] = {value: number for number, value in enumerate(values)}

    def id(self, value: Hashable) -> int:
        """Give the number of a value, a new one if it has none."""
        number = self.ids.get(value)
        if number is None:
            number = self.ids[value] = len(self.values)
            self.values.append(value)
        return number


class Node:
    """A node of a tree: the part to look at, and where each of its values leads; or a leaf, that looks at nothing."""

    __slots__ = ("hits", "shows", "slot", "ways", "writes")

    def __init__(self, slot: int = -1, writes: tuple[tuple[int, int], ...] = (), shows: Shown | None = None) -> None:
        self.slot = slot
        self.ways: dict[int, Node] = {}
        self.writes = writes
        """Of a leaf: the parts that are changed, and to what."""
        self.shows = shows
        """Of a leaf: what the stretch showed; or which steps could run."""
        self.hits = 0


class Shown(NamedTuple):
    """What a leaf stands for."""

    choice: int = -1
    taken: Taken | None = None
    steps: tuple[int, ...] = ()


class _Of:
    """The parts of a state."""

    __slots__ = ("space", "state")

    def __init__(self, space: CachedSpace, state: State) -> None:
        self.space, self.state = space, state

    def shared(self, name: str) -> Any:
        slot = _SLOTS[name]
        return self.space.tables[slot].values[self.state[slot]]

    def agent(self, place: int) -> Agent | None:
        slot = _FIRST_AGENT + place
        seen: Seen | None = self.space.tables[slot].values[self.state[slot]]
        return None if seen is None else seen.agent


class CachedSpace:
    """The states within a bound, and what leads from each to which."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.width = _FIRST_AGENT + bound.agents
        self.tables = [Table(0, 1), *(Table() for _ in SHARED), *(Table(None) for _ in range(bound.agents))]
        self.choices: list[Choice] = []
        self._ids: dict[Choice, int] = {}
        self._trees: list[Node | None] = []
        self._steps: list[Node | None] = [None] * (bound.agents + 1)
        self._menus: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._used: list[list[tuple[int, int, int]]] = [[(0, 0, 0)] for _ in range(bound.agents)]
        self._digests = Table(None)
        self._stems = Table(None)
        self._stem_of: list[list[int]] = [[0] for _ in range(bound.agents)]
        self._normals: list[dict[tuple[Agent, Watch], int]] = [{} for _ in range(bound.agents)]
        self._moves: dict[tuple[int, ...], int] = {}
        self._resting: list[dict[int, int]] = [{0: 0} for _ in range(bound.agents)]
        self.leaves: list[Node] = []
        self.misses = 0
        """How many stretches were taken by the rules for a tree."""
        self.wholes = 0
        """How many were taken on whole worlds."""
        self.whole: list[tuple[int, Taken]] = []
        """What those showed that was not asked for yet."""
        self._shown = 0
        self._fine: set[tuple[int, ...]] = set()
        self._settle = self._choice(SETTLE)
        self.start = self.state_of(start())

    # States and positions.

    def state_of(self, position: Position) -> State:
        """Give the state that a position is."""
        world = position.world
        seen = [Seen(agent, watch) for agent, watch in zip(world.agents, position.watches, strict=True)]
        parts: list[int] = [int(position.settling)]
        parts += (self.tables[_SLOTS[name]].id(getattr(world, name)) for name in SHARED)
        for place in range(self.bound.agents):
            parts.append(self._agent_id(place, seen[place]) if place < len(seen) else 0)
        return tuple(parts)

    def position_of(self, state: State) -> Position:
        """Give the position that a state is."""
        values = [table.values[number] for table, number in zip(self.tables, state, strict=True)]
        seen = [one for one in values[_FIRST_AGENT:] if one is not None]
        world = World(
            edition=EDITION_2026_06,
            agents=tuple(one.agent for one in seen),
            numbers=NUMBERS,
            **{name: values[slot] for name, slot in _SLOTS.items()},
        )
        return Position(world, tuple(one.watch for one in seen), bool(state[SETTLING]))

    def _agent_id(self, place: int, seen: Seen) -> int:
        table = self.tables[_FIRST_AGENT + place]
        number = table.id(seen)
        used = self._used[place]
        if number == len(used):
            agent = seen.agent
            gone = agent.teardown is Teardown.DONE
            digest = self._digests.id((agent.id, gone, agent.returned is Returned.BOUND))
            used.append((*used_by(agent), digest))
            self._stem_of[place].append(self._stems.id(stem(agent)))
        return number

    def _choice(self, choice: Choice) -> int:
        number = self._ids.get(choice)
        if number is None:
            number = self._ids[choice] = len(self.choices)
            self.choices.append(choice)
            self._trees.append(None)
        return number

    # What is wrong.

    def settles(self, state: State) -> bool:
        """Tell whether a state settles."""
        return bool(state[SETTLING])

    def shown(self) -> Iterator[tuple[int, Taken]]:
        """Give the choices that were not met before, since this was asked last, each with its number."""
        yield from self.whole
        self.whole.clear()
        while self._shown < len(self.leaves):
            leaf = self.leaves[self._shown]
            self._shown += 1
            assert leaf.shows is not None
            assert leaf.shows.taken is not None
            yield leaf.shows.choice, leaf.shows.taken

    def stretches(self) -> Iterator[tuple[Choice, Taken, int]]:
        """Give every stretch that is in a tree, with its choice and how often it was met."""
        for leaf in self.leaves:
            if leaf.shows is not None and leaf.shows.taken is not None:
                yield self.choices[leaf.shows.choice], leaf.shows.taken, leaf.hits

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give what is wrong with a choice."""
        return judging.of_a_choice(taken)

    def faults(self, state: State, *, at_rest: bool) -> list[str]:
        """Give what is wrong with a state."""
        registry, sessions = state[_SLOTS["registry"]], state[_SLOTS["sessions"]]
        found: list[str] = []
        fine = self._fine
        world: World | None = None
        ids = []
        for place in range(self.bound.agents):
            number = state[_FIRST_AGENT + place]
            ids.append(self._used[place][number][2])
            key = (place, number, registry, sessions)
            if number and key not in fine:
                world = world or self.position_of(state).world
                wrong = list(judging.of_an_agent(world, place))
                found += wrong
                if not wrong:
                    fine.add(key)
        entries = (-1, registry, sessions, *ids)
        if entries not in fine:
            world = world or self.position_of(state).world
            wrong = list(judging.of_the_registries(world))
            found += wrong
            if not wrong:
                fine.add(entries)
        if at_rest:
            found += judging.at_rest(self.position_of(state))
        return found

    # What can come next.

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Give all that can come next: the number of each choice, and the state that it leads to."""
        width, first = self.width, _FIRST_AGENT
        prompts = calls = 0
        digests = []
        for place in range(width - first):
            used = self._used[place][state[first + place]]
            prompts += used[0]
            calls += used[1]
            digests.append(used[2])
        bound = self.bound
        unloads = self.tables[_SLOTS["unloads"]].values[state[_SLOTS["unloads"]]]
        callers = sum(len(unload.callers) for unload in unloads) if unloads else 0
        if prompts > bound.prompts or callers > bound.unloads:
            return []
        steps: list[int] = []
        looked = self._looked(state)
        for place in range(width - first):
            if state[first + place]:
                steps += self._steps_of(looked, place)
        steps += self._steps_of(looked, bound.agents)
        if state[SETTLING]:
            if not steps:
                return [(self._settle, self._settled(state))]
            found = steps
        else:
            found = [*self._on_menu(state, digests, prompts, calls, callers), *steps]
        following = []
        trees = self._trees
        for number in found:
            node = trees[number]
            while node is not None and node.slot >= 0:
                node = node.ways.get(looked[node.slot])
            if node is None:
                following.append((number, self._taken(state, number)))
                continue
            node.hits += 1
            after = list(state)
            for slot, value in node.writes:
                after[slot] = value
            following.append((number, tuple(after)))
        return following

    def _looked(self, state: State) -> State:
        """Give a state with the stems of its agents."""
        stems = (self._stem_of[place][state[_FIRST_AGENT + place]] for place in range(self.bound.agents))
        return (*state, *stems)

    def _steps_of(self, state: State, place: int) -> tuple[int, ...]:
        """Give the steps of the agent at a place; those of nobody for the place after the last."""
        node = self._steps[place]
        while node is not None and node.slot >= 0:
            node = node.ways.get(state[node.slot])
        if node is None:
            run = TracingRun(_Of(self, state), self.bound.agents)
            agent = run.agent(place)
            steps = machine.steps_of_others(run) if agent is None else machine.steps_of_agents((agent,), run.agents)
            node = Node(shows=Shown(steps=tuple(self._choice(step) for step in steps)))
            self._steps[place] = self._grown(self._steps[place], state, run, node)
        assert node.shows is not None
        return node.shows.steps

    def _on_menu(self, state: State, digests: Sequence[int], prompts: int, calls: int, callers: int) -> Iterator[int]:
        bound = self.bound
        gates, listeners = state[_SLOTS["gates"]], state[_SLOTS["listeners"]]
        held = sum(one.held for one in self.tables[_SLOTS["gates"]].values[gates])
        has = Room(
            prompts < bound.prompts,
            calls < bound.calls,
            held < bound.holds,
            len(self.tables[_SLOTS["listeners"]].values[listeners]) < bound.reactions,
            callers < bound.unloads,
        )
        for place in range(bound.agents):
            number = state[_FIRST_AGENT + place]
            if number:
                yield from self._agents_menu(place, number, gates, has)
        owners, provider = state[_SLOTS["owners"]], state[_SLOTS["provider"]]
        key = (-1, owners, provider, *has, *digests)
        menu = self._menus.get(key)
        if menu is None:
            world = self.position_of(state).world
            items = for_nobody(bound, world.agents, world.owners, world.provider, has)
            menu = self._menus[key] = tuple(self._choice(item) for item in items)
        yield from menu

    def _agents_menu(self, place: int, number: int, gates: int, has: Room) -> tuple[int, ...]:
        key = (place, number, gates, *has)
        menu = self._menus.get(key)
        if menu is None:
            agent = self.tables[_FIRST_AGENT + place].values[number].agent
            states = self.tables[_SLOTS["gates"]].values[gates]
            items = for_agent(self.bound, place, agent, states, has)
            menu = self._menus[key] = tuple(self._choice(item) for item in items)
        return menu

    # What a choice leads to.

    def _settled(self, state: State) -> State:
        """Give the state at the end of a settle: what has returned is bound, agent by agent."""
        after = list(state)
        after[SETTLING] = 0
        for place in range(self.bound.agents):
            slot = _FIRST_AGENT + place
            number = state[slot]
            bound = self._resting[place].get(number)
            if bound is None:
                agent, watch = self.tables[slot].values[number]
                if agent.returned is Returned.SINCE_SETTLE:
                    agent = agent._replace(returned=Returned.BOUND)
                bound = self._resting[place][number] = self._agent_id(place, Seen(agent, watch))
            after[slot] = bound
        return tuple(after)

    def _taken(self, state: State, number: int) -> State:
        """Take a choice by the rules: in a tree, if it can be."""
        choice = self.choices[number]
        if isinstance(choice, Replacing):
            return self._replaced(state, choice)
        if isinstance(choice, LoadOwner | LoadProvider):
            taken = take(self.position_of(state), choice)
            self.wholes += 1
            self.whole.append((number, taken))
            return self.state_of(taken.position)
        self.misses += 1
        source = _Of(self, state)
        run = TracingRun(source, self.bound.agents)
        if isinstance(choice, Step):
            machine.advance(run, _same(run, choice))
        else:
            assert not isinstance(choice, Settle)
            machine.carry_out(run, choice)
        leaf = self._leaf(state, run, choice)
        self._trees[number] = self._grown(self._trees[number], self._looked(state), run, leaf)
        after = list(state)
        for slot, value in leaf.writes:
            after[slot] = value
        return tuple(after)

    def _replaced(self, state: State, choice: Replacing) -> State:
        """Take a creation after the first agent that is gone was forgotten, part by part."""
        agents = state[_FIRST_AGENT:]
        seen = [self.tables[_FIRST_AGENT + place].values[number] for place, number in enumerate(agents)]
        gone = next(place for place, one in enumerate(seen) if one.agent.teardown is Teardown.DONE)
        kept = [one.agent.id for place, one in enumerate(seen) if place != gone]
        ids = new_ids(kept)
        names = self._digests.id(tuple(ids.items()))
        moved = list(state)
        for name, move in _MOVED.items():
            slot = _SLOTS[name]
            part = (slot, state[slot], gone)
            if part not in self._moves:
                self._moves[part] = self.tables[slot].id(move(self.tables[slot].values[state[slot]], gone))
            moved[slot] = self._moves[part]
        numbers = []
        for place, number in enumerate(agents):
            if place == gone:
                continue
            key = (_FIRST_AGENT + place, number, gone, names)
            if key not in self._moves:
                agent = moved_agent(place, seen[place].agent, gone, ids)
                self._moves[key] = self._agent_id(place - (place > gone), Seen(agent, seen[place].watch))
            numbers.append(self._moves[key])
        moved[_FIRST_AGENT:] = [*numbers, 0]
        return self._step(tuple(moved), self._choice(choice.create))

    def _step(self, state: State, number: int) -> State:
        """Take one choice."""
        looked = self._looked(state)
        node = self._trees[number]
        while node is not None and node.slot >= 0:
            node = node.ways.get(looked[node.slot])
        if node is None:
            return self._taken(state, number)
        node.hits += 1
        after = list(state)
        for slot, value in node.writes:
            after[slot] = value
        return tuple(after)

    def _leaf(self, state: State, run: TracingRun, choice: BurstItem | Step) -> Node:
        due = (Expected(Settled(due.call, due.outcome), demand_of(due.clause)) for due in run.due)
        expected = (*run.expected, *due)
        known = [place for place in range(self.bound.agents) if place in run.writes or place in run.reads]
        held = [self.tables[_FIRST_AGENT + place].values[state[_FIRST_AGENT + place]] for place in known]
        before = [seen.agent for seen in held if seen is not None]
        after = [agent for place in known if (agent := run.agent(place)) is not None]
        breaches: list[str] = []
        watches = tuple(NOTHING_SEEN if seen is None else seen.watch for seen in held[: len(after)])
        watches = watch_all(tuple(after), watches, [entry.event for entry in expected], breaches)
        shared = {name: _Of(self, state).shared(name) for name in SHARED}
        rest = World(EDITION_2026_06, numbers=NUMBERS, **shared)
        changed = {name: run.part(name) for name in run.writes if isinstance(name, str)}
        taken = Taken(
            Position(rest, (), isinstance(choice, Step)),
            rest._replace(agents=tuple(before)),
            rest._replace(agents=tuple(after), **changed),
            expected,
            tuple(run.silences),
            tuple(run.marks),
            tuple(breaches),
        )
        writes = [(SETTLING, 1)] if isinstance(choice, Step) else []
        for name, value in changed.items():
            normal = _NORMAL[name](value) if name in _NORMAL else value
            writes.append((_SLOTS[name], self.tables[_SLOTS[name]].id(normal)))
        for agent, watch, place in zip(after, watches, known, strict=False):
            number = self._normals[place].get((agent, watch), -1)
            if number < 0:
                seen = Seen(normal_agent(place, agent), OVER if agent.teardown is Teardown.DONE else watch)
                number = self._normals[place][agent, watch] = self._agent_id(place, seen)
            if number != state[_FIRST_AGENT + place]:
                writes.append((_FIRST_AGENT + place, number))
        leaf = Node(writes=tuple(writes), shows=Shown(self._choice(choice), taken))
        leaf.hits = 1
        self.leaves.append(leaf)
        return leaf

    def _grown(self, root: Node | None, state: State, run: TracingRun, leaf: Node) -> Node:
        """Give a tree with one more way through it: along the parts that a run asked for, to a leaf."""
        slots = [self._slot(part) for part in run.reads]
        if not slots:
            return leaf
        first = node = root or Node(slots[0])
        for here, there in pairwise([*slots, -1]):
            assert node.slot == here
            node = node.ways.setdefault(state[here], leaf if there < 0 else Node(there))
        return first

    def _slot(self, part: Part) -> int:
        match part:
            case str():
                return _SLOTS[part]
            case Stem(place):
                return self.width + place
            case _:
                return _FIRST_AGENT + part


def _same(run: TracingRun, step: Step) -> Step:
    """Give a step with the very object of the run that it is about, since that is how the rules know it."""
    if not isinstance(step.subject, Unload):
        return step
    return step._replace(subject=next(unload for unload in run.unloads if unload == step.subject))
