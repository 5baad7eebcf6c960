"""Tasks within bounds: what can be done to background tasks, and what is held to.

Agents come one after the other under one id, so that a task outlives its owner and another agent takes the id over. A
start is made through the tool, by an agent or by nobody, or at the executor; a gate of a task is held before its
process comes there. The signal of a turn is the one history that a task has: a task that was started in a turn is told
to end with it, and what a turn was is forgotten when it is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from probate_conformance.exploring.bounds import FRESH, HOST, creation_id
from probate_conformance.exploring.menu import CALL
from probate_conformance.exploring.normal import creation
from probate_conformance.exploring.rooms import RoomBound, Theme, forgetful, free, waiting, waits_at
from probate_model import invariants
from probate_model.alphabet.events import Event
from probate_model.alphabet.gates import FAIL, Gate, GateKind, GateOutcome, Temper
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, Release
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import ByOwner, Cancel, Create, Dispose, Send
from probate_model.alphabet.tasks import (
    UNKNOWN_TASK,
    AgentsRegistry,
    AwaitTask,
    DisposeExecutor,
    KillTask,
    LaunchTask,
    ListTasks,
    LoadExecutor,
    LoadTool,
    OwnerOfTask,
    ReadTask,
    SetRegistry,
    StartTask,
    TaskSignal,
    Token,
    UnloadTool,
    Via,
)
from probate_model.tasks.state import Process, Task, TasksRoom
from probate_model.world import Agent, Returned, Teardown, World

_ID: Final = creation_id(0)
_FOREIGN: Final = Token("somebody")
"""The token of no agent."""

_ONE_CALL: Final = (GateOutcome("tools:1"),)


def _room(world: World) -> TasksRoom:
    assert world.rooms.tasks is not None
    return world.rooms.tasks


def _labels(room: TasksRoom) -> list[Label]:
    return [*(task.label for task in room.tasks), *(made.op.label for made in (*room.calls, *room.scripts))]


def _waits(world: World) -> int:
    room = _room(world)
    of_tasks = sum(len(task.waiters) for task in room.tasks)
    of_executors = sum(len(one.callers) for one in room.disposals)
    return waiting(world) + of_tasks + of_executors + len(room.calls) + len(room.scripts)


def items(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    """Give what can be done."""
    room = _room(world)
    callers = [agent.label for agent in world.agents if agent.returned is Returned.BOUND]
    yield from _to_agents(bound, world)
    if _waits(world) < bound.calls:
        yield from _of_tasks(bound, room, callers)
        if room.active or room.disposals:
            yield DisposeExecutor(free("d", [label for one in room.disposals for label in one.callers]))
    yield from _to_gates(bound, world)
    if not room.active and room.executor < bound.more:
        yield LoadExecutor(CALL)
    yield ListTasks(CALL)
    yield KillTask(CALL, UNKNOWN_TASK, Via.EXECUTOR)
    if bound.registries:
        yield from (SetRegistry(CALL, registry) for registry in AgentsRegistry if registry is not room.registry)
    if room.tool:
        yield UnloadTool(CALL)
    elif room.loads < bound.more:
        yield LoadTool(CALL)


def _to_agents(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    calls = _waits(world) < bound.calls
    if len(world.agents) < bound.agents:
        yield Create(creation(len(world.agents)), _ID, ByOwner(HOST))
    for agent in world.agents:
        if agent.returned is not Returned.BOUND or agent.teardown is Teardown.DONE:
            continue
        if calls and agent.teardown is Teardown.NONE:
            yield Dispose(CALL, agent.label)
        if bound.turns and not invariants.pending(agent):
            yield Send(CALL, agent.label, FRESH)
        if bound.turns:
            yield Cancel(CALL, agent.label)


def _of_tasks(bound: RoomBound, room: TasksRoom, callers: Sequence[Label]) -> Iterator[BurstItem]:
    """Give what starts a task, and what is asked of one."""
    taken = _labels(room)
    label = free("t", taken)
    starting = sum(isinstance(made.op, StartTask) for made in (*room.calls, *room.scripts))
    if len(room.tasks) + starting < bound.things:
        for caller in callers:
            yield StartTask(label, caller)
            if bound.turns:
                yield StartTask(label, caller, turn=True)
        if not bound.turns:
            yield StartTask(label)
            yield LaunchTask(label, _FOREIGN)
            yield LaunchTask(label, signal=TaskSignal.PRE_ABORTED)
    call = free("k", taken)
    for task in room.tasks:
        if task.returned is not Returned.BOUND:
            continue
        if task.process is not Process.OVER:
            yield AwaitTask(free("w", task.waiters), task.label)
        yield KillTask(CALL, task.label, Via.EXECUTOR)
        for caller in callers:
            yield KillTask(call, task.label, Via.TOOL, caller)
        if not bound.turns:
            yield KillTask(call, task.label, Via.TOOL)
            yield ReadTask(call, task.label, Via.TOOL)
            yield ReadTask(CALL, task.label, Via.EXECUTOR)
            yield OwnerOfTask(CALL, task.label)


def _to_gates(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    room = _room(world)
    held = [state.gate for state in world.gates if state.held]
    started = [task.label for task in room.tasks if task.process is Process.STARTED]
    starting = [made.op.label for made in (*room.calls, *room.scripts) if isinstance(made.op, StartTask)]
    for gate in held:
        yield Open(gate)
        if waits_at(world, gate):
            yield Release(gate, FAIL)
    if len(held) < bound.holds:
        for label in (*started, *starting):
            gate = Gate(GateKind.EXIT, label)
            if gate not in held:
                yield from (Hold(gate, temper) for temper in Temper)
    if bound.turns:
        planned = [state.gate for state in world.gates if state.plan]
        for agent in world.agents:
            gate = Gate(GateKind.MODEL, agent.label)
            if gate not in planned and agent.returned is Returned.BOUND and agent.teardown is Teardown.NONE:
                yield Plan(gate, _ONE_CALL)


def tidy(world: World) -> World:
    """Give a world whose tasks remember a turn only while it is open, and whose gates are those of what can come."""
    room = _room(world)
    agents = {agent.label: agent for agent in world.agents}
    tasks = tuple(task._replace(turn=_turn(agents, task)) for task in room.tasks)
    over = {task.label for task in tasks if task.process in (Process.GONE, Process.OVER)}
    known = {*_labels(room), *(agent.label for agent in world.agents if agent.teardown is not Teardown.DONE)}
    gates = tuple(state for state in world.gates if state.gate.creation in known and state.gate.creation not in over)
    return world._replace(gates=gates, rooms=world.rooms._replace(tasks=room._replace(tasks=tasks)))


def _turn(agents: dict[Label, Agent], task: Task) -> tuple[Label, int] | None:
    """Give the turn of a task, as the normal form counts turns."""
    if task.turn is None:
        return None
    label, number = task.turn
    agent = agents[label]
    return (label, 0) if agent.turn_open and agent.turn == number else None


def l16_ownership(before: World, after: World, events: Sequence[Event]) -> Iterator[str]:
    """L16, of a choice."""
    del events
    yield from invariants.l16_ownership(before, after)


def nobody_waits_for_nothing(world: World) -> Iterator[str]:
    """L24 and L25, at rest: forbid a call that waits, and a task that is not over, but for what a held gate keeps."""
    room = _room(world)
    held = {state.gate.creation for state in world.gates if state.held and state.gate.kind is GateKind.EXIT}
    if room.calls:
        yield "L24: a call of the tool was begun and is not carried out"
    for task in room.tasks:
        if task.process is not Process.OVER and not (task.process is Process.AT_GATE and task.label in held):
            yield f"L24: the process of {task.label} is {task.process.name}, and nothing holds it"
        if task.process is Process.OVER and task.waiters:
            yield f"L24: somebody waits for {task.label}, which is over"
    for one in room.disposals:
        if all(task.process is Process.OVER for task in room.tasks if task.executor == one.executor):
            yield f"L25: executor {one.executor} has nothing left to wait for, and has not ended"


THEME: Final = Theme(
    items,
    tidy,
    forgetful,
    (l16_ownership, invariants.l17_told_once),
    (nobody_waits_for_nothing,),
)
