"""Resume: a creation that begins with a stored log.

It is a creation in everything: the same checks, the same private transaction, the same publication, and the same
parties that can end it. Before the setup stands the load. It is raced against the end of the creation, because it may
never return; and when it returns, the id is looked at again, because somebody else may have published it meanwhile. A
log that is live is never loaded: its session is the authority, and what a load would close is not a crash's.

What a crash has left is repaired in the store before the agent sees it, and only by appending: a torn line is
dropped, and what is open is closed. The agent then begins with all of it. None of it is logged again, and the next
record and the next turn have the next numbers.
"""

from __future__ import annotations

from probate_model import creation, publication, registry, teardown
from probate_model.alphabet.gates import NOT_FOUND, THROW, GateKind
from probate_model.alphabet.names import Label, Tag
from probate_model.alphabet.ops import CreationSignal, Resume
from probate_model.alphabet.refusals import Refusal, code, thrown
from probate_model.deactivation import deactivate
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.sessions.keeping import replace_log, room_of
from probate_model.sessions.state import Kept, Loading, Note, Shape
from probate_model.windows import SessionsWindow
from probate_model.world import Agent, Stage

_LOAD_TAG = Tag("load")
_SILENCES = {
    code(Refusal.ID_EXISTS): "RESUME-08",
    code(Refusal.NOT_FOUND): "RESUME-03",
    thrown(_LOAD_TAG): "RESUME-04",
}
"""Why nothing is announced of a resume that its load has ended."""


def resume(run: Run, op: Resume) -> bool:
    """Carry out the begin of the op: refuse, or start a private transaction with a load."""
    origin = creation.origin_of(run, op)
    room = room_of(run)
    if origin is None:
        return False
    if room is None:
        creation.refuse(run, op.label, Refusal.NO_PERSISTENCE, "RESUME-02")
    elif not publication.owner_active(run, origin):
        creation.refuse(run, op.label, Refusal.OWNER_INACTIVE, "CREATE-02")
    elif not run.provider.active:
        creation.refuse(run, op.label, Refusal.PROVIDER_INACTIVE, "CREATE-03")
    elif op.signal is CreationSignal.PRE_ABORTED:
        creation.refuse(run, op.label, Refusal.ABORTED, "CREATE-04")
    elif registry.holds_session(run, op.id):
        creation.refuse(run, op.label, Refusal.ID_EXISTS, "CREATE-05")
    else:
        made = Agent(op.label, op.id, origin, run.provider.incarnation, op.setup, op.cleanup, op.signal)
        run.add(made._replace(stage=Stage.LOADING))
        run.rooms = run.rooms._replace(sessions=room._replace(loading=(*room.loading, Loading(op.label))))
    return True


def can_load(agent: Agent, loading: Loading) -> bool:
    """Tell whether a resume at its load can go on."""
    return loading.wait is None or loading.wait.over or agent.failure is not None


def load(run: Run, label: Label) -> None:
    """Go on with a resume at its load: arrive there, give up, or take the log."""
    room = room_of(run)
    assert room is not None
    loading = next(entry for entry in room.loading if entry.label == label)
    agent = run.agents[label]
    if agent.failure is None and (refusal := publication.why_dead(run, agent)) is not None:
        deactivate(run, label, code(refusal))
        agent = run.agents[label]
    if agent.failure is None and loading.wait is None:
        same = (other for other in run.agents.values() if other.id == agent.id and other.label != label)
        if any(other.stage is Stage.LOADING for other in same):
            run.mark("window", SessionsWindow.TWO_RESUMES)
        wait = run.arrive(GateKind.LOAD, label)
        others = tuple(entry._replace(wait=wait) if entry.label == label else entry for entry in room.loading)
        run.rooms = run.rooms._replace(sessions=room._replace(loading=others))
        if wait.outcome is None:
            return
        loading = Loading(label, wait)
        room = room_of(run)
        assert room is not None
    rest = tuple(entry for entry in room.loading if entry.label != label)
    room = room._replace(loading=rest)
    if agent.failure is not None:
        if loading.wait is not None:
            run.mark("window", SessionsWindow.ENDED_WHILE_LOADING)
            room = room._replace(raced=(*room.raced, label))
        run.rooms = run.rooms._replace(sessions=room)
        _give_up(run, label)
        return
    run.rooms = run.rooms._replace(sessions=room)
    outcome = None if loading.wait is None else loading.wait.outcome
    log = room.log(agent.id)
    if outcome == THROW:
        deactivate(run, label, thrown(_LOAD_TAG))
    elif outcome == NOT_FOUND:
        deactivate(run, label, code(Refusal.NOT_FOUND))
    elif registry.holds_session(run, agent.id):
        run.mark("window", SessionsWindow.PUBLISHED_WHILE_LOADING)
        deactivate(run, label, code(Refusal.ID_EXISTS))
    elif log is None:
        deactivate(run, label, code(Refusal.NOT_FOUND))
    else:
        _take(run, label)
        return
    _give_up(run, label)


def _give_up(run: Run, label: Label) -> None:
    agent = run.agents[label]
    clause = keeping.failure_clause_of(run, label) or _SILENCES.get(agent.failure or code(Refusal.NOT_FOUND))
    if clause is not None:
        run.silence(clause, run.would_be(label), "session/created")
    teardown.roll_back(run, label)


def _take(run: Run, label: Label) -> None:
    """Repair the log where a crash has left something open, and begin with all of it."""
    room = room_of(run)
    assert room is not None
    log = room.log(run.agents[label].id)
    assert log is not None
    if log.shape.closers:
        run.mark("window", SessionsWindow.OPEN_LOG)
        records = log.records + log.shape.closers
        log = log._replace(records=records, shape=Shape(log.shape.turn), note=Note("STORE-08"))
    if log.torn:
        run.mark("window", SessionsWindow.TORN_LOG)
        log = log._replace(torn=False, note=Note("STORE-09"))
    replace_log(run, log)
    kept = Kept(
        label,
        resumed=True,
        seed=log.records,
        saved=log.records,
        shape=log.shape,
        before=log.shape,
        promised=log.records,
        promised_shape=log.shape,
        first=True,
    )
    room = room_of(run)
    assert room is not None
    run.rooms = run.rooms._replace(sessions=room._replace(kept=(*room.kept, kept)))
    run.update(label, stage=Stage.BEGUN, records=log.records, turn=log.shape.turn)
