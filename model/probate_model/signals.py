"""A turn's signal: the one authority that ends the work of a turn.

It is armed before the turn is announced and retired just before ``turn/end`` is logged. It fires at most once, so the
first cause is the one that bodies in flight hear. A body that waits at a gate and honours the signal stops waiting; a
deaf one waits on. Either way it *hears*, and that is the event. When no body is in flight there is nobody to hear,
and no event.

Where a disposal wins over a cancel and is a cancel itself, it takes the place of the cause of the one before it, and
nobody hears that: who was told to stop once has been told.
"""

from __future__ import annotations

from probate_model.alphabet.editions import CancelRequest, DisposedStatus, Precedence
from probate_model.alphabet.events import Signalled, StopCause
from probate_model.alphabet.gates import Temper
from probate_model.alphabet.names import Label
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.tasks.access import signalled
from probate_model.world import Driver

_HEARD_CANCEL = {
    CancelRequest.ANNOUNCED: demand("CANCEL-05", edge="CANCEL-01", cause="CANCEL-06"),
    CancelRequest.SILENT: demand("CANCEL-05", cause="CANCEL-06"),
}
_HEARD_DISPOSAL = demand("DISPOSE-02", cause="DISPOSE-02")


def fire(run: Run, label: Label, cause: StopCause) -> bool:
    """Fire the signal of the open turn, if it is armed and has not fired yet; tells whether a body heard it."""
    agent = run.agents[label]
    if not agent.armed or agent.fired is not None:
        if agent.armed:
            run.silence("CANCEL-06", agent, "signal")
            if cause is StopCause.DISPOSED and _overrides(run):
                run.update(label, fired=cause)
        return False
    wait = agent.wait
    in_body = agent.driver in (Driver.MODEL, Driver.TOOL) and wait is not None and wait.held and not wait.asks
    if wait is not None and wait.held and wait.outcome is None and (wait.asks or wait.temper is Temper.HONOURS):
        wait = wait._replace(aborted=True)
    run.update(label, fired=cause, wait=wait)
    if run.rooms.tasks is not None:
        signalled(run, label, agent.turn)
    if in_body:
        heard = _HEARD_DISPOSAL if cause is StopCause.DISPOSED else _HEARD_CANCEL[run.edition.cancel_requested]
        run.emit(label, Signalled(agent.ref, agent.turn, cause), heard)
    return in_body


def _overrides(run: Run) -> bool:
    edition = run.edition
    return edition.precedence is Precedence.DISPOSAL_WINS and edition.disposed_status is DisposedStatus.NO
