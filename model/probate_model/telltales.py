"""Telltales: what an event that no run explains tells of its cause.

Most divergences are put down to what was due instead. Some events say more than that, because there is one thing that
must have gone wrong for them to come at all: an agent that an unload ends before its turn, a creation that goes on
although it was to be refused, a turn that fails where nothing could make it fail. What is due elsewhere at that moment
is chance, and would give one fault many names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from probate_model.alphabet.editions import DisposedStatus
from probate_model.alphabet.events import AgentError, ErrorSource, Event, Raised, SessionCreated, Settled, subject_of
from probate_model.alphabet.names import Label
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import extra_clause
from probate_model.machine import Step, fire
from probate_model.owners import made_through
from probate_model.run import Expected
from probate_model.world import Agent, Teardown, Unload, World

GONE: Final = "DISPOSE-14"
"""The clause that an agent which ends, or is gone, takes input like any other."""

Show = Callable[[tuple[Expected, ...]], tuple[Expected, ...]]


def jumps_queue(worlds: Iterable[World], event: Event, show: Show) -> bool:
    """Tell whether an event is the begin of a teardown that an unload is to begin later, after those of others."""
    subject = subject_of(event)
    for world in worlds:
        for unload in world.unloads:
            for agent in _queue(world, unload)[1:]:
                if agent.ref == subject:
                    at_once = unload._replace(begun=True, to_start=(agent.label,))
                    unloads = tuple(at_once if other is unload else other for other in world.unloads)
                    shown = show(fire(world._replace(unloads=unloads), Step("unload", at_once)).expected)
                    if shown and shown[0].event == event:
                        return True
    return False


def _queue(world: World, unload: Unload) -> list[Agent]:
    """List the agents whose teardown an unload has still to begin, in order."""
    if unload.begun:
        return [agent for label in unload.to_start for agent in _untouched(world, label)]
    return [agent for agent in reversed(world.agents) if made_through(agent, unload) and _is_untouched(agent)]


def _untouched(world: World, label: Label) -> Iterator[Agent]:
    return (agent for agent in world.agents if agent.label == label and _is_untouched(agent))


def _is_untouched(agent: Agent) -> bool:
    return agent.teardown is Teardown.NONE


def refused(world: World, event: Event, allowed: Sequence[Expected]) -> Expected | None:
    """Give the refusal that did not come, if what came is a creation that nobody has heard of yet."""
    if not isinstance(event, SessionCreated):
        return None
    refusals = [entry for entry in allowed if isinstance(entry.event, Settled) and _is_raised(entry.event)]
    agent_id = event.agent.rpartition("#")[0]
    if not any(agent.label in world.sessions and agent.id == agent_id for agent in world.agents):
        # One that is refused because its id is taken is of another id.
        taken = Raised(code(Refusal.ID_EXISTS))
        others = (entry for entry in refusals if isinstance(entry.event, Settled) and entry.event.outcome != taken)
        return next(others, refusals[0] if refusals else None)
    return refusals[0] if refusals else None


def _is_raised(event: Settled) -> bool:
    return isinstance(event.outcome, Raised)


def failed_turn(world: World, event: Event, due: Expected | None) -> str | None:
    """Give the clause of an error that nothing could lead to; none if the event is none, or says no more than others.

    An agent that ends, or is gone, may take input like any other; then its turn must not fail for that. What a model or
    a flush reports is another matter.

    :param due: what was due of the same agent, which says more than that an error is none
    """
    if not isinstance(event, AgentError):
        return None
    ends = any(agent.ref == event.agent and agent.teardown is not Teardown.NONE for agent in world.agents)
    if ends and event.source is ErrorSource.INTERNAL and world.edition.disposed_status is DisposedStatus.NO:
        return GONE
    return None if due else extra_clause(event.event, world.edition)
