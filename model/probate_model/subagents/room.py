"""What profile ``subagents`` hands to the machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from probate_model.alphabet import subagents as alphabet
from probate_model.alphabet.gates import DIES, Gate, GateKind, GateOutcome
from probate_model.alphabet.names import Label
from probate_model.rooms import Room, Rooms
from probate_model.run import Run as Stretch
from probate_model.subagents import delegation, inside, programs, results, starting
from probate_model.subagents.access import put_child
from probate_model.subagents.state import Activity, Call, Ending, Inside, Program, Run, Stage
from probate_model.world import Agent, Returned, Wait


class SubagentStep(NamedTuple):
    """One stretch of a run, of its program, or of a call of the tool that has started it."""

    activity: Activity
    label: Label


_FIRE: Final = {
    "call": delegation.advance,
    "creation": inside.go_on,
    "rest": inside.read,
    "never was": programs.never_was,
    "hear": programs.hear,
    "answer": programs.answer,
    "read": programs.read,
    "go on": programs.go_on,
    "tell": programs.tell,
    "leave": programs.go,
    "announce": results.announce,
    "end": starting.end,
}


def _steps(rooms: Rooms, agents: Collection[Agent]) -> list[SubagentStep]:
    del agents
    room = rooms.subagents
    if room is None:
        return []
    steps = [SubagentStep("call", call.op.label) for call in room.calls if _can_advance(room.runs, call)]
    for run in room.runs:
        steps += [SubagentStep(activity, run.label) for activity in _of_run(run)]
    return steps


def _can_advance(runs: Sequence[Run], call: Call) -> bool:
    if not call.begun:
        return True
    run = next(run for run in runs if run.label == call.op.label)
    return run.gone if call.ending else run.stop is not None


def _of_run(run: Run) -> Iterator[Activity]:
    match run.child:
        case Inside(stage=Stage.CREATED):
            yield "creation"
        case Inside(stage=Stage.AT_REST):
            yield "rest"
        case Program():
            yield from _of_program(run, run.child)
        case None if run.stop is None:
            yield "never was"
        case _:
            pass
    if run.stop is not None:
        if not run.announced:
            yield "announce"
        if run.disposing and not run.gone and _is_over(run.child):
            yield "end"


def _is_over(child: Inside | Program | None) -> bool:
    return child is None or (child.ended if isinstance(child, Inside) else child.gone)


def _of_program(run: Run, program: Program) -> Iterator[Activity]:
    if program.unread:
        yield "hear"
    if not program.gone:
        if program.wait is not None and program.wait.over:
            yield "answer"
        if program.leaving is not None and program.leaving.over:
            yield "leave"
        if run.disposing and (program.told is Ending.NOT or program.grace_over):
            yield "tell"
    if program.said and not program.lost:
        yield "read"
    if run.stop is None and (program.answer is not None or program.lost):
        yield "go on"


def _fire(stretch: Stretch, step: SubagentStep) -> None:
    _FIRE[step.activity](stretch, step.label)


def _is_timeless(rooms: Rooms, step: SubagentStep) -> bool:
    """Tell whether it makes no difference when a step happens.

    What we do with an answer, and with a word, depends on nothing that can still change, as only children in this
    process are cancelled from inside of a dispatch. What we write to a program that has gone is not heard, whenever.
    """
    room = rooms.subagents
    assert room is not None
    run = next((run for run in room.runs if run.label == step.label), None)
    match step.activity:
        case "end" | "go on" | "never was":
            return True
        case "call":
            call = next(call for call in room.calls if call.op.label == step.label)
            return call.begun and run is not None and (call.ending or not isinstance(run.child, Inside))
        case "hear" | "answer" | "read":
            assert run is not None
            assert isinstance(run.child, Program)
            return _is_free(step.activity, run.child, disposing=run.disposing)
        case _:
            return False


def _is_free(activity: Activity, program: Program, *, disposing: bool) -> bool:
    """Tell the same of what a program and we do with the lines between us."""
    match activity:
        case "hear":
            return program.gone
        case "answer":
            return not disposing and program.wait is not None and program.wait.outcome != DIES
        case _:
            kind = program.said[0].kind
            return kind == "end" or (kind != "question" and not program.unread)


# Gates.


def _at(rooms: Rooms, gate: Gate) -> tuple[str, Wait] | None:
    """Give the wait of a program at a gate, and what it is called; none if it does not wait there."""
    room = rooms.subagents
    run = None if room is None else next((run for run in room.runs if run.label == gate.creation), None)
    if run is None or not isinstance(run.child, Program):
        return None
    program = run.child
    name, wait = ("leaving", program.leaving) if gate.kind is GateKind.LEAVE else ("wait", program.wait)
    if wait is None or wait.over or (name == "wait" and program.at is not gate.kind):
        return None
    return name, wait


def _release(stretch: Stretch, gate: Gate, outcome: GateOutcome) -> bool:
    found = _at(stretch.rooms, gate)
    if found is None:
        return False
    name, wait = found
    put_child(stretch, gate.creation, **{name: wait._replace(outcome=outcome)})
    return True


def _bind(rooms: Rooms) -> Rooms:
    room = rooms.subagents
    if room is None or all(run.returned is Returned.BOUND for run in room.runs):
        return rooms
    known = tuple(run._replace(returned=Returned.BOUND) for run in room.runs)
    return rooms._replace(subagents=room._replace(runs=known))


ROOM: Final = Room(
    profile="subagents",
    begins={
        alphabet.StartRun: starting.start_run,
        alphabet.Delegate: delegation.delegate,
        alphabet.CancelRun: starting.cancel_run,
        alphabet.AbortRun: starting.abort_run,
        alphabet.AwaitRun: starting.await_run,
        alphabet.DisposeRun: starting.dispose_run,
        alphabet.AddProvider: starting.add_provider,
        alphabet.RemoveProvider: starting.remove_provider,
        alphabet.ChildSays: starting.child_says,
        alphabet.ChildAsks: starting.child_asks,
        alphabet.PassGrace: starting.pass_grace,
    },
    steps=_steps,
    fire=_fire,
    gates=frozenset({GateKind.INITIALIZE, GateKind.NEW_SESSION, GateKind.ANSWER, GateKind.LEAVE}),
    release=_release,
    waits=lambda rooms, gate: _at(rooms, gate) is not None,
    bind=_bind,
    timeless=_is_timeless,
)
"""The room."""
