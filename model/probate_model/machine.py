"""The machine: what a caller does, what could run now, and how it runs.

``apply`` carries out the synchronous part of an item. ``enabled`` lists the steps of asynchronous activities that
could run, ``fire`` runs one of them to its next wait, and ``settle`` fires until nothing is left. All are functions
from a world to an outcome; nothing is kept in between.

``settle`` fires in the canonical order: in rounds, every step that is enabled at the start of a round once, agents in
order of creation, then unloads, then what the rooms of later profiles have, then settlements. That is what a fair run
queue does, and it is only an order among many: where the contract leaves order open, ``Worlds`` accepts every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, assert_never

from probate_model import (
    cancel,
    creation,
    flushing,
    idle,
    inbox,
    injection,
    owners,
    registry,
    teardown,
    turns,
)
from probate_model.alphabet import ops
from probate_model.alphabet.editions import Edition
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, default_outcome
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Release
from probate_model.alphabet.names import Label
from probate_model.bridge.room import ROOM as BRIDGE
from probate_model.clauses import demand_of
from probate_model.fibers.room import ROOM as FIBERS
from probate_model.rooms import NO_ROOMS, Inside, Room, Rooms
from probate_model.run import Expected, Outcome, Run, Silence
from probate_model.sessions import keeping
from probate_model.sessions import room as sessions
from probate_model.subagents.room import ROOM as SUBAGENTS
from probate_model.tasks.room import ROOM as TASKS
from probate_model.world import (
    Agent,
    Driver,
    Due,
    Flush,
    GateState,
    Listener,
    Returned,
    Stage,
    Teardown,
    Unload,
    World,
)

Activity: TypeAlias = Literal["creation", "driver", "entry", "flush", "teardown", "unload", "room", "settlement"]
"""The asynchronous things, by the part of the world that they are."""


class Step(NamedTuple):
    """One stretch of one activity that could run now."""

    activity: Activity
    subject: Label | Unload | Inside | Due


_BEGINS: dict[type[ops.Op], Callable[[Run, Any], bool]] = {
    ops.Create: creation.create,
    ops.Abort: creation.abort,
    ops.Withdraw: creation.withdraw,
    ops.Send: inbox.send,
    ops.Steer: inbox.steer,
    ops.Inject: injection.inject,
    ops.Cancel: cancel.cancel,
    ops.AwaitIdle: idle.await_idle,
    ops.Dispose: teardown.dispose,
    ops.UnloadOwner: owners.unload_owner,
    ops.LoadOwner: owners.load_owner,
    ops.UnloadProvider: owners.unload_provider,
    ops.LoadProvider: owners.load_provider,
    ops.Look: registry.look,
}


ROOMS: Final[tuple[Room, ...]] = (sessions.ROOM, FIBERS, TASKS, BRIDGE, SUBAGENTS)
"""The later profiles; see ``rooms``."""

_ROOM_OF: Final = {room.profile: room for room in ROOMS}
_ROOM_OF_GATE: Final = {kind: room for room in ROOMS for kind in room.gates}

for _room in ROOMS:
    _BEGINS.update(_room.begins)


def room_of(inside: Inside) -> Room:
    """Give the room that a step is of."""
    return _ROOM_OF[inside.profile]


class NotModelled(ValueError):
    """Raised for an op of a profile whose rules this model does not have."""


def begin(run: Run, op: ops.Op) -> bool:
    """Carry out the synchronous part of an op in a run; false if the op is void.

    :raises NotModelled: if no rule carries it out
    """
    carries_out = _BEGINS.get(type(op))
    if carries_out is None:
        raise NotModelled(f"no rule of this model carries out the op {op.item!r}")
    return carries_out(run, op)


def apply(world: World, item: BurstItem) -> Outcome:
    """Carry out the synchronous part of an item.

    :param world: the world in which it happens
    :param item: an op, a reaction to install, or something done to a gate
    :return: the world it leads to, and the events on the way; ``void`` if the item does nothing here
    :raises NotModelled: if the item is an op without a rule
    """
    run = Run(world, begin)
    return run.freeze(void=not carry_out(run, item))


def carry_out(run: Run, item: BurstItem) -> bool:
    """Carry out the synchronous part of an item in a run; false if the item is void."""
    if run.rooms.sessions is not None and run.rooms.sessions.down:
        return False
    match item:
        case React():
            run.listeners = (*run.listeners, Listener(item, item.nth - 1))
            return True
        case Plan() | Hold() | Release() | Open():
            return _on_gate(run, item)
        case _:
            return begin(run, item)


def _on_gate(run: Run, item: Plan | Hold | Release | Open) -> bool:
    kind, label = item.gate.kind, item.gate.creation
    state = run.gate(kind, label) or GateState(item.gate)
    match item:
        case Plan(outcomes=outcomes):
            run.set_gate(state._replace(plan=state.plan + outcomes))
            return True
        case Hold(temper=temper):
            run.set_gate(state._replace(held=True, temper=temper))
            return True
        case Open():
            run.set_gate(state._replace(held=False))
            while _release(run, item.gate, default_outcome(kind)):
                pass
            return True
        case Release(outcome=outcome):
            return _release(run, item.gate, outcome)
        case _:
            assert_never(item)


_WAITS: dict[GateKind, str] = {
    GateKind.SETUP: "in_setup",
    GateKind.PREPARE: "wait",
    GateKind.MODEL: "wait",
    GateKind.TOOL: "wait",
    GateKind.CLEANUP: "in_cleanup",
}


def _release(run: Run, gate: Gate, outcome: GateOutcome) -> bool:
    """Let the oldest arrival that waits at the gate go on; tells whether one waited."""
    kind, label = gate.kind, gate.creation
    if kind in _ROOM_OF_GATE:
        return _ROOM_OF_GATE[kind].release(run, gate, outcome)
    agent = run.find(label)
    if agent is None or not waits(agent, kind):
        return False
    if kind is GateKind.FLUSH:
        position = next(i for i, flush in enumerate(agent.flushes) if flush.outcome is None)
        outcome = keeping.released(run, label, outcome)
        ended = Flush(agent.flushes[position].closing, outcome)
        run.update(label, flushes=(*agent.flushes[:position], ended, *agent.flushes[position + 1 :]))
    else:
        wait = getattr(agent, _WAITS[kind])
        run.update(label, **{_WAITS[kind]: wait._replace(outcome=outcome)})
    return True


def waits(agent: Agent, kind: GateKind) -> bool:
    """Tell whether something of the agent waits at its gate of this kind: whether a release would not be void."""
    if kind is GateKind.FLUSH:
        return any(flush.outcome is None for flush in agent.flushes)
    if kind not in _WAITS or (kind in turns.GATES and agent.driver is not turns.GATES[kind]):
        return False
    if kind is GateKind.SETUP and agent.failure is not None:
        return False
    wait = getattr(agent, _WAITS[kind])
    return wait is not None and not wait.over


def somebody_waits(world: World, gate: Gate) -> bool:
    """Tell whether something waits at a gate, of whichever profile: whether a release would not be void."""
    if gate.kind in _ROOM_OF_GATE:
        return _ROOM_OF_GATE[gate.kind].waits(world.rooms, gate)
    return any(agent.label == gate.creation and waits(agent, gate.kind) for agent in world.agents)


def enabled(world: World) -> tuple[Step, ...]:
    """List the steps that could run now, in the canonical order."""
    return tuple(_steps(world.agents, world))


def _steps(asked: Iterable[Agent], within: World | Run) -> list[Step]:
    """List the steps of the agents that are asked, and of all else."""
    steps = steps_of_agents(asked, within.agents)
    if within.unloads or within.due or within.rooms is not NO_ROOMS:
        steps += steps_of_others(within)
    return steps


def steps_of_agents(asked: Iterable[Agent], agents: Sequence[Agent]) -> list[Step]:
    """List the steps of those agents that are asked, some of ``agents``."""
    steps: list[Step] = []
    for agent in asked:
        stage = agent.teardown
        if stage is not Teardown.DONE or agent.driver not in _GONE:
            label = agent.label
            if agent.stage is not Stage.LIVE and creation.can_advance(agent):
                steps.append(Step("creation", label))
            if turns.can_run(agent):
                steps.append(Step("driver", label))
            if agent.called:
                steps.append(Step("entry", label))
            if agent.flushes and flushing.can_end(agent):
                steps.append(Step("flush", label))
            if stage is not Teardown.NONE and teardown.can_advance(agents, agent):
                steps.append(Step("teardown", label))
    return steps


def steps_of_others(within: World | Run) -> list[Step]:
    """List the steps that are of no agent: of unloads, of rooms, and the settlements that are due."""
    agents, unloads, due, rooms = within.agents, within.unloads, within.due, within.rooms
    steps: list[Step] = []
    if unloads:
        steps += [Step("unload", unload) for unload in unloads if owners.can_advance(agents, unload)]
    if rooms is not NO_ROOMS:
        for room in ROOMS:
            steps += [Step("room", Inside(room.profile, what)) for what in room.steps(rooms, agents)]
    if due:
        steps += [Step("settlement", entry) for entry in due]
    return steps


_GONE = (Driver.EXITED, Driver.NONE)
"""Where a driver is that does not outlive its agent's teardown."""

