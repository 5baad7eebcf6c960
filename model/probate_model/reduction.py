"""Reduction: silent steps that make no difference when they happen, taken at once.

The set of worlds grows with every silent step that may or may not have happened yet. Some of them can be taken as
soon as they are enabled without losing a run that an observer could tell apart. Such a step emits nothing, nothing
that others do can disable it or change what it does, and whatever it enables is not changed by its coming early:

* a creation enters its setup, or gives up after it was deactivated: its cause is fixed already;
* a driver exits after disposal: there is no way back, and whoever waits for its exit may be told at any time;
* a flush that no driver waits for ends without a failure: only the teardown looks at it;
* a scope in which nothing is left to wait for is finished, unless the agent's entries, or its id, are only let go
  then; an unload likewise; the start of a teardown that somebody else has started is none.

What is *not* here is as deliberate: entering the model's body, looking at the inbox, and trying to publish all depend
on what others do first. That the reduction loses nothing is tested by accepting with and without it.
"""

from __future__ import annotations

from collections.abc import Collection

from probate_model import owners
from probate_model.alphabet.editions import Edition, IdFree, TeardownOrder
from probate_model.alphabet.events import Status
from probate_model.alphabet.gates import FAIL
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import Setup
from probate_model.machine import Activity, Step, enabled, fire, room_of
from probate_model.rooms import NO_ROOMS, Inside, Rooms
from probate_model.run import Silence
from probate_model.world import Agent, Driver, Stage, Teardown, Unload, World


def hurry(world: World, silences: list[Silence]) -> World:
    """Take every step whose time makes no difference, until none is left."""
    while True:
        step = next((step for step in enabled(world) if timeless(world.agents, step, world.edition, world.rooms)), None)
        if step is None:
            return world
        outcome = fire(world, step)
        silences += outcome.silences
        world = outcome.world


def timeless(agents: Collection[Agent], step: Step, edition: Edition, rooms: Rooms = NO_ROOMS) -> bool:
    """Tell whether it makes no difference when an enabled step happens.

    When somebody is about to look at what is stored, it matters when a flush has ended.
    """
    if step.activity == "settlement":
        return False
    if isinstance(step.subject, Inside):
        return room_of(step.subject).timeless(rooms, step.subject.what)
    if isinstance(step.subject, Unload):
        return _unload_is_timeless(agents, step.subject)
    agent = next(agent for agent in agents if agent.label == step.subject)
    return timeless_of(agent, step.activity, agents, edition, rooms)


def timeless_of(
    agent: Agent, activity: Activity, agents: Collection[Agent], edition: Edition, rooms: Rooms = NO_ROOMS
) -> bool:
    """Tell the same of an enabled step of one of the agents."""
    match activity:
        case "creation":
            return agent.failure is not None or (agent.stage is Stage.BEGUN and agent.setup is Setup.PLAIN)
        case "driver":
            return agent.status is Status.DISPOSED and not asks(rooms) and _exits(agent)
        case "flush":
            return not asks(rooms) and not _next_flush_failed(agent)
        case "teardown":
            last = edition.teardown is TeardownOrder.SCOPE_FIRST or edition.id_free is IdFree.AFTER_SCOPE
            return _scope_is_timeless(agents, agent, ends_silently=not (last and agent.number))
        case _:
            return False


def asks(rooms: Rooms) -> bool:
    """Tell whether somebody is about to look at what is stored."""
    return rooms.sessions is not None and bool(rooms.sessions.asked)


def _exits(agent: Agent) -> bool:
    """Tell whether the driver of a disposed agent has come to its end."""
    if agent.driver is Driver.FLUSHING:
        return all(flush.outcome != FAIL for flush in agent.flushes if flush.closing)
    return agent.driver in (Driver.PARKED, Driver.BETWEEN_TURNS)


def _next_flush_failed(agent: Agent) -> bool:
    ended = (flush for flush in agent.flushes if not flush.closing and flush.outcome is not None)
    return next(ended).outcome == FAIL


def _scope_is_timeless(agents: Collection[Agent], agent: Agent, *, ends_silently: bool) -> bool:
    if agent.teardown is Teardown.DETACHED:
        return (
            ends_silently
            and not agent.cleanup
            and not any(other.origin.parent == agent.label and other.teardown is not Teardown.DONE for other in agents)
        )
    if agent.teardown is not Teardown.SCOPE:
        return False
    if agent.children:
        return _is_begun(agents, agent.children[0])
    return ends_silently and (not agent.cleanup or agent.in_cleanup is not None)


def _unload_is_timeless(agents: Collection[Agent], unload: Unload) -> bool:
    if not unload.begun:
        return not any(owners.made_through(agent, unload) and agent.teardown is not Teardown.DONE for agent in agents)
    return not unload.to_start or _is_begun(agents, unload.to_start[0])


def _is_begun(agents: Collection[Agent], label: Label) -> bool:
    """Tell whether starting the teardown of an agent would do nothing."""
    agent = next(agent for agent in agents if agent.label == label)
    return agent.teardown is not Teardown.NONE or agent.stage is not Stage.LIVE
