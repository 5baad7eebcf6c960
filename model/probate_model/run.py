"""A run: one atomic stretch of the machine, from an op or a step to the next point where others may come between.

Rules are written against a run, not against a world, because of re-entrancy. Everything between two waits is atomic
with respect to other activities, but not with respect to listeners: any dispatch may cancel, send, dispose or unload
from inside. So a rule never keeps a part of the world across ``emit``; it asks the run again. The run begins with a
world and is frozen into the next one; nothing of it survives outside.

``emit`` writes the event down first and then calls the scripted listeners in order of installation, as a recorder that
was installed before all others would see it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

from probate_model.alphabet.events import (
    VETOABLE,
    Event,
    HeardEvent,
    Logged,
    ScopeCleanup,
    Settled,
    Settlement,
    subject_of,
)
from probate_model.alphabet.gates import GateKind, GateOutcome, default_outcome
from probate_model.alphabet.items import Pattern, Reject, Scalar, Throw
from probate_model.alphabet.names import AgentId, Code, Label
from probate_model.alphabet.ops import Op
from probate_model.alphabet.refusals import thrown
from probate_model.alphabet.subagents import ChildEvent
from probate_model.clauses import Demand, demand
from probate_model.rooms import NO_ROOMS
from probate_model.world import Agent, Due, GateState, Owner, Unload, Wait, World

_CONTAINED = demand("EVENT-01")


class Silence(NamedTuple):
    """What must not be emitted for an agent, because a rule is silent on purpose."""

    clause: str
    agent: str
    """The agent, or what an event of a room is about."""
    pattern: Pattern
    lasting: bool = True
    """Whether that holds until the next settle, and not just on the way to the next event of the agent."""
    broad: bool = False
    """Whether it speaks of more than what its rule kept from happening: then a field that differs says more."""

    def broken_by(self, event: Event) -> bool:
        """Tell whether ``event`` is what should not have been emitted."""
        if isinstance(event, ScopeCleanup | Settled) or subject_of(event) != self.agent:
            return False
        return self.pattern.event == event.event and matches(self.pattern, event)


class Expected(NamedTuple):
    """An event that the contract calls for, and the clauses that call for it."""

    event: Event
    demand: Demand


class Outcome(NamedTuple):
    """What an op or a step led to. ``void`` says that the item did nothing and does not count."""

    world: World
    expected: tuple[Expected, ...]
    silences: tuple[Silence, ...] = ()
    void: bool = False
    marks: tuple[str, ...] = ()
    """What was reached on the way: windows, holds and reactions; see ``Run.mark``."""

    @property
    def events(self) -> list[Event]:
        """The events alone, in order."""
        return [expected.event for expected in self.expected]


Begin = Callable[["Run", Op], bool]
"""Carries out the synchronous part of an op; false if the op is void."""


_PASSED = {kind: Wait(default_outcome(kind)) for kind in GateKind}
"""What comes of a gate that nothing was said of, or nothing more."""

_PLACES = {name: place for place, name in enumerate(Agent._fields)}
_made = tuple.__new__
"""Makes a named tuple of values in their order: what its ``_make`` does, without the call in between."""


class Run:
    """The mutable inside of one atomic stretch; see the essay above."""

    __slots__ = (
        "_begin",
        "agents",
        "appending",
        "contained",
        "due",
        "edition",
        "expected",
        "gates",
        "late",
        "listeners",
        "marks",
        "numbers",
        "owners",
        "provider",
        "registry",
        "rooms",
        "sessions",
        "silences",
        "this",
        "touched",
        "unloads",
    )

    def __init__(self, world: World, begin: Begin) -> None:
        self._begin = begin
        self.agents = {agent.label: agent for agent in world.agents}
        """All agents that ever began, in order of creation, as they are at this moment; changed by ``update`` alone."""
        self.edition = world.edition
        self.owners = world.owners
        self.provider = world.provider
        self.registry = world.registry
        self.sessions = world.sessions
        self.numbers = world.numbers
        self.unloads = world.unloads
        self.due = world.due
        self.listeners = world.listeners
        self.gates = world.gates
        self.rooms = world.rooms
        self.expected: list[Expected] = []
        self.silences: list[Silence] = []
        self.marks: list[str] = []
        self.this: Label | None = None
        self.touched: set[Label] = set()
        """The agents that may have become able to run, or unable, since the set was last emptied: those that were
        changed, and the parents of those that ended."""
        self.contained = False
        self.appending: set[Label] = set()
        self.late: list[tuple[Label, Callable[[], None]]] = []
        """What is to be done to a log as soon as the announcement of its record has unwound."""

    def freeze(self, *, void: bool = False) -> Outcome:
        """Give the world that this run has led to, with the events on the way."""
        return Outcome(self.world, tuple(self.expected), tuple(self.silences), void, tuple(self.marks))

    def forget(self) -> None:
        """Forget what was shown on the way here; the world stays as it is."""
        self.expected = []
        self.silences = []
        self.marks = []

    # The world.

    @property
    def world(self) -> World:
        """The world as it is at this moment."""
        return _made(
            World,
            (
                self.edition,
                self.owners,
                self.provider,
                tuple(self.agents.values()),
                self.registry,
                self.sessions,
                self.numbers,
                self.unloads,
                self.due,
                self.listeners,
                self.gates,
                self.rooms,
            ),
        )

    def add(self, agent: Agent) -> None:
        """Add a creation that has begun."""
        self.agents[agent.label] = agent
        self.touched.add(agent.label)

    def update(self, label: Label, **fields: object) -> Agent:
        """Change fields of one agent, and give the agent as it is then."""
        values: list[object] = list(self.agents[label])
        for name, value in fields.items():
            values[_PLACES[name]] = value
        agent = self.agents[label] = _made(Agent, values)
        self.touched.add(label)
        return agent

    def asked(self) -> list[Agent]:
        """Give the agents that may have become able to run, in order of creation."""
        touched = self.touched
        if len(touched) < 2:
            return [self.agents[label] for label in touched]
        return [agent for label, agent in self.agents.items() if label in touched]

    def end_all(self) -> None:
        """Let everything vanish that ran, and begin anew with all owners and the provider active."""
        self.agents = {}
        self.touched.clear()
        self.owners = tuple(Owner(owner.name) for owner in self.owners)
        self.provider = Owner(None)
        self.registry = self.sessions = ()
        self.unloads = ()
        self.due = ()
        self.listeners = ()
        self.gates = ()

    def next_number(self, agent_id: AgentId) -> int:
        """Count one more session object of ``agent_id``."""
        numbers = dict(self.numbers)
        numbers[agent_id] = number = numbers.get(agent_id, 0) + 1
        self.numbers = tuple(numbers.items())
        return number

    def would_be(self, label: Label) -> Agent:
        """Give a creation as it would be if its session were announced now: what must not be observed of it."""
        agent = self.agents[label]
        return agent._replace(number=dict(self.numbers).get(agent.id, 0) + 1)

    def replace_unload(self, old: Unload, new: Unload | None) -> None:
        """Replace one unload under way, or remove it."""
        place = self.unloads.index(old)
        kept = () if new is None else (new,)
        self.unloads = (*self.unloads[:place], *kept, *self.unloads[place + 1 :])

    # Events.

    def settled(self, call: Label, outcome: Settlement, demand: Demand) -> None:
        """Settle a synchronous call, or deliver the settlement of another one."""
        self.expected.append(_made(Expected, (Settled(call, outcome), self._due(demand) if self.contained else demand)))

    def owe(self, call: Label, outcome: Settlement, clause: str) -> None:
        """Let a call settle in a step of its own, unless it is a room that waits for it."""
        if self.rooms is not NO_ROOMS:
            for room in self.rooms.hearing:
                if room.takes(self, call, outcome):
                    return
        self.due = (*self.due, _made(Due, (call, outcome, _CONTAINED.clause if self.contained else clause)))

    def cleanup_began(self, label: Label, demand: Demand) -> None:
        """Record that the scope's cleanup began; it is no dispatch, so nothing can react to it."""
        self.expected.append(_made(Expected, (ScopeCleanup(label), demand)))

    def observed(self, event: ChildEvent, demand: Demand) -> None:
        """Record what happened to a program; it is no dispatch, so nothing can react to it."""
        self.expected.append(Expected(event, self._due(demand)))

    def silence(
        self, clause: str, agent: Agent, kind: str, *, lasting: bool = True, broad: bool = False, **where: Scalar
    ) -> None:
        """Note that a rule emits nothing of this kind, with these fields, on purpose."""
        self.silence_about(clause, agent.ref, kind, lasting=lasting, broad=broad, **where)

    def silence_about(
        self, clause: str, about: str, kind: str, *, lasting: bool = True, broad: bool = False, **where: Scalar
    ) -> None:
        """Note the same of what an event of a room is about."""
        pattern = Pattern(kind, tuple(where.items()))
        due = _CONTAINED.clause if self.contained else clause
        self.silences.append(_made(Silence, (due, about, pattern, lasting, broad)))

    def mark(self, kind: Literal["window", "hold", "react"], name: str) -> None:
        """Note that a run has come to a window, a held gate or a reaction. It changes nothing."""
        self.marks.append(f"{kind}:{name}")

    def emit(self, label: Label | None, event: HeardEvent, demand: Demand) -> Code | None:
        """Dispatch an event to the recorder and then to every listener.

        ``label`` is the creation that listeners call ``this``; none for an event that is of no agent. Gives the code of
        the throw that ended the dispatch, for the two kinds that can be vetoed; a throw elsewhere is contained and
        changes nothing.
        """
        self.expected.append(_made(Expected, (event, self._due(demand) if self.contained else demand)))
        if self.rooms is not NO_ROOMS:
            for room in self.rooms.hearing:
                room.hear(self, label, event)
        if not self.listeners:
            return None
        for listener in self.listeners:
            if listener.react.on.event != event.event or not matches(listener.react.on, event):
                continue
            veto = self._hear(listener.react.label, label)
            if veto is not None and event.event in VETOABLE:
                return veto
            self.contained = self.contained or veto is not None
        return None

    def _due(self, demand: Demand) -> Demand:
        """Give why an event is due: after a listener has failed in this stretch, because that changes nothing."""
        return _CONTAINED._replace(fields=demand.fields) if self.contained else demand

    def _hear(self, reaction: Label, label: Label | None) -> Code | None:
        """Count a match of a reaction, and act if it is the one that it waits for."""
        listeners = self.listeners
        position = next((i for i, other in enumerate(listeners) if other.react.label == reaction), None)
        if position is None:
            return None
        listener = listeners[position]
        if listener.skip:
            waiting = listener._replace(skip=listener.skip - 1)
            self.listeners = (*listeners[:position], waiting, *listeners[position + 1 :])
            return None
        self.listeners = (*listeners[:position], *listeners[position + 1 :])
        self.mark("react", listener.react.on.event)
        outer, self.this = self.this, label
        try:
            for action in listener.react.do:
                if isinstance(action, Throw):
                    return thrown(action.tag)
                if not isinstance(action, Reject):
                    self._begin(self, action)
        finally:
            self.this = outer
        return None

    # Gates.

    def gate(self, kind: GateKind, label: Label) -> GateState | None:
        """Give what was said of a gate; none if nothing was, which leaves it open."""
        for state in self.gates:
            if state.gate.creation == label and state.gate.kind is kind:
                return state
        return None

    def set_gate(self, state: GateState) -> None:
        """Remember what was said of a gate."""
        gates = self.gates
        kind, label = state.gate.kind, state.gate.creation
        for position, other in enumerate(gates):
            if other.gate.kind is kind and other.gate.creation == label:
                self.gates = (*gates[:position], state, *gates[position + 1 :])
                return
        self.gates = (*gates, state)

    def arrive(self, kind: GateKind, label: Label) -> Wait:
        """Arrive at a gate: wait if it is held, else take the next planned outcome or the default."""
        state = self.gate(kind, label)
        if state is None:
            return _PASSED[kind]
        if state.held:
            self.mark("hold", kind)
            return Wait(None, held=True, temper=state.temper)
        if not state.plan:
            return _PASSED[kind]
        self.set_gate(_made(GateState, (state.gate, state.held, state.temper, state.plan[1:])))
        return Wait(GateOutcome(state.plan[0]))


def matches(pattern: Pattern, event: HeardEvent | ChildEvent) -> bool:
    """Tell whether an event of the pattern's kind has the fields that the pattern names."""
    for name, value in pattern.where:
        holder: object = event
        if not hasattr(event, name) and isinstance(event, Logged):
            holder = event.record
        if isinstance(event, Logged) and name == "record":
            actual: object = event.record.record
        else:
            actual = cast(object, getattr(holder, name, None))
        if actual != value or isinstance(actual, bool) is not isinstance(value, bool):
            return False
    return True
