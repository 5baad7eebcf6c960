"""Tracing: a run of the model that notes which parts of the world it looks at.

The rules are not told of it: they are written against a run, ask it for what they need and tell it what they change. So
a run that fetches each part only when it is asked for, and writes down that it was, knows all that a stretch depends
on: the same stretch, begun where these parts are the same, asks for the same parts in the same order and does the same,
whatever the other parts are. Nobody has to say which op reads what, and a rule that begins to read more is noticed by
the first stretch that does.

The parts are the fields of the world, each agent by itself, and each agent's *stem*: whose it is and how far it has
come. Rules that look through all agents, for children or for what an unload ends, look at no more than the stems; so
what they do is the same whatever the agents are busy with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, overload

from probate_conformance.exploring.normal import NUMBERS, place_of
from probate_model import machine
from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.names import Label
from probate_model.run import Run
from probate_model.world import Agent, World, new_world

SHARED: Final = tuple(name for name in World._fields if name not in ("edition", "agents", "numbers", "due"))
"""The parts of a world that are of no single agent. The rest is fixed in the normal form, but for the agents."""


@cache
def _bare(edition: Edition) -> World:
    return new_world(edition=edition)._replace(numbers=NUMBERS)


class TooManyAgents(Exception):
    """Raised when a stretch makes more agents than there is room for."""


STEM: Final = frozenset({"label", "id", "origin", "provider", "stage", "teardown"})
"""The fields of an agent that its stem has."""


class Stem(NamedTuple):
    """The name of a part: the stem of the agent at a place."""

    place: int


Part: TypeAlias = str | int | Stem
"""The name of a part: a field of the world, the place of an agent, or a stem."""


def stem(agent: Agent) -> tuple[object, ...]:
    """Give the stem of an agent, as a value."""
    return (agent.label, agent.id, agent.origin, agent.provider, agent.stage, agent.teardown)


class Source(Protocol):
    """Where a tracing run has its parts from."""

    def shared(self, name: str) -> Any:
        """Give a shared part."""
        ...

    def agent(self, place: int) -> Agent | None:
        """Give an agent; none if the place is empty."""
        ...


class _Glance:
    """An agent that is looked at field by field: whoever asks for more than its stem has looked at all of it."""

    __slots__ = ("_agent", "_place", "_run")

    def __init__(self, run: TracingRun, place: int, agent: Agent) -> None:
        self._run, self._place, self._agent = run, place, agent

    def __getattr__(self, name: str) -> Any:
        if name not in STEM:
            self._run.look_at(self._place)
        return getattr(self._agent, name)

    def __iter__(self) -> Iterator[object]:
        self._run.look_at(self._place)
        return iter(self._agent)


class _InOrder(Sequence[Agent]):
    """The agents of a tracing run in order of creation, looked at one by one."""

    __slots__ = ("_run",)

    def __init__(self, run: TracingRun) -> None:
        self._run = run

    def __iter__(self) -> Iterator[Agent]:
        run = self._run
        for place in range(run.places):
            agent = run.glance(place)
            if agent is None:
                return
            yield agent

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, place: int) -> Agent: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Agent]: ...
    def __getitem__(self, place: int | slice) -> Agent | Sequence[Agent]:
        return list(self)[place]


class _Agents(dict[Label, Agent]):
    """The agents of a tracing run: each is looked at where it is named to be, unless this very stretch has made it."""

    __slots__ = ("_made", "_run")

    def __init__(self, run: TracingRun) -> None:
        super().__init__()
        self._run = run
        self._made: dict[Label, int] = {}
        """Where those are that the stretch has made."""

    def __missing__(self, label: Label) -> Agent:
        agent: Agent | None = self.get(label)
        if agent is None:
            raise KeyError(label)
        return agent

    def get(self, label: Label, default: Any = None) -> Any:
        place = self._made.get(label, place_of(label))
        agent = None if place is None else self._run.glance(place)
        return default if agent is None else agent

    def __setitem__(self, label: Label, agent: Agent) -> None:
        place = self._made.get(label, place_of(label))
        if place is None or self._run.glance(place) is None:
            place = self._made[label] = len(self.values())
            if place >= self._run.places:
                raise TooManyAgents
        self._run.set_part(place, agent)

    def values(self) -> Any:
        return _InOrder(self._run)


def _shared(name: str) -> property:
    def get(run: TracingRun) -> Any:
        return run.part(name)

    def put(run: TracingRun, value: object) -> None:
        run.set_part(name, value)

    return property(get, put)


class TracingRun(Run):
    """A run over the parts of a source.

    :param source: where the parts come from
    :param places: how many agents there can be
    :param edition: whose reading of the contract it is
    """

    __slots__ = ("_parts", "_source", "places", "reads", "writes")

    def __init__(self, source: Source, places: int, edition: Edition = EDITION_2026_06) -> None:
        self.places = places
        self._source = source
        self._parts: dict[str | int, Any] = {}
        self.reads: list[Part] = []
        """The parts that were asked for before they were changed, in order."""
        self.writes: set[str | int] = set()
        """The parts that were changed."""
        super().__init__(_bare(edition), machine.begin)
        self._parts.clear()
        self.writes.clear()
        self.agents = _Agents(self)

    def part(self, name: str) -> Any:
        """Give a shared part as it is now."""
        if name not in self._parts:
            self._parts[name] = self._source.shared(name)
            self.reads.append(name)
        return self._parts[name]

    def set_part(self, name: str | int, value: object) -> None:
        """Change a part."""
        self.writes.add(name)
        self._parts[name] = value

    def look_at(self, place: int) -> None:
        """Note that all of an agent was looked at, unless what is there was put there by this run."""
        if place not in self.writes and place not in self.reads:
            self.reads.append(place)

    def glance(self, place: int) -> Agent | None:
        """Give an agent as it is now, to be looked at field by field; none if there is none."""
        if place >= self.places:
            return None
        if place in self.writes:
            agent: Agent = self._parts[place]
            return agent
        if Stem(place) not in self.reads and place not in self.reads:
            self.reads.append(Stem(place))
        held = self._source.agent(place)
        return None if held is None else _Glance(self, place, held)  # type: ignore[return-value]

    def agent(self, place: int) -> Agent | None:
        """Give an agent as it is now, all of it; none if there is none."""
        if place >= self.places:
            return None
        if place not in self.writes:
            self.look_at(place)
            return self._source.agent(place)
        held: Agent = self._parts[place]
        return held


for _name in SHARED:
    setattr(TracingRun, _name, _shared(_name))
