"""Crash: the process ends between two instructions, and is started again.

Everything that ran is gone, and so is everything that was only in memory: agents, calls, listeners, gates. What a
flush has acknowledged stays. Of what was logged and not acknowledged anything may be there: nothing, all, or all but a
record that was cut short; a trace says which. The numbers by which session objects of one id are counted go on, since
they are the recorder's.
"""

from __future__ import annotations

from probate_model.alphabet.events import Returned
from probate_model.alphabet.sessions import Crash, Restart, Tail
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.sessions.keeping import room_of
from probate_model.sessions.state import Log, Note, Sessions
from probate_model.windows import SessionsWindow

_CRASHED = demand("CALL-02")


def crash(run: Run, op: Crash) -> bool:
    """Carry out the op: leave what is durable, and nothing else."""
    room = run.rooms.sessions
    assert room is not None
    logs = room.logs
    if room_of(run) is not None:
        for label in run.sessions:
            logs = _left(run, room, logs, label, op.tail)
    logs = tuple(log._replace(note=Note("STORE-09" if log.torn else "STORE-07")) for log in logs)
    if any(agent.turn_open for agent in run.agents.values()):
        run.mark("window", SessionsWindow.CRASH_IN_TURN)
    if room.loading:
        run.mark("window", SessionsWindow.CRASH_WHILE_LOADING)
    run.settled(op.label, Returned(), _CRASHED)
    run.end_all()
    run.rooms = run.rooms._replace(sessions=Sessions(bare=op.restart is Restart.BARE, down=True, logs=logs))
    return True


def _left(run: Run, room: Sessions, logs: tuple[Log, ...], label: str, tail: Tail) -> tuple[Log, ...]:
    """Give the logs with what the crash leaves of one session's."""
    agent = next(agent for agent in run.agents.values() if agent.label == label)
    kept = room.kept_of(agent.label)
    log = next((log for log in logs if log.id == agent.id), None)
    if kept is None or kept.refused or (not kept.claimed and log is not None and log.records > kept.seed):
        return logs
    others = tuple(other for other in logs if other.id != agent.id)
    records = agent.records
    if tail is Tail.LOST or records <= kept.saved:
        if records > kept.saved:
            run.mark("window", SessionsWindow.CRASH_UNSAVED)
        return logs if log is None else _sorted(*others, log._replace(note=Note("STORE-07")))
    run.mark("window", SessionsWindow.CRASH_UNSAVED)
    if tail is Tail.WRITTEN:
        return _sorted(*others, Log(agent.id, records, kept.shape, torn=False, note=Note("STORE-07")))
    if log is None:
        return logs
    return _sorted(*others, Log(agent.id, records - 1, kept.before, torn=True, note=Note("STORE-09")))


def _sorted(*logs: Log) -> tuple[Log, ...]:
    return tuple(sorted(logs, key=lambda entry: entry.id))
