"""The two registries: agents and sessions, each one entry per id, in order of entry.

An entry is exact: it is bound to the one agent that entered, not to whatever has that id now. So a detach removes
only its own entry, and a replacement under the same id is safe from the old holder. The session store is the gate
that keeps an id unique; the agent enters second and leaves first, so that at ``agent/disposed`` its session can still
be found.

An edition may keep an id taken until the scope has unwound, whether or not the entries are gone before that.
"""

from __future__ import annotations

from probate_model import decisions
from probate_model.alphabet.editions import DisposedStatus, IdFree, TeardownOrder
from probate_model.alphabet.events import (
    AgentDisposed,
    Listed,
    SessionDisposed,
    Snapshot,
)
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import AgentId, Label
from probate_model.alphabet.ops import Look
from probate_model.alphabet.refusals import is_thrown
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.world import Agent, Stage, Teardown, World

_LOOKED = demand("REGISTRY-01", outcome="REGISTRY-01")
_AGENT_DISPOSED = demand("DISPOSE-06", edge="DISPOSE-05")
_AGENT_DISPOSED_AFTER_SCOPE = demand("DISPOSE-06", edge="DISPOSE-11")
_AGENT_UNLOADED = demand("OWNER-01", edge="DISPOSE-05")
_AGENT_TAKEN_ALONG = demand("OWNER-06", edge="DISPOSE-05")
_AGENT_WITHDRAWN = demand("PUBLISH-05", edge="PUBLISH-07")
_SESSION_WITHDRAWN = demand("PUBLISH-05", edge="PUBLISH-07")
_SESSION_WITHDRAWN_AFTER_AGENT = demand("PUBLISH-05", edge="PUBLISH-05")
_SESSION_DISPOSED = demand("DISPOSE-07", edge="DISPOSE-07")


def look(run: Run, op: Look) -> bool:
    """Carry out the op: settle at once with what the registries hold."""
    run.settled(op.label, CallReturned(snapshot(run.world)), _LOOKED)
    return True


_NOTHING = Snapshot()


def snapshot(world: World) -> Snapshot:
    """Give what the registries hold, in order of entry."""
    if not world.sessions and not world.registry:
        return _NOTHING
    by_label = {agent.label: agent for agent in world.agents}
    refs = {label: by_label[label].ref for label in {*world.sessions, *world.registry}}
    listed = []
    for label in world.registry:
        agent = by_label[label]
        parent = agent.origin.parent
        owner = by_label[parent].ref if parent is not None else None
        listed.append(Listed(refs[label], agent.status, owner))
    return Snapshot(
        agents=tuple(listed),
        roots=tuple([entry.agent for entry in listed if entry.owner is None]),
        sessions=tuple([refs[label] for label in world.sessions]),
    )


def holds_session(run: Run, agent_id: AgentId) -> bool:
    """Tell whether the session store holds the id."""
    if run.edition.id_free is IdFree.AFTER_SCOPE and unwinds(run, agent_id):
        return True
    return decisions.holds([(label, run.agents[label].id) for label in run.sessions], agent_id)


def unwinds(run: Run, agent_id: AgentId) -> bool:
    """Tell whether the scope of an agent unwinds that was published under the id.

    Where the scope unwinds before the entries go, it has unwound once the session's is gone.
    """
    left = run.sessions if run.edition.teardown is TeardownOrder.SCOPE_FIRST else None
    return any(
        agent.id == agent_id and agent.number and agent.teardown in _UNWINDING and (left is None or agent.label in left)
        for agent in run.agents.values()
    )


_UNWINDING = (Teardown.DETACHED, Teardown.SCOPE)


def enter(run: Run, label: Label) -> None:
    """Enter the session, then the agent. Neither is announced."""
    run.sessions = decisions.enter(run.sessions, label)
    run.registry = decisions.enter(run.registry, label)
    keeping.attach(run, label)


def detach(run: Run, label: Label) -> None:
    """Remove the agent's entry, then the session's, and announce what had been announced; once."""
    if label not in run.sessions:
        return
    agent = run.agents[label]
    run.registry = decisions.detach(run.registry, label)
    if agent.agent_announced:
        failed = agent.stage is Stage.FAILED
        run.emit(label, AgentDisposed(agent.ref), _AGENT_WITHDRAWN if failed else _why_disposed(run, agent))
    else:
        vetoed = agent.failure is not None and is_thrown(agent.failure)
        run.silence("PUBLISH-04" if vetoed else "PUBLISH-05", agent, "agent/disposed")
    run.sessions = decisions.detach(run.sessions, label)
    if agent.session_announced:
        due = _SESSION_WITHDRAWN_AFTER_AGENT if agent.agent_announced else _SESSION_WITHDRAWN
        run.emit(label, SessionDisposed(agent.ref), due if agent.stage is Stage.FAILED else _SESSION_DISPOSED)


def _why_disposed(run: Run, agent: Agent) -> Demand:
    """Give why the end of an agent is announced: for want of a status it may be the first that is seen of the end."""
    if run.edition.disposed_status is DisposedStatus.NO:
        if agent.origin.parent is not None and run.agents[agent.origin.parent].teardown is Teardown.SCOPE:
            return _AGENT_TAKEN_ALONG
        if any(agent.label in unload.awaited for unload in run.unloads):
            return _AGENT_UNLOADED
    return _AGENT_DISPOSED if run.edition.teardown is TeardownOrder.SCOPE_LAST else _AGENT_DISPOSED_AFTER_SCOPE
