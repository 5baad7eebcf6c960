"""Asking the store: a look at one log, and a reload of the store under the sessions that live.

A reload writes first what every live session has logged, inside an open turn too. Then each session goes on with its
log. A turn that is open stays open: nobody but the session closes it while the session lives.
"""

from __future__ import annotations

from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.sessions import Reload, Stored, StoredLog
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.sessions.keeping import room_of
from probate_model.sessions.state import Asked


def reload(run: Run, op: Reload) -> bool:
    """Carry out the begin of the op."""
    return _ask(run, Asked(op.label))


def stored(run: Run, op: Stored) -> bool:
    """Carry out the begin of the op."""
    return _ask(run, Asked(op.label, op.id))


def _ask(run: Run, asked: Asked) -> bool:
    room = room_of(run)
    if room is None:
        return False
    run.rooms = run.rooms._replace(sessions=room._replace(asked=(*room.asked, asked)))
    return True


def answer(run: Run, asked: Asked) -> None:
    """Carry out what was asked, and settle the call."""
    room = room_of(run)
    assert room is not None
    rest = tuple(other for other in room.asked if other != asked)
    run.rooms = run.rooms._replace(sessions=room._replace(asked=rest))
    if asked.id is None:
        for label in run.sessions:
            keeping.drain(run, label)
        run.owe(asked.label, Returned(), "STORE-12")
        return
    log = room.log(asked.id)
    if log is None:
        run.owe(asked.label, Raised(code(Refusal.NOT_FOUND)), "STORE-06")
    else:
        run.owe(asked.label, Returned(StoredLog(log.records, log.shape.turn_open)), log.note.clause)
