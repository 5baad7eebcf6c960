"""Providers and runs: what is checked before anything exists, how a run begins, and what can be done to it.

What a request needs is checked first and refused aloud; then the child is begun, then the start is announced, and then
the start returns. Taking a provider out frees its name, and no more than that.
"""

from __future__ import annotations

from typing import Final

from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.subagents import (
    IN_PROCESS,
    AbortRun,
    AddProvider,
    AwaitRun,
    CancelRun,
    ChildAsks,
    ChildSays,
    Delegate,
    DisposeRun,
    Need,
    PassGrace,
    RemoveProvider,
    RunProvider,
    RunSignal,
    RunStarted,
    RunStop,
    Saying,
    StartRun,
)
from probate_model.clauses import demand
from probate_model.references import with_handle
from probate_model.run import Run as Stretch
from probate_model.subagents import inside, programs
from probate_model.subagents.access import bound, call_of, find, get, program_of, put, put_child, room_of, set_room
from probate_model.subagents.state import Ending, Inside, Program, Run, Said
from probate_model.windows import SubagentWindow
from probate_model.world import Agent
from probate_model.world import Returned as Known

_STARTED: Final = demand("SUBAGENT-01", outcome="SUBAGENT-01")
_STARTED_WITHOUT: Final = demand("CHILD-14", outcome="CHILD-14")
_ANNOUNCED: Final = demand("SUBAGENT-01", parent="SUBAGENT-02", seeded="INSIDE-02")
_ANNOUNCED_WITH_PROGRAM: Final = _ANNOUNCED._replace(edge="CHILD-01")
_ANNOUNCED_WITHOUT: Final = _ANNOUNCED._replace(clause="CHILD-14")
_DONE: Final = demand("CALL-02")
_REMOVED: Final = demand("SUBAGENT-09")
_DUPLICATE: Final = demand("SUBAGENT-04", outcome="SUBAGENT-04")
_ADDED: Final = demand("SUBAGENT-09", outcome="SUBAGENT-04")


# Providers.


def add_provider(stretch: Stretch, op: AddProvider) -> bool:
    """Carry out the op: register, or refuse a name that is taken."""
    if stretch.rooms.subagents is None:
        return False
    if op.provider in room_of(stretch).providers:
        stretch.settled(op.label, Raised(code(Refusal.DUPLICATE_PROVIDER)), _DUPLICATE)
    else:
        set_room(stretch, providers=room_of(stretch).providers | {op.provider})
        stretch.settled(op.label, Returned(), _ADDED)
    return True


def remove_provider(stretch: Stretch, op: RemoveProvider) -> bool:
    """Carry out the op: free the name, and leave every run alone."""
    room = stretch.rooms.subagents
    if room is None or op.provider not in room.providers:
        return False
    set_room(stretch, providers=room.providers - {op.provider})
    for run in room.runs:
        if run.provider is op.provider and run.stop is None:
            stretch.mark("window", SubagentWindow.REMOVED_WHILE_RUNNING)
        if isinstance(run.child, Program) and not run.disposing:
            stretch.silence_about("SUBAGENT-09", f"child:{run.label}", "child/hears", what="eof")
    stretch.settled(op.label, Returned(), _REMOVED)
    return True


# Starting.


def start_run(stretch: Stretch, op: StartRun) -> bool:
    """Carry out the op: begin a run, or refuse."""
    if stretch.rooms.subagents is None:
        return False
    parent = None
    if op.parent is not None:
        parent = with_handle(stretch, op.parent)
        if parent is None:
            return False
    refused = begin(stretch, op, parent)
    if refused is None:
        due = _STARTED_WITHOUT if op.provider is RunProvider.MISSING else _STARTED
        stretch.settled(op.label, Returned(op.label), due)
    else:
        clause, why = refused
        stretch.settled(op.label, Raised(code(why)), demand(clause, outcome=clause))
    return True


def begin(stretch: Stretch, op: StartRun | Delegate, parent: Agent | None) -> tuple[str, Refusal] | None:
    """Begin a run; gives the clause and the reason if there is to be none."""
    needs, limit = (op.needs, op.depth) if isinstance(op, StartRun) else (Need.NONE, None)
    depth = 1 + (0 if parent is None else _depth(stretch, parent))
    refused: tuple[str, Refusal] | None = None
    if op.provider not in room_of(stretch).providers:
        refused = "SUBAGENT-03", Refusal.NO_PROVIDER
    elif needs is not Need.NONE or (limit is not None and op.provider not in IN_PROCESS):
        refused = "SUBAGENT-05", Refusal.UNSUPPORTED_CAPABILITY
    elif limit is not None and depth > limit:
        refused = "INSIDE-01", Refusal.DEPTH_EXCEEDED
    if refused is not None:
        stretch.silence_about(refused[0], f"child:{op.label}", "child/spawned")
        stretch.silence_about(refused[0], f"run:{op.label}", "subagent/start")
        return refused
    _begin(stretch, op.label, op.provider, op.text, parent, depth, op.signal)
    return None


