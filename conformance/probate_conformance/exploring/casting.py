"""Casting: a path through the positions as a trace that can be run.

On a path everything is named by its place, and a place is taken again when who had it is gone. A trace names each call
once. So the path is walked once more on a world that forgets nothing, beside the normal one, and each item is given the
names that its places have there. What has settled between two items becomes a ``settle``; the order of the steps in it
is the schedule's, and no part of a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from probate_conformance.exploring.bounds import FRESH, HOST, creation_id
from probate_conformance.exploring.menu import Replacing, forgettable
from probate_conformance.exploring.normal import new_ids, normal, place_of
from probate_conformance.exploring.walking import SETTLE, Choice, Position, delivered, start, take
from probate_conformance.trace import Trace
from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.gates import Gate
from probate_model.alphabet.items import (
    BurstItem,
    Hold,
    Item,
    Open,
    Plan,
    React,
    Reject,
    Release,
    Settle,
    Throw,
    WorldSpec,
)
from probate_model.alphabet.names import THIS, AgentId, Label, Text
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    Cancel,
    Create,
    Dispose,
    Inject,
    Op,
    Resume,
    Send,
    Steer,
    Withdraw,
)
from probate_model.machine import Step, apply, fire, settle
from probate_model.world import Unload, World, new_world


class Cast:
    """Who plays what: the real names of what the places name."""

    def __init__(self, edition: Edition = EDITION_2026_06) -> None:
        self.world: World = new_world(WorldSpec((HOST,)), edition)
        self.places: list[Label] = []
        self.ids: dict[AgentId, AgentId] = {}
        self._numbers = count(1)

    def creation(self, label: Label) -> Label:
        """Give the label of the creation at the place that a label names; a label of another sort as it is."""
        place = place_of(label)
        return label if place is None else self.places[place]

    def id(self, name: AgentId) -> AgentId:
        """Give the id that an id stands for; a free one if it stands for none yet."""
        if name not in self.ids:
            free = (creation_id(number) for number in count())
            self.ids[name] = next(one for one in free if one not in self.ids.values())
        return self.ids[name]

    def label(self, kind: str = "k") -> Label:
        """Give a label that was never given."""
        return Label(f"{kind}{next(self._numbers)}")

    def item(self, item: BurstItem) -> BurstItem:
        """Give an item with real names."""
        match item:
            case React():
                label = self.label("r")
                do = tuple(
                    one if isinstance(one, Throw | Reject) else self.op(one, Label(f"{label}.{place}"))
                    for place, one in enumerate(item.do)
                )
                return replace(item, label=label, do=do)
            case Plan() | Hold() | Release() | Open():
                return replace(item, gate=Gate(item.gate.kind, self.creation(item.gate.creation)))
            case Create():
                return self.op(item, self.label("c"))
            case _:
                return self.op(item, self.label())

    def op(self, op: Op, label: Label) -> Op:
        """Give an op with real names, and this label."""
        match op:
            case Create() | Resume():
                by = ByAgent(self.creation(op.by.agent)) if isinstance(op.by, ByAgent) else op.by
                return replace(op, label=label, id=self.id(op.id), by=by)
            case Abort() | Withdraw():
                return replace(op, label=label, creation=self._known(op.creation))
            case Send() | Steer() | Inject():
                text = Text(f"t{next(self._numbers)}") if op.text == FRESH else op.text
                return replace(op, label=label, agent=self._known(op.agent), text=text)
            case Cancel() | AwaitIdle() | Dispose():
                return replace(op, label=label, agent=self._known(op.agent))
            case _:
                return replace(op, label=label)

    def _known(self, label: Label) -> Label:
        return label if label == THIS else self.creation(label)

    def forget(self, position: Position) -> None:
        """Forget the agent that a creation takes the place of."""
        agents = position.world.agents
        gone = forgettable(agents)
        assert gone is not None
        del self.places[gone]
        kept = new_ids([agent.id for place, agent in enumerate(agents) if place != gone])
        self.ids = {new: self.ids[old] for old, new in kept.items()}

    def apply(self, item: BurstItem) -> None:
        """Carry out an item that has real names."""
        self._become(delivered(apply(self.world, item)).world)

    def settle(self) -> None:
        """Settle what is left to run, in the canonical order."""
        self._become(settle(self.world).world)

    def fire(self, step: Step, position: Position) -> None:
        """Fire the step that a step at a position stands for."""
        if isinstance(step.subject, Unload):
            place = position.world.unloads.index(step.subject)
            step = step._replace(subject=self.world.unloads[place])
        elif isinstance(step.subject, str):
            step = step._replace(subject=self.creation(step.subject))
        self._become(delivered(fire(self.world, step)).world)

    def _become(self, world: World) -> None:
        new = world.agents[len(self.world.agents) :]
        self.places += (agent.label for agent in new)
        self.world = world


class Begun(NamedTuple):
    """An item of a burst, with the positions before and after it."""

    choice: Choice
    before: Position
    after: Position


def cast_bursts(bursts: Iterable[Iterable[Begun]]) -> Trace:
    """Give bursts, each of which settles, as a trace; agents are made by the items alone, and not by reactions."""
    cast = Cast()
    items: list[Item] = []
    for burst in bursts:
        for choice, before, after in burst:
            if isinstance(choice, Replacing):
                cast.forget(before)
            assert not isinstance(choice, Step | Settle)
            item = cast.item(choice.create if isinstance(choice, Replacing) else choice)
            items.append(item)
            if len(after.world.agents) > len(cast.places):
                assert isinstance(item, Create)
                cast.places.append(item.label)
        items.append(SETTLE)
    return Trace(world=WorldSpec((HOST,)), items=tuple(items))


def cast(choices: Sequence[Choice], edition: Edition = EDITION_2026_06) -> Trace:
    """Give a path as a trace.

    :param choices: those on the path, from the start
    """
    cast, position = Cast(edition), start(edition)
    items: list[Item] = []
    for choice in choices:
        match choice:
            case Settle():
                items.append(choice)
                cast.settle()
                position = Position(normal(settle(position.world).world), position.watches)
                continue
            case Step():
                cast.fire(choice, position)
            case _:
                if isinstance(choice, Replacing):
                    cast.forget(position)
                item = cast.item(choice.create if isinstance(choice, Replacing) else choice)
                items.append(item)
                cast.apply(item)
        position = take(position, choice).position
    return Trace(world=WorldSpec((HOST,)), edition=edition.name, items=tuple(items))
