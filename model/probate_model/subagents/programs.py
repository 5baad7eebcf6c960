"""A child that is a program: one line of work over the Agent Client Protocol, with us as its client.

The program is started with the run. What follows is initialize, a session, the prompt, and the program's own reason for
stopping, which is believed also after a cancel. What breaks that line is an error, or an abort if we had asked for one;
what the program has said by then is kept. A cancel that comes before there is a session is only remembered, and then
no prompt is sent.

A program that was told to go, by the end of its input, does not hear us any more, but may still answer. So what it
cannot hear is lost and no more than that, unless it is a question of ours: to that there will be no answer. If it does
not go in time, it is told again, each time less kindly. Whatever its parent is, it knows nothing of it but the folder.
"""

from __future__ import annotations

from typing import Final

from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.gates import (
    CANCELLED,
    DIES,
    END_TURN,
    ERROR,
    MAX_TOKENS,
    REFUSAL,
    GateKind,
    GateOutcome,
    Temper,
)
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.subagents import (
    ALLOWING,
    AMBIENT,
    NOT_SELECTED,
    OVERLAY,
    ChildGone,
    ChildHears,
    ChildSpawned,
    RunProvider,
    RunSignal,
    RunStop,
)
from probate_model.clauses import demand
from probate_model.environment import child_environment
from probate_model.run import Run as Stretch
from probate_model.subagents import results
from probate_model.subagents.access import call_of, get, program_of, put, put_child
from probate_model.subagents.state import Ending, Program, Run, Said, Told
from probate_model.windows import SubagentWindow
from probate_model.world import Wait

_SPAWNED: Final = demand("CHILD-01", folder="CHILD-03", environment="CHILD-02")
_HEARS: Final = demand("CHILD-04")
_STOPPED: Final = demand("CHILD-07", what="CHILD-07")
_GONE: Final = demand("CHILD-15")
_TOLD: Final = demand("CHILD-15", what="CHILD-16")
_TOLD_BY_TOOL: Final = demand("DELEGATE-01", what="CHILD-16")
_TOLD_AGAIN: Final = demand("CHILD-16", what="CHILD-16")
_ENDS: Final = {Ending.EOF: "eof", Ending.TERM: "term", Ending.KILL: "kill"}
_GATES: Final = {
    "initialize": GateKind.INITIALIZE,
    "session/new": GateKind.NEW_SESSION,
    "session/prompt": GateKind.ANSWER,
}
_STOPS: Final = {
    END_TURN: RunStop.COMPLETED,
    MAX_TOKENS: RunStop.MAX_TOKENS,
    REFUSAL: RunStop.REFUSAL,
    CANCELLED: RunStop.ABORTED,
}
ENVIRONMENT: Final = tuple(
    sorted(f"{name}={value}" for name, value in child_environment(dict(AMBIENT), dict(OVERLAY)).items())
)
"""What every program finds in its environment."""

NOT_DRIVEN: Final = "not driven"
"""Stands for an answer where nothing is asked, since nobody wanted the run when it was started."""


def begin(stretch: Stretch, run: Run) -> None:
    """Start the program, and ask it to initialize."""
    stretch.observed(ChildSpawned(run.label, run.folder, ENVIRONMENT), _SPAWNED)
    if run.signal is RunSignal.PRE_ABORTED:
        stretch.silence_about("CHILD-05", f"child:{run.label}", "child/hears")
        put_child(stretch, run.label, answer=NOT_DRIVEN)
    else:
        put_child(stretch, run.label, unread=(Told("initialize"),), asked=GateKind.INITIALIZE)


# The program.


def hear(stretch: Stretch, label: Label) -> None:
    """Let the program hear what we have written next, if it still can."""
    program = program_of(get(stretch, label))
    told, *rest = program.unread
    put_child(stretch, label, unread=tuple(rest))
    if program.gone or program.told is not Ending.NOT:
        if told.what in _GATES:
            put_child(stretch, label, said=(), lost=True)
        return
    if told.question is not None:
        left = tuple(question for question in program.questions if question != told.question)
        put_child(stretch, label, questions=left)
        stretch.owe(told.question, Returned(Label(told.what)), told.clause)
        return
    stretch.observed(ChildHears(label, told.what), _STOPPED if told.what == "session/cancel" else _HEARS)
    if told.what in _GATES:
        gate = _GATES[told.what]
        put_child(stretch, label, at=gate, wait=stretch.arrive(gate, label))
    elif program.at is GateKind.ANSWER and program.wait is not None and _heeds(program.wait):
        put_child(stretch, label, wait=program.wait._replace(outcome=CANCELLED))


def _heeds(wait: Wait) -> bool:
    return wait.held and not wait.over and wait.temper is Temper.HONOURS


def answer(stretch: Stretch, label: Label) -> None:
    """Let the program answer, or die."""
    program = program_of(get(stretch, label))
    assert program.wait is not None
    assert program.wait.outcome is not None
    outcome = program.wait.outcome
    put_child(stretch, label, at=None, wait=None)
    if outcome == DIES:
        if get(stretch, label).cancelled and program.prompted:
            stretch.mark("window", SubagentWindow.TORN_AFTER_CANCEL)
        go(stretch, label)
    else:
        say(stretch, label, Said("answer", answer=outcome))


def say(stretch: Stretch, label: Label, said: Said) -> None:
    """Let the program write something, which nobody reads if the connection is lost."""
    program = program_of(get(stretch, label))
    if not program.lost:
        put_child(stretch, label, said=(*program.said, said))


