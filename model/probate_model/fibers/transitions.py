"""Transitions: one at a time, and what changes meanwhile is looked at when it has ended.

What a fiber is to be depends on one thing: whether every service that it declares has an active provider, and which.
That is compared with what it is loaded with, when something changes while it rests, and at the end of a transition. So
a provider that comes back while its dependents load costs nothing, and one that is replaced costs one reload.

A transition is announced at once and begins a step later. A body is never interrupted. An unload begins to end all
that belongs to the fiber in one stretch, newest first, and has ended when all of that has.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from probate_model import teardown
from probate_model.alphabet.editions import Siblings
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.fibers import (
    ROOT,
    BodyEntered,
    FiberChanged,
    FiberState,
    Plug,
    Restart,
    Unplug,
    body_effect,
)
from probate_model.alphabet.gates import THROW, GateKind
from probate_model.alphabet.names import Label, OwnerName
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import Demand, demand
from probate_model.deactivation import deactivate
from probate_model.fibers import effects, services
from probate_model.fibers.access import (
    adopt,
    entered,
    find,
    get,
    is_open,
    provided,
    put,
    put_effect,
    put_provision,
    release,
    room_of,
    set_owner,
)
from probate_model.fibers.state import Effect, Fiber, FibersRoom, Phase, Provision
from probate_model.fibers.state import Stage as EffectStage
from probate_model.run import Run
from probate_model.windows import FiberWindow
from probate_model.world import Agent, Owner, Stage, Teardown

_PLUGGED = demand("FIBER-12", outcome="FIBER-12")
_LOADING = demand("FIBER-02", state="FIBER-02")
_RELOADING = demand("SERVICE-04", edge="FIBER-07", state="SERVICE-04")
_RESTARTING = demand("FIBER-10", edge="FIBER-07", state="FIBER-10")
_BODY = demand("FIBER-01", edge="FIBER-01")
_ACTIVE = demand("FIBER-03", state="FIBER-03")
_FAILING = demand("FIBER-04", state="FIBER-04")
_FAILED = demand("FIBER-04", edge="FIBER-04", state="FIBER-04")
_CHANGED = demand("FIBER-05", edge="FIBER-05", state="FIBER-05")
_UNLOADING = demand("FIBER-06", state="FIBER-06")
_TOLD = demand("SERVICE-02", edge="SERVICE-02", state="SERVICE-02")
_CHILD = demand("FIBER-09", edge="FIBER-09", state="FIBER-09")
_AGENT = demand("FIBER-11", edge="FIBER-11", status="DISPOSE-03")


def plug(run: Run, op: Plug) -> bool:
    """Carry out the op: refuse, or plug in and see at once whether it is to be loaded."""
    if not entered(run) or find(run, op.label) is not None:
        return False
    if op.parent != ROOT:
        parent = find(run, op.parent)
        if parent is None:
            return False
        if not is_open(parent):
            run.settled(op.label, Raised(code(Refusal.INACTIVE)), _PLUGGED)
            return True
        adopt(run, op.parent, op.label)
    put(run, Fiber(op.label, op.parent, op.inject, op.provides, op.effects))
    run.owners = (*run.owners, Owner(OwnerName(op.label)))
    refresh(run, op.label)
    run.settled(op.label, Returned(), _PLUGGED)
    return True


def unplug(run: Run, op: Unplug) -> bool:
    """Carry out the begin of the op: join the end, beginning it if nobody has."""
    fiber = find(run, op.fiber)
    if fiber is None:
        return False
    if fiber.state is FiberState.DISPOSED:
        run.owe(op.label, Returned(), "FIBER-08")
        return True
    if fiber.doomed:
        run.mark("window", FiberWindow.DISPOSE_JOINED)
    put(run, fiber._replace(enders=(*fiber.enders, op.label)))
    doom(run, op.fiber)
    return True


def restart(run: Run, op: Restart) -> bool:
    """Carry out the begin of the op; a transition under way is not disturbed."""
    fiber = find(run, op.fiber)
    if fiber is None:
        return False
    if fiber.doomed:
        run.owe(op.label, Raised(code(Refusal.INACTIVE)), "FIBER-10")
        return True
    put(run, fiber._replace(resting=(*fiber.resting, op.label)))
    if fiber.state is FiberState.ACTIVE:
        begin_unload(run, op.fiber, _UNLOADING)
    elif fiber.state is FiberState.FAILED:
        put(run, get(run, op.fiber)._replace(bound=None))
        refresh(run, op.fiber)
    elif fiber.state is FiberState.LOADING:
        run.mark("window", FiberWindow.RESTART_WHILE_LOADING)
    _settle_rest(run, op.fiber)
    return True


def doom(run: Run, label: Label, due: Demand = _UNLOADING) -> None:
    """Let a fiber end for good; what can't be unloaded yet takes nothing on from here."""
    fiber = get(run, label)
    if fiber.doomed:
        return
    put(run, fiber._replace(doomed=True))
    if fiber.state is FiberState.LOADING:
        run.mark("window", FiberWindow.DISPOSE_WHILE_LOADING)
        set_owner(run, label, active=False)
        _call_off(run, label)
    refresh(run, label, due)


