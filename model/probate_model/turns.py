"""Turns: what an agent's driver does, from the claim of a prompt to the closing flush.

A driver is one coroutine per agent, so two turns of one session never overlap. Each function below is one stretch
between two waits; others may come between any two of them. The signal is looked at after each wait, and whatever it
stops is closed in order: step, turn, flush. So the log is balanced on every path.

    parked -> [running, turn/start] -> user/message -> (prepare) -> step/start -> model -> assistant/message
           -> tool/call, tool/result ... -> step/end -> the next step, or [turn/end, flush] -> the next turn, or [idle]

How a turn ends is decided when ``turn/end`` is logged and not before: disposal wins over a cancel, a cancel over an
error, an error over the want of tokens. An error ends the turn and never the driver. The next prompt of the queue is
claimed with no idle in between, because nothing was idle.

Editions differ in when a turn opens (in a step, or within the call that wakes the driver), in where what a step takes
in is logged (before the step, or inside), in whether a turn is flushed, in which of two causes ends it, and in what an
error or an abort ends. If that is the driver, the agent is idle after it, and what is pending waits until it is woken.
"""

from __future__ import annotations

from probate_model import context, decisions, flushing, idle, log
from probate_model.alphabet.editions import (
    CancelCause,
    ClosingFlush,
    ErrorEnds,
    PartialText,
    Precedence,
    QueueEvents,
    UserMessagePlace,
    Wake,
)
from probate_model.alphabet.events import (
    AgentError,
    AssistantMessage,
    ErrorSource,
    InboxClaimed,
    InboxQueue,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    StopCause,
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
    ALLOW,
    ERROR,
    THROW,
    GateKind,
    hits_max_tokens,
    tool_count,
)
from probate_model.alphabet.names import Label, Text
from probate_model.bridge import permission
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.tasks import tool
from probate_model.windows import Window
from probate_model.world import Agent, Aside, Driver, Teardown, Wait

_RUNNING = demand("TURN-01", edge="TURN-09")
_RUNNING_AFTER_CANCEL = demand("CANCEL-04", edge="TURN-09")
_RUNNING_AT_ONCE = demand("TURN-16", edge="TURN-09", status="TURN-01")
_RUNNING_AGAIN = demand("TURN-15", edge="TURN-15")
_RUNNING_EMPTY = demand("CANCEL-15")
_TURN_START_BY = {
    clause: demand(clause, edge="TURN-09", turn="TURN-02", trigger="TURN-02", record="TURN-02", seq="TURN-13")
    for clause in ("TURN-02", "CANCEL-04", "CANCEL-15", "FLUSH-02", "INBOX-07", "TURN-15", "TURN-16")
}
_PROMPT_AFTER_CANCEL = demand("CANCEL-04", edge="TURN-03", text="CANCEL-04", seq="TURN-13")
_PROMPT = demand("TURN-03", edge="TURN-03", text="INBOX-06", seq="TURN-13")
_STEERING = demand("INBOX-07", edge="INBOX-07", text="INBOX-06", seq="TURN-13")
_CLAIMED = demand("INBOX-09", queue="INBOX-09", count="INBOX-09", seq="TURN-13")
_TAKEN_IN = {
    (queue_events, place): demand(clause, edge=edge or clause, text="INBOX-06", seq="TURN-13")
    for queue_events, clause in ((QueueEvents.QUEUED, "INBOX-07"), (QueueEvents.INBOX_RECORDS, "INBOX-09"))
    for place, edge in ((UserMessagePlace.BEFORE_STEP, None), (UserMessagePlace.AFTER_STEP, "TURN-17"))
}
_STEP_START_FIRST = demand("TURN-17", edge="TURN-17", step="TURN-17", turn="TURN-17", seq="TURN-13")
_PARTIAL = demand("CANCEL-16", edge="CANCEL-16", text="CANCEL-16", seq="TURN-13")
_STEP_START = demand("TURN-04", edge="TURN-04", step="TURN-04", turn="TURN-04", seq="TURN-13")
_ANSWER = demand("TURN-05", edge="TURN-05", text="TURN-05", seq="TURN-13")
_STEP_END = demand("TURN-06", edge="TURN-06", step="TURN-06", turn="TURN-06", seq="TURN-13")
_TURN_END = demand("TURN-07", edge="TURN-07", outcome="TURN-07", turn="TURN-07", seq="TURN-13")
_CANCELLED = demand("CANCEL-07", edge="TURN-07", outcome="CANCEL-07", turn="TURN-07", seq="TURN-13")
_DISPOSED = demand("DISPOSE-04", edge="TURN-07", outcome="DISPOSE-04", turn="TURN-07", seq="TURN-13")
_FAILED = demand("TURN-10", edge="TURN-10", outcome="TURN-10", turn="TURN-07", seq="TURN-13")
_ABORTED_BY_DISPOSAL = demand("DISPOSE-12", edge="TURN-07", outcome="DISPOSE-12", turn="TURN-07", seq="TURN-13")
_EMPTY = demand("CANCEL-15", edge="TURN-07", outcome="CANCEL-15", turn="TURN-07", seq="TURN-13")
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
    GateKind.PERMISSION: Driver.TOOL,
    GateKind.TOOL: Driver.TOOL,
}
"""The gates that a driver waits at, and where it is then."""


