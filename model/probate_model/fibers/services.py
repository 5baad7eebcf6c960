"""Services: who provides what, who is told of its end, and who waits for whom.

A name is free from the moment that its provider begins to end, and those that were bound to it are told at once. They
keep what they were bound to until their own unload has ended, and the provider's end waits for that, so that nothing
is taken away while it is used. What the provider itself can use ends last. Nobody waits in a circle.
"""

from __future__ import annotations

from probate_model.alphabet.editions import EffectDispose
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.fibers import By, FiberState, Provide, ServiceName, Use
from probate_model.alphabet.names import Code, Label
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import demand
from probate_model.fibers import transitions
from probate_model.fibers.access import (
    IN_USE,
    adopt,
    entered,
    find,
    get,
    is_open,
    provided,
    put_provision,
    release,
    room_of,
    uses,
    waits_for,
)
from probate_model.fibers.state import Fiber, FibersRoom, Provision
from probate_model.run import Run
from probate_model.windows import FiberWindow

_PROVIDED = demand("SERVICE-01", outcome="SERVICE-01")
_PROVIDED_AGAIN = demand("SERVICE-07", outcome="SERVICE-07")
_USED = demand("SERVICE-05", outcome="SERVICE-05")
_FOUND = demand("SERVICE-06", outcome="SERVICE-06")


def provide(run: Run, op: Provide) -> bool:
    """Carry out the op: refuse, or provide the service at once."""
    fiber = find(run, op.fiber)
    if fiber is None:
        return False
    refusal = refused(run, fiber, op.service)
    if refusal is not None:
        run.settled(op.label, Raised(code(refusal)), _PROVIDED)
        return True
    old = any(one.service == op.service and not one.ended for one in room_of(run).provisions)
    add(run, Provision(op.label, op.fiber, op.service))
    run.settled(op.label, Returned(), _PROVIDED_AGAIN if old else _PROVIDED)
    return True


def refused(run: Run, fiber: Fiber, service: ServiceName) -> Refusal | None:
    """Tell why a fiber may not provide a service now; none if it may."""
    if not is_open(fiber):
        return Refusal.INACTIVE
    return Refusal.SERVICE_EXISTS if provided(room_of(run), service) is not None else None


def add(run: Run, provision: Provision) -> None:
    """Provide a service; those that wait for it are told if the provider is active."""
    put_provision(run, provision)
    adopt(run, provision.fiber, provision.label)
    if get(run, provision.fiber).state is FiberState.ACTIVE:
        tell(run, (provision.service,))


def tell(run: Run, services: tuple[ServiceName, ...]) -> None:
    """Let every fiber that declares one of these look whether it is wanted."""
    for fiber in room_of(run).fibers:
        if any(service in fiber.inject for service in services):
            transitions.refresh(run, fiber.label)


def withdraw(run: Run, label: Label) -> None:
    """Free the name and tell those that are bound to the service."""
    provision = next((one for one in room_of(run).provisions if one.label == label), None)
    if provision is None or provision.withdrawn:
        return
    bound = tuple(f.label for f in room_of(run).fibers if uses(f, provision.service, provision.fiber))
    put_provision(run, provision._replace(withdrawn=True, told=bound, awaited=bool(bound)))
    if any(get(run, label).state is FiberState.LOADING for label in bound):
        run.mark("window", FiberWindow.WITHDRAWN_FROM_LOADING)
    tell(run, (provision.service,))


def let_go(run: Run, label: Label) -> None:
    """Let nobody wait any more for a dependent that has unloaded, or has come to rest with what it had."""
    for provision in room_of(run).provisions:
        if label in provision.told:
            put_provision(run, provision._replace(told=tuple(one for one in provision.told if one != label)))


def clear(room: FibersRoom, provision: Provision) -> bool:
    """Tell whether nobody is left whom the end of a service has to wait for."""
    return all(waits_for(room, dependent, provision.fiber) for dependent in provision.told)


def joined(run: Run) -> str:
    """Give the clause by which those who end a service, or dispose an effect, return."""
    return "EFFECT-07" if run.edition.effect_dispose is EffectDispose.JOINED else "EFFECT-11"


def end(run: Run, label: Label, call: Label) -> None:
    """Carry out ``end_effect`` of a service."""
    provision = next(one for one in room_of(run).provisions if one.label == label)
    if provision.ended:
        run.owe(call, Returned(), joined(run))
        return
    if provision.asked and run.edition.effect_dispose is EffectDispose.SINGLE_SHOT:
        run.owe(call, Returned(), "EFFECT-11")
        return
    put_provision(run, provision._replace(asked=True, enders=(*provision.enders, call)))
    withdraw(run, label)


def finish(run: Run, provision: Provision) -> None:
    """Complete the end of a service."""
    put_provision(run, provision._replace(ended=True, told=(), enders=()))
    release(run, provision.fiber, provision.label)
    for call in provision.enders:
        run.owe(call, Returned(), "SERVICE-03" if provision.awaited else joined(run))


def use(run: Run, op: Use) -> bool:
    """Carry out the op: give the provider, or say why there is none."""
    if not entered(run) or find(run, op.fiber) is None:
        return False
    if op.by is By.NAME:
        found = provided(room_of(run), op.service)
        active = found is not None and get(run, found.fiber).state is FiberState.ACTIVE
        run.settled(op.label, Returned(found.fiber if found is not None and active else None), _FOUND)
        return True
    answer = _declared(run, op.fiber, op.service)
    run.settled(op.label, Raised(answer[0]) if answer[0] else Returned(answer[1]), _USED)
    return True


def _declared(run: Run, label: Label, service: ServiceName) -> tuple[Code | None, Label | None]:
    fiber = find(run, label)
    while fiber is not None:
        mine = [one for one in room_of(run).provisions if one.fiber == fiber.label and not one.ended]
        if any(one.service == service for one in mine):
            return None, fiber.label
        if service in fiber.inject:
            if fiber.bound is None or fiber.state not in IN_USE:
                return code(Refusal.INACTIVE), None
            return None, fiber.bound[fiber.inject.index(service)]
        fiber = find(run, fiber.parent)
    return code(Refusal.NOT_INJECTED), None