def wanted(run: Run, fiber: Fiber) -> tuple[Label, ...] | None:
    """Give the providers that a fiber would be loaded with now; none if it is not to be loaded."""
    if fiber.doomed:
        return None
    found = [provided(room_of(run), service) for service in fiber.inject]
    if any(one is None or get(run, one.fiber).state is not FiberState.ACTIVE for one in found):
        return None
    return tuple(cast("Provision", one).fiber for one in found)


def refresh(run: Run, label: Label, due: Demand = _TOLD) -> None:
    """Look at what is wanted, unless a transition is under way.

    ``due`` says why an unload is announced.
    """
    fiber = get(run, label)
    if fiber.phase is not Phase.REST or fiber.state is FiberState.DISPOSED:
        return
    now = wanted(run, fiber)
    if fiber.doomed or (fiber.state is FiberState.ACTIVE and now != fiber.bound):
        begin_unload(run, label, due)
    elif fiber.state is not FiberState.ACTIVE and now is None:
        put(run, fiber._replace(bound=None))
    elif fiber.state is not FiberState.ACTIVE and now is not None and now != fiber.bound:
        _begin_load(run, label, now, _LOADING)


def _become(run: Run, label: Label, state: FiberState, due: Demand) -> None:
    put(run, get(run, label)._replace(state=state))
    run.emit(None, FiberChanged(label, state), due)


def _begin_load(run: Run, label: Label, bound: tuple[Label, ...], due: Demand) -> None:
    put(run, get(run, label)._replace(phase=Phase.LOAD_DUE, bound=bound, failed=False))
    set_owner(run, label, active=True)
    _become(run, label, FiberState.LOADING, due)


def begin_unload(run: Run, label: Label, due: Demand) -> None:
    """Announce the unload, and take nothing more on."""
    put(run, get(run, label)._replace(phase=Phase.UNLOAD_DUE, body=None, marred=False))
    set_owner(run, label, active=False)
    _become(run, label, FiberState.UNLOADING, due)
    _call_off(run, label)


def _call_off(run: Run, label: Label) -> None:
    for member in get(run, label).members:
        agent = run.agents.get(member)
        if agent is not None and agent.stage < Stage.LIVE:
            deactivate(run, member, code(Refusal.OWNER_DISPOSED))
        services.withdraw(run, member)


def can_advance(fiber: Fiber) -> bool:
    """Tell whether a transition has something to do, its end apart."""
    match fiber.phase:
        case Phase.LOAD_DUE | Phase.UNLOAD_DUE:
            return True
        case Phase.IN_BODY:
            return fiber.body is not None and fiber.body.over
        case _:
            return False


def advance(run: Run, label: Label) -> None:
    """Go on with a transition to its next wait."""
    fiber = get(run, label)
    match fiber.phase:
        case Phase.LOAD_DUE:
            _enter_body(run, fiber)
        case Phase.IN_BODY:
            assert fiber.body is not None
            _end_body(run, label, failed=fiber.body.outcome == THROW)
        case Phase.UNLOAD_DUE:
            _begin_ends(run, label)
        case _ if fiber.to_end:
            _begin_end(run, label, fiber.to_end[0])
        case _:
            _end_unload(run, label)


def _enter_body(run: Run, fiber: Fiber) -> None:
    label = fiber.label
    if wanted(run, fiber) != fiber.bound:
        run.silence_about("FIBER-01", f"fiber {label}", "fiber/body", lasting=False)
        run.mark("window", FiberWindow.UNWANTED_BEFORE_BODY)
        begin_unload(run, label, _CHANGED)
        return
    put(run, fiber._replace(phase=Phase.IN_BODY))
    run.emit(None, BodyEntered(label), _BODY)
    if (fiber.effects or fiber.provides) and not is_open(get(run, label)):
        _end_body(run, label, failed=True)
        return
    for place, members in enumerate(fiber.effects):
        effect = body_effect(label, place)
        put_effect(run, Effect(effect, label, members, own=True))
        adopt(run, label, effect)
    for service in fiber.provides:
        if services.refused(run, get(run, label), service) is not None:
            _end_body(run, label, failed=True)
            return
        services.add(run, Provision(Label(f"{label}:{service}"), label, service, own=True))
    wait = run.arrive(GateKind.BODY, label)
    put(run, get(run, label)._replace(body=wait))


