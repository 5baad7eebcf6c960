"""The normal form: one world for all that differ only in what no rule looks at.

A world counts: records, turns, answers, session objects, incarnations. And it names: creations, calls, texts. No rule
asks for more than whether two names are the same, and nothing is decided by how large a count is, so worlds that are
equal but for these have the same future but for these. The normal form names everything by its place and starts every
count anew:

* a creation is called by its place among the creations that are still remembered, ``c0``, ``c1``; its session's number
  is that place as well; a text and a waiting call by their place in their agent;
* records, turns and answers are 0, and a step is the first one or none: what is logged is held to the counts that were
  before, so nothing is lost by it;
* what is over and will be written before it is read again is as it was at the start: the batch of the last step, the
  setup of what is live, the cause by which a live agent ended, all of an agent that is gone but what a cancel could
  still find in its inbox.

Everything here is done to one part of the world at a time, from that part alone. That is what lets the explorer do it
once for each value of a part. Only two things change several parts at once: to *forget* an agent that is gone, which
moves all later ones by one place and names the ids anew, and to count incarnations anew when something is loaded.

Creations are not interchangeable: an unload ends them in reverse order. So naming them by their order is all the
symmetry that there is in agents. Ids *are* interchangeable: the first agent's is ``a``, the next one's ``a`` or ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from probate_conformance.exploring.bounds import creation_id
from probate_model.alphabet.items import React, Reject, Throw
from probate_model.alphabet.names import AgentId, Label, Text
from probate_model.alphabet.ops import CreationSignal, Setup
from probate_model.alphabet.refusals import Refusal, code
from probate_model.world import (
    Agent,
    Driver,
    GateState,
    Listener,
    Owner,
    Stage,
    Teardown,
    Unload,
    World,
)

NUMBERS: Final = tuple((creation_id(number), 90) for number in range(8))
"""How many session objects there were of each id: so many that a new one is unlike all that are remembered."""

_ENDED: Final = code(Refusal.LIFECYCLE_DISPOSED)
_BETWEEN: Final = frozenset({Driver.NONE, Driver.PARKED, Driver.FLUSHING, Driver.BETWEEN_TURNS, Driver.EXITED})


def creation(place: int) -> Label:
    """Name the creation at a place."""
    return Label(f"c{place}")


def place_of(label: Label) -> int | None:
    """Give the place of a creation that is named by it; none if the name is of a call that was only just made."""
    return int(label[1:]) if label[0] == "c" and label[1:].isdigit() else None


def normal_agent(place: int, agent: Agent) -> Agent:
    """Give an agent in its normal form."""
    label = creation(place)
    texts = (Text(f"{label}.{number}") for number in count())
    calls = (Label(f"{label}.w{number}") for number in count())
    values: dict[str, object] = {
        "label": label,
        "number": place + 1 if agent.number else 0,
        "records": 0,
        "turn": 0,
        "answers": 0,
        "step": min(agent.step, 1),
        "prompt": next(texts) if agent.prompt is not None else None,
        "queued": tuple(next(texts) for _ in agent.queued),
        "steering": tuple(next(texts) for _ in agent.steering),
        "deferred": tuple(next(texts) for _ in agent.deferred),
        "claimed": tuple(next(texts) for _ in agent.claimed),
        "waiters": tuple(next(calls) for _ in agent.waiters),
        "exit_waiters": tuple(next(calls) for _ in agent.exit_waiters),
        "disposers": tuple(next(calls) for _ in agent.disposers),
    }
    if agent.driver in _BETWEEN:
        values.update(step=0, more=False, max_tokens=False, tool=0, tools=0)
    if agent.stage >= Stage.LIVE:
        values.update(setup=Setup.NONE)
    if agent.stage is Stage.LIVE and agent.failure is not None:
        values.update(failure=_ENDED)
    if agent.teardown is Teardown.DONE:
        values.update(
            failure=_ENDED,
            cleanup=False,
            signal=CreationSignal.NONE,
            driver=Driver.EXITED,
            in_cleanup=None,
            session_announced=agent.number > 0,
            agent_announced=agent.number > 0,
            published=agent.number > 0,
            provider=0,
            origin=agent.origin._replace(incarnation=0),
        )
    return agent._replace(**values)  # type: ignore[arg-type]


def normal_unloads(unloads: Sequence[Unload]) -> tuple[Unload, ...]:
    """Give unloads under way with their calls named by their places."""
    calls = (Label(f"u{number}") for number in count())
    return tuple(unload._replace(callers=tuple(next(calls) for _ in unload.callers)) for unload in unloads)


def normal_listeners(listeners: Sequence[Listener]) -> tuple[Listener, ...]:
    """Give listeners with their names, and those of what they do, by their place."""
    return tuple(
        listener._replace(react=named(listener.react, Label(f"r{place}"))) for place, listener in enumerate(listeners)
    )


def named(react: React, label: Label) -> React:
    """Give a reaction another name."""
    if react.label == label:
        return react
    do = tuple(
        action if isinstance(action, Throw | Reject) else replace(action, label=Label(f"{label}.{place}"))
        for place, action in enumerate(react.do)
    )
    return replace(react, label=label, do=do)


def normal_gates(gates: Sequence[GateState]) -> tuple[GateState, ...]:
    """Give what is said of gates, but for what says no more than silence would."""
    kept = (state for state in gates if state.held or state.plan)
    return tuple(sorted(kept, key=lambda state: (state.gate.creation, state.gate.kind)))


def normal(world: World) -> World:
    """Give a world in its normal form; its settlements are taken to be delivered."""
    return world._replace(
        agents=tuple(normal_agent(place, agent) for place, agent in enumerate(world.agents)),
        numbers=NUMBERS,
        unloads=normal_unloads(world.unloads),
        listeners=normal_listeners(world.listeners),
        gates=normal_gates(world.gates),
        due=(),
    )


def new_ids(ids: Sequence[AgentId]) -> dict[AgentId, AgentId]:
    """Give the new names of ids, by the order in which they are first used."""
    named: dict[AgentId, AgentId] = {}
    for name in ids:
        named.setdefault(name, creation_id(len(named)))
    return named


def moved(label: Label, gone: int) -> Label:
    """Give the name of a creation after the one at a place was forgotten."""
    place = place_of(label)
    assert place is not None
    assert place != gone
    return creation(place - (place > gone))


def without(labels: Sequence[Label], gone: int) -> tuple[Label, ...]:
    """Give names of creations after the one at a place was forgotten."""
    return tuple(moved(label, gone) for label in labels if label != creation(gone))


def moved_agent(place: int, agent: Agent, gone: int, ids: Mapping[AgentId, AgentId]) -> Agent:
    """Give an agent after the one at a place was forgotten."""
    parent = agent.origin.parent
    parent = None if parent in (None, creation(gone)) else moved(parent, gone)
    agent = agent._replace(
        id=ids[agent.id],
        origin=agent.origin._replace(parent=parent),
        children=without(agent.children, gone),
    )
    return normal_agent(place - (place > gone), agent)


def moved_unloads(unloads: Sequence[Unload], gone: int) -> tuple[Unload, ...]:
    """Give unloads after the agent at a place was forgotten."""
    return tuple(
        unload._replace(to_start=without(unload.to_start, gone), awaited=without(unload.awaited, gone))
        for unload in unloads
    )


def moved_gates(gates: Sequence[GateState], gone: int) -> tuple[GateState, ...]:
    """Give what is said of gates after the agent at a place was forgotten."""
    kept = (state for state in gates if state.gate.creation != creation(gone))
    return normal_gates(
        [state._replace(gate=replace(state.gate, creation=moved(state.gate.creation, gone))) for state in kept]
    )


def forget(world: World, gone: int) -> World:
    """Give a world without an agent that is gone; those after it move up by one place, and ids are named anew."""
    kept = [(place, agent) for place, agent in enumerate(world.agents) if place != gone]
    ids = new_ids([agent.id for _, agent in kept])
    return world._replace(
        agents=tuple(moved_agent(place, agent, gone, ids) for place, agent in kept),
        registry=without(world.registry, gone),
        sessions=without(world.sessions, gone),
        unloads=moved_unloads(world.unloads, gone),
        gates=moved_gates(world.gates, gone),
    )


def counted_anew(world: World) -> World:
    """Give a world whose incarnations are counted anew: those that anything still belongs to, from 0."""

    def ranks(owner: Owner) -> dict[int, int]:
        used = {owner.incarnation}
        used.update(unload.incarnation for unload in world.unloads if unload.owner == owner.name)
        for agent in world.agents:
            if agent.teardown is not Teardown.DONE:
                if owner.name is None:
                    used.add(agent.provider)
                elif agent.origin.owner == owner.name:
                    used.add(agent.origin.incarnation)
        return {incarnation: rank for rank, incarnation in enumerate(sorted(used))}

    rank = {owner.name: ranks(owner) for owner in (*world.owners, world.provider)}
    return world._replace(
        owners=tuple(owner._replace(incarnation=rank[owner.name][owner.incarnation]) for owner in world.owners),
        provider=world.provider._replace(incarnation=rank[None][world.provider.incarnation]),
        unloads=tuple(unload._replace(incarnation=rank[unload.owner][unload.incarnation]) for unload in world.unloads),
        agents=tuple(
            agent
            if agent.teardown is Teardown.DONE
            else agent._replace(
                provider=rank[None][agent.provider],
                origin=agent.origin
                if agent.origin.owner is None
                else agent.origin._replace(incarnation=rank[agent.origin.owner][agent.origin.incarnation]),
            )
            for agent in world.agents
        ),
    )
