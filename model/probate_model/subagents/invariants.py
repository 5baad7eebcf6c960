"""L20: the result of a run settles exactly once, and by a result.

``probate_model.invariants`` says what an invariant is; this one is of a room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from probate_model.alphabet.events import Event, Raised, Settled
from probate_model.alphabet.subagents import RunEnded
from probate_model.world import World


def l20_one_result(before: World, after: World, events: Sequence[Event]) -> Iterator[str]:
    """L20 forbids a result that changes, one that is announced twice or not as it is, and one that is raised.

    :param events: what was seen on the way from the one world to the other
    """
    had, has = before.rooms.subagents, after.rooms.subagents
    if had is None or has is None:
        return
    now = {run.label: run for run in has.runs}
    waiting = {waiter for run in had.runs for waiter in run.waiters}
    for run in had.runs:
        if run.stop is not None and (run.stop, run.output) != (now[run.label].stop, now[run.label].output):
            yield f"L20: the result of {run.label} changes"
    told = [event for event in events if isinstance(event, RunEnded)]
    announced = [run.label for run in had.runs if run.announced]
    for event in told:
        announced.append(event.run)
        if announced.count(event.run) > 1:
            yield f"L20: the end of {event.run} is announced twice"
        if (event.stop, event.output) != (now[event.run].stop, now[event.run].output):
            yield f"L20: the end of {event.run} is not announced as it is"
    owed = {due.call: due.outcome for due in after.due}
    owed |= {event.call: event.outcome for event in events if isinstance(event, Settled)}
    for waiter in waiting:
        if isinstance(owed.get(waiter), Raised):
            yield f"L20: {waiter} is raised a result"


def l20_settled(world: World) -> Iterator[str]:
    """L20, after the epilogue: forbids a run without a result, or with one that was not announced."""
    room = world.rooms.subagents
    for run in () if room is None else room.runs:
        if run.stop is None or not run.announced or run.waiters:
            yield f"L20: {run.label} has no result, or nobody was told"
