"""A small model that every explorer can take: two agents, two ids, one background task.

It is written as one writes a model to be read, with frozen dataclasses. A move looks at one agent and at what agents
share, and gives both anew. An agent is created under an id, enters both registries or is refused, takes prompts of two
kinds into a queue, runs them one by one, and is torn down in order: stopped, its agent entry removed, then its
session's, then gone. A turn may start the one background task, whose owner is the id. ``agents.pml`` says the same to
SPIN, move by move.

What agents share has no part of an agent in it, so an agent's moves are a function of the agent and of that: see
``components``. Nothing is imported here but what Python has, so that any Python can run it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, NamedTuple


class Phase(Enum):
    """What an agent is doing."""

    NEW = 0
    PREPARING = 1
    IDLE = 2
    RUNNING = 3
    CANCELLED = 4
    EXITED = 5


NEW, PREPARING, IDLE, RUNNING, CANCELLED, EXITED = Phase


@dataclass(frozen=True, slots=True)
class Agent:
    """One of the agents; its id, 1 or 2, is 0 as long as it has none."""

    phase: Phase = NEW
    id: int = 0
    queue: tuple[int, ...] = ()
    current: int = 0
    outcome: int = 0
    stage: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """Whether each registry holds each id, and the owner of the task."""

    agents: tuple[bool, bool] = (False, False)
    sessions: tuple[bool, bool] = (False, False)
    owner: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """The two agents and what they share."""

    first: Agent = Agent()
    second: Agent = Agent()
    shared: Shared = Shared()


MOVES: Final = (
    "create", "enter", "refuse", "send", "claim", "finish", "fail", "cancel", "stop_turn",
    "dispose", "stop", "detach_agent", "detach_session", "end", "start_task", "end_task",
)  # fmt: skip
"""The kinds of move, by name; those with a choice in them have one move for each."""


def _with(held: tuple[bool, bool], name: int, value: bool) -> tuple[bool, bool]:
    return (value, held[1]) if name == 1 else (held[0], value)


def moves(agent: Agent, shared: Shared, most: int) -> Iterator[tuple[str, Agent, Shared]]:
    """Give what an agent can do next.

    :param most: how many prompts a queue holds
    """
    phase, name, queue, stage = agent.phase, agent.id, agent.queue, agent.stage
    if phase is NEW:
        yield "create", replace(agent, phase=PREPARING, id=1), shared
        yield "create", replace(agent, phase=PREPARING, id=2), shared
    if phase is PREPARING:
        if shared.sessions[name - 1]:
            yield "refuse", Agent(outcome=4), shared
        else:
            entered = Shared(_with(shared.agents, name, True), _with(shared.sessions, name, True), shared.owner)
            yield "enter", replace(agent, phase=IDLE, outcome=0), entered
    if phase in (IDLE, RUNNING, CANCELLED) and not stage:
        if len(queue) < most:
            yield "send", replace(agent, queue=(*queue, 1)), shared
            yield "send", replace(agent, queue=(*queue, 2)), shared
        if phase is RUNNING or queue:
            yield "cancel", replace(agent, phase=CANCELLED if phase is RUNNING else phase, queue=()), shared
        yield "dispose", replace(agent, phase=CANCELLED if phase is RUNNING else phase, queue=(), stage=1), shared
    if phase is IDLE and not stage and queue:
        yield "claim", replace(agent, phase=RUNNING, queue=queue[1:], current=queue[0]), shared
    if phase is RUNNING:
        yield "finish", replace(agent, phase=IDLE, current=0, outcome=1), shared
        yield "fail", replace(agent, phase=IDLE, current=0, outcome=2), shared
        if not shared.owner:
            yield "start_task", agent, replace(shared, owner=name)
        elif shared.owner == name:
            yield "end_task", agent, replace(shared, owner=0)
    if phase is CANCELLED:
        yield "stop_turn", replace(agent, phase=IDLE, current=0, outcome=3), shared
    if stage == 1 and phase is IDLE:
        yield "stop", replace(agent, phase=EXITED, stage=2), shared
    if stage == 2:
        yield "detach_agent", replace(agent, stage=3), replace(shared, agents=_with(shared.agents, name, False))
    if stage == 3:
        yield "detach_session", replace(agent, stage=4), replace(shared, sessions=_with(shared.sessions, name, False))
    if stage == 4:
        yield "end", Agent(), shared


def alone(agent: Agent, shared: Shared) -> bool:
    """Tell whether the invariants of one agent hold."""
    live = agent.phase in (IDLE, RUNNING, CANCELLED)
    return (
        not (agent.phase is RUNNING and agent.stage)
        and not (agent.queue and agent.stage)
        and (not live or agent.stage > 2 or shared.agents[agent.id - 1])
        and all(session or not entry for entry, session in zip(shared.agents, shared.sessions, strict=True))
    )


def lives(agent: Agent) -> int:
    """Give the id under which an agent lives, or 0: all that the invariant of the two looks at."""
    return agent.id if agent.phase in (IDLE, RUNNING, CANCELLED) else 0


def together(first: Agent, second: Agent) -> bool:
    """Tell whether the invariant of the two holds: no two that live have one id."""
    one = lives(first)
    return not one or one != lives(second)


def successors(state: State, most: int) -> Iterator[tuple[str, State]]:
    """Give the states that come next."""
    first, second, shared = state.first, state.second, state.shared
    for name, agent, after in moves(first, shared, most):
        yield name, State(agent, second, after)
    for name, agent, after in moves(second, shared, most):
        yield name, State(first, agent, after)


def holds(state: State) -> bool:
    """Tell whether all invariants hold."""
    first, second, shared = state.first, state.second, state.shared
    return alone(first, shared) and alone(second, shared) and together(first, second)


class Counts(NamedTuple):
    """What an explorer found."""

    states: int
    transitions: int


def naive(most: int) -> Counts:
    """Search breadth first, as one does."""
    start = State()
    parents: dict[State, State | None] = {start: None}
    waiting = deque([start])
    transitions = 0
    while waiting:
        state = waiting.popleft()
        for _, after in successors(state, most):
            transitions += 1
            if after not in parents:
                parents[after] = state
                assert holds(after)
                waiting.append(after)
    return Counts(len(parents), transitions)