def _begin(
    stretch: Stretch,
    label: Label,
    provider: RunProvider,
    text: Text,
    parent: Agent | None,
    depth: int,
    signal: RunSignal,
) -> None:
    child: Inside | Program | None = None
    if provider in IN_PROCESS:
        child = Inside()
    elif provider is not RunProvider.MISSING:
        child = Program()
    run = Run(
        label,
        provider,
        text,
        None if parent is None else parent.label,
        depth,
        "" if parent is None else _folder(stretch, parent),
        signal,
        child,
        cancelled=signal is RunSignal.PRE_ABORTED,
        returned=Known.SINCE_SETTLE,
    )
    set_room(stretch, runs=(*room_of(stretch).runs, run))
    seeded, due = 0, _ANNOUNCED
    match child:
        case Inside():
            seeded = inside.begin(stretch, run)
        case Program():
            due = _ANNOUNCED_WITH_PROGRAM
            programs.begin(stretch, run)
        case _:
            due = _ANNOUNCED_WITHOUT
    stretch.emit(None, RunStarted(label, provider, None if parent is None else parent.ref, seeded), due)


def _depth(stretch: Stretch, parent: Agent) -> int:
    run = find(stretch, parent.label)
    return 0 if run is None else run.depth


def _folder(stretch: Stretch, parent: Agent) -> str:
    """Give the folder in which an agent works: its own by its id, or that of its parent if it is a child."""
    run = find(stretch, parent.label)
    if run is not None:
        return run.folder
    return f"/{parent.id}" if parent.origin.parent is None else ""


# What can be done to a run.


def cancel_run(stretch: Stretch, op: CancelRun) -> bool:
    """Carry out the op: ask the child to stop."""
    if find(stretch, op.run) is None:
        return False
    cancel(stretch, op.run)
    stretch.settled(op.label, Returned(), _DONE)
    return True


def abort_run(stretch: Stretch, op: AbortRun) -> bool:
    """Carry out the op: fire the signal, which a run hears until its result has settled or somebody disposes it."""
    run = find(stretch, op.run)
    if run is None or run.signal is not RunSignal.ARMED:
        return False
    put(stretch, op.run, signal=RunSignal.PRE_ABORTED)
    if run.stop is None and not run.disposing:
        cancel(stretch, op.run)
    stretch.settled(op.label, Returned(), _DONE)
    return True


def cancel(stretch: Stretch, label: Label) -> None:
    """Cancel a run; a program is asked once, an agent each time."""
    run = get(stretch, label)
    put(stretch, label, cancelled=True)
    if isinstance(run.child, Inside):
        inside.cancel(stretch, label)
    elif run.child is not None and not run.cancelled:
        programs.cancel(stretch, label)


def await_run(stretch: Stretch, op: AwaitRun) -> bool:
    """Carry out the begin of the op: wait for the result, or be told what it was."""
    run = bound(stretch, op.run)
    if run is None:
        return False
    if run.stop is None:
        put(stretch, op.run, waiters=(*run.waiters, op.label))
    else:
        # An error is an answer like any other, and not to raise it is what matters most.
        clause = "SUBAGENT-07" if run.stop is RunStop.ERROR else "SUBAGENT-08"
        stretch.owe(op.label, Returned(Label(run.stop)), clause)
    return True


def dispose_run(stretch: Stretch, op: DisposeRun) -> bool:
    """Carry out the begin of the op: join the end of the run, beginning it if nobody has."""
    run = bound(stretch, op.run)
    if run is None:
        return False
    if run.gone:
        stretch.owe(op.label, Returned(), "SUBAGENT-10")
    else:
        put(stretch, op.run, disposers=(*run.disposers, op.label))
        dispose(stretch, op.run)
    return True


def dispose(stretch: Stretch, label: Label) -> None:
    """Begin the end of a run, if nobody has; a program is told in a later step."""
    run = get(stretch, label)
    if run.disposing or run.gone:
        return
    if run.stop is None:
        stretch.mark("window", SubagentWindow.DISPOSE_WHILE_RUNNING)
    put(stretch, label, disposing=True)
    if isinstance(run.child, Inside):
        inside.end(stretch, label, delegated=call_of(stretch, label) is not None)


def end(stretch: Stretch, label: Label) -> None:
    """Let those go on who wait for the end of a run."""
    run = get(stretch, label)
    put(stretch, label, gone=True, disposers=())
    for caller in run.disposers:
        stretch.owe(caller, Returned(), "SUBAGENT-10")


# What programs do.


def _works(stretch: Stretch, label: Label) -> bool:
    run = bound(stretch, label)
    return run is not None and isinstance(run.child, Program) and run.child.at is GateKind.ANSWER


def child_says(stretch: Stretch, op: ChildSays) -> bool:
    """Carry out the op: let the program say something, which is part of the output only if it is a message."""
    if not _works(stretch, op.run):
        return False
    programs.say(stretch, op.run, Said("word", text=op.text if op.says is Saying.MESSAGE else None))
    stretch.settled(op.label, Returned(), _DONE)
    return True


def child_asks(stretch: Stretch, op: ChildAsks) -> bool:
    """Carry out the begin of the op: let the program ask."""
    if not _works(stretch, op.run):
        return False
    program = program_of(get(stretch, op.run))
    put_child(stretch, op.run, questions=(*program.questions, op.label))
    programs.say(stretch, op.run, Said("question", question=op.label, options=op.options))
    return True


def pass_grace(stretch: Stretch, op: PassGrace) -> bool:
    """Carry out the op: let the time be over that the program has to go."""
    run = bound(stretch, op.run)
    if run is None or not isinstance(run.child, Program):
        return False
    program = run.child
    if program.gone or program.grace_over or program.told not in (Ending.EOF, Ending.TERM):
        return False
    put_child(stretch, op.run, grace_over=True)
    stretch.settled(op.label, Returned(), _DONE)
    return True
