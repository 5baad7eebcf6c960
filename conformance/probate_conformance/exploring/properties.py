"""Properties: what is held to, of every position and of every choice.

Four sorts, by what one must look at to tell:

* *within a choice*: of the worlds before and after it, as they are before anything is named anew, and of what was seen
  on the way. The names matter here: a prompt that is in two places has one name;
* *of one agent*, with the registries: the invariants that speak of each agent by itself, among them the probes, which
  try a cancel and throw the answer away;
* *of the registries*: no two entries of one id;
* *at rest*: nothing is pending that nobody will take, an id that nobody holds can be created, and nobody waits for
  nothing: whoever waits does so through a chain that ends at a held gate.

The last one is where liveness comes from. The only fairness that is asked for is that steps which can run are run, and
that every held gate is released at last; a setup may be held for ever. Each settle comes to an end, because steps never
lead back to where they were (the explorer sees to that). At its end whoever still waits waits for a held gate, and not
for a setup's. When that is released, the one who waited there goes on, and there are only so many gates on its way,
since what is ending takes no more input. So every dispose and every unload returns, every waiter is released, and every
prompt that was accepted is claimed, discarded or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from probate_model import invariants
from probate_model.alphabet.editions import DisposedStatus
from probate_model.alphabet.events import Event, Logged, TurnEnd, TurnStart
from probate_model.alphabet.names import Label
from probate_model.invariants import Invariant
from probate_model.world import Agent, Stage, Teardown, World

Between = Callable[[World, World, Sequence[Event]], Iterator[str]]
"""Asks of a choice: the world before, the world after, and what was seen on the way."""


def l2_counts(before: World, after: World, events: Sequence[Event]) -> Iterator[str]:
    """L2 and the log's numbers: forbids a record or a turn that is not the next one."""
    had = {agent.ref: agent for agent in before.agents if agent.number}
    unheard = before.edition.disposed_status is DisposedStatus.NO  # of whose session has left the store
    for agent in after.agents:
        if not agent.number or (unheard and agent.ref in had and agent.label not in before.sessions):
            continue
        old = had.get(agent.ref)
        records, turn = (old.records, old.turn) if old else (0, 0)
        for event in events:
            if not isinstance(event, Logged) or event.agent != agent.ref:
                continue
            if event.seq != records:
                yield f"L2: record {event.seq} of {agent.label} follows {records} others"
            records += 1
            if isinstance(event.record, TurnStart):
                turn += 1
            if isinstance(event.record, TurnStart | TurnEnd) and event.record.turn != turn:
                yield f"L2: turn {event.record.turn} of {agent.label} is logged in turn {turn}"
        if (records, turn) != (agent.records, agent.turn):
            yield f"L2: {agent.label} has {agent.records} records and {agent.turn} turns, not {records} and {turn}"


def l4_fifo(before: World, after: World, events: Sequence[Event]) -> Iterator[str]:
    """L4, of a choice."""
    del events
    yield from invariants.l4_fifo(before, after)


def l12_no_zombie(before: World, after: World, events: Sequence[Event]) -> Iterator[str]:
    """L12, of a choice."""
    del events
    yield from invariants.l12_no_zombie(before, after)


BETWEEN: Final[tuple[Between, ...]] = (l2_counts, invariants.l3_conserved, l4_fifo, l12_no_zombie)

OF_NAMES: Final[tuple[Invariant, ...]] = (invariants.l3_one_place,)
"""What holds of a world before anything is named anew."""

OF_AN_AGENT: Final[tuple[Invariant, ...]] = (
    invariants.l7_one_driver,
    invariants.l8_status,
    invariants.l9_announced,
    invariants.l10_pairs,
    invariants.l24_waiters,
    invariants.l25_disposers,
    invariants.l27_setups,
    *invariants.PROBES,
)
"""What holds of every agent, whatever else there is but the registries."""

OF_THE_REGISTRIES: Final[tuple[Invariant, ...]] = (invariants.l11_one_entry,)


def nobody_waits_for_nothing(world: World) -> Iterator[str]:
    """L24, L25 and L27, at rest: forbid a call that waits, but for what waits at a gate that is held."""
    agents = {agent.label: agent for agent in world.agents}
    for agent in world.agents:
        if (agent.waiters or agent.exit_waiters) and not _driver_held(agent):
            yield f"L24: somebody waits for {agent.label} to be idle, and nothing holds it"
        if agent.teardown not in (Teardown.NONE, Teardown.DONE) and not _held(agents, agent.label):
            yield f"L25: {agent.label} is being torn down, and nothing holds it"
        if agent.failure is not None and agent.stage < Stage.LIVE:
            yield f"L27: {agent.label} was deactivated, and its creation goes on"
        if agent.stage is Stage.BEGUN or (agent.in_setup is not None and agent.in_setup.over):
            yield f"L27: {agent.label} could be created, and is not"
    for unload in world.unloads:
        if not any(_held(agents, label) for label in unload.awaited):
            yield f"L27: an unload of {unload.owner or 'the provider'} waits, and nothing holds it"


def _driver_held(agent: Agent) -> bool:
    wait = agent.wait
    return (wait is not None and not wait.over) or any(flush.outcome is None for flush in agent.flushes)


def _held(agents: dict[Label, Agent], label: Label) -> bool:
    """Tell whether the teardown of an agent waits at a held gate, or for a child that does."""
    agent = agents.get(label)
    if agent is None or agent.teardown is Teardown.DONE:
        return False
    if agent.teardown is Teardown.STOPPED:
        return _driver_held(agent)
    if agent.in_cleanup is not None and not agent.in_cleanup.over:
        return True
    children = (other.label for other in agents.values() if other.origin.parent == label)
    return any(_held(agents, child) for child in children)


AT_REST: Final[tuple[Invariant, ...]] = (*invariants.AT_REST, nobody_waits_for_nothing)