def go(stretch: Stretch, label: Label) -> None:
    """Let the program end."""
    program = program_of(get(stretch, label))
    stretch.observed(ChildGone(label), _GONE)
    put_child(stretch, label, gone=True, at=None, wait=None, leaving=None, questions=(), grace_over=False)
    say(stretch, label, Said("end"))
    for question in program.questions:
        stretch.owe(question, Raised(code(Refusal.CONNECTION_CLOSED)), "CHILD-15")


# We.


def read(stretch: Stretch, label: Label) -> None:
    """Read what the program has written next."""
    run = get(stretch, label)
    program = program_of(run)
    said, *rest = program.said
    put_child(stretch, label, said=tuple(rest))
    match said.kind:
        case "answer":
            put_child(stretch, label, answer=said.answer)
        case "word":
            if said.text is not None and run.stop is None:
                put_child(stretch, label, words=(*program.words, said.text))
        case "question":
            put_child(stretch, label, unread=(*program.unread, _decide(run, said)))
        case "end":
            put_child(stretch, label, lost=True)


def _decide(run: Run, said: Said) -> Told:
    """Answer a question: with the first option that allows, if anything may be allowed."""
    if run.provider is not RunProvider.TRUSTING:
        return Told(NOT_SELECTED, said.question, "CHILD-12")
    allowing = [option for option in said.options if option in ALLOWING and not run.cancelled]
    return Told(allowing[0] if allowing else NOT_SELECTED, said.question, "CHILD-13")


def go_on(stretch: Stretch, label: Label) -> None:
    """Go on with an answer, or without one."""
    run = get(stretch, label)
    program = program_of(run)
    put_child(stretch, label, answer=None)
    if program.answer == NOT_DRIVEN:
        results.settle(stretch, label, RunStop.ABORTED, (), ("CHILD-05", "CHILD-05"))
    elif program.answer is None or program.answer == ERROR:
        _break(stretch, run)
    elif program.asked is GateKind.INITIALIZE:
        _write(stretch, label, "session/new", GateKind.NEW_SESSION)
    elif program.asked is GateKind.ANSWER:
        stop = _STOPS.get(GateOutcome(program.answer), RunStop.ERROR)
        results.settle(stretch, label, stop, _output(program), ("CHILD-08", _kept(program, stop)))
    elif run.cancelled:
        stretch.silence_about("CHILD-06", f"child:{label}", "child/hears", what="session/prompt")
        results.settle(stretch, label, RunStop.ABORTED, (), ("CHILD-06", "CHILD-06"))
    else:
        put_child(stretch, label, prompted=True)
        _write(stretch, label, "session/prompt", GateKind.ANSWER)


def _write(stretch: Stretch, label: Label, what: str, gate: GateKind) -> None:
    program = program_of(get(stretch, label))
    if not program.lost:
        put_child(stretch, label, unread=(*program.unread, Told(what)), asked=gate)


def _break(stretch: Stretch, run: Run) -> None:
    """Settle what was broken off: as an error, unless we had asked for an end."""
    stop, clause = (RunStop.ABORTED, "CHILD-09") if run.cancelled else (RunStop.ERROR, "SUBAGENT-07")
    program = program_of(run)
    results.settle(stretch, run.label, stop, _output(program), (clause, _kept(program, stop)))


def never_was(stretch: Stretch, label: Label) -> None:
    """Settle the run of a program that does not exist, of which nothing is left."""
    run = put(stretch, label, gone=True)
    stop = RunStop.ABORTED if run.cancelled else RunStop.ERROR
    results.settle(stretch, label, stop, (), ("CHILD-09" if run.cancelled else "CHILD-14", "CHILD-14"))


def _kept(program: Program, stop: RunStop) -> str:
    """Give the clause by which a run has its output."""
    return "CHILD-11" if program.words and stop in (RunStop.ABORTED, RunStop.ERROR) else "CHILD-10"


def _output(program: Program) -> tuple[Text, ...]:
    return (Text("".join(program.words)),) if program.words else ()


def cancel(stretch: Stretch, label: Label) -> None:
    """Ask the program to stop, once there is a session; otherwise it was enough to remember it."""
    run = get(stretch, label)
    program = program_of(run)
    if not program.prompted:
        if run.stop is None:
            stretch.mark("window", SubagentWindow.CANCEL_BEFORE_SESSION)
    elif run.stop is None and not program.lost:
        stretch.mark("window", SubagentWindow.CANCEL_IN_PROMPT)
        stretch.silence_about("CHILD-07", f"run:{label}", "subagent/end", lasting=False)
        put_child(stretch, label, unread=(*program.unread, Told("session/cancel")))


# The end.


def tell(stretch: Stretch, label: Label) -> None:
    """Tell the program to go, less kindly than the last time."""
    program = program_of(get(stretch, label))
    told = Ending(program.told + 1)
    due, leaving = _TOLD_AGAIN, program.leaving
    if told is Ending.EOF:
        due = _TOLD if call_of(stretch, label) is None else _TOLD_BY_TOOL
        leaving = stretch.arrive(GateKind.LEAVE, label)
    elif told is Ending.KILL or (leaving is not None and _heeds(leaving)):
        leaving = Wait(aborted=True)
    stretch.observed(ChildHears(label, _ENDS[told]), due)
    put_child(stretch, label, told=told, grace_over=False, leaving=leaving)
