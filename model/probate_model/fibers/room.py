"""What profile ``fibers`` hands to the machine."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from probate_model.alphabet import fibers as alphabet
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome
from probate_model.alphabet.names import Label
from probate_model.fibers import effects, services, transitions
from probate_model.fibers.access import find_effect, find_provision, get, put, put_effect
from probate_model.fibers.state import Effect, Fiber, Phase
from probate_model.rooms import Room, Rooms
from probate_model.run import Run
from probate_model.world import Agent, Wait


class FiberStep(NamedTuple):
    """One stretch of a fiber's transition, of an effect, or of the end of a service."""

    activity: Literal["fiber", "effect", "provision"]
    label: Label


def _steps(rooms: Rooms, agents: Collection[Agent]) -> list[FiberStep]:
    room = rooms.fibers
    if room is None:
        return []
    steps = [
        FiberStep("fiber", fiber.label)
        for fiber in room.fibers
        if transitions.can_advance(fiber)
        or (fiber.phase is Phase.UNLOADING and transitions.has_unloaded(room, agents, fiber))
    ]
    steps += [FiberStep("effect", effect.label) for effect in room.effects if effects.can_advance(effect)]
    steps += [
        FiberStep("provision", one.label)
        for one in room.provisions
        if one.asked and not one.ended and services.clear(room, one)
    ]
    return steps


def _fire(run: Run, step: FiberStep) -> None:
    match step.activity:
        case "fiber":
            transitions.advance(run, step.label)
        case "effect":
            effects.advance(run, step.label)
        case "provision":
            provision = find_provision(run, step.label)
            assert provision is not None
            services.finish(run, provision)


def _at(rooms: Rooms, gate: Gate) -> tuple[Fiber | Effect, str, Wait] | None:
    """Give what waits at a gate, and in which field it does."""
    room = rooms.fibers
    if room is None:
        return None
    found: list[tuple[Fiber | Effect, str, Wait | None]] = []
    if gate.kind is GateKind.BODY:
        found = [(one, "body", one.body) for one in room.fibers if one.label == gate.creation]
    elif gate.kind is GateKind.EFFECT:
        found = [(one, "setup", one.setup) for one in room.effects if one.label == gate.creation]
    elif gate.kind is GateKind.DISPOSER:
        found = [(one, "wait", one.wait) for one in room.effects if one.label == gate.creation]
    return next(((one, name, wait) for one, name, wait in found if wait is not None and not wait.over), None)


def _release(run: Run, gate: Gate, outcome: GateOutcome) -> bool:
    at = _at(run.rooms, gate)
    if at is None:
        return False
    one, name, wait = at
    over = wait._replace(outcome=outcome)
    if isinstance(one, Fiber):
        put(run, get(run, one.label)._replace(body=over))
    else:
        effect = find_effect(run, one.label)
        assert effect is not None
        put_effect(run, effect._replace(setup=over) if name == "setup" else effect._replace(wait=over))
    return True


ROOM: Final = Room(
    profile="fibers",
    begins={
        alphabet.Plug: transitions.plug,
        alphabet.Unplug: transitions.unplug,
        alphabet.Restart: transitions.restart,
        alphabet.AddEffect: effects.register,
        alphabet.Provide: services.provide,
        alphabet.EndEffect: effects.end,
        alphabet.Use: services.use,
    },
    steps=_steps,
    fire=_fire,
    gates=frozenset({GateKind.BODY, GateKind.EFFECT, GateKind.DISPOSER}),
    release=_release,
    waits=lambda rooms, gate: _at(rooms, gate) is not None,
    bind=lambda rooms: rooms,
)
"""The room."""
