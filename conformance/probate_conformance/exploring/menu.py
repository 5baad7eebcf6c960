"""The menu: what can be done in a world within a bound, each thing once.

What a caller can do is put together from the parts of the world: what there is still room for, the items for each agent
that is remembered, and those for nobody in particular. What would be void, and is so for a reason that is plain, is not
on it: a release where nothing waits, a load of what is active. An op that is refused is on it.

An item names what it makes by a name that no normal world has, so it can't meet its like; the normal form gives it its
name. A creation is the one that comes after all that are remembered; where there is no place left, the first agent that
is gone is forgotten for it, which is part of the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from probate_conformance.exploring.bounds import FRESH, HOST, Bound, Held, creation_id
from probate_conformance.exploring.normal import creation
from probate_model.alphabet.editions import DisposedStatus
from probate_model.alphabet.events import Status
from probate_model.alphabet.gates import Gate, GateKind
from probate_model.alphabet.items import BurstItem, Hold, Open, React, Release
from probate_model.alphabet.names import BAD_TEXT, Label
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    ByOwner,
    Cancel,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Send,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.invariants import pending
from probate_model.machine import waits
from probate_model.world import Agent, GateState, Owner, Returned, Stage, Teardown, World

CALL: Final = Label("call")
"""The label of a call that is about to be made."""


class Replacing(NamedTuple):
    """A creation for which the first agent that is gone is forgotten, since there is no place left."""

    create: Create


class Room(NamedTuple):
    """What there is still room for."""

    prompts: bool
    calls: bool
    holds: bool
    reactions: bool
    unloads: bool


class Used(NamedTuple):
    """What one agent takes of the bound."""

    prompts: int
    calls: int


def used_by(agent: Agent) -> Used:
    """Give what an agent takes of the bound."""
    waiting = len(agent.waiters) + len(agent.exit_waiters) + len(agent.disposers)
    if agent.status is Status.DISPOSED:
        return Used(0, waiting)
    flushes = agent.called + sum(not flush.closing for flush in agent.flushes)
    return Used(len(pending(agent)) + len(agent.deferred) + flushes, waiting)


def room(bound: Bound, world: World) -> Room | None:
    """Give what there is still room for in a world; none if it is beyond the bound."""
    used = [used_by(agent) for agent in world.agents]
    prompts = sum(one.prompts for one in used)
    calls = sum(one.calls for one in used)
    unloads = sum(len(unload.callers) for unload in world.unloads)
    holds = sum(state.held for state in world.gates)
    reactions = len(world.listeners)
    if len(world.agents) > bound.agents or prompts > bound.prompts or unloads > bound.unloads:
        return None
    return Room(
        prompts < bound.prompts,
        calls < bound.calls,
        holds < bound.holds,
        reactions < bound.reactions,
        unloads < bound.unloads,
    )


def for_agent(bound: Bound, place: int, agent: Agent, gates: tuple[GateState, ...], has: Room) -> Iterator[BurstItem]:
    """Give what can be done to one agent."""
    label = creation(place)
    ops = bound.ops
    over = agent.teardown is Teardown.DONE
    # Where disposal is no status, an agent that is gone runs on for whoever holds it, and nobody hears of its records.
    unheard = over and bound.edition.disposed_status is DisposedStatus.NO
    if agent.returned is Returned.BOUND:
        if has.prompts and not unheard:
            if "send" in ops:
                yield Send(CALL, label, FRESH)
            if "steer" in ops and agent.status is Status.RUNNING:
                yield Steer(CALL, label, FRESH)
            if "inject" in ops:
                yield Inject(CALL, label, FRESH)
        if "bad" in ops and not over:
            yield Send(CALL, label, BAD_TEXT)
        if "cancel" in ops:
            yield Cancel(CALL, label)
        if has.calls:
            if "await_idle" in ops:
                yield AwaitIdle(CALL, label)
            if "dispose" in ops:
                yield Dispose(CALL, label)
    if not over:
        if "withdraw" in ops and agent.stage is not Stage.FAILED:
            yield Withdraw(CALL, label)
        if "abort" in ops and agent.signal is CreationSignal.ARMED and agent.stage is not Stage.FAILED:
            yield Abort(CALL, label)
        held = {state.gate.kind for state in gates if state.held and state.gate.creation == label}
        for gate in bound.gates:
            if gate.kind in held:
                yield Open(Gate(gate.kind, label))
                if waits(agent, gate.kind):
                    yield from (Release(Gate(gate.kind, label), outcome) for outcome in gate.outcomes)
            elif has.holds and _may_arrive(agent, gate):
                yield from (Hold(Gate(gate.kind, label), temper) for temper in gate.tempers)


def _may_arrive(agent: Agent, gate: Held) -> bool:
    """Tell whether an agent may still come to a gate."""
    if gate.kind is GateKind.SETUP:
        return agent.stage is Stage.BEGUN and agent.in_setup is None and agent.setup.value == "plain"
    if gate.kind is GateKind.CLEANUP:
        return agent.cleanup and agent.in_cleanup is None
    return agent.returned is Returned.BOUND and agent.teardown < Teardown.DETACHED


def for_nobody(
    bound: Bound,
    agents: tuple[Agent, ...],
    owners: tuple[Owner, ...],
    provider: Owner,
    has: Room,
) -> Iterator[BurstItem | Replacing]:
    """Give what can be done to no agent in particular."""
    ops = bound.ops
    if "create" in ops:
        yield from _creations(bound, agents)
    if has.unloads:
        if "unload_owner" in ops:
            yield UnloadOwner(CALL, HOST)
        if "unload_provider" in ops:
            yield UnloadProvider(CALL)
    if "load_owner" in ops and not owners[0].active:
        yield LoadOwner(CALL, HOST)
    if "load_provider" in ops and not provider.active:
        yield LoadProvider(CALL)
    if has.reactions:
        for number, listener in enumerate(bound.listeners):
            yield React(Label(f"r{9 - number}"), listener.on, listener.do)


def _creations(bound: Bound, agents: tuple[Agent, ...]) -> Iterator[BurstItem | Replacing]:
    if len(agents) < bound.agents:
        yield from _made(bound, agents)
    elif (gone := forgettable(agents)) is not None:
        yield from map(Replacing, _made(bound, (*agents[:gone], *agents[gone + 1 :])))


def _made(bound: Bound, agents: tuple[Agent, ...]) -> Iterator[Create]:
    label = creation(len(agents))
    used = len({agent.id for agent in agents})
    for number in range(min(used + 1, bound.ids)):
        name = creation_id(number)
        for made in bound.made:
            if not made.child:
                yield Create(label, name, ByOwner(HOST), made.setup, made.cleanup, made.signal)
                continue
            for parent, agent in enumerate(agents):
                if agent.returned is Returned.BOUND and agent.teardown is not Teardown.DONE:
                    yield Create(label, name, ByAgent(creation(parent)), made.setup, made.cleanup, made.signal)


def forgettable(agents: tuple[Agent, ...]) -> int | None:
    """Give the place of the first agent that is gone; none if all are still there."""
    return next((place for place, agent in enumerate(agents) if agent.teardown is Teardown.DONE), None)
