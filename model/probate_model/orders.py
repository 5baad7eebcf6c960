"""Orders: the other orders of a settled run that lead to the same world.

Where the contract leaves order open, most orders differ in nothing else: one agent logs before the entries of another
go, or after. Two stretches *commute* if neither looks at anything that the other changes. Then either of them may come
first, each shows what it showed, and what comes of both is the same. So one run stands for all those that it becomes
by swapping neighbours that commute, and none of these has to be run to be known as a run of the model.

What a stretch looks at and changes is told by names, and two stretches commute if they share none:

* a driver or a flush: its agent, but not the end of that, which it neither brings about nor asks for;
* a creation: its agent, its id, the order of entries, and the ends of the agents on whose behalf it is made;
* a teardown: its agent and those made on its behalf with their ends, the ends of those on whose behalf it was made, and
  its id;
* an unload: the incarnation that ends, and the agent with its end whose teardown it begins; where it looks for what is
  left, the ends of all its agents.

Nothing hears of the settlement of a call, so it commutes with all but the stretch by which it became due. A stretch in
which a listener acted may have done anything, and so may one of a room: they stay where they are. That this loses
nothing and accepts nothing else is tested by running what was accepted here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from probate_model.alphabet.events import Event, Settled
from probate_model.alphabet.names import Label
from probate_model.machine import Step, Stretch
from probate_model.owners import made_through
from probate_model.rooms import NO_ROOMS
from probate_model.run import Expected
from probate_model.world import Agent, Due, Unload, World

Names: TypeAlias = frozenset[Hashable] | None
"""What a stretch looks at or changes; none if that may be anything."""

_ENTRIES: Final = "the order of entries"


class Orders:
    """Goes through a run along what was observed, as long as that is one of the orders of the run.

    The stretches come in the run's own order, but for those that were not observed yet when it was their turn. These
    are *late*; what comes before them has to commute with them. A silent stretch comes as soon as it may.

    :param expected: the events of the run, in its own order
    :param stretches: its stretches, the begins first
    :param world: the world that it ends in
    """

    __slots__ = ("_agents", "_late", "_next", "_shown", "_stretches", "_world")

    def __init__(self, expected: Sequence[Expected], stretches: Sequence[Stretch], world: World) -> None:
        events = tuple([entry.event for entry in expected])
        ends = [stretch.end for stretch in stretches]
        self._shown = [events[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        """What each stretch shows."""
        self._stretches = stretches
        self._world = world
        self._agents: Mapping[Label, Agent] = {}
        self._next = 0
        """The first stretch whose turn has not come."""
        self._late: dict[int, Names] = {}
        """Those that are late, in the run's own order, with their names."""

    def allow(self, events: Sequence[Event]) -> bool:
        """Tell whether this is one of the orders of the run. Asked once."""
        seen = tuple(events)
        if len(seen) != self._stretches[-1].end:
            return False
        steps = [stretch.step for stretch in self._stretches]
        due = {
            step.subject.call: number
            for number, step in enumerate(steps)
            if step is not None and step.activity == "settlement" and isinstance(step.subject, Due)
        }
        place = 0
        while place < len(seen):
            event = seen[place]
            if isinstance(event, Settled) and event.call in due:
                shown = self._settle(due.pop(event.call))
            else:
                shown = self._take(event)
            end = place + len(shown)
            if not shown or seen[place:end] != shown:
                return False
            place = end
        return True

    def _settle(self, number: int) -> Sequence[Event]:
        """Settle a call, if that is due; gives what it shows."""
        stretches = self._stretches
        step = stretches[number].step
        assert step is not None
        cause = number - 1
        while cause and step.subject in stretches[cause - 1].due:
            cause -= 1
        while self._next <= cause:
            self._pass_over(self._next)
        return () if cause in self._late else self._shown[number]

    def _take(self, event: Event) -> Sequence[Event]:
        """Let the stretch come that begins with an event; gives what it shows, nothing if it may not come yet."""
        late, shows = self._late, self._shown
        for number, names in late.items():
            shown = shows[number]
            if shown and shown[0] == event:
                if not self._may_come(number, names):
                    return ()
                del late[number]
                for other in [other for other in late if not shows[other]]:
                    if self._may_come(other, late[other]):
                        del late[other]
                return shown
        while self._next < len(shows):
            number = self._next
            shown = shows[number]
            if shown and shown[0] == event:
                self._next += 1
                return () if late and not self._may_come(number, self.names(number)) else shown
            self._pass_over(number)
        return ()

    def _pass_over(self, number: int) -> None:
        """Let the next stretch be late; unless it is silent and may come, or is a settlement, which may always."""
        self._next = number + 1
        stretch = self._stretches[number]
        if stretch.step is not None and stretch.step.activity == "settlement":
            return
        if self._shown[number]:
            self._late[number] = self.names(number)
        elif self._late:
            names = self.names(number)
            if not self._may_come(number, names):
                self._late[number] = names

    def _may_come(self, number: int, names: Names) -> bool:
        """Tell whether a stretch commutes with all that are late and come before it in the run's own order."""
        for other, others in self._late.items():
            if other >= number:
                return True
            if names is None or others is None or not names.isdisjoint(others):
                return False
        return True

    def names(self, number: int) -> Names:
        """Give what a stretch looks at or changes."""
        stretches = self._stretches
        step = stretches[number].step
        if step is None or self._world.rooms is not NO_ROOMS:
            return None
        if stretches[number].listeners is not stretches[number - 1].listeners:
            return None
        if isinstance(step.subject, str) and step.activity not in ("creation", "teardown"):
            return frozenset((step.subject,))
        agents = self._agents = self._agents or {agent.label: agent for agent in self._world.agents}
        if isinstance(step.subject, Unload):
            return frozenset(_names_of_unload(step.subject, self._begun_by(step.subject, number), agents))
        return frozenset(_names(step, agents))

    def _begun_by(self, unload: Unload, number: int) -> Label | None:
        """Give whose teardown an unload begins with a stretch; none if there is none left."""
        if unload.begun:
            return unload.to_start[0] if unload.to_start else None
        later = [stretch.step.subject for stretch in self._stretches[number + 1 :] if stretch.step is not None]
        for other in (*later, *self._world.unloads):
            if isinstance(other, Unload) and (other.owner, other.incarnation) == (unload.owner, unload.incarnation):
                return other.awaited[0]
        return None


def _names(step: Step, agents: Mapping[Label, Agent]) -> Iterator[Hashable]:
    """Give what a creation or a teardown looks at or changes."""
    subject = step.subject
    if isinstance(subject, str):
        agent = agents[subject]
        yield from (subject, agent.id)
        if step.activity == "creation":
            yield _ENTRIES
        else:
            yield _end_of(subject)
            for other in agents.values():
                if other.origin.parent == subject:
                    yield from (other.label, _end_of(other.label))
        while agent.origin.parent is not None:
            yield _end_of(agent.origin.parent)
            agent = agents[agent.origin.parent]


def _names_of_unload(unload: Unload, begins: Label | None, agents: Mapping[Label, Agent]) -> Iterator[Hashable]:
    """Give what an unload looks at or changes.

    :param begins: whose teardown it begins
    """
    yield unload.owner, unload.incarnation
    if begins is not None:
        yield from (begins, _end_of(begins))
    if not unload.begun:
        yield from (_end_of(label) for label, agent in agents.items() if made_through(agent, unload))
    elif begins is None:
        yield from map(_end_of, unload.awaited)


def _end_of(label: Label) -> Hashable:
    """Name how far an agent has come to its end."""
    return "end", label
