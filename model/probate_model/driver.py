"""The driver: one coroutine for each agent, as the table of its stretches.

Each function in the table is one stretch between two waits; others may come between any two of them. Where a driver is
says what it does next, and whether it can: it only paused, or what it waits for is there.
"""

from __future__ import annotations

from probate_model import flushing, steps, turns
from probate_model.alphabet.events import Status
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.names import Label
from probate_model.run import Run
from probate_model.world import Agent, Driver

GATES = {
    GateKind.PREPARE: Driver.PREPARING,
    GateKind.MODEL: Driver.MODEL,
    GateKind.PERMISSION: Driver.TOOL,
    GateKind.TOOL: Driver.TOOL,
}
"""The gates that a driver waits at, and where it is then."""

_AT_A_GATE = frozenset(GATES.values())

_GOES_ON = frozenset(Driver) - _AT_A_GATE - {Driver.NONE, Driver.PARKED, Driver.FLUSHING, Driver.EXITED}
"""Where a driver only paused, and waits for nothing."""


def can_run(agent: Agent) -> bool:
    """Tell whether the driver has something to do."""
    driver = agent.driver
    if driver in _GOES_ON:
        return True
    if driver in _AT_A_GATE:
        return agent.wait is not None and agent.wait.over
    match driver:
        case Driver.PARKED:
            if agent.woken is None:
                return bool(agent.queued) or agent.marker or agent.status is Status.DISPOSED
            return agent.woken or agent.marker or bool(agent.waiters) or agent.status is Status.DISPOSED
        case Driver.FLUSHING:
            return flushing.has_ended(agent.flushes, closing=True)
        case _:
            return False


def advance(run: Run, label: Label) -> None:
    """Run the driver to its next wait."""
    _STRETCHES[run.agents[label].driver](run, label)


_STRETCHES = {**turns.STRETCHES, **steps.STRETCHES}
