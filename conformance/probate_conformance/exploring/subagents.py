"""Subagents within bounds: what can be done to runs whose children are programs, and what is held to.

A run is started, cancelled, aborted, waited for and disposed; its program is held at each of its gates, answers or dies
there, says something and asks for permission, and takes its time to go. What we write to a program and what it writes
to us is on its way for as long as the steps are taken in every order, so all that can cross does.

Children in this process are agents: what is done to those is a matter of the core, and nothing of it is in here but a
start that is refused. Why a run stopped for its reason decides nothing, so it is left out once that was told.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from probate_conformance.exploring.bounds import FRESH, HOST
from probate_conformance.exploring.menu import CALL
from probate_conformance.exploring.rooms import RoomBound, Theme, forgetful, free, waits_at
from probate_model.alphabet.gates import Gate, GateKind, Temper, fixed_outcomes
from probate_model.alphabet.items import BurstItem, Hold, Open, Release
from probate_model.alphabet.names import Label
from probate_model.alphabet.subagents import (
    RUN_OWNER,
    AbortRun,
    AddProvider,
    AwaitRun,
    CancelRun,
    ChildAsks,
    ChildSays,
    DisposeRun,
    Need,
    Option,
    PassGrace,
    RemoveProvider,
    RunProvider,
    RunSignal,
    Saying,
    StartRun,
)
from probate_model.subagents.invariants import l20_one_result
from probate_model.subagents.state import Ending, Program, Run, SubagentsRoom
from probate_model.world import Returned, World

_PROVIDERS: Final = (RunProvider.ACP, RunProvider.TRUSTING, RunProvider.MISSING)
_OPTIONS: Final = ((Option.REJECT_ONCE, Option.ALLOW_ALWAYS), (Option.REJECT_ONCE,))
_GATES: Final = (GateKind.INITIALIZE, GateKind.NEW_SESSION, GateKind.ANSWER, GateKind.LEAVE)
_HEEDING: Final = (GateKind.ANSWER, GateKind.LEAVE)
"""The gates at which a program can be told something, and be deaf to it."""


def _room(world: World) -> SubagentsRoom:
    assert world.rooms.subagents is not None
    return world.rooms.subagents


def _questions(run: Run) -> list[Label]:
    """Give the questions that are asked and not answered, wherever they are on their way."""
    if not isinstance(run.child, Program):
        return []
    said = [said.question for said in run.child.said if said.question is not None]
    told = [told.question for told in run.child.unread if told.question is not None]
    return list(dict.fromkeys((*run.child.questions, *said, *told)))


def _waits(room: SubagentsRoom) -> int:
    return sum(len(run.waiters) + len(run.disposers) + len(_questions(run)) for run in room.runs)


def items(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    """Give what can be done."""
    room = _room(world)
    if len(room.runs) < bound.things:
        label = Label(f"r{len(room.runs)}")
        for provider in _PROVIDERS:
            yield from (StartRun(label, provider, FRESH, signal=signal) for signal in RunSignal)
        yield StartRun(label, RunProvider.ACP, FRESH, needs=Need.TOOL_FILTER)
        yield StartRun(label, RunProvider.SPAWN, FRESH, depth=0)
    if RunProvider.ACP in room.providers:
        yield RemoveProvider(CALL, RunProvider.ACP)
    else:
        yield AddProvider(CALL, RunProvider.ACP)
    calls = _waits(room) < bound.calls
    for run in room.runs:
        if run.returned is Returned.BOUND:
            yield from _to_run(bound, room, run, calls=calls)
        if run.signal is RunSignal.ARMED:
            yield AbortRun(CALL, run.label)
    yield from _to_gates(bound, world)


def _to_run(bound: RoomBound, room: SubagentsRoom, run: Run, *, calls: bool) -> Iterator[BurstItem]:
    if not run.cancelled:
        yield CancelRun(CALL, run.label)
    if calls or run.stop is not None:
        yield AwaitRun(free("w", [label for one in room.runs for label in one.waiters]), run.label)
    if calls or run.gone:
        yield DisposeRun(free("d", [label for one in room.runs for label in one.disposers]), run.label)
    program = run.child
    if not isinstance(program, Program) or program.gone:
        return
    if program.at is GateKind.ANSWER:
        words = [*program.words, *(said.text for said in program.said if said.kind == "word")]
        if len(words) < bound.more:
            yield ChildSays(CALL, run.label, Saying.MESSAGE, FRESH)
        asked = [*chain(*map(_questions, room.runs))]
        if calls and not _questions(run):
            yield from (ChildAsks(free("q", asked), run.label, options) for options in _OPTIONS)
    if program.told in (Ending.EOF, Ending.TERM) and not program.grace_over:
        yield PassGrace(CALL, run.label)


def _to_gates(bound: RoomBound, world: World) -> Iterator[BurstItem]:
    held = [state.gate for state in world.gates if state.held]
    for gate in held:
        yield Open(gate)
        if waits_at(world, gate):
            yield from (Release(gate, outcome) for outcome in fixed_outcomes(gate.kind))
    if len(held) < bound.holds:
        for run in _room(world).runs:
            for gate in (Gate(kind, run.label) for kind in _GATES if _may_arrive(run, kind)):
                if gate not in held:
                    yield Hold(gate)
                    if gate.kind in _HEEDING:
                        yield Hold(gate, Temper.DEAF)


def _may_arrive(run: Run, kind: GateKind) -> bool:
    """Tell whether a program may still come to a gate."""
    program = run.child
    if not isinstance(program, Program) or program.gone:
        return False
    if kind is GateKind.LEAVE:
        return program.told is Ending.NOT
    if run.stop is not None or program.lost or program.told is not Ending.NOT:
        return False
    heard = _GATES.index(program.asked) if program.asked is not None else -1
    unheard = any(told.question is None for told in program.unread)
    return _GATES.index(kind) > heard or (_GATES.index(kind) == heard and unheard)


def tidy(world: World) -> World:
    """Give a world whose runs have no reasons that were told, and whose gates are those of programs that are there."""
    room = _room(world)
    runs = tuple(run._replace(clauses=("", "")) if run.announced else run for run in room.runs)
    there = {run.label for run in runs if isinstance(run.child, Program) and not run.child.gone}
    gates = tuple(state for state in world.gates if state.gate.creation in there)
    return world._replace(gates=gates, rooms=world.rooms._replace(subagents=room._replace(runs=runs)))


def nobody_waits_for_nothing(world: World) -> Iterator[str]:
    """L20, L24 and L25, at rest: forbid a run without a result, or with an end to come, but for what a gate keeps."""
    held = {state.gate.creation for state in world.gates if state.held}
    for run in _room(world).runs:
        if run.stop is None and run.label not in held:
            yield f"L20: {run.label} has no result, and nothing holds it"
        if run.stop is not None and not run.announced:
            yield f"L20: the result of {run.label} was told to nobody"
        if run.stop is not None and run.waiters:
            yield f"L24: somebody waits for the result of {run.label}, which is there"
        if run.disposing and not run.gone and run.label not in held:
            yield f"L25: {run.label} is to end, and nothing holds it"
        if run.gone and run.disposers:
            yield f"L25: somebody waits for the end of {run.label}, which has ended"


THEME: Final = Theme(items, tidy, forgetful, (l20_one_result,), (nobody_waits_for_nothing,), owners=(HOST, RUN_OWNER))
