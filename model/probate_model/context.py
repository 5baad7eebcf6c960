"""Context in the log, where it is a record of its own and not a message that a step takes in; see ``injection``."""

from __future__ import annotations

from typing import Final, NamedTuple

from probate_model import flushing, log
from probate_model.alphabet.events import ContextMessage, Trigger, TurnEnd, TurnOutcome, TurnStart
from probate_model.alphabet.names import Label, Text
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.world import Driver

_CONTEXT = demand("INJECT-01", record="INJECT-01")
_DEFERRED = demand("INJECT-04", edge="INJECT-04", record="INJECT-04")
_OF_A_TURN = demand("INJECT-02", record="INJECT-02")


class Why(NamedTuple):
    """Why the records of an injection are due."""

    context: Demand
    of_a_turn: Demand
    """Where no turn was open: why its own turn is opened, and it is logged there."""


INJECTED: Final = Why(_CONTEXT, _OF_A_TURN)
"""Because somebody asked for it."""


def commit(run: Run, label: Label, text: Text, why: Why = INJECTED) -> None:
    """Commit context to where the log says that it belongs."""
    agent = run.agents[label]
    if agent.turn_open:
        if agent.driver in (Driver.CALLING, Driver.TOOL, Driver.NEXT_TOOL):
            run.update(label, deferred=(*agent.deferred, text))
            run.silence("INJECT-04", agent, "log", record="context/message", text=text)
        else:
            log.append(run, label, ContextMessage(text), why.context)
        return
    turn = agent.turn + 1
    run.update(label, turn=turn, turn_open=True)
    log.append(run, label, TurnStart(turn, Trigger.INJECTION), why.of_a_turn)
    log.append(run, label, ContextMessage(text), why.of_a_turn)
    run.update(label, turn_open=False)
    log.append(run, label, TurnEnd(turn, TurnOutcome.COMPLETED), _OF_A_TURN)
    if flushing.is_due(run, label):
        flushing.begin(run, label, closing=False)


def commit_deferred(run: Run, label: Label) -> None:
    """Commit what was injected while a batch of tool calls ran."""
    while run.agents[label].deferred:
        first, *rest = run.agents[label].deferred
        run.update(label, deferred=tuple(rest))
        log.append(run, label, ContextMessage(first), _DEFERRED)