def _end_body(run: Run, label: Label, *, failed: bool) -> None:
    fiber = get(run, label)
    if failed or wanted(run, fiber) != fiber.bound:
        put(run, fiber._replace(failed=failed))
        begin_unload(run, label, _FAILING if failed else _CHANGED)
        return
    put(run, fiber._replace(phase=Phase.REST, body=None))
    if any(label in one.told for one in room_of(run).provisions):
        run.silence_about("FIBER-05", f"fiber {label}", "fiber/state", lasting=False, state=FiberState.UNLOADING)
        run.mark("window", FiberWindow.FLAP_COLLAPSED)
    _become(run, label, FiberState.ACTIVE, _ACTIVE)
    services.let_go(run, label)
    _settle_rest(run, label)
    mine = tuple(one.service for one in room_of(run).provisions if one.fiber == label and not one.withdrawn)
    services.tell(run, mine)


def _begin_ends(run: Run, label: Label) -> None:
    """Begin to end all that belongs to a fiber, newest first."""
    members = get(run, label).members[::-1]
    put(run, get(run, label)._replace(phase=Phase.UNLOADING, to_end=members))
    if run.edition.siblings is Siblings.ONE_BY_ONE:
        members = members[:1]
    for member in members:
        _begin_end(run, label, member)


def _begin_end(run: Run, label: Label, member: Label) -> None:
    fiber = get(run, label)
    put(run, fiber._replace(to_end=tuple(other for other in fiber.to_end if other != member)))
    if find(run, member) is not None:
        doom(run, member, _CHILD)
    elif (agent := run.agents.get(member)) is not None:
        if agent.turn_open:
            run.mark("window", FiberWindow.AGENT_IN_TREE)
        teardown.begin(run, member, Refusal.OWNER_DISPOSED, _AGENT)
    else:
        effects.begin_end(run, member)


def has_unloaded(room: FibersRoom, agents: Collection[Agent], fiber: Fiber) -> bool:
    """Tell whether all that belonged to a fiber has ended, as far as it has begun to."""
    members = [member for member in fiber.members if member not in fiber.to_end]
    return not (
        any(child.label in members and child.state is not FiberState.DISPOSED for child in room.fibers)
        or any(agent.label in members and agent.teardown is not Teardown.DONE for agent in agents)
        or any(effect.label in members and effect.stage is not EffectStage.ENDED for effect in room.effects)
        or any(one.label in members and not _has_ended(room, one) for one in room.provisions)
    )


def _has_ended(room: FibersRoom, provision: Provision) -> bool:
    return provision.ended if provision.asked else services.clear(room, provision)


def _end_unload(run: Run, label: Label) -> None:
    fiber = get(run, label)
    now = wanted(run, fiber)
    due = _ending(run, fiber)
    services.let_go(run, label)
    for provision in room_of(run).provisions:
        if provision.fiber == label and not provision.ended:
            put_provision(run, provision._replace(ended=True, told=()))
    if fiber.doomed:
        put(run, fiber._replace(phase=Phase.REST, bound=None, members=(), enders=()))
        parent = find(run, fiber.parent)
        if parent is not None and parent.phase is not Phase.UNLOADING:  # it still speaks of what it ends
            release(run, fiber.parent, label)
        _become(run, label, FiberState.DISPOSED, due)
        _settle_rest(run, label)
        for call in fiber.enders:
            run.owe(call, Returned(), "FIBER-08")
        return
    again = now is not None and not (fiber.failed and now == fiber.bound)
    set_owner(run, label, active=again or not fiber.failed, renewed=True)
    put(run, get(run, label)._replace(members=()))
    if again:
        assert now is not None
        replaced = now != fiber.bound
        if replaced and fiber.bound:
            run.mark("window", FiberWindow.RELOADED)
        again_due = _RELOADING if replaced else _RESTARTING
        _begin_load(run, label, now, again_due._replace(edge=due.edge))
        return
    kept = fiber.bound if fiber.failed and now is not None else None
    put(run, get(run, label)._replace(phase=Phase.REST, bound=kept))
    state = FiberState.FAILED if fiber.failed else FiberState.PENDING
    _become(run, label, state, _FAILED._replace(edge=due.edge) if fiber.failed else due)
    _settle_rest(run, label)


def _ending(run: Run, fiber: Fiber) -> Demand:
    """Give why the end of an unload is announced, and what it has to come after."""
    mine = [one for one in room_of(run).provisions if one.fiber == fiber.label]
    edge = "FIBER-07"
    if fiber.marred:
        edge = "EFFECT-05"
    elif any(one.told for one in mine):
        edge = "SERVICE-08"
    elif any(one.awaited for one in mine):
        edge = "SERVICE-03"
    elif any(find(run, member) is not None for member in fiber.members):
        edge = "FIBER-09"
    elif any(run.agents.get(member) is not None for member in fiber.members):
        edge = "FIBER-11"
    clause = "SERVICE-08" if edge == "SERVICE-08" else "EFFECT-05" if fiber.marred else "FIBER-07"
    return demand(clause, edge=edge, state=clause)


def _settle_rest(run: Run, label: Label) -> None:
    """Let those go on who wait for rest."""
    fiber = get(run, label)
    if fiber.phase is Phase.REST:
        put(run, fiber._replace(resting=()))
        for call in fiber.resting:
            run.owe(call, Returned(), "FIBER-10")
