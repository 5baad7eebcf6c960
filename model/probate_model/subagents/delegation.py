"""The tool that delegates: it starts a run, waits for the result, disposes the run, and then says what became of it.

Whatever becomes of the run, it is disposed before the call returns. A tool is asynchronous, so the run is started in a
step of its own.
"""

from __future__ import annotations

from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.names import Label
from probate_model.alphabet.refusals import code
from probate_model.alphabet.subagents import Delegate, Delegated
from probate_model.references import with_handle
from probate_model.run import Run as Stretch
from probate_model.subagents import starting
from probate_model.subagents.access import call_of, get, put_call, room_of, set_room
from probate_model.subagents.state import Call


def delegate(stretch: Stretch, op: Delegate) -> bool:
    """Carry out the begin of the op."""
    agent = None if stretch.rooms.subagents is None else with_handle(stretch, op.by)
    if agent is None:
        return False
    set_room(stretch, calls=(*room_of(stretch).calls, Call(op, agent.label)))
    return True


def advance(stretch: Stretch, label: Label) -> None:
    """Go on with a call of the tool: start the run, dispose it, or return."""
    call = call_of(stretch, label)
    assert call is not None
    if not call.begun:
        put_call(stretch, call._replace(begun=True))
        refused = starting.begin(stretch, call.op, stretch.agents[call.by])
        if refused is not None:
            clause, why = refused
            _remove(stretch, call)
            stretch.owe(label, Raised(code(why)), clause)
    elif not call.ending:
        put_call(stretch, call._replace(ending=True))
        starting.dispose(stretch, label)
    else:
        run = get(stretch, label)
        assert run.stop is not None
        _remove(stretch, call)
        stretch.owe(label, Returned(Delegated(run.stop, run.output)), "DELEGATE-01")


def _remove(stretch: Stretch, call: Call) -> None:
    calls = room_of(stretch).calls
    set_room(stretch, calls=tuple(other for other in calls if other.op.label != call.op.label))
