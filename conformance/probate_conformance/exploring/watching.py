"""Watching: what must be remembered of an agent to judge what is seen of it next.

A world holds no history, and some invariants are about history: a log is balanced, a status alternates, what is
announced as ended was announced as begun. So each agent is accompanied by a *watch*, a small state that every event of
the agent advances, and that says so when one does not fit. It is part of the position. It knows no rules, only what was
seen; as long as the rules are right it follows from the agent's own state, and then it makes no positions more.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from probate_model.alphabet.editions import EDITION_2026_06, CancelRequest, Edition
from probate_model.alphabet.events import (
    AgentCreated,
    AgentDisposed,
    AgentEvent,
    AssistantMessage,
    CancelRequested,
    ContextMessage,
    InboxClaimed,
    InboxDiscarded,
    InboxInserted,
    Logged,
    SessionCreated,
    SessionDisposed,
    SessionStarted,
    Signalled,
    Status,
    StatusChanged,
    StepEnd,
    StepStart,
    StopCause,
    ToolCall,
    ToolResult,
    Trigger,
    TurnEnd,
    TurnOutcome,
    TurnStart,
    UserMessage,
)

_ORDER = ("session/created", "agent/created", "agent/session-start", "agent/disposed", "session/disposed")


class Watch(NamedTuple):
    """What was seen of one agent, as far as it matters."""

    told: tuple[str, ...] = ()
    """What was announced of its life."""
    status: Status = Status.IDLE
    turn: bool = False
    step: bool = False
    call: bool = False
    causes: frozenset[str] = frozenset()
    """The causes of the cancels that were announced in the open turn."""


NOTHING_SEEN: Final = Watch()
OVER: Final = Watch(_ORDER, Status.DISPOSED)
"""The watch of an agent that is gone: nothing more is to be seen of it."""


def watched(watch: Watch, event: AgentEvent, breaches: list[str], edition: Edition = EDITION_2026_06) -> Watch:
    """Advance a watch by an event of its agent.

    :param breaches: where what does not fit is added to
    :param edition: whose reading of the contract it is; where a cancel is not announced, its effects come unannounced
    """
    announced = edition.cancel_requested is CancelRequest.ANNOUNCED
    match event:
        case SessionCreated() | AgentCreated() | SessionStarted() | AgentDisposed() | SessionDisposed():
            return _announced(watch, event.event, breaches)
        case StatusChanged(status=status):
            if watch.status is Status.DISPOSED or status is watch.status:
                breaches.append(f"L8: {status.value} follows {watch.status.value}")
            return watch._replace(status=status)
        case CancelRequested(cause=cause):
            return watch._replace(causes=watch.causes | {cause.value}) if watch.turn else watch
        case Signalled(cause=heard):
            if not watch.turn:
                breaches.append("L7: a signal is heard, and no turn is open")
            if announced and heard is not StopCause.DISPOSED and heard.value not in watch.causes:
                breaches.append(f"L6: the signal {heard.value} comes before any such cancel")
            return watch
        case Logged():
            return _logged(watch, event, breaches, announced=announced)
        case _:
            return watch


def _announced(watch: Watch, what: str, breaches: list[str]) -> Watch:
    if what in watch.told:
        breaches.append(f"L9: {what} is announced twice")
    if what.endswith("/disposed") and what.replace("disposed", "created") not in watch.told:
        breaches.append(f"L9: {what} is announced of what was never created")
    if not what.endswith("/disposed") and any(told.endswith("/disposed") for told in watch.told):
        breaches.append(f"L12: {what} is announced of what has ended")
    if watch.told and _ORDER.index(what) < _ORDER.index(watch.told[-1]):
        breaches.append(f"L9: {what} is announced after {watch.told[-1]}")
    return watch._replace(told=(*watch.told, what) if what not in watch.told else watch.told)


def _logged(watch: Watch, event: Logged, breaches: list[str], *, announced: bool) -> Watch:
    wrong = None
    match event.record:
        case TurnStart(trigger=trigger):
            wrong = "a turn starts inside a turn" if watch.turn else None
            if trigger is Trigger.MESSAGE and watch.status is not Status.RUNNING:
                breaches.append(f"L8: a turn starts while the agent is {watch.status.value}")
            after = watch._replace(turn=True, step=False, call=False, causes=frozenset())
        case TurnEnd(outcome=outcome):
            wrong = "a turn ends that is not open, or inside a step" if not watch.turn or watch.step else None
            if announced and outcome is TurnOutcome.ABORTED and not watch.causes:
                breaches.append("L6: a turn is aborted before any cancel")
            after = watch._replace(turn=False, step=False, call=False, causes=frozenset())
        case StepStart():
            wrong = "a step starts outside of a turn, or inside a step" if not watch.turn or watch.step else None
            after = watch._replace(step=True)
        case StepEnd():
            wrong = "a step ends that is not open, or inside a call" if not watch.step or watch.call else None
            after = watch._replace(step=False, call=False)
        case ToolCall():
            wrong = "a call begins outside of a step, or inside a call" if not watch.step or watch.call else None
            after = watch._replace(call=True)
        case ToolResult():
            wrong = None if watch.call else "a call ends that is not open"
            after = watch._replace(call=False)
        case AssistantMessage():
            wrong = None if watch.step else "an answer is outside of any step"
            after = watch
        case UserMessage() | ContextMessage():
            wrong = None if watch.turn else "a message is outside of any turn"
            after = watch
        case InboxInserted() | InboxClaimed() | InboxDiscarded():
            after = watch
    if wrong is not None:
        breaches.append(f"L1: {wrong}")
    return after
