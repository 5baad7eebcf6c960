"""Recordings: what was done and what was seen, which is what monitors are asked of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from probate_model.alphabet.editions import (
    EDITION_2026_06,
    Edition,
)
from probate_model.alphabet.events import (
    AgentEvent,
    Event,
    OfNoAgent,
    Returned,
    Settled,
)
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Reject, Release, Throw
from probate_model.alphabet.names import THIS, AgentRef, Label
from probate_model.alphabet.ops import (
    Op,
)
from probate_model.run import matches


class Call(NamedTuple):
    """One call: the op, and the reaction that made it, if one did."""

    op: Op
    reaction: React | None = None


class Recording:
    """What was done and what was seen.

    :param events: all that was seen, in order
    :param items: the items that were carried out; those that were void are none of them
    :param begun: how many events had been seen when a call began, where that is known
    :param edition: whose reading of an invariant counts
    """

    def __init__(
        self,
        events: Sequence[Event],
        items: Sequence[BurstItem] = (),
        begun: Mapping[Label, int] | None = None,
        edition: Edition = EDITION_2026_06,
    ) -> None:
        self.edition = edition
        self.events = tuple(events)
        self.begun = dict(begun or {})
        self.calls: dict[Label, Call] = {}
        for item in items:
            if isinstance(item, React):
                for action in item.do:
                    if not isinstance(action, Throw | Reject):
                        self.calls[action.label] = Call(action, item)
            elif not isinstance(item, Plan | Hold | Release | Open):
                self.calls[item.label] = Call(item)
        self.settled: dict[Label, int] = {}
        for place, event in enumerate(self.events):
            if isinstance(event, Settled):
                self.settled.setdefault(event.call, place)
        self.made: dict[Label, AgentRef] = {}
        for event in self.events:
            if isinstance(event, Settled) and isinstance(event.outcome, Returned):
                value = event.outcome.value
                if isinstance(value, str):
                    self.made[event.call] = AgentRef(value)

    def agent_of(self, name: Label, call: Call, place: int) -> AgentRef | None:
        """Give the agent that a call which settled at once, at ``place``, speaks to; none if that can't be told."""
        if name != THIS:
            return self.made.get(name)
        if call.reaction is None:
            return None
        on = call.reaction.on
        for event in reversed(self.events[:place]):
            if not isinstance(event, OfNoAgent) and event.event == on.event and matches(on, event):
                return event.agent
        return None


Monitor = Callable[[Recording], Iterator[str]]


def agents_of(recording: Recording) -> dict[AgentRef, list[AgentEvent]]:
    """Give the events of each agent, in order."""
    agents: dict[AgentRef, list[AgentEvent]] = {}
    for event in recording.events:
        if not isinstance(event, OfNoAgent):
            agents.setdefault(event.agent, []).append(event)
    return agents
