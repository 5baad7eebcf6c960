"""Owners and the provider: structural co-owners of every agent.

An agent is created through an owner and made by the provider, and ends with whichever ends first. Unloading one marks
it inactive at once, so that nothing can be created any more and what is pending is ended; the teardowns of its agents
begin in a later step, newest first, and then run side by side. The unload returns when all of them are complete,
those that somebody else had begun included. A load starts a new incarnation, even while the old one still unloads;
the two share nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from probate_model import teardown
from probate_model.alphabet.events import RETURNED
from probate_model.alphabet.names import Label, OwnerName
from probate_model.alphabet.ops import LoadOwner, LoadProvider, UnloadOwner, UnloadProvider
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import demand
from probate_model.deactivation import deactivate
from probate_model.fibers import access as fibers
from probate_model.run import Run
from probate_model.world import Agent, Owner, Stage, Teardown, Unload

_LOADED = demand("CALL-02")


def unload_owner(run: Run, op: UnloadOwner) -> bool:
    """Carry out the begin of the op."""
    owner = _owner(run, op.owner)
    return owner is not None and _begin_unload(run, owner, op.label, Refusal.OWNER_DISPOSED)


def unload_provider(run: Run, op: UnloadProvider) -> bool:
    """Carry out the begin of the op."""
    return _begin_unload(run, run.provider, op.label, Refusal.PROVIDER_INACTIVE)


def load_owner(run: Run, op: LoadOwner) -> bool:
    """Carry out the op: a new incarnation, unless one is active."""
    owner = _owner(run, op.owner)
    return owner is not None and _load(run, owner, op.label)


def load_provider(run: Run, op: LoadProvider) -> bool:
    """Carry out the op: a new incarnation, unless one is active."""
    return _load(run, run.provider, op.label)


def _owner(run: Run, name: OwnerName) -> Owner | None:
    """Give an owner that can be unloaded by its name; a fiber can't."""
    if fibers.find(run, Label(name)) is not None:
        return None
    return next((owner for owner in run.owners if owner.name == name), None)


def _replace(run: Run, owner: Owner) -> None:
    if owner.name is None:
        run.provider = owner
    else:
        others = run.owners
        run.owners = tuple(owner if other.name == owner.name else other for other in others)


def _load(run: Run, owner: Owner, call: Label) -> bool:
    if owner.active:
        return False
    _replace(run, owner._replace(active=True, incarnation=owner.incarnation + 1))
    run.settled(call, RETURNED, _LOADED)
    return True


def _begin_unload(run: Run, owner: Owner, call: Label, cause: Refusal) -> bool:
    if owner.active:
        _replace(run, owner._replace(active=False))
        unload = Unload(owner.name, owner.incarnation, (call,))
        for agent in run.agents.values():
            if made_through(agent, unload) and agent.stage < Stage.LIVE:
                deactivate(run, agent.label, code(cause))
        run.unloads = (*run.unloads, unload)
        return True
    for unload in run.unloads:
        if (unload.owner, unload.incarnation) == (owner.name, owner.incarnation):
            run.replace_unload(unload, unload._replace(callers=(*unload.callers, call)))
            return True
    run.owe(call, RETURNED, _returned(owner.name))
    return True


def made_through(agent: Agent, unload: Unload) -> bool:
    """Tell whether an agent was created through the incarnation that an unload ends."""
    if unload.owner is None:
        return agent.provider == unload.incarnation
    return (agent.origin.owner, agent.origin.incarnation) == (unload.owner, unload.incarnation)


def _returned(owner: OwnerName | None) -> str:
    return "OWNER-05" if owner is None else "OWNER-03"


def can_advance(agents: Collection[Agent], unload: Unload) -> bool:
    """Tell whether an unload has a teardown to start, or nothing left to wait for."""
    if not unload.begun or unload.to_start:
        return True
    return not [agent for agent in agents if agent.teardown is not Teardown.DONE and agent.label in unload.awaited]


def advance(run: Run, unload: Unload) -> None:
    """Go on with an unload: start the next teardown, or return."""
    if not unload.begun:
        made = tuple(
            agent.label
            for agent in reversed(run.agents.values())
            if made_through(agent, unload) and agent.teardown is not Teardown.DONE
        )
        begun = unload._replace(begun=True, to_start=made, awaited=made)
        run.replace_unload(unload, begun)
        unload = begun
    if unload.to_start:
        first, *rest = unload.to_start
        run.replace_unload(unload, unload._replace(to_start=tuple(rest)))
        cause = Refusal.PROVIDER_INACTIVE if unload.owner is None else Refusal.OWNER_DISPOSED
        teardown.begin(run, first, cause, teardown.UNLOADED)
        return
    if can_advance(run.agents.values(), unload):
        run.replace_unload(unload, None)
        for caller in unload.callers:
            run.owe(caller, RETURNED, _returned(unload.owner))