_ADVANCE: dict[Activity, Callable[[Run, Label], None]] = {
    "creation": creation.advance,
    "driver": turns.advance,
    "entry": flushing.enter,
    "flush": flushing.end_injected,
    "teardown": teardown.advance,
}
"""How it runs to its next wait."""


def _can_fire(run: Run, step: Step) -> bool:
    """Tell whether a step that was enabled earlier in the run still is."""
    subject = step.subject
    if isinstance(subject, Due):
        return any(other is subject for other in run.due)
    if isinstance(subject, Unload):
        return any(other is subject for other in run.unloads) and owners.can_advance(run.agents, subject)
    if isinstance(subject, Inside):
        return subject.what in _ROOM_OF[subject.profile].steps(run.rooms, run.agents)
    agent = run[subject]
    if agent.teardown is Teardown.DONE and agent.driver in _GONE:
        return False
    match step.activity:
        case "creation":
            return creation.can_advance(agent)
        case "driver":
            return turns.can_run(agent)
        case "entry":
            return agent.called > 0
        case "flush":
            return flushing.can_end(agent)
        case _:
            return teardown.can_advance(run.agents, agent)


def advance(run: Run, step: Step) -> None:
    """Run one enabled step to its next wait, in a run."""
    subject = step.subject
    if isinstance(subject, Due):
        run.due = tuple(other for other in run.due if other is not subject)
        run.settled(subject.call, subject.outcome, demand_of(subject.clause))
    elif isinstance(subject, Unload):
        owners.advance(run, subject)
    elif isinstance(subject, Inside):
        _ROOM_OF[subject.profile].fire(run, subject.what)
    else:
        _ADVANCE[step.activity](run, subject)


