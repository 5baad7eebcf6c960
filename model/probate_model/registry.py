"""The two registries: agents and sessions, each one entry per id, in order of entry.

An entry is exact: it is bound to the one agent that entered, not to whatever has that id now. So a detach removes
only its own entry, and a replacement under the same id is safe from the old holder. The session store is the gate
that keeps an id unique; the agent enters second and leaves first, so that at ``agent/disposed`` its session can still
be found.
"""

from __future__ import annotations

from probate_model.alphabet.events import (
    AgentDisposed,
    Listed,
    SessionDisposed,
    Snapshot,
)
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import AgentId, Label
from probate_model.alphabet.ops import Look
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.world import Stage, World

_LOOKED = demand("REGISTRY-01", outcome="REGISTRY-01")
_AGENT_DISPOSED = demand("DISPOSE-06", edge="DISPOSE-05")
_AGENT_WITHDRAWN = demand("PUBLISH-05", edge="PUBLISH-07")
_SESSION_WITHDRAWN = demand("PUBLISH-05", edge="PUBLISH-07")
_SESSION_WITHDRAWN_AFTER_AGENT = demand("PUBLISH-05", edge="PUBLISH-05")
_SESSION_DISPOSED = demand("DISPOSE-07", edge="DISPOSE-07")


def look(run: Run, op: Look) -> bool:
    """Carry out the op: settle at once with what the registries hold."""
    run.settled(op.label, CallReturned(snapshot(run.world)), _LOOKED)
    return True


def snapshot(world: World) -> Snapshot:
    """Give what the registries hold, in order of entry."""
    by_label = {agent.label: agent for agent in world.agents}
    listed = []
    for label in world.registry:
        agent = by_label[label]
        parent = agent.origin.parent
        owner = by_label[parent].ref if parent is not None else None
        listed.append(Listed(agent.ref, agent.status, owner))
    return Snapshot(
        agents=tuple(listed),
        roots=tuple(entry.agent for entry in listed if entry.owner is None),
        sessions=tuple(by_label[label].ref for label in world.sessions),
    )


def holds_session(run: Run, agent_id: AgentId) -> bool:
    """Tell whether the session store holds the id."""
    return any(run[label].id == agent_id for label in run.sessions)


def enter(run: Run, label: Label) -> None:
    """Enter the session, then the agent. Neither is announced."""
    run.sessions = (*run.sessions, label)
    run.registry = (*run.registry, label)


def detach(run: Run, label: Label) -> None:
    """Remove the agent's entry, then the session's, and announce what had been announced; once."""
    if label not in run.sessions:
        return
    agent = run[label]
    run.registry = tuple(other for other in run.registry if other != label)
    if agent.agent_announced:
        failed = agent.stage is Stage.FAILED
        run.emit(label, AgentDisposed(agent.ref), _AGENT_WITHDRAWN if failed else _AGENT_DISPOSED)
    else:
        run.silence("PUBLISH-04", agent, "agent/disposed")
    run.sessions = tuple(other for other in run.sessions if other != label)
    if agent.session_announced:
        due = _SESSION_WITHDRAWN_AFTER_AGENT if agent.agent_announced else _SESSION_WITHDRAWN
        run.emit(label, SessionDisposed(agent.ref), due if agent.stage is Stage.FAILED else _SESSION_DISPOSED)
