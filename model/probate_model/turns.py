"""Turns: what an agent's driver does, from the claim of a prompt to the closing flush.

A driver is one coroutine per agent, so two turns of one session never overlap. Each function below is one stretch
between two waits; others may come between any two of them. The signal is looked at after each wait, and whatever it
stops is closed in order: step, turn, flush. So the log is balanced on every path.

    parked -> [running, turn/start] -> user/message -> (prepare) -> step/start -> model -> assistant/message
           -> tool/call, tool/result ... -> step/end -> the next step, or [turn/end, flush] -> the next turn, or [idle]

How a turn ends is decided when ``turn/end`` is logged and not before: disposal wins over a cancel, a cancel over an
error, an error over the want of tokens. An error ends the turn and never the driver. The next prompt of the queue is
claimed with no idle in between, because nothing was idle.
"""

from __future__ import annotations

from probate_model import flushing, idle, injection, log
from probate_model.alphabet.events import (
    AgentError,
    AssistantMessage,
    ErrorSource,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    ToolCall,
    ToolOutcome,
    ToolResult,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
    UserMessage,
)
from probate_model.alphabet.gates import (
    ERROR,
    THROW,
    GateKind,
    hits_max_tokens,
    tool_count,
)
from probate_model.alphabet.names import Label, Text
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.windows import Window
from probate_model.world import Agent, Aside, Driver

_RUNNING = demand("TURN-01", edge="TURN-09")
_RUNNING_AFTER_CANCEL = demand("CANCEL-04", edge="TURN-09")
_TURN_START_BY = {
    clause: demand(clause, edge="TURN-09", turn="TURN-02", trigger="TURN-02", record="TURN-02", seq="TURN-13")
    for clause in ("TURN-02", "CANCEL-04", "FLUSH-02", "INBOX-07")
}
_PROMPT_AFTER_CANCEL = demand("CANCEL-04", edge="TURN-03", text="CANCEL-04", seq="TURN-13")
_PROMPT = demand("TURN-03", edge="TURN-03", text="INBOX-06", seq="TURN-13")
_STEERING = demand("INBOX-07", edge="INBOX-07", text="INBOX-06", seq="TURN-13")
_STEP_START = demand("TURN-04", edge="TURN-04", step="TURN-04", turn="TURN-04", seq="TURN-13")
_ANSWER = demand("TURN-05", edge="TURN-05", text="TURN-05", seq="TURN-13")
_STEP_END = demand("TURN-06", edge="TURN-06", step="TURN-06", turn="TURN-06", seq="TURN-13")
_TURN_END = demand("TURN-07", edge="TURN-07", outcome="TURN-07", turn="TURN-07", seq="TURN-13")
_CANCELLED = demand("CANCEL-07", edge="TURN-07", outcome="CANCEL-07", turn="TURN-07", seq="TURN-13")
_DISPOSED = demand("DISPOSE-04", edge="TURN-07", outcome="DISPOSE-04", turn="TURN-07", seq="TURN-13")
_FAILED = demand("TURN-10", edge="TURN-10", outcome="TURN-10", turn="TURN-07", seq="TURN-13")
_STARVED = demand("TURN-11", edge="TURN-07", outcome="TURN-11", turn="TURN-07", seq="TURN-13")
_ERROR = demand("TURN-10", edge="TURN-10", step="TURN-10", source="TURN-10")
_TOOL_CALL = demand("TOOL-01", edge="TOOL-01", n="TOOL-01", seq="TURN-13")
_TOOL_RESULT = demand("TOOL-02", edge="TOOL-02", n="TOOL-02", outcome="TOOL-02", seq="TURN-13")
_CUT_CALL = demand("TOOL-03", n="TOOL-03", seq="TURN-13")
_CUT_RESULT = demand("TOOL-03", n="TOOL-03", outcome="TOOL-03", seq="TURN-13")

_TURN_ENDS = {
    TurnOutcome.COMPLETED: _TURN_END,
    TurnOutcome.MAX_TOKENS: _STARVED,
    TurnOutcome.ABORTED: _CANCELLED,
    TurnOutcome.DISPOSED: _DISPOSED,
    TurnOutcome.ERROR: _FAILED,
}

GATES = {
    GateKind.PREPARE: Driver.PREPARING,
    GateKind.MODEL: Driver.MODEL,
    GateKind.TOOL: Driver.TOOL,
}
"""The gates that a driver waits at, and where it is then."""


def can_run(agent: Agent) -> bool:
    """Tell whether the driver has something to do."""
    match agent.driver:
        case Driver.NONE | Driver.EXITED:
            return False
        case Driver.PARKED:
            return bool(agent.queued) or agent.marker or agent.status is Status.DISPOSED
        case Driver.PREPARING | Driver.MODEL | Driver.TOOL:
            return agent.wait is not None and agent.wait.over
        case Driver.FLUSHING:
            return flushing.has_ended(agent.flushes, closing=True)
        case _:
            return True


def advance(run: Run, label: Label) -> None:
    """Run the driver to its next wait."""
    _STRETCHES[run[label].driver](run, label)


