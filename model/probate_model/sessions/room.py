"""What profile ``sessions`` hands to the machine; see ``rooms``."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from types import MappingProxyType
from typing import Final

from probate_model.alphabet.gates import Gate, GateKind, GateOutcome
from probate_model.alphabet.ops import Resume
from probate_model.alphabet.sessions import Crash, Reload, Stored
from probate_model.rooms import Room, Rooms
from probate_model.run import Run
from probate_model.sessions import asking, crashing, resuming
from probate_model.sessions.keeping import room_of
from probate_model.sessions.state import Asked, Loading
from probate_model.world import Agent


def _steps(rooms: Rooms, agents: Collection[Agent]) -> Sequence[Hashable]:
    room = rooms.sessions
    if room is None:
        return ()
    by_label = {agent.label: agent for agent in agents}
    loads = [entry for entry in room.loading if resuming.can_load(by_label[entry.label], entry)]
    return (*loads, *room.asked)


def _fire(run: Run, what: Loading | Asked) -> None:
    if isinstance(what, Loading):
        resuming.load(run, what.label)
    else:
        asking.answer(run, what)


def _release(run: Run, gate: Gate, outcome: GateOutcome) -> bool:
    room = room_of(run)
    if room is None or not _waits(run.rooms, gate) or run.agents[gate.creation].failure is not None:
        return False
    loading = tuple(
        entry._replace(wait=entry.wait._replace(outcome=outcome))
        if entry.label == gate.creation and entry.wait is not None
        else entry
        for entry in room.loading
    )
    run.rooms = run.rooms._replace(sessions=room._replace(loading=loading))
    return True


def _waits(rooms: Rooms, gate: Gate) -> bool:
    room = rooms.sessions
    return room is not None and any(
        entry.label == gate.creation and entry.wait is not None and not entry.wait.over for entry in room.loading
    )


def _bind(rooms: Rooms) -> Rooms:
    room = rooms.sessions
    if room is None or not room.down:
        return rooms
    return rooms._replace(sessions=room._replace(down=False))


ROOM: Final = Room(
    profile="sessions",
    begins=MappingProxyType(
        {Resume: resuming.resume, Crash: crashing.crash, Reload: asking.reload, Stored: asking.stored}
    ),
    steps=_steps,
    fire=_fire,
    gates=frozenset({GateKind.LOAD}),
    release=_release,
    waits=_waits,
    bind=_bind,
)