_GOES_ON = frozenset(Driver) - {
    Driver.NONE,
    Driver.PARKED,
    Driver.PREPARING,
    Driver.MODEL,
    Driver.TOOL,
    Driver.FLUSHING,
    Driver.EXITED,
}
"""Where a driver only paused, and waits for nothing."""


def can_run(agent: Agent) -> bool:
    """Tell whether the driver has something to do."""
    driver = agent.driver
    if driver in _GOES_ON:
        return True
    match driver:
        case Driver.PARKED:
            if agent.woken is None:
                return bool(agent.queued) or agent.marker or agent.status is Status.DISPOSED
            return agent.woken or agent.marker or bool(agent.waiters) or agent.status is Status.DISPOSED
        case Driver.PREPARING | Driver.MODEL | Driver.TOOL:
            return agent.wait is not None and agent.wait.over
        case Driver.FLUSHING:
            return flushing.has_ended(agent.flushes, closing=True)
        case _:
            return False


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
    parked = agent.driver is Driver.PARKED
    if parked and agent.woken is False and not agent.marker:
        idle.look(run, label)
        return
    if agent.marker:
        run.update(label, marker=False)
    if parked and agent.marker and run.edition.empty_turns:
        _open_empty_turn(run, label)
    elif agent.queued or (agent.steering and run.edition.queue_events is QueueEvents.INBOX_RECORDS):
        _begin_turn(run, label, because, late=late)
    else:
        _park(run, label)


def start(run: Run, label: Label) -> None:
    """Begin to run within the call that wakes the driver, with whatever is pending."""
    _begin_turn(run, label, "CANCEL-04" if run[label].aside.cancelled else "TURN-16")


def _begin_turn(run: Run, label: Label, because: str, *, late: bool = False) -> None:
    """Announce running, unless that is known, and open a turn; unless what was pending is called off from there."""
    agent = run[label]
    if agent.status is Status.RUNNING:
        clause = "INBOX-07" if late else "TURN-09" if because == "TURN-02" else because
        run.silence(clause, agent, "agent/status", lasting=False, status=Status.IDLE)
    woken = None if agent.woken is None else False
    run.update(label, armed=True, fired=None, ends=False, status=Status.RUNNING, woken=woken)
    if agent.status is Status.IDLE:
        run.emit(label, StatusChanged(agent.ref, Status.RUNNING), _why_running(run, agent))
    agent = run[label]
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    if agent.fired is not None:
        if run.edition.error_ends is ErrorEnds.DRIVER:
            run.update(label, armed=False, ends=True, driver=Driver.CLOSED)
            return
        run.update(label, armed=False, fired=None)
        agent = _requeue_steering(run, label)
        if not (agent.queued or agent.steering):
            _park(run, label)
            return
        run.update(label, armed=True)
    _open_turn(run, label, because)


