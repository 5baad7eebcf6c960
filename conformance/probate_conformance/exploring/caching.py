"""Caching: the model explored part by part, as it is.

A choice is taken by the rules once for each combination of the parts that it looks at, and never again: what it looked
at, part by part, leads through a tree to what it changed (``tracing``, ``packing``). A tree asks first for the part
that the rules asked for first; which one they ask for next depends on nothing but the answer. So the tree gives what
the rules would have given, and there is nothing to prove about them. Which steps could run is asked of a run as well,
and kept in the same way.

On top of the trees, all that can be done to one agent is kept as a list, by all that this depends on: the agent, the
shared parts, and the outlines of the other agents. A choice that looked at more than that is not on the list but looked
up in its tree each time. What is on the list costs an addition.

What a stretch showed is judged when it enters a tree, once and not each time it is met: the judgement depends on
nothing that the stretch did not look at.

Two things are done each time anew: to forget an agent for a new one, part by part, and to load, on the whole world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from probate_conformance.exploring.packing import Forest, Layout, Node, Shown, Table
from probate_conformance.exploring.searching import Ahead
from probate_conformance.exploring.tracing import SHARED, TracingRun, stem
from probate_conformance.exploring.walking import SETTLE, Choice, Position, Taken, start, take, watch_all
from probate_conformance.exploring.watching import NOTHING_SEEN, OVER, Watch
from probate_model import machine
from probate_model.alphabet.events import Settled
from probate_model.alphabet.items import BurstItem, Settle
from probate_model.alphabet.names import AgentId
from probate_model.alphabet.ops import LoadOwner, LoadProvider
from probate_model.clauses import demand_of
from probate_model.machine import Step
from probate_model.run import Expected
from probate_model.world import Agent, Returned, Teardown, Unload, World

_NORMAL: Final[dict[str, Callable[[Any], Any]]] = {
    "unloads": normal_unloads,
    "listeners": normal_listeners,
    "gates": normal_gates,
}
_MOVED: Final[dict[str, Callable[[Any, int], Any]]] = {
    "registry": without,
    "sessions": without,
    "unloads": moved_unloads,
    "gates": moved_gates,
}


class Seen(NamedTuple):
    """An agent and its watch: what stands in the place of an agent."""

    agent: Agent
    watch: Watch


class Outline(NamedTuple):
    """What others look at of an agent, and what it takes of the bound."""

    stem: tuple[object, ...]
    prompts: int
    calls: int
    id: AgentId
    gone: bool
    bound: bool


class Known(NamedTuple):
    """All that can come next of one agent, or of nobody."""

    choices: tuple[int, ...]
    deltas: tuple[int, ...]
    """What each of these adds to the state."""
    others: tuple[int, ...]
    """The choices that have to be looked up."""
    runs: bool
    """Whether a step is among them."""
    beyond: bool = False
    """Of nobody: whether the state is beyond the bound."""


class _Of:
    """The parts of a state."""

    __slots__ = ("space", "state")

    def __init__(self, space: CachedSpace, state: int) -> None:
        self.space, self.state = space, state

    def shared(self, name: str) -> Any:
        return self.space.shared[name].values[self.space.layout.shared[name].of(self.state)]

    def agent(self, place: int) -> Agent | None:
        seen = self.space.seen(self.state, place)
        return None if seen is None else seen.agent


class CachedSpace:
    """The states within a bound, and what leads from each to which."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.layout = layout = Layout(bound.agents)
        self.shared, self._agents = layout.tables()
        self._outlines = layout.outline_table()
        self._outline_of: list[list[int]] = [[0] for _ in range(bound.agents)]
        self._stems = Table(None, bits=32)
        self._stem_of = [0]
        self._forest = Forest(layout, self._stem_of)
        self.choices: list[Choice] = []
        self._ids: dict[Choice, int] = {}
        self._trees: list[Node | None] = []
        self._steps: list[Node | None] = [None] * (bound.agents + 1)
        masks = [(layout.nobody, bound.agents), *((mask, place) for place, mask in enumerate(layout.alone))]
        self._groups: list[tuple[int, dict[int, Known], int]] = [(mask, {}, place) for mask, place in masks]
        self._resting: list[dict[int, int]] = [{} for _ in range(bound.agents)]
        self._normals: list[dict[tuple[Agent, Watch], int]] = [{} for _ in range(bound.agents)]
        self._moves: dict[tuple[int | str, ...], int] = {}
        self._names = Table(bits=32)
        self.leaves: list[Shown] = []
        """What is in the trees, and what was shown on whole worlds."""
        self._judged = 0
        self._fine: list[set[int]] = [set() for _ in range(bound.agents + 1)]
        entries = layout.shared["registry"].mask + layout.shared["sessions"].mask
        self._faulty = [
            *(entries + agent.mask for agent in layout.agents),
            entries + sum(outline.mask for outline in layout.outlines),
        ]
        self.misses = 0
        """How many stretches were taken by the rules for a tree."""
        self.anew = 0
        """How many transitions were made anew, or looked up in a tree."""
        self._settle = self._choice(SETTLE)
        self.start = self.state_of(start(bound.edition))

    # States and positions.

    def state_of(self, position: Position) -> int:
        """Give the state that a position is."""
        state = int(position.settling)
        for name, field in self.layout.shared.items():
            state += self.shared[name].id(getattr(position.world, name)) << field.shift
        for place, (agent, watch) in enumerate(zip(position.world.agents, position.watches, strict=True)):
            state += self._bits(place, self._agent_id(place, Seen(agent, watch)))
        return state

    def position_of(self, state: int) -> Position:
        """Give the position that a state is."""
        seen = [one for place in range(self.bound.agents) if (one := self.seen(state, place)) is not None]
        shared = {name: _Of(self, state).shared(name) for name in SHARED}
        agents = tuple(one.agent for one in seen)
        world = World(edition=self.bound.edition, agents=agents, numbers=NUMBERS, **shared)
        return Position(world, tuple(one.watch for one in seen), bool(state & 1))

    def seen(self, state: int, place: int) -> Seen | None:
        """Give what stands in the place of an agent; none if it is empty."""
        if place >= self.bound.agents:
            return None
        seen: Seen | None = self._agents[place].values[self.layout.agents[place].of(state)]
        return seen

    def _agent_id(self, place: int, seen: Seen) -> int:
        number = self._agents[place].id(seen)
        outlines = self._outline_of[place]
        if number == len(outlines):
            agent = seen.agent
            gone, bound = agent.teardown is Teardown.DONE, agent.returned is Returned.BOUND
            outline = self._outlines.id(Outline(stem(agent), *used_by(agent), agent.id, gone, bound))
            outlines.append(outline)
            if outline == len(self._stem_of):
                self._stem_of.append(self._stems.id(stem(agent)))
        return number

    def _bits(self, place: int, number: int) -> int:
        """Give the bits of an agent and of its outline."""
        layout = self.layout
        outline = self._outline_of[place][number]
        return (number << layout.agents[place].shift) + (outline << layout.outlines[place].shift)

    def _choice(self, choice: Choice) -> int:
        number = self._ids.get(choice)
        if number is None:
            number = self._ids[choice] = len(self.choices)
            self.choices.append(choice)
            self._trees.append(None)
        return number

    # What can come next.

    def successors(self, state: int) -> tuple[list[int], Ahead]:
        """Give all states that can come next, and what sort of a list that is."""
        following: list[int] = []
        runs = False
        for mask, known_here, place in self._groups:
            key = state & mask
            known = known_here.get(key)
            if known is None:
                known = known_here[key] = self._learn(state, place)
            _, deltas, others, steps, beyond = known
            if beyond:
                return [], "any"
            runs = runs or steps
            following += [state + delta for delta in deltas]
            if others:
                self.anew += len(others)
                following += [self._take(state, number) for number in others]
        if not runs:
            following.append(self._settled(state))
            return following, "rest"
        return following, "steps" if state & 1 else "any"

    def numbers(self, state: int) -> list[int]:
        """Give the number of the choice that leads to each of these, in the same order."""
        found = [known_here[state & mask] for mask, known_here, _ in self._groups]
        numbers = [number for known in found for number in (*known.choices, *known.others)]
        return numbers if any(known.runs for known in found) else [*numbers, self._settle]

    def _learn(self, state: int, place: int) -> Known:
        """Find all that can come next of the agent at a place; of nobody for the place after the last."""
        beyond = False
        items: list[int] = []
        if place == self.bound.agents:
            has = self._room(state)
            beyond = has is None
            if has is not None and not state & 1:
                world = self.position_of(state).world
                of_nobody = for_nobody(self.bound, world.agents, world.owners, world.provider, has)
                items = [self._choice(item) for item in of_nobody]
        elif self.layout.agents[place].of(state):
            has = self._room(state)
            if has is not None and not state & 1:
                seen = self.seen(state, place)
                assert seen is not None
                gates = _Of(self, state).shared("gates")
                items = [self._choice(item) for item in for_agent(self.bound, place, seen.agent, gates, has)]
        else:
            return Known((), (), (), runs=False)
        steps = () if beyond else self._steps_of(state, place)
        choices, deltas, others = [], [], []
        for number in (*items, *steps):
            if isinstance(self.choices[number], Replacing | LoadOwner | LoadProvider):
                others.append(number)
                continue
            leaf, elsewhere = self._leaf_of(state, number, place)
            if elsewhere:
                others.append(number)
            else:
                choices.append(number)
                deltas.append(leaf.delta + (number in steps and not state & 1))
        return Known(tuple(choices), tuple(deltas), tuple(others), runs=bool(steps), beyond=beyond)

    def _room(self, state: int) -> Room | None:
        """Give what there is still room for in a state; none if it is beyond the bound."""
        numbers = [outline.of(state) for outline in self.layout.outlines]
        outlines: list[Outline] = [self._outlines.values[number] for number in numbers if number]
        of, bound = _Of(self, state), self.bound
        prompts, calls = sum(one.prompts for one in outlines), sum(one.calls for one in outlines)
        callers = sum(len(unload.callers) for unload in of.shared("unloads"))
        if prompts > bound.prompts or callers > bound.unloads:
            return None
        return Room(
            prompts < bound.prompts,
            calls < bound.calls,
            sum(gate.held for gate in of.shared("gates")) < bound.holds,
            len(of.shared("listeners")) < bound.reactions,
            callers < bound.unloads,
        )

    def _steps_of(self, state: int, place: int) -> tuple[int, ...]:
        """Give the steps of the agent at a place; those of nobody for the place after the last."""
        node, _ = self._forest.find(self._steps[place], state)
        if node is None:
            run = TracingRun(_Of(self, state), self.bound.agents, self.bound.edition)
            agent = run.agent(place)
            agents = run.agents.values()
            steps = machine.steps_of_others(run, agents) if agent is None else machine.steps_of_agents((agent,), agents)
            node = Node(shows=Shown(steps=tuple(self._choice(step) for step in steps)))
            self._steps[place] = self._forest.grown(self._steps[place], state, run.reads, node)
        assert node.shows is not None
        return node.shows.steps

    # What a choice leads to.

    def _take(self, state: int, number: int) -> int:
        """Take one choice, whatever it is."""
        choice = self.choices[number]
        match choice:
            case Replacing():
                return self._replaced(state, choice)
            case LoadOwner() | LoadProvider():
                taken = take(self.position_of(state), choice)
                self.leaves.append(Shown(number, taken))
                return self.state_of(taken.position)
            case _:
                leaf, _ = self._leaf_of(state, number, None)
                return state + leaf.delta + (isinstance(choice, Step) and not state & 1)

    def _leaf_of(self, state: int, number: int, place: int | None) -> tuple[Node, bool]:
        """Give the leaf of a choice, grown if need be, and whether it depends on another agent than that of a place."""
        leaf, elsewhere = self._forest.find(self._trees[number], state, place)
        if leaf is not None:
            return leaf, elsewhere
        self.misses += 1
        choice = self.choices[number]
        run = TracingRun(_Of(self, state), self.bound.agents, self.bound.edition)
        if isinstance(choice, Step):
            machine.advance(run, _same(run, choice))
        else:
            assert not isinstance(choice, Settle | Replacing)
            machine.carry_out(run, choice)
        leaf = self._leaf(state, run, choice, number)
        parts = [*run.reads, *(part for part in run.writes if part not in run.reads)]
        self._trees[number] = self._forest.grown(self._trees[number], state, parts, leaf)
        return leaf, any(isinstance(part, int) and part != place for part in parts)

    def _leaf(self, state: int, run: TracingRun, choice: BurstItem | Step, number: int) -> Node:
        due = (Expected(Settled(due.call, due.outcome), demand_of(due.clause)) for due in run.due)
        expected = (*run.expected, *due)
        known = [place for place in range(self.bound.agents) if place in run.writes or place in run.reads]
        held = [self.seen(state, place) for place in known]
        before = [seen.agent for seen in held if seen is not None]
        after = [agent for place in known if (agent := run.agent(place)) is not None]
        breaches: list[str] = []
        watches = tuple(NOTHING_SEEN if seen is None else seen.watch for seen in held[: len(after)])
        watches = watch_all(tuple(after), watches, [entry.event for entry in expected], breaches, self.bound.edition)
        changed = {name: run.part(name) for name in run.writes if isinstance(name, str)}
        rest = World(self.bound.edition, numbers=NUMBERS, **{name: _Of(self, state).shared(name) for name in SHARED})
        taken = Taken(
            Position(rest, (), isinstance(choice, Step)),
            rest._replace(agents=tuple(before)),
            rest._replace(agents=tuple(after), **changed),
            expected,
            tuple(run.silences),
            tuple(run.marks),
            tuple(breaches),
        )
        delta = 0
        for name, value in changed.items():
            field = self.layout.shared[name]
            normal = _NORMAL[name](value) if name in _NORMAL else value
            delta += (self.shared[name].id(normal) - field.of(state)) << field.shift
        for agent, watch, place in zip(after, watches, known, strict=False):
            value = self._normals[place].get((agent, watch), -1)
            if value < 0:
                seen = Seen(normal_agent(place, agent), OVER if agent.teardown is Teardown.DONE else watch)
                value = self._normals[place][agent, watch] = self._agent_id(place, seen)
            delta += self._bits(place, value) - self._bits(place, self.layout.agents[place].of(state))
        shows = Shown(number, taken)
        self.leaves.append(shows)
        return Node(shows=shows, delta=delta)

    def _settled(self, state: int) -> int:
        """Give the state at the end of a settle: what has returned is bound, agent by agent."""
        after = state - (state & 1)
        for place, field in enumerate(self.layout.agents):
            number = field.of(state)
            if not number:
                continue
            delta = self._resting[place].get(number)
            if delta is None:
                agent, watch = self._agents[place].values[number]
                if agent.returned is Returned.SINCE_SETTLE:
                    agent = agent._replace(returned=Returned.BOUND)
                bound = self._agent_id(place, Seen(agent, watch))
                delta = self._resting[place][number] = self._bits(place, bound) - self._bits(place, number)
            after += delta
        return after

    def _replaced(self, state: int, choice: Replacing) -> int:
        """Take a creation after the first agent that is gone was forgotten, part by part."""
        seen = [one for place in range(self.bound.agents) if (one := self.seen(state, place)) is not None]
        gone = next(place for place, one in enumerate(seen) if one.agent.teardown is Teardown.DONE)
        ids = new_ids([one.agent.id for place, one in enumerate(seen) if place != gone])
        names = self._names.id(tuple(ids.items()))
        after = 0
        for name, field in self.layout.shared.items():
            number = field.of(state)
            if name in _MOVED:
                key = (name, number, gone)
                if key not in self._moves:
                    self._moves[key] = self.shared[name].id(_MOVED[name](self.shared[name].values[number], gone))
                number = self._moves[key]
            after += number << field.shift
        for place, one in enumerate(seen):
            if place == gone:
                continue
            to = place - (place > gone)
            move = (place, self.layout.agents[place].of(state), gone, names)
            if move not in self._moves:
                self._moves[move] = self._agent_id(to, Seen(moved_agent(place, one.agent, gone, ids), one.watch))
            after += self._bits(to, self._moves[move])
        return self._take(after, self._choice(choice.create))

    # What is wrong.

    def shown(self) -> Iterator[tuple[int, Taken]]:
        """Give the choices that were not met before, since this was asked last, each with its number."""
        while self._judged < len(self.leaves):
            shows = self.leaves[self._judged]
            self._judged += 1
            assert shows.taken is not None
            yield shows.choice, shows.taken

    def stretches(self) -> Iterator[tuple[Choice, Taken]]:
        """Give every stretch that was met, once, with its choice."""
        for shows in self.leaves:
            assert shows.taken is not None
            yield self.choices[shows.choice], shows.taken

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give what is wrong with a choice."""
        return judging.of_a_choice(taken)

    def faults(self, state: int) -> list[str]:
        """Give what is wrong with a state."""
        found: list[str] = []
        for place, mask in enumerate(self._faulty):
            key = state & mask
            if key in self._fine[place]:
                continue
            world = self.position_of(state).world
            if place == self.bound.agents:
                wrong = list(judging.of_the_registries(world))
            else:
                wrong = list(judging.of_an_agent(world, place)) if place < len(world.agents) else []
            found += wrong
            if not wrong:
                self._fine[place].add(key)
        return found

    def rest_faults(self, state: int) -> Iterator[str]:
        """Give what is wrong with a state in that it is at rest."""
        return judging.at_rest(self.position_of(state))


def _same(run: TracingRun, step: Step) -> Step:
    """Give a step with the very object of the run that it is about, since that is how the rules know it."""
    if not isinstance(step.subject, Unload):
        return step
    return step._replace(subject=next(unload for unload in run.unloads if unload == step.subject))
