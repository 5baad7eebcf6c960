"""Fibers within bounds: what can be plugged in, and what is held to.

The first fiber's body provides a service and sets up an effect; any later one is plain, or uses the service, or is a
child. Or the first one uses the service, and there are no effects: then its child can be the one that provides it, and
a service can be back before it was missed. Effects and services are added and ended from outside as well.

What is remembered is of the effects that are being undone: which member runs, and which one ended last. That says
whether they are undone in reverse, each completely before the next, and all before their fiber's unload has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from probate_conformance.exploring.bounds import FRESH, creation_id
from probate_conformance.exploring.menu import CALL
from probate_conformance.exploring.normal import creation
from probate_conformance.exploring.rooms import RoomBound, Theme, free, waiting, waits_at
from probate_model.alphabet.events import Event
from probate_model.alphabet.fibers import (
    ROOT,
    AddEffect,
    By,
    DisposerCalled,
    DisposerEnded,
    DisposerOutcome,
    EffectSetup,
    EndEffect,
    FiberChanged,
    FiberState,
    Plug,
    Provide,
    Restart,
    ServiceName,
    Unplug,
    Use,
)
from probate_model.alphabet.gates import FAIL, THROW, Gate, GateKind
from probate_model.alphabet.items import BurstItem, Hold, Open, Release
from probate_model.alphabet.names import Label, OwnerName
from probate_model.alphabet.ops import ByOwner, Create, Dispose, Send
from probate_model.fibers.state import Effect, FibersRoom, Phase, Stage
from probate_model.invariants import pending
from probate_model.world import Returned, Teardown, World

_SERVICE: Final = ServiceName("s")
_FAILS: Final = {GateKind.BODY: THROW, GateKind.EFFECT: THROW, GateKind.DISPOSER: FAIL}


class Undoing(NamedTuple):
    """What was seen of an effect that is being undone."""

    effect: Label
    fiber: Label
    runs: int | None
    """The member whose disposer runs."""
    ended: int | None
    """The member that ended last."""


def _room(world: World) -> FibersRoom:
    assert world.rooms.fibers is not None
    return world.rooms.fibers


def _waits(world: World) -> int:
    room = _room(world)
    of_fibers = sum(len(fiber.resting) + len(fiber.enders) for fiber in room.fibers)
    of_effects = sum(len(effect.enders) + (effect.stage is Stage.SETTING_UP) for effect in room.effects)
    return waiting(world) + of_fibers + of_effects + sum(len(one.enders) for one in room.provisions)


def items(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    """Give what can be done."""
    room = _room(world)
    calls = _waits(world) < bound.calls
    yield from _plugged(bound, room)
    yield from _beside(bound, room, calls=calls)
    if calls:
        for fiber in room.fibers:
            yield Unplug(CALL, fiber.label)
            yield Restart(CALL, fiber.label)
        named = [effect for effect in room.effects if not effect.own]
        yield from (EndEffect(CALL, effect.label) for effect in named)
        yield from (EndEffect(CALL, one.label) for one in room.provisions if not one.own)
    for fiber in room.fibers:
        yield from (Use(CALL, fiber.label, _SERVICE, by) for by in By)
        if len(world.agents) < bound.agents:
            yield Create(creation(len(world.agents)), creation_id(0), ByOwner(OwnerName(fiber.label)))
    for agent in world.agents:
        if agent.returned is not Returned.BOUND or agent.teardown is not Teardown.NONE:
            continue
        if calls:
            yield Dispose(CALL, agent.label)
        if bound.turns and not pending(agent):
            yield Send(CALL, agent.label, FRESH)
    yield from _to_gates(bound, world)


def _plugged(bound: RoomBound, room: FibersRoom) -> Iterator[BurstItem]:
    number = len(room.fibers)
    if number >= bound.things:
        return
    label = Label(f"f{number}")
    if bound.late:
        yield Plug(label, ROOT) if number else Plug(label, ROOT, inject=(_SERVICE,))
        yield from (Plug(label, fiber.label) for fiber in room.fibers)
        return
    if not number:
        yield Plug(label, ROOT, provides=(_SERVICE,), effects=(2,))
        return
    yield Plug(label, ROOT, inject=(_SERVICE,), effects=(1,))
    yield Plug(label, ROOT, provides=(_SERVICE,))
    yield from (Plug(label, fiber.label) for fiber in room.fibers)
    yield from (Plug(label, fiber.label, inject=(_SERVICE,)) for fiber in room.fibers)


def _beside(bound: RoomBound, room: FibersRoom, *, calls: bool) -> Iterator[BurstItem]:
    """Give what is set up and provided from outside of any body."""
    effects = [effect.label for effect in room.effects if not effect.own]
    provisions = [one.label for one in room.provisions if not one.own]
    for fiber in room.fibers:
        if len(effects) < bound.more and not bound.late:
            yield AddEffect(free("e", effects), fiber.label, 2)
            if calls:
                yield AddEffect(free("e", effects), fiber.label, 1, EffectSetup.PLAIN)
        if len(provisions) < bound.more:
            yield Provide(free("p", provisions), fiber.label, _SERVICE)


def _to_gates(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    room = _room(world)
    held = [state.gate for state in world.gates if state.held]
    for gate in held:
        yield Open(gate)
        if waits_at(world, gate):
            yield Release(gate, _FAILS[gate.kind])
    if len(held) < bound.holds:
        gates = [Gate(GateKind.BODY, fiber.label) for fiber in room.fibers if not fiber.doomed]
        for effect in room.effects:
            if effect.stage is not Stage.ENDED:
                gates.append(Gate(GateKind.DISPOSER, effect.label))
            if effect.stage is Stage.SETTING_UP and effect.setup is None:
                gates.append(Gate(GateKind.EFFECT, effect.label))
        yield from (Hold(gate) for gate in gates if gate not in held)


def tidy(world: World) -> World:
    """Give a world without gates that nothing can come to any more."""
    room = _room(world)
    fibers = {fiber.label: fiber for fiber in room.fibers}
    effects = {effect.label: effect for effect in room.effects}

    def can_come(gate: Gate) -> bool:
        if gate.kind is GateKind.BODY:
            return gate.creation in fibers and fibers[gate.creation].state is not FiberState.DISPOSED
        if gate.creation in effects:
            return effects[gate.creation].stage is not Stage.ENDED
        # An effect of a body can come again with the body.
        fiber = fibers.get(_body_of(gate.creation))
        return fiber is not None and fiber.state is not FiberState.DISPOSED

    gates = tuple(state for state in world.gates if can_come(state.gate))
    return world._replace(gates=gates)


def _body_of(effect: Label) -> Label:
    """Give the fiber whose body sets up an effect, by the name of the effect."""
    return Label(effect.rpartition(".")[0])


def remember(
    memory: tuple[Undoing, ...], world: World, events: Sequence[Event], breaches: list[str]
) -> tuple[Undoing, ...]:
    """L23: forbid members that are not undone in reverse, each completely, and before the unload has ended."""
    seen = {one.effect: one for one in memory}
    of = {effect.label: effect.fiber for effect in _room(world).effects}
    for event in events:
        match event:
            case DisposerCalled(effect, member):
                fiber = of.get(effect, _body_of(effect))
                before = seen.get(effect, Undoing(effect, fiber, None, None))
                if before.runs is not None:
                    breaches.append(f"L23: member {member} of {effect} is undone before member {before.runs} has been")
                if before.ended not in (None, member + 1):
                    breaches.append(f"L23: member {member} of {effect} is undone after member {before.ended}")
                seen[effect] = before._replace(runs=member)
            case DisposerEnded(effect, member, outcome):
                known = seen.pop(effect, None)
                if known is None or known.runs != member:
                    breaches.append(f"L23: member {member} of {effect} ends, and it did not run")
                elif member > 1 and outcome is not DisposerOutcome.FAIL:
                    seen[effect] = known._replace(runs=None, ended=member)
            case FiberChanged(fiber, FiberState.PENDING | FiberState.FAILED | FiberState.DISPOSED as state):
                left = [one.effect for one in seen.values() if one.fiber == fiber]
                breaches.extend(f"L23: {fiber} is {state.value} while {effect} is undone" for effect in left)
            case _:
                pass
    return tuple(sorted(seen.values()))


def nobody_waits_for_nothing(world: World) -> Iterator[str]:
    """L25 and L27, at rest: forbid a transition, and an end, but for what waits for a held gate."""
    room = _room(world)
    held = _held(world)
    for fiber in room.fibers:
        if fiber.phase is not Phase.REST and fiber.label not in held:
            yield f"L27: {fiber.label} is {fiber.state.value}, and nothing holds it"
        if fiber.phase is Phase.REST and fiber.resting:
            yield f"L27: somebody waits for {fiber.label} to rest, and it does"
        if fiber.phase is Phase.REST and (fiber.enders or (fiber.doomed and fiber.state is not FiberState.DISPOSED)):
            yield f"L25: {fiber.label} is to end, and does not"
    for effect in room.effects:
        if effect.stage in (Stage.SETTING_UP, Stage.ENDING) and not _waits_at_gate(effect):
            yield f"L25: {effect.label} is {effect.stage.name}, and nothing holds it"
        if effect.stage is Stage.ENDED and effect.enders:
            yield f"L25: somebody waits for the end of {effect.label}, which has ended"
    for one in room.provisions:
        if one.enders and not (set(one.told) & held):
            yield f"L25: somebody waits for the end of {one.label}, and nothing holds it"


def _waits_at_gate(effect: Effect) -> bool:
    wait = effect.setup if effect.stage is Stage.SETTING_UP else effect.wait
    return wait is not None and not wait.over


def _held(world: World) -> set[Label]:
    """Give the fibers whose transition waits for a held gate, be it through others."""
    room = _room(world)
    held = {
        fiber.label
        for fiber in room.fibers
        if (fiber.body is not None and not fiber.body.over)
        or any(effect.fiber == fiber.label and _waits_at_gate(effect) for effect in room.effects)
    }
    while True:
        through = {
            fiber.label
            for fiber in room.fibers
            if fiber.label not in held
            and (
                any(other.parent == fiber.label and other.label in held for other in room.fibers)
                or any(one.fiber == fiber.label and set(one.told) & held for one in room.provisions)
            )
        }
        if not through:
            return held
        held |= through


THEME: Final = Theme(items, tidy, remember, (), (nobody_waits_for_nothing,))
