"""The invariants of durable sessions: L13 to L15 of the fact sheet's list, asked of worlds.

Each function yields one sentence for each breach that it finds, and nothing if the invariant holds. A crash is no
stretch of a run: what it may take is said by its own clauses.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate_model.world import Driver, Stage, World


def l13_attached(world: World) -> Iterator[str]:
    """L13 forbids a session in the store, with a driver that has not exited, that nobody keeps."""
    room = world.rooms.sessions
    if room is None or room.bare:
        return
    for agent in world.agents:
        if agent.label in world.sessions and agent.driver is not Driver.EXITED and room.kept_of(agent.label) is None:
            yield f"L13: {agent.label} is live, at {agent.stage.name}, and not kept"


def l14_prefix(world: World) -> Iterator[str]:
    """L14 forbids that the log of a live session has more than it logged, or less than was acknowledged."""
    room = world.rooms.sessions
    if room is None:
        return
    for agent in world.agents:
        kept = room.kept_of(agent.label)
        if kept is None or not kept.claimed or agent.stage not in (Stage.LIVE, Stage.PUBLISHING):
            continue
        log = room.log(agent.id)
        if log is None:
            yield f"L14: {agent.label} has claimed a log that is not there"
        elif agent.label in world.sessions and not kept.saved <= log.records <= agent.records:
            yield f"L14: {agent.label} logged {agent.records}, {kept.saved} are safe, and its log has {log.records}"


def l15_grows(before: World, after: World) -> Iterator[str]:
    """L15 forbids that a stored log goes away, or gets shorter."""
    if before.rooms.sessions is None or after.rooms.sessions is None:
        return
    for log in before.rooms.sessions.logs:
        then = after.rooms.sessions.log(log.id)
        if then is None or then.records < log.records:
            yield f"L15: the log of {log.id} had {log.records} records, and has {0 if then is None else then.records}"