def next_turn(run: Run, label: Label, *, late: bool = False) -> None:
    """At the top of the loop: exit, go idle, or claim the next prompt and open its turn.

    ``late`` says that a turn only follows because of steering that came too late for the last one.
    """
    agent = run[label]
    because = "FLUSH-02" if agent.driver is Driver.BETWEEN_TURNS else "INBOX-07" if late else "TURN-02"
    if agent.aside.cancelled and because != "INBOX-07":
        because = "CANCEL-04"
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    run.update(label, marker=False)
    if not agent.queued:
        _park(run, label)
        return
    if agent.status is Status.RUNNING:
        clause = "INBOX-07" if late else "TURN-09" if because == "TURN-02" else because
        run.silence(clause, agent, "agent/status", lasting=False, status=Status.IDLE)
    run.update(label, armed=True, fired=None, status=Status.RUNNING)
    if agent.status is Status.IDLE:
        due = _RUNNING_AFTER_CANCEL if agent.aside.cancelled else _RUNNING
        run.emit(label, StatusChanged(agent.ref, Status.RUNNING), due)
    agent = run[label]
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    if agent.fired is not None:
        run.update(label, armed=False, fired=None)
        agent = _requeue_steering(run, label)
        if not agent.queued:
            _park(run, label)
            return
        run.update(label, armed=True)
    _open_turn(run, label, because)


def _exit(run: Run, label: Label) -> None:
    agent = run[label]
    run.silence("DISPOSE-03", agent, "agent/status")
    for text in (*agent.queued, *agent.steering):
        run.silence("DISPOSE-10", agent, "log", broad=True, record="turn/start")
        run.silence("DISPOSE-10", agent, "log", text=text)
    idle.driver_exited(run, label)


def _park(run: Run, label: Label) -> None:
    agent = run[label]
    after_failed_flush = agent.driver is Driver.BETWEEN_TURNS
    if agent.aside.swept:
        run.silence(agent.aside.swept, agent, "log", lasting=False, record="turn/start")
    run.update(label, driver=Driver.PARKED)
    idle.become_idle(run, label, after_failed_flush=after_failed_flush)


def _open_turn(run: Run, label: Label, because: str) -> None:
    agent = run[label]
    prompt, *rest = agent.queued
    turn = agent.turn + 1
    run.update(
        label,
        queued=tuple(rest),
        prompt=prompt,
        turn=turn,
        turn_open=True,
        step=0,
        max_tokens=False,
        driver=Driver.OPENED,
    )
    log.append(run, label, TurnStart(turn, Trigger.MESSAGE), _TURN_START_BY[because])