def fire(world: World, step: Step) -> Outcome:
    """Run one enabled step to its next wait.

    :param world: a world in which ``step`` is enabled
    :return: the world it leads to, and the events on the way
    """
    run = Run(world, begin)
    advance(run, step)
    return run.freeze()


class Walk:
    """A world that is walked forward in place, by somebody who chooses the steps."""

    def __init__(self, world: World) -> None:
        self._run = Run(world, begin)

    @property
    def world(self) -> World:
        """The world as it is at this moment."""
        return self._run.world

    @property
    def edition(self) -> Edition:
        """Its edition."""
        return self._run.edition

    @property
    def agents(self) -> Sequence[Agent]:
        """Its agents."""
        return self._run.agents

    @property
    def rooms(self) -> Rooms:
        """Its rooms."""
        return self._run.rooms

    @property
    def due(self) -> Sequence[Due]:
        """Its settlements that are due."""
        return self._run.due

    @property
    def silences(self) -> Sequence[Silence]:
        """What was silent on purpose on the way."""
        return self._run.silences

    def steps(self) -> list[Step]:
        """List the steps that could run now."""
        return _steps(self._run.agents, self._run)

    def fire(self, step: Step) -> tuple[Expected, ...]:
        """Run one of them to its next wait, and give the events on the way."""
        before = len(self._run.expected)
        advance(self._run, step)
        return tuple(self._run.expected[before:])


class Layout:
    """Where the settlements of a settled run may stand, and where not.

    Nothing hears of a settlement, so a run in which one comes later is a run too, as long as it comes between two
    stretches and not before it was due. ``tied`` are all other events; positions count those.
    """

    __slots__ = ("breaks", "earliest", "free", "tied")

    def __init__(self, begun: Sequence[Expected] = ()) -> None:
        self.tied: list[Expected] = list(begun)
        self.free: dict[Label, Expected] = {}
        self.earliest: dict[Label, int] = {}
        self.breaks: set[int] = set()


def settle(world: World, layout: Layout | None = None) -> Outcome:
    """Fire in the canonical order until nothing is enabled; then bind what has returned.

    :param layout: what began before, to be completed with what the settled run leaves open
    :return: the quiescent world, and all events on the way
    """
    run = Run(world, begin)
    layout = layout or Layout()
    _lay_out(run, layout, len(run.expected), None)
    asked: Iterable[Agent] = run.agents
    while steps := _steps(asked, run):
        run.touched.clear()
        for position, step in enumerate(steps):
            if not position or _can_fire(run, step):
                before = len(run.expected)
                advance(run, step)
                _lay_out(run, layout, before, step)
        # Of the others none can have become able to run, but for a scope, which waits for other agents.
        touched = run.touched
        asked = [agent for agent in run.agents if agent.label in touched or agent.teardown is Teardown.SCOPE]
    outcome = run.freeze()
    return outcome._replace(world=bind(outcome.world))


def _lay_out(run: Run, layout: Layout, before: int, step: Step | None) -> None:
    """Note what one stretch leaves open."""
    if step is not None and isinstance(step.subject, Due):
        layout.free[step.subject.call] = run.expected[before]
        return
    layout.tied += run.expected[before:]
    position = len(layout.tied)
    layout.breaks.add(position)
    for due in run.due:
        layout.earliest.setdefault(due.call, position)


def bind(world: World) -> World:
    """Let the creations that have returned be named from here on: what a settle does at its end."""
    if world.rooms is not NO_ROOMS:
        for room in ROOMS:
            world = world._replace(rooms=room.bind(world.rooms))
    if all(agent.returned is not Returned.SINCE_SETTLE for agent in world.agents):
        return world
    return world._replace(
        agents=tuple(
            agent._replace(returned=Returned.BOUND) if agent.returned is Returned.SINCE_SETTLE else agent
            for agent in world.agents
        )
    )
