"""Run one turn: a prompt, and as many steps as its tools and its steering ask for.

A turn is balanced, whatever happens in it. Each boundary that was logged is closed by the one
function that ends every turn, in one go: the step, the report of a failure, the turn, the flush.

Everything between two awaits is one step for all others, so what can have changed is looked at
after each await and after each record: an observer of ``turn/start`` may cancel, and then nothing
more is logged than the end. Work in flight is waited for. A model that finishes after the abort is
discarded; a tool that was begun gets a result that says ``aborted``, and so do the calls that never
began, since the next request to the model must find an answer to every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from .events import AgentError, ErrorSource
from .flushing import close_flush
from .injection import end_batch
from .records import (
    AssistantMessage,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolOutcome,
    ToolResult,
    TurnEnd,
    TurnReason,
    TurnStart,
    TurnTrigger,
    UserMessage,
)
from .reports import is_failure, words
from .seams import ModelRequest, Reply, StopReason, ToolContext

if TYPE_CHECKING:
    from .core import Core, Turn
    from .seams import ToolCall

__all__ = ("run_turn",)


async def run_turn(core: Core, turn: Turn) -> None:
    """Claim the oldest prompt, run a turn with it, and wait for the closing flush."""
    text = core.inbox.claim()
    turn.number = core.session._last_turn + 1
    core.append(TurnStart(turn.number, TurnTrigger.MESSAGE))
    try:
        if not turn.stopped():
            await checkpoint()
            await _run_steps(core, turn, text)
    except BaseException:
        # The task itself is cancelled or broken: the agent ends with it, and its log in order.
        core.lifecycle.begin_teardown()
        raise
    finally:
        _close(core, turn)
        await close_flush(core)


async def _run_steps(core: Core, turn: Turn, text: str) -> None:
    if turn.stopped():
        return
    core.append(UserMessage(text))
    again = True
    step = 0
    while again:
        step += 1
        _drain_steering(core, turn)
        if turn.stopped():
            return
        request = ModelRequest(core.agent, core.session, turn.number, step, core.kernel.tools.list())
        if core.kernel.prepare is not None and not await _prepare(core, turn, request):
            return
        turn.open_step = step
        core.append(StepStart(turn.number, step))
        if turn.stopped():
            return
        again = await _run_step(core, turn, request)


async def _prepare(core: Core, turn: Turn, request: ModelRequest) -> bool:
    """Await the preparation of a step and return whether the step may open."""
    assert core.kernel.prepare is not None
    try:
        await core.kernel.prepare(request, turn.signal)
    except BaseException as raised:
        if not is_failure(raised):
            raise
        if not turn.stopped():
            turn.failure = (0, ErrorSource.INTERNAL, raised)
        return False
    return not turn.stopped()


async def _run_step(core: Core, turn: Turn, request: ModelRequest) -> bool:
    """Run the open step and return whether another one is to follow."""
    try:
        reply = await core.kernel.model(request, turn.signal)
        if not turn.stopped() and not isinstance(reply, Reply):
            raise TypeError(f"the model returned {type(reply).__name__}, not a Reply")
    except BaseException as raised:
        if not is_failure(raised):
            raise
        if not turn.stopped():
            turn.failure = (request.step, ErrorSource.MODEL, raised)
        return False
    if turn.stopped():
        return False
    calls = reply.tool_calls
    if reply.stop == StopReason.MAX_TOKENS:
        turn.max_tokens = True
        calls = ()
    # The batch begins with the answer that asks for it: nothing may stand between a call and its result.
    core.batch_active = bool(calls)
    core.append(AssistantMessage(reply.text))
    if calls:
        await _run_tools(core, turn, request.step, calls)
    steered = _drain_steering(core, turn)
    turn.open_step = 0
    core.append(StepEnd(turn.number, request.step))
    if turn.stopped():
        return False
    await checkpoint()
    return not turn.stopped() and (bool(calls) or steered or core.inbox.has_steering())


async def _run_tools(core: Core, turn: Turn, step: int, calls: tuple[ToolCall, ...]) -> None:
    """Run the calls of a step one after the other; every call gets a result."""
    crash: BaseException | None = None
    for number, call in enumerate(calls, 1):
        core.append(ToolCalled(number, call.name, call.arguments))
        result = ToolResult(number, ToolOutcome.ABORTED, "aborted before dispatch")
        if not turn.stopped():
            try:
                context = ToolContext(core.agent, turn.signal, turn.number, step, number)
                result = await _run_tool(core, turn, call, context)
            except BaseException as raised:
                crash = raised
                core.lifecycle.begin_teardown()
                result = ToolResult(number, ToolOutcome.ABORTED, "aborted")
        core.append(result)
    end_batch(core)
    if crash is not None:
        raise crash


async def _run_tool(core: Core, turn: Turn, call: ToolCall, context: ToolContext) -> ToolResult:
    outcome = ToolOutcome.OK
    try:
        text = await core.kernel.tools.call(call, context)
    except BaseException as raised:
        if not is_failure(raised):
            raise
        outcome = ToolOutcome.ERROR
        text = words(raised)
    if turn.stopped():
        return ToolResult(context.number, ToolOutcome.ABORTED, "aborted")
    return ToolResult(context.number, outcome, text)


def _drain_steering(core: Core, turn: Turn) -> bool:
    """Log the steering that waits, unless the turn is aborted, and return whether there was any."""
    drained = False
    while core.inbox.has_steering() and not turn.stopped():
        core.append(UserMessage(core.inbox.take_steering()))
        drained = True
    return drained


def _close(core: Core, turn: Turn) -> None:
    """Close what is open, in one go. Here the turn stops being something one can cancel."""
    if turn.open_step:
        core.append(StepEnd(turn.number, turn.open_step))
    if turn.failure is not None:
        step, source, failure = turn.failure
        core.kernel.events._emit(AgentError(core.agent, step, source, failure))
    core.turn = None
    core.append(TurnEnd(turn.number, _reason(core, turn)))


def _reason(core: Core, turn: Turn) -> TurnReason:
    if core.disposed():
        return TurnReason.DISPOSED
    if turn.stopped():
        return TurnReason.ABORTED
    if turn.failure is not None:
        return TurnReason.ERROR
    if turn.max_tokens:
        return TurnReason.MAX_TOKENS
    return TurnReason.COMPLETED