def _why_running(run: Run, agent: Agent) -> Demand:
    if agent.woken and run.edition.wake is Wake.WITHIN_SEND:
        return _RUNNING_AGAIN
    if agent.aside.cancelled:
        return _RUNNING_AFTER_CANCEL
    return _RUNNING if run.edition.wake is Wake.DEFERRED else _RUNNING_AT_ONCE


def _open_empty_turn(run: Run, label: Label) -> None:
    """Open the turn of what was cancelled before it was claimed. It is aborted already."""
    agent = run.update(label, status=Status.RUNNING)
    run.emit(label, StatusChanged(agent.ref, Status.RUNNING), _RUNNING_EMPTY)
    agent = run[label]
    if agent.status is Status.DISPOSED:
        _exit(run, label)
        return
    turn = agent.turn + 1
    run.update(label, turn=turn, turn_open=True, step=0, max_tokens=False, armed=True, driver=Driver.OPENED)
    log.append(run, label, TurnStart(turn, Trigger.MESSAGE), _TURN_START_BY["CANCEL-15"])


def _exit(run: Run, label: Label) -> None:
    agent = run[label]
    run.silence("DISPOSE-03", agent, "agent/status")
    for text in (*agent.queued, *agent.steering):
        run.silence("DISPOSE-10", agent, "log", broad=True, record="turn/start")
        run.silence("DISPOSE-10", agent, "log", record="user/message", text=text)
    idle.driver_exited(run, label)


def _park(run: Run, label: Label) -> None:
    """Go idle. Where the driver ends with a turn, something may have woken it meanwhile: then it begins again."""
    agent = run[label]
    after_failed_flush = agent.driver is Driver.BETWEEN_TURNS
    if agent.aside.swept:
        run.silence(agent.aside.swept, agent, "log", lasting=False, record="turn/start")
    if agent.ends and not agent.woken and (agent.queued or agent.steering):
        run.silence("TURN-14", agent, "log", record="turn/start")
    run.update(label, driver=Driver.PARKED, armed=False, fired=None, ends=False)
    idle.become_idle(run, label, after_failed_flush=after_failed_flush)
    if not agent.woken or run[label].status is not Status.IDLE:
        return
    if not (run[label].queued or run[label].steering):
        run.update(label, woken=False)
    elif run.edition.wake is Wake.WITHIN_SEND:
        _begin_turn(run, label, "TURN-15")


def _open_turn(run: Run, label: Label, because: str) -> None:
    agent = run[label]
    turn = agent.turn + 1
    opened: dict[str, object] = {"turn": turn, "turn_open": True, "step": 0, "max_tokens": False}
    start = TurnStart(turn, Trigger.MESSAGE)
    if run.edition.queue_events is QueueEvents.QUEUED:
        opened["prompt"], opened["queued"] = decisions.claim(agent.queued)
    log.append(run, label, start, _TURN_START_BY[because], driver=Driver.OPENED, **opened)
    if run.edition.queue_events is QueueEvents.QUEUED:
        return
    if run[label].stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
    else:
        _claim(run, label)
        _claim_prompt(run, label)


def _claim(run: Run, label: Label) -> bool:
    """Take in all that waits for a step, with a record of that where there are any; tells whether there was any."""
    agent = run[label]
    if not agent.steering:
        return False
    run.update(label, claimed=agent.claimed + agent.steering, steering=())
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        log.append(run, label, InboxClaimed(InboxQueue.NEXT_STEP, len(agent.steering)), _CLAIMED)
    return True


def _claim_prompt(run: Run, label: Label) -> None:
    """Take in the prompt of a turn, with a record of that."""
    agent = run[label]
    if agent.queued:
        prompt, rest = decisions.claim(agent.queued)
        run.update(label, queued=rest, prompt=prompt)
        log.append(run, label, InboxClaimed(InboxQueue.NEXT_TURN, 1), _CLAIMED)


