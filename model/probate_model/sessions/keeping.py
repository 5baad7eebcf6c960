"""Keeping: which session may write to which log, and when what it logged is safe.

A live session is the authority over its records, and its log is a prefix of them that grows with each flush. The
session *claims* the log of its id when a flush is to write for the first time. If there is none, it is made, whole; so
a session that logged nothing leaves none. If there is one, it must hold no more than the session began with, as after
a resume. Otherwise it is another life's: the session lives on, each of its flushes fails, and the log is not touched.

A flush makes safe what was logged when it began, and with it what every other flush that has begun promises. One that
fails has lost nothing: the records are written by the next, and at the latest when the agent ends, before its session
leaves the store. So the closing record is stored whatever became of the closing flush.
"""

from __future__ import annotations

from probate_model.alphabet.events import Record
from probate_model.alphabet.gates import FAIL, OK, GateOutcome
from probate_model.alphabet.names import Label
from probate_model.clauses import Demand, demand
from probate_model.run import Run
from probate_model.sessions.state import Kept, Log, Note, Sessions, Shape
from probate_model.windows import SessionsWindow

_SAVED = GateOutcome("saved")
"""The outcome of a flush that has written already: it had not to wait."""

_REFUSED = demand("STORE-04", step="STORE-04", source="STORE-04")


def room_of(run: Run) -> Sessions | None:
    """Give the room; none if the trace is not of this profile, or the process keeps no logs."""
    room = run.rooms.sessions
    return None if room is None or room.bare else room


def replace_kept(run: Run, kept: Kept) -> None:
    """Put what is known of a session in the place of what was."""
    room = run.rooms.sessions
    assert room is not None
    others = tuple(kept if other.label == kept.label else other for other in room.kept)
    run.rooms = run.rooms._replace(sessions=room._replace(kept=others))


def replace_log(run: Run, log: Log) -> None:
    """Put a stored log in the place of the one of its id, or add it."""
    room = run.rooms.sessions
    assert room is not None
    others = tuple(other for other in room.logs if other.id != log.id)
    logs = tuple(sorted((*others, log), key=lambda entry: entry.id))
    run.rooms = run.rooms._replace(sessions=room._replace(logs=logs))


def attach(run: Run, label: Label) -> None:
    """Keep a session from the moment that it enters the store; a resumed one is kept since its load."""
    room = room_of(run)
    if room is not None and room.kept_of(label) is None:
        run.rooms = run.rooms._replace(sessions=room._replace(kept=(*room.kept, Kept(label))))


def is_resumed(run: Run, label: Label) -> bool:
    """Tell whether a session began with a stored log."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    return kept is not None and kept.resumed


def failure_clause_of(run: Run, label: Label) -> str | None:
    """Give the clause by which a resume raises that was ended while it loaded; none if that is not so."""
    room = run.rooms.sessions
    return "RESUME-09" if room is not None and label in room.raced else None


def forget(run: Run, label: Label) -> None:
    """Let go of a session whose agent is gone."""
    room = run.rooms.sessions
    if room is not None:
        kept = tuple(other for other in room.kept if other.label != label)
        raced = tuple(other for other in room.raced if other != label)
        run.rooms = run.rooms._replace(sessions=room._replace(kept=kept, raced=raced))


def logged(run: Run, label: Label, record: Record, due: Demand) -> Demand:
    """Note a record that is about to be announced, and give why it is due: the first of a resumed session goes on."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is None:
        return due
    replace_kept(run, kept._replace(before=kept.shape, shape=kept.shape.after(record), first=False))
    if kept.first:
        return due._replace(fields=(*due.fields, ("seq", "RESUME-05"), ("turn", "RESUME-06")))
    return due


def promise(run: Run, label: Label, upto: int) -> None:
    """Note that a flush begins, and what it is to make safe."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is not None and upto > kept.promised:
        replace_kept(run, kept._replace(promised=upto, promised_shape=kept.shape))


def arrived(run: Run, label: Label, outcome: GateOutcome | None) -> GateOutcome | None:
    """Let a flush write that need not wait, and give its outcome; none if it waits."""
    if outcome is None or room_of(run) is None:
        return outcome
    if outcome == OK and _save_promised(run, label):
        return _SAVED
    return _failed(run, label)


def released(run: Run, label: Label, outcome: GateOutcome) -> GateOutcome:
    """Give the outcome of a flush that goes on: one of a session that may not write fails."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is None or (outcome == OK and _may_write(run, label, kept)):
        return outcome
    if outcome == OK:
        _save_promised(run, label)
    return _failed(run, label)


def _failed(run: Run, label: Label) -> GateOutcome:
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is not None:
        replace_kept(run, kept._replace(missed=True))
    return FAIL


def ended(run: Run, label: Label, outcome: GateOutcome | None) -> None:
    """Let a flush write that had to wait."""
    if outcome == OK and room_of(run) is not None:
        _save_promised(run, label)


def failure_demand(run: Run, label: Label, due: Demand) -> Demand:
    """Give why the failure of a flush is reported."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    return _REFUSED if kept is not None and kept.refused else due


def idle_demand(run: Run, label: Label, due: Demand) -> Demand:
    """Give why idle is announced, and not before the failure of a flush that was refused."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    return due._replace(edge="STORE-04") if kept is not None and kept.refused else due


def retire(run: Run, label: Label) -> None:
    """Write what no flush has made safe, before the session leaves the store."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is None:
        return
    records = run.agents[label].records
    if records > kept.saved and not kept.refused:
        run.mark("window", SessionsWindow.ENDED_UNSAVED)
    _save(run, label, records, kept.shape, "STORE-03")
    room = room_of(run)
    log = None if room is None else room.log(run.agents[label].id)
    if log is not None and kept.claimed:
        replace_log(run, log._replace(note=Note("STORE-03")))


def drain(run: Run, label: Label) -> None:
    """Write all that a live session has logged, inside an open turn too."""
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is not None:
        if kept.shape.turn_open:
            run.mark("window", SessionsWindow.RELOAD_IN_TURN)
        _save(run, label, run.agents[label].records, kept.shape, "STORE-10" if kept.shape.turn_open else "STORE-11")


def _save_promised(run: Run, label: Label) -> bool:
    room = room_of(run)
    kept = None if room is None else room.kept_of(label)
    if kept is None:
        return True
    return _save(run, label, kept.promised, kept.promised_shape, "STORE-02" if kept.missed else "STORE-01")


def _may_write(run: Run, label: Label, kept: Kept) -> bool:
    room = room_of(run)
    assert room is not None
    log = room.log(run.agents[label].id)
    return not kept.refused and (kept.claimed or log is None or log.records <= kept.seed)


def _save(run: Run, label: Label, upto: int, shape: Shape, clause: str) -> bool:
    """Write the records before ``upto``, if the session may; tells whether they are safe."""
    room = room_of(run)
    assert room is not None
    kept = room.kept_of(label)
    assert kept is not None
    if not kept.refused and upto <= kept.saved:
        return True
    agent_id = run.agents[label].id
    if not _may_write(run, label, kept):
        replace_kept(run, kept._replace(refused=True))
        log = room.log(agent_id)
        if log is not None:
            run.mark("window", SessionsWindow.STALE_RESUME if kept.resumed else SessionsWindow.REFUSED_FLUSH)
            replace_log(run, log._replace(note=Note("STORE-05")))
        return False
    replace_kept(run, kept._replace(claimed=True, saved=upto, missed=False))
    replace_log(run, Log(agent_id, upto, shape, torn=False, note=Note(clause)))
    return True
