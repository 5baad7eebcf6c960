"""Read and change the room of a run. A run is asked again after every dispatch, so nothing here is kept."""

from __future__ import annotations

from probate_model.alphabet.fibers import FiberState, ServiceName
from probate_model.alphabet.names import Label, OwnerName
from probate_model.fibers.state import Effect, Fiber, FibersRoom, Provision
from probate_model.run import Run

IN_USE = (FiberState.LOADING, FiberState.ACTIVE, FiberState.UNLOADING)
"""The states in which a fiber uses what it is bound to."""

_OPEN = (FiberState.PENDING, FiberState.LOADING, FiberState.ACTIVE)


def entered(run: Run) -> bool:
    """Tell whether the trace is of this profile."""
    return run.rooms.fibers is not None


def room_of(run: Run) -> FibersRoom:
    """Give the room."""
    assert run.rooms.fibers is not None
    return run.rooms.fibers


def set_room(run: Run, room: FibersRoom) -> None:
    """Change the room."""
    run.rooms = run.rooms._replace(fibers=room)


def find(run: Run, label: Label) -> Fiber | None:
    """Give a fiber; none if nothing of that name is plugged in."""
    if run.rooms.fibers is None:
        return None
    return next((fiber for fiber in run.rooms.fibers.fibers if fiber.label == label), None)


def get(run: Run, label: Label) -> Fiber:
    """Give a fiber that is known to be there."""
    fiber = find(run, label)
    assert fiber is not None
    return fiber


def put(run: Run, fiber: Fiber) -> Fiber:
    """Change a fiber, or add it."""
    room = room_of(run)
    others = room.fibers
    if any(other.label == fiber.label for other in others):
        changed = tuple(fiber if other.label == fiber.label else other for other in others)
    else:
        changed = (*others, fiber)
    set_room(run, room._replace(fibers=changed))
    return fiber


def find_effect(run: Run, label: Label) -> Effect | None:
    """Give an effect; none if none of that name was registered."""
    return next((effect for effect in room_of(run).effects if effect.label == label), None)


def put_effect(run: Run, effect: Effect) -> Effect:
    """Change an effect, or add it; one of a body that has ended can't be named any more and goes."""
    room = room_of(run)
    gone = effect.own and effect.stage == 3
    if any(other.label == effect.label for other in room.effects):
        changed = tuple(
            effect if other.label == effect.label else other
            for other in room.effects
            if not (gone and other.label == effect.label)
        )
    else:
        changed = (*room.effects, effect)
    set_room(run, room._replace(effects=changed))
    return effect


def find_provision(run: Run, label: Label) -> Provision | None:
    """Give a provision; none if none of that name was made."""
    return next((provision for provision in room_of(run).provisions if provision.label == label), None)


def put_provision(run: Run, provision: Provision) -> Provision:
    """Change a provision, or add it; one of a body that has ended can't be named any more and goes."""
    room = room_of(run)
    gone = provision.own and provision.ended
    if any(other.label == provision.label for other in room.provisions):
        changed = tuple(
            provision if other.label == provision.label else other
            for other in room.provisions
            if not (gone and other.label == provision.label)
        )
    else:
        changed = (*room.provisions, provision)
    set_room(run, room._replace(provisions=changed))
    return provision


def adopt(run: Run, fiber: Label, member: Label) -> None:
    """Let something belong to a fiber."""
    owner = get(run, fiber)
    put(run, owner._replace(members=(*owner.members, member)))


def release(run: Run, fiber: Label, member: Label) -> None:
    """Let it belong to it no longer."""
    owner = find(run, fiber)
    if owner is not None:
        put(run, owner._replace(members=tuple(other for other in owner.members if other != member)))


def adopt_agent(run: Run, owner: OwnerName | None, label: Label) -> None:
    """Let an agent belong to the fiber that is its owner, if a fiber is."""
    if owner is not None and find(run, Label(owner)) is not None:
        adopt(run, Label(owner), label)


def is_open(fiber: Fiber) -> bool:
    """Tell whether anything can still be added to a fiber."""
    return not fiber.doomed and fiber.state in _OPEN


def set_owner(run: Run, label: Label, *, active: bool, renewed: bool = False) -> None:
    """Say whether agents can be created through a fiber, and whether a new incarnation of it begins."""
    run.owners = tuple(
        owner._replace(active=active, incarnation=owner.incarnation + renewed)
        if owner.name == OwnerName(label)
        else owner
        for owner in run.owners
    )


def provided(room: FibersRoom, service: ServiceName) -> Provision | None:
    """Give who provides a service at this moment, active or not."""
    return next((one for one in room.provisions if one.service == service and not one.withdrawn), None)


def uses(fiber: Fiber, service: ServiceName, provider: Label) -> bool:
    """Tell whether a fiber is loaded with a service of that provider."""
    if fiber.bound is None or fiber.state not in IN_USE:
        return False
    return any(name == service and bound == provider for name, bound in zip(fiber.inject, fiber.bound, strict=True))


def waits_for(room: FibersRoom, one: Label, other: Label) -> bool:
    """Tell whether the end of a fiber waits for another: for a descendant, or for who uses its services."""
    seen: set[Label] = set()
    ahead = [one]
    while ahead:
        label = ahead.pop()
        for fiber in room.fibers:
            if fiber.state is FiberState.DISPOSED or fiber.label in seen:
                continue
            user = fiber.bound is not None and fiber.state in IN_USE and label in fiber.bound
            if fiber.parent == label or user:
                if fiber.label == other:
                    return True
                seen.add(fiber.label)
                ahead.append(fiber.label)
    return False