def _log_prompt(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
        return
    if run.edition.user_message is UserMessagePlace.AFTER_STEP:
        _prepare_step(run, label)
        return
    run.update(label, driver=Driver.BEFORE_STEP)
    _log_claimed(run, label)


def _log_claimed(run: Run, label: Label) -> None:
    """Log what the step takes in: what waited for a step, and then the prompt, if one is claimed."""
    agent = run[label]
    if agent.claimed:
        run.update(label, claimed=())
        due = _TAKEN_IN[run.edition.queue_events, run.edition.user_message]
        for text in agent.claimed:
            log.append(run, label, UserMessage(text), due)
        agent = run[label]
    if agent.prompt is None:
        return
    for text in agent.queued:
        run.silence("INBOX-06", agent, "log", record="user/message", text=text)
    due = _PROMPT_AFTER_CANCEL if agent.aside.cancelled else _PROMPT
    log.append(run, label, UserMessage(agent.prompt), due, prompt=None, aside=Aside())


def _before_step(run: Run, label: Label) -> None:
    if run[label].stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
        return
    if run.edition.user_message is UserMessagePlace.AFTER_STEP:
        _claim(run, label)
    else:
        _take_in_steering(run, label)
    if run[label].stopping:
        _close_turn(run, label, TurnOutcome.COMPLETED)
        return
    _prepare_step(run, label)


def _prepare_step(run: Run, label: Label) -> None:
    run.update(label, driver=Driver.PREPARING, wait=run.arrive(GateKind.PREPARE, label))


def _take_in_steering(run: Run, label: Label) -> bool:
    """Log the steering that has arrived, unless the turn is stopped meanwhile; tells whether there was any."""
    if run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        claimed = _claim(run, label)
        _log_claimed(run, label)
        return claimed
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
    if agent.stopping:
        run.update(label, wait=None)
        _close_turn(run, label, TurnOutcome.COMPLETED)
    elif outcome == THROW:
        run.update(label, wait=None, driver=Driver.FAILED)
        run.emit(label, AgentError(agent.ref, 0, ErrorSource.INTERNAL), _ERROR)
    else:
        step = agent.step + 1
        first = run.edition.user_message is UserMessagePlace.AFTER_STEP
        due, driver = (_STEP_START_FIRST, Driver.ENTERING) if first else (_STEP_START, Driver.STEPPING)
        log.append(run, label, StepStart(agent.turn, step), due, wait=None, step=step, more=False, driver=driver)


def _enter_step(run: Run, label: Label) -> None:
    """Log what the step has taken in: it is taken in, so a stop changes nothing about that."""
    run.update(label, driver=Driver.STEPPING)
    _log_claimed(run, label)


def _call_model(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.stopping:
        _close_step_and_turn(run, label)
        return
    run.update(label, answers=agent.answers + 1, driver=Driver.MODEL, wait=run.arrive(GateKind.MODEL, label))


def _take_answer(run: Run, label: Label) -> None:
    agent = run[label]
    outcome = agent.wait.outcome if agent.wait else None
    if agent.stopping or outcome is None:
        run.update(label, wait=None)
        if run.edition.partial_text_on_abort is PartialText.YES:
            run.update(label, driver=Driver.ANSWERED)
            log.append(run, label, AssistantMessage(_answer_of(agent)), _PARTIAL)
        else:
            run.silence("CANCEL-12", agent, "log", record="assistant/message")
            _close_step_and_turn(run, label)
        return
    if outcome == ERROR:
        if agent.steering:
            run.mark("window", Window.STEER_INTO_FAILING_STEP)
        log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END, wait=None, driver=Driver.FAILING)
        return
    starved = hits_max_tokens(outcome)
    tools = 0 if starved else tool_count(outcome)
    if starved:
        run.silence("TURN-11", agent, "log", record="tool/call")
    log.append(
        run,
        label,
        AssistantMessage(_answer_of(agent)),
        _ANSWER,
        wait=None,
        tools=tools,
        tool=0,
        max_tokens=agent.max_tokens or starved,
        driver=Driver.NEXT_TOOL if tools else Driver.ANSWERED,
    )
    if tools and not run[label].stopping:
        _call_tool(run, label)


def _answer_of(agent: Agent) -> Text:
    """Give the text of a model's answer. All of it is there before the gate, so it is what a stop finds, too."""
    return Text(f"{agent.label}:{agent.answers}")


def _call_tool(run: Run, label: Label) -> None:
    """Log the next call of the batch, and enter its body; one that a stop keeps from beginning is logged too."""
    agent = run[label]
    n = agent.tool + 1
    cut = agent.stopping
    due, driver = (_CUT_CALL, Driver.NEXT_TOOL) if cut else (_TOOL_CALL, Driver.CALLING)
    log.append(run, label, ToolCall(n), due, tool=n, driver=driver)
    if cut or not run.edition.pauses_in_steps:
        _enter_tool(run, label)


def _enter_tool(run: Run, label: Label) -> None:
    """Enter the body of the call that was logged last, unless a stop keeps it from that: then its result is aborted."""
    agent = run[label]
    if not agent.stopping:
        run.update(label, driver=Driver.TOOL)
        if run.rooms.bridge is not None and (asked := permission.ask(run, label)) is not None:
            run.update(label, wait=asked)
            return
        scripted = None if run.rooms.tasks is None else tool.in_turn(run, label)
        run.update(label, wait=run.arrive(GateKind.TOOL, label) if scripted is None else Wait(scripted))
        return
    log.append(run, label, ToolResult(agent.tool, ToolOutcome.ABORTED), _CUT_RESULT, driver=Driver.NEXT_TOOL)
    if agent.tool == agent.tools:
        _end_batch(run, label)


def _take_result(run: Run, label: Label) -> None:
    agent = run[label]
    wait = agent.wait
    due = _TOOL_RESULT
    if wait is not None and wait.asks and not agent.stopping:
        if wait.outcome == ALLOW:
            run.update(label, wait=run.arrive(GateKind.TOOL, label))
            return
        wait, due = Wait(ERROR), permission.REFUSED
    if agent.stopping or wait is None or wait.outcome is None:
        outcome = ToolOutcome.ABORTED
    else:
        outcome = ToolOutcome.ERROR if wait.outcome == ERROR else ToolOutcome.OK
    last = agent.tool == agent.tools
    log.append(run, label, ToolResult(agent.tool, outcome), due, wait=None, driver=Driver.NEXT_TOOL)
    if last:
        _end_batch(run, label)
        agent = run[label]
        if not agent.stopping and not agent.steering and not run.edition.pauses_in_steps:
            _end_step(run, label)


def _end_batch(run: Run, label: Label) -> None:
    """All results are in: log what was injected meanwhile."""
    run.update(label, driver=Driver.ANSWERED, more=True)
    context.commit_deferred(run, label)


def _end_step(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.stopping:
        _close_step_and_turn(run, label)
    elif agent.steering and _takes_in_at_the_end(run):
        run.update(label, more=True)
        _take_in_steering(run, label)
    else:
        log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END, driver=Driver.BETWEEN_STEPS)


def _takes_in_at_the_end(run: Run) -> bool:
    """Tell whether steering that has come by the end of a step is logged in it."""
    edition = run.edition
    return edition.user_message is UserMessagePlace.BEFORE_STEP and edition.queue_events is QueueEvents.QUEUED


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
    agent, edition = run[label], run.edition
    outcome = decisions.outcome(
        outcome,
        agent.fired,
        disposed=agent.status is Status.DISPOSED,
        first_wins=edition.precedence is Precedence.FIRST_WINS,
    )
    due = _why_ended(run, agent, outcome)
    cause = agent.fired if outcome is TurnOutcome.ABORTED else None
    fails = outcome in (TurnOutcome.ABORTED, TurnOutcome.ERROR) and edition.error_ends is ErrorEnds.DRIVER
    kept = cause if edition.cancel_cause is CancelCause.REQUIRED else None
    log.append(
        run,
        label,
        TurnEnd(agent.turn, outcome, kept),
        due,
        armed=False,
        fired=cause if fails else None,
        ends=fails,
        prompt=None,
        claimed=(),
        turn_open=False,
        driver=Driver.FLUSHING if edition.closing_flush is ClosingFlush.IN_TURN else Driver.CLOSED,
    )
    if flushing.is_due(run, label):
        flushing.begin(run, label, closing=True)
    else:
        run.update(label, driver=Driver.CLOSED)


def _why_ended(run: Run, agent: Agent, outcome: TurnOutcome) -> Demand:
    """Give why a turn ends as it does."""
    due, edition = _TURN_ENDS[outcome], run.edition
    fields: dict[str, str] = {}
    if outcome is TurnOutcome.ABORTED:
        if agent.fired is StopCause.DISPOSED:
            due = _ABORTED_BY_DISPOSAL
        elif agent.driver is Driver.OPENED and agent.prompt is None and edition.empty_turns:
            due = _EMPTY
        if edition.cancel_cause is CancelCause.REQUIRED:
            fields["cause"] = "CANCEL-14"
    if edition.precedence is Precedence.FIRST_WINS and _has_several_ends(agent, outcome):
        due = due._replace(clause="CANCEL-18")
        fields["outcome"] = "CANCEL-18"
    return due._replace(fields=tuple((dict(due.fields) | fields).items())) if fields else due


def _has_several_ends(agent: Agent, outcome: TurnOutcome) -> bool:
    """Tell whether something else came that might have ended the turn, after what ended it."""
    if outcome is TurnOutcome.ERROR:
        return agent.stopping
    ended = agent.status is Status.DISPOSED or agent.teardown is not Teardown.NONE
    return outcome is TurnOutcome.ABORTED and agent.fired is not StopCause.DISPOSED and ended


def _flushed(run: Run, label: Label) -> None:
    if flushing.end(run, label, closing=True):
        run.update(label, driver=Driver.BETWEEN_TURNS)
    else:
        _between_turns(run, label)


def _between_turns(run: Run, label: Label) -> None:
    agent = run[label]
    if agent.ends and agent.status is not Status.DISPOSED:
        _requeue_steering(run, label)
        run.update(label, marker=False)
        _park(run, label)
        return
    late = bool(agent.steering) and not agent.queued and run.edition.queue_events is QueueEvents.QUEUED
    if agent.status is not Status.DISPOSED:
        _requeue_steering(run, label)
    next_turn(run, label, late=late)


def _requeue_steering(run: Run, label: Label) -> Agent:
    """Let steering that has no turn left to join be prompts, so that none is stranded.

    Where the inbox is kept in the log, it waits for the next step, whichever turn that is of.
    """
    agent = run[label]
    if not agent.steering or run.edition.queue_events is QueueEvents.INBOX_RECORDS:
        return agent
    return run.update(label, queued=decisions.requeue(agent.queued, agent.steering), steering=())


_STRETCHES = {
    Driver.PARKED: next_turn,
    Driver.OPENED: _log_prompt,
    Driver.BEFORE_STEP: _before_step,
    Driver.PREPARING: _open_step,
    Driver.ENTERING: _enter_step,
    Driver.STEPPING: _call_model,
    Driver.MODEL: _take_answer,
    Driver.ANSWERED: _end_step,
    Driver.CALLING: _enter_tool,
    Driver.TOOL: _take_result,
    Driver.NEXT_TOOL: _call_tool,
    Driver.FAILING: _report_failure,
    Driver.FAILED: _close_failed_turn,
    Driver.BETWEEN_STEPS: _between_steps,
    Driver.FLUSHING: _flushed,
    Driver.BETWEEN_TURNS: _between_turns,
    Driver.CLOSED: _between_turns,
}
