"""The machine: what a caller does, what could run now, and how it runs.

``apply`` carries out the synchronous part of an item. ``enabled`` lists the steps of asynchronous activities that
could run, ``fire`` runs one of them to its next wait, and ``settle`` fires until nothing is left. All are functions
from a world to an outcome; nothing is kept in between.

``settle`` fires in the canonical order: in rounds, every step that is enabled at the start of a round once, agents in
order of creation, then unloads, then what the rooms of later profiles have, then settlements. That is what a fair run
queue does, and it is only an order among many: where the contract leaves order open, ``Worlds`` accepts every other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from probate_model import (
    cancel,
    creation,
    driver,
    flushing,
    idle,
    inbox,
    injection,
    owners,
    registry,
    teardown,
)
from probate_model.alphabet import ops
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, default_outcome
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Release
from probate_model.alphabet.names import Label
from probate_model.bridge.room import ROOM as BRIDGE
from probate_model.clauses import demand_of
from probate_model.fibers.room import ROOM as FIBERS
from probate_model.rooms import NO_ROOMS, Inside, Room
from probate_model.run import Expected, Outcome, Run
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


_made = tuple.__new__
"""Makes a named tuple of values in their order, without the call in between."""

_BEGINS: dict[type[object], Callable[[Run, Any], bool]] = {
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
    run.contained = False
    if run.rooms.sessions is not None and run.rooms.sessions.down:
        return False
    rule: Callable[[Run, Any], bool] = _BEGINS.get(type(item)) or _ON_ITEM.get(type(item)) or begin
    return rule(run, item)


def _react(run: Run, item: React) -> bool:
    run.listeners = (*run.listeners, _made(Listener, (item, item.nth - 1)))
    return True


def _plan(run: Run, item: Plan) -> bool:
    _, held, temper, plan = run.gate(item.gate.kind, item.gate.creation) or GateState(item.gate)
    run.set_gate(_made(GateState, (item.gate, held, temper, plan + item.outcomes)))
    return True


def _hold(run: Run, item: Hold) -> bool:
    state = run.gate(item.gate.kind, item.gate.creation) or GateState(item.gate)
    run.set_gate(_made(GateState, (item.gate, True, item.temper, state.plan)))
    return True


def _open(run: Run, item: Open) -> bool:
    kind = item.gate.kind
    state = run.gate(kind, item.gate.creation) or GateState(item.gate)
    run.set_gate(_made(GateState, (item.gate, False, state.temper, state.plan)))
    while _release(run, item.gate, default_outcome(kind)):
        pass
    return True


def _on_release(run: Run, item: Release) -> bool:
    return _release(run, item.gate, item.outcome)


_ON_ITEM: Final[dict[type[object], Callable[[Run, Any], bool]]] = {
    React: _react,
    Plan: _plan,
    Hold: _hold,
    Open: _open,
    Release: _on_release,
}
"""What the items do that are no ops."""


_WAITS: dict[GateKind, str] = {
    GateKind.SETUP: "in_setup",
    GateKind.PREPARE: "wait",
    GateKind.MODEL: "wait",
    GateKind.PERMISSION: "wait",
    GateKind.TOOL: "wait",
    GateKind.CLEANUP: "in_cleanup",
}


def _release(run: Run, gate: Gate, outcome: GateOutcome) -> bool:
    """Let the oldest arrival that waits at the gate go on; tells whether one waited."""
    kind, label = gate.kind, gate.creation
    if kind in _ROOM_OF_GATE:
        return _ROOM_OF_GATE[kind].release(run, gate, outcome)
    agent = run.agents.get(label)
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
    if kind not in _WAITS or (kind in driver.GATES and agent.driver is not driver.GATES[kind]):
        return False
    if kind is GateKind.SETUP and agent.failure is not None:
        return False
    wait = getattr(agent, _WAITS[kind])
    return wait is not None and not wait.over and wait.asks is (kind is GateKind.PERMISSION)


def somebody_waits(run: Run, gate: Gate) -> bool:
    """Tell whether something waits at a gate, of whichever profile: whether a release would not be void."""
    if gate.kind in _ROOM_OF_GATE:
        return _ROOM_OF_GATE[gate.kind].waits(run.rooms, gate)
    agent = run.agents.get(gate.creation)
    return agent is not None and waits(agent, gate.kind)


def enabled(world: World) -> tuple[Step, ...]:
    """List the steps that could run now, in the canonical order."""
    return tuple(_steps(world.agents, world, world.agents))


def _steps(asked: Iterable[Agent], within: World | Run, agents: Collection[Agent]) -> list[Step]:
    """List the steps of the agents that are asked, some of ``agents``, and of all else."""
    steps = steps_of_agents(asked, agents)
    if within.unloads or within.due or within.rooms is not NO_ROOMS:
        steps += steps_of_others(within, agents)
    return steps


def steps_of_agents(asked: Iterable[Agent], agents: Collection[Agent]) -> list[Step]:
    """List the steps of those agents that are asked, some of ``agents``."""
    steps: list[Step] = []
    for agent in asked:
        label, stage = agent.label, agent.teardown
        if stage is Teardown.DONE and agent.driver in _GONE:
            continue
        if agent.stage is not Stage.LIVE and creation.can_advance(agent):
            steps.append(_made(Step, ("creation", label)))
        if driver.can_run(agent):
            steps.append(_made(Step, ("driver", label)))
        if agent.called:
            steps.append(_made(Step, ("entry", label)))
        if agent.flushes and flushing.can_end(agent):
            steps.append(_made(Step, ("flush", label)))
        if stage is not Teardown.NONE and teardown.can_advance(agents, agent):
            steps.append(_made(Step, ("teardown", label)))
    return steps


def steps_of_others(within: World | Run, agents: Collection[Agent]) -> list[Step]:
    """List the steps that are of no agent: of unloads, of rooms, and the settlements that are due."""
    unloads, due, rooms = within.unloads, within.due, within.rooms
    steps: list[Step] = []
    if unloads:
        steps += [_made(Step, ("unload", unload)) for unload in unloads if owners.can_advance(agents, unload)]
    if rooms is not NO_ROOMS:
        for room in ROOMS:
            steps += [Step("room", Inside(room.profile, what)) for what in room.steps(rooms, agents)]
    if due:
        steps += [_made(Step, ("settlement", entry)) for entry in due]
    return steps


_GONE = (Driver.EXITED, Driver.NONE)
"""Where a driver is that does not outlive its agent's teardown."""