def _log_prompt(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
        return
    run.update(label, prompt=None, driver=Driver.BEFORE_STEP, aside=Aside())
    for text in agent.queued:
        run.silence("INBOX-06", agent, "log", text=text)
    due = _PROMPT_AFTER_CANCEL if agent.aside.cancelled else _PROMPT
    log.append(run, label, UserMessage(agent.prompt or Text("")), due)


def _before_step(run: Run, label: Label) -> None:
    if run[label].stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
        return
    _take_in_steering(run, label)
    if run[label].stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
        return
    run.update(label, driver=Driver.PREPARING, wait=run.arrive(GateKind.PREPARE, label))


def _take_in_steering(run: Run, label: Label) -> bool:
    """Log the steering that has arrived, unless the turn is stopped meanwhile; tells whether there was any."""
    any_arrived = False
    while run[label].steering and not run[label].stopping:
        first, *rest = run[label].steering
        run.update(label, steering=tuple(rest))
        log.append(run, label, UserMessage(first), _STEERING)
        any_arrived = True
    return any_arrived


def _open_step(run: Run, label: Label) -> None:
    agent = run[label]
    outcome = agent.wait.outcome if agent.wait else None
    run.update(label, wait=None)
    if agent.stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
    elif outcome == THROW:
        run.update(label, driver=Driver.FAILED)
        run.emit(label, AgentError(agent.ref, 0, ErrorSource.INTERNAL), _ERROR)
    else:
        step = agent.step + 1
        run.update(label, step=step, more=False, driver=Driver.STEPPING)
        log.append(run, label, StepStart(agent.turn, step), _STEP_START)


def _call_model(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.stopping:
        _close_step_and_turn(run, label)
        return
    run.update(label, answers=agent.answers + 1, driver=Driver.MODEL)
    run.update(label, wait=run.arrive(GateKind.MODEL, label))


def _take_answer(run: Run, label: Label) -> None:
    agent = run[label]
    outcome = agent.wait.outcome if agent.wait else None
    run.update(label, wait=None)
    if agent.stopping or outcome is None:
        run.silence("CANCEL-12", agent, "log", record="assistant/message")
        _close_step_and_turn(run, label)
        return
    if outcome == ERROR:
        if agent.steering:
            run.mark("window", Window.STEER_INTO_FAILING_STEP)
        run.update(label, driver=Driver.FAILING)
        log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END)
        return
    starved = hits_max_tokens(outcome)
    tools = 0 if starved else tool_count(outcome)
    if starved:
        run.silence("TURN-11", agent, "log", record="tool/call")
    run.update(
        label,
        tools=tools,
        tool=0,
        max_tokens=agent.max_tokens or starved,
        driver=Driver.NEXT_TOOL if tools else Driver.ANSWERED,
    )
    answer = Text(f"{label}:{agent.answers}")
    log.append(run, label, AssistantMessage(answer), _ANSWER)
    if tools and not run[label].stopping:
        _call_tool(run, label)


def _call_tool(run: Run, label: Label) -> None:
    """Begin the next call of the batch; one that a stop keeps from beginning is logged with its aborted result."""
    agent = run[label]
    n = agent.tool + 1
    cut = agent.stopping
    run.update(label, tool=n, driver=Driver.NEXT_TOOL if cut else Driver.TOOL)
    log.append(run, label, ToolCall(n), _CUT_CALL if cut else _TOOL_CALL)
    if not run[label].stopping:
        run.update(label, wait=run.arrive(GateKind.TOOL, label))
        return
    run.update(label, driver=Driver.NEXT_TOOL)
    log.append(run, label, ToolResult(n, ToolOutcome.ABORTED), _CUT_RESULT)
    if n == agent.tools:
        _end_batch(run, label)


def _take_result(run: Run, label: Label) -> None:
    agent = run[label]
    wait = agent.wait
    run.update(label, wait=None)
    if agent.stopping or wait is None or wait.outcome is None:
        outcome = ToolOutcome.ABORTED
    else:
        outcome = ToolOutcome.ERROR if wait.outcome == ERROR else ToolOutcome.OK
    last = agent.tool == agent.tools
    run.update(label, driver=Driver.NEXT_TOOL)
    log.append(run, label, ToolResult(agent.tool, outcome), _TOOL_RESULT)
    if last:
        _end_batch(run, label)
        agent = run[label]
        if not agent.stopping and not agent.steering:
            _end_step(run, label)


def _end_batch(run: Run, label: Label) -> None:
    """All results are in: log what was injected meanwhile."""
    run.update(label, driver=Driver.ANSWERED, more=True)
    injection.commit_deferred(run, label)


def _end_step(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.stopping:
        _close_step_and_turn(run, label)
    elif agent.steering:
        run.update(label, more=True)
        _take_in_steering(run, label)
    else:
        run.update(label, driver=Driver.BETWEEN_STEPS)
        log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END)


def _between_steps(run: Run, label: Label) -> None:
    agent = run[label]
    if not agent.stopping and (agent.more or agent.steering):
        _before_step(run, label)
    else:
        _close_turn(run, label, TurnOutcome.MAX_TOKENS if agent.max_tokens else TurnOutcome.COMPLETED)


def _close_step_and_turn(run: Run, label: Label) -> None:
    """Close what a stop has left open, in one stretch."""
    agent = run[label]
    log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END)
    _close_turn(run, label, TurnOutcome.COMPLETED)


def _report_failure(run: Run, label: Label) -> None:
    agent = run.update(label, driver=Driver.FAILED)
    run.emit(label, AgentError(agent.ref, agent.step, ErrorSource.MODEL), _ERROR)


def _close_failed_turn(run: Run, label: Label) -> None:
    _close_turn(run, label, TurnOutcome.ERROR)


def _close_turn(run: Run, label: Label, outcome: TurnOutcome) -> None:
    """Retire the signal, log how the turn ended, and begin the closing flush."""
    agent = run[label]
    if agent.status is Status.DISPOSED:
        outcome = TurnOutcome.DISPOSED
    elif agent.fired is not None:
        outcome = TurnOutcome.ABORTED
    run.update(label, armed=False, fired=None, prompt=None, turn_open=False, driver=Driver.FLUSHING)
    log.append(run, label, TurnEnd(agent.turn, outcome), _TURN_ENDS[outcome])
    flushing.begin(run, label, closing=True)


def _flushed(run: Run, label: Label) -> None:
    if flushing.end(run, label, closing=True):
        run.update(label, driver=Driver.BETWEEN_TURNS)
    else:
        _between_turns(run, label)


def _between_turns(run: Run, label: Label) -> None:
    agent = run[label]
    late = bool(agent.steering) and not agent.queued
    if agent.status is not Status.DISPOSED:
        _requeue_steering(run, label)
    next_turn(run, label, late=late)


def _requeue_steering(run: Run, label: Label) -> Agent:
    """Let steering that has no turn left to join be prompts, so that none is stranded."""
    agent = run[label]
    return run.update(label, queued=agent.queued + agent.steering, steering=())


_STRETCHES = {
    Driver.PARKED: next_turn,
    Driver.OPENED: _log_prompt,
    Driver.BEFORE_STEP: _before_step,
    Driver.PREPARING: _open_step,
    Driver.STEPPING: _call_model,
    Driver.MODEL: _take_answer,
    Driver.ANSWERED: _end_step,
    Driver.TOOL: _take_result,
    Driver.NEXT_TOOL: _call_tool,
    Driver.FAILING: _report_failure,
    Driver.FAILED: _close_failed_turn,
    Driver.BETWEEN_STEPS: _between_steps,
    Driver.FLUSHING: _flushed,
    Driver.BETWEEN_TURNS: _between_turns,
}
