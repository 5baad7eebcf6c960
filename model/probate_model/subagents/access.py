"""Finding and replacing parts of the room of subagents."""

from __future__ import annotations

from probate_model.alphabet.names import Label
from probate_model.run import Run as Stretch
from probate_model.subagents.state import Call, Inside, Program, Run, SubagentsRoom
from probate_model.world import Returned


def room_of(stretch: Stretch) -> SubagentsRoom:
    """Give the room of a trace that is known to be of the profile."""
    room = stretch.rooms.subagents
    assert room is not None
    return room


def set_room(stretch: Stretch, **fields: object) -> None:
    """Change fields of the room."""
    stretch.rooms = stretch.rooms._replace(subagents=room_of(stretch)._replace(**fields))  # type: ignore[arg-type]


def find(stretch: Stretch, label: Label) -> Run | None:
    """Give a run, bound from its start on; none if there is none of this label."""
    room = stretch.rooms.subagents
    return None if room is None else next((run for run in room.runs if run.label == label), None)


def bound(stretch: Stretch, label: Label) -> Run | None:
    """Give the run that an op names; none if its start had not returned at the last settle."""
    run = find(stretch, label)
    return run if run is not None and run.returned is Returned.BOUND else None


def get(stretch: Stretch, label: Label) -> Run:
    """Give a run that is known to be there, as it is at this moment."""
    run = find(stretch, label)
    assert run is not None
    return run


def put(stretch: Stretch, label: Label, **fields: object) -> Run:
    """Change fields of a run, and give it as it is then."""
    changed = get(stretch, label)._replace(**fields)  # type: ignore[arg-type]
    set_room(stretch, runs=tuple(changed if run.label == label else run for run in room_of(stretch).runs))
    return changed


def inside_of(run: Run) -> Inside:
    """Give the child of a run that is known to be in this process."""
    assert isinstance(run.child, Inside)
    return run.child


def program_of(run: Run) -> Program:
    """Give the program of a run that is known to have one."""
    assert isinstance(run.child, Program)
    return run.child


def put_child(stretch: Stretch, label: Label, **fields: object) -> Run:
    """Change fields of the child of a run, and give the run as it is then."""
    child = get(stretch, label).child
    assert child is not None
    return put(stretch, label, child=child._replace(**fields))  # type: ignore[arg-type]


def call_of(stretch: Stretch, label: Label) -> Call | None:
    """Give the call of the tool by which a run was started; none if none did."""
    return next((call for call in room_of(stretch).calls if call.op.label == label), None)


def put_call(stretch: Stretch, call: Call) -> None:
    """Replace a call of the tool."""
    calls = room_of(stretch).calls
    set_room(stretch, calls=tuple(call if other.op.label == call.op.label else other for other in calls))