_ADVANCE: dict[Activity, Callable[[Run, Label], None]] = {
    "creation": creation.advance,
    "driver": driver.advance,
    "entry": flushing.enter,
    "flush": flushing.end_injected,
    "teardown": teardown.advance,
}
"""How it runs to its next wait."""


def _can_fire(run: Run, step: Step) -> bool:
    """Tell whether a step that was enabled when ``Run.touched`` was emptied still is."""
    subject = step.subject
    if isinstance(subject, str):
        untouched = subject not in run.touched and step.activity != "teardown"
        return untouched or step in steps_of_agents((run.agents[subject],), run.agents.values())
    if isinstance(subject, Due):
        return subject in run.due
    if isinstance(subject, Unload):
        return any(other is subject for other in run.unloads) and owners.can_advance(run.agents.values(), subject)
    return subject.what in _ROOM_OF[subject.profile].steps(run.rooms, run.agents.values())


def advance(run: Run, step: Step) -> None:
    """Run one enabled step to its next wait, in a run."""
    run.contained = False
    subject = step.subject
    if isinstance(subject, str):
        _ADVANCE[step.activity](run, subject)
    elif isinstance(subject, Due):
        place = run.due.index(subject)
        run.due = run.due[:place] + run.due[place + 1 :]
        run.settled(subject.call, subject.outcome, demand_of(subject.clause))
    elif isinstance(subject, Unload):
        owners.advance(run, subject)
    else:
        _ROOM_OF[subject.profile].fire(run, subject.what)


def fire(world: World, step: Step) -> Outcome:
    """Run one enabled step to its next wait.

    :param world: a world in which ``step`` is enabled
    :return: the world it leads to, and the events on the way
    """
    run = Run(world, begin)
    advance(run, step)
    return run.freeze()


class Stretch(NamedTuple):
    """One stretch of a settled run, as it was left."""

    end: int
    """Where in the events it ends."""
    due: tuple[Due, ...]
    """What is due then."""
    listeners: tuple[Listener, ...]
    """Who listens then."""
    step: Step | None
    """The step that was taken; none if it is the begins of a burst."""


class Walk:
    """A world that is walked forward in place: item by item, step by step, or until nothing is left to fire.

    :param world: where it begins
    :param rested: whether nothing is enabled there, so that nobody has to be asked
    """

    __slots__ = ("run",)

    def __init__(self, world: World, *, rested: bool = False) -> None:
        self.run = run = Run(world, begin)
        """The world as it is at this moment, and what was shown since it was last told to forget that."""
        if not rested:
            run.touched.update(agent.label for agent in world.agents)

    def settle(self) -> tuple[Stretch, ...]:
        """Fire in the canonical order until nothing is enabled, and bind what has returned; gives the stretches."""
        run = self.run
        expected, touched = run.expected, run.touched
        stretches: list[Stretch] = [_made(Stretch, (len(expected), run.due, run.listeners, None))]
        while steps := _steps(run.asked(), run, run.agents.values()):
            touched.clear()
            for step in steps:
                if step is steps[0] or _can_fire(run, step):
                    advance(run, step)
                    stretches.append(_made(Stretch, (len(expected), run.due, run.listeners, step)))
        _bind(run)
        touched.clear()
        return tuple(stretches)

    def fire(self, step: Step) -> tuple[Expected, ...]:
        """Run one of them to its next wait, and give the events on the way."""
        before = len(self.run.expected)
        advance(self.run, step)
        return tuple(self.run.expected[before:])


def settle(world: World) -> Outcome:
    """Fire in the canonical order until nothing is enabled; then bind what has returned.

    :return: the quiescent world, and all events on the way
    """
    walk = Walk(world)
    walk.settle()
    return walk.run.freeze()


def _bind(run: Run) -> None:
    """Let the creations that have returned be named from here on."""
    if run.rooms is not NO_ROOMS:
        for room in ROOMS:
            run.rooms = room.bind(run.rooms)
    for agent in run.agents.values():
        if agent.returned is Returned.SINCE_SETTLE:
            run.update(agent.label, returned=Returned.BOUND)


def bind(world: World) -> World:
    """Let the creations that have returned be named from here on: what a settle does at its end."""
    run = Run(world, begin)
    _bind(run)
    return run.world
