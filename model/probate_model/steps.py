"""Steps: what a driver does within a turn, from its prompt to the end of its last step.

A step is prepared, begins, asks the model, and logs the answer; then the calls of tools that the answer asks for, one
after the other, each with its result. There is another step if tools were called or steering has come. A stop is looked
at after each wait, and closes what is open in one stretch; an answer that it has cut off is nobody's, unless the
edition keeps it. Calls that a stop keeps from beginning are logged as aborted, so the log is balanced.
"""

from __future__ import annotations

from probate_model import context, log, taking, turns
from probate_model.alphabet.editions import PartialText, QueueEvents, UserMessagePlace
from probate_model.alphabet.events import (
    AgentError,
    AssistantMessage,
    ErrorSource,
    StepEnd,
    StepStart,
    ToolCall,
    ToolOutcome,
    ToolResult,
    TurnOutcome,
)
from probate_model.alphabet.gates import ALLOW, ERROR, THROW, GateKind, hits_max_tokens, tool_count
from probate_model.alphabet.names import Label, Text
from probate_model.bridge import permission
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.tasks import tool
from probate_model.windows import Window
from probate_model.world import Agent, Driver, Wait

_STEP_START_FIRST = demand("TURN-17", edge="TURN-17", step="TURN-17", turn="TURN-17", seq="TURN-13")
_PARTIAL = demand("CANCEL-16", edge="CANCEL-16", text="CANCEL-16", seq="TURN-13")
_STEP_START = demand("TURN-04", edge="TURN-04", step="TURN-04", turn="TURN-04", seq="TURN-13")
_ANSWER = demand("TURN-05", edge="TURN-05", text="TURN-05", seq="TURN-13")
_STEP_END = demand("TURN-06", edge="TURN-06", step="TURN-06", turn="TURN-06", seq="TURN-13")
_ERROR = demand("TURN-10", edge="TURN-10", step="TURN-10", source="TURN-10")
_TOOL_CALL = demand("TOOL-01", edge="TOOL-01", n="TOOL-01", seq="TURN-13")
_TOOL_RESULT = demand("TOOL-02", edge="TOOL-02", n="TOOL-02", outcome="TOOL-02", seq="TURN-13")
_CUT_CALL = demand("TOOL-03", n="TOOL-03", seq="TURN-13")
_CUT_RESULT = demand("TOOL-03", n="TOOL-03", outcome="TOOL-03", seq="TURN-13")


def _log_prompt(run: Run, label: Label) -> None:
    agent = run.agents[label]
    if agent.stopping:
        turns.close(run, label, TurnOutcome.COMPLETED)
        return
    if run.edition.user_message is UserMessagePlace.AFTER_STEP:
        _prepare_step(run, label)
        return
    run.update(label, driver=Driver.BEFORE_STEP)
    taking.log_claimed(run, label)


def _before_step(run: Run, label: Label) -> None:
    if run.agents[label].stopping:
        turns.close(run, label, TurnOutcome.COMPLETED)
        return
    if run.edition.user_message is UserMessagePlace.AFTER_STEP:
        taking.claim_steering(run, label)
    else:
        taking.take_in_steering(run, label)
    if run.agents[label].stopping:
        turns.close(run, label, TurnOutcome.COMPLETED)
        return
    _prepare_step(run, label)


def _prepare_step(run: Run, label: Label) -> None:
    run.update(label, driver=Driver.PREPARING, wait=run.arrive(GateKind.PREPARE, label))


def _open_step(run: Run, label: Label) -> None:
    agent = run.agents[label]
    outcome = agent.wait.outcome if agent.wait else None
    if agent.stopping:
        run.update(label, wait=None)
        turns.close(run, label, TurnOutcome.COMPLETED)
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
    taking.log_claimed(run, label)


def _call_model(run: Run, label: Label) -> None:
    agent = run.agents[label]
    if agent.stopping:
        _close_step_and_turn(run, label)
        return
    run.update(label, answers=agent.answers + 1, driver=Driver.MODEL, wait=run.arrive(GateKind.MODEL, label))


def _take_answer(run: Run, label: Label) -> None:
    agent = run.agents[label]
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
    if tools and not run.agents[label].stopping:
        _call_tool(run, label)


def _answer_of(agent: Agent) -> Text:
    """Give the text of a model's answer. All of it is there before the gate, so it is what a stop finds, too."""
    return Text(f"{agent.label}:{agent.answers}")


def _call_tool(run: Run, label: Label) -> None:
    """Log the next call of the batch, and enter its body; one that a stop keeps from beginning is logged too."""
    agent = run.agents[label]
    n = agent.tool + 1
    cut = agent.stopping
    due, driver = (_CUT_CALL, Driver.NEXT_TOOL) if cut else (_TOOL_CALL, Driver.CALLING)
    log.append(run, label, ToolCall(n), due, tool=n, driver=driver)
    if cut or not run.edition.pauses_in_steps:
        _enter_tool(run, label)


def _enter_tool(run: Run, label: Label) -> None:
    """Enter the body of the call that was logged last, unless a stop keeps it from that: then its result is aborted."""
    agent = run.agents[label]
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
    agent = run.agents[label]
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
        agent = run.agents[label]
        if not agent.stopping and not agent.steering and not run.edition.pauses_in_steps:
            _end_step(run, label)


def _end_batch(run: Run, label: Label) -> None:
    """All results are in: log what was injected meanwhile."""
    run.update(label, driver=Driver.ANSWERED, more=True)
    context.commit_deferred(run, label)


def _end_step(run: Run, label: Label) -> None:
    agent = run.agents[label]
    if agent.stopping:
        _close_step_and_turn(run, label)
    elif agent.steering and _takes_in_at_the_end(run):
        run.update(label, more=True)
        taking.take_in_steering(run, label)
    else:
        log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END, driver=Driver.BETWEEN_STEPS)


def _takes_in_at_the_end(run: Run) -> bool:
    """Tell whether steering that has come by the end of a step is logged in it."""
    edition = run.edition
    return edition.user_message is UserMessagePlace.BEFORE_STEP and edition.queue_events is QueueEvents.QUEUED


def _between_steps(run: Run, label: Label) -> None:
    agent = run.agents[label]
    if not agent.stopping and (agent.more or agent.steering):
        _before_step(run, label)
    else:
        turns.close(run, label, TurnOutcome.MAX_TOKENS if agent.max_tokens else TurnOutcome.COMPLETED)


def _close_step_and_turn(run: Run, label: Label) -> None:
    """Close what a stop has left open, in one stretch."""
    agent = run.agents[label]
    log.append(run, label, StepEnd(agent.turn, agent.step), _STEP_END)
    turns.close(run, label, TurnOutcome.COMPLETED)


def _report_failure(run: Run, label: Label) -> None:
    agent = run.update(label, driver=Driver.FAILED)
    run.emit(label, AgentError(agent.ref, agent.step, ErrorSource.MODEL), _ERROR)


def _close_failed_turn(run: Run, label: Label) -> None:
    turns.close(run, label, TurnOutcome.ERROR)


STRETCHES = {
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
}
"""What a driver does next within a turn, by where it is."""
