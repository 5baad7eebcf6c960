"""Teardown: the one ordered end of an agent, whoever asks for it.

The handle's ``dispose``, the owner's unload, the provider's unload and the end of a parent all reach the same
teardown. It is memoized: whoever comes second joins it and returns at the same boundary, never before. Its order is
what makes it safe:

1. *stop*, in one stretch: no more input, the turn's signal fires, ``disposed`` is announced;
2. *drain*: the driver closes its turn and its flush and exits; flushes of idle injections end. Until then the session
   is attached, so the closing record reaches whoever keeps the log. This is why it is no sibling of the agent;
3. *detach*: the agent's entry, then the session's. From here the id is free;
4. *scope*: children created on the agent's behalf are told to end, newest first, then the cleanup begins; all are
   awaited.

Nothing in it can fail: a listener's or a cleanup's failure is contained, a flush's is reported.

An edition may have the scope unwind before the entries go; then an id is taken as long as a cleanup is slow, also that
of a creation that was vetoed. And it may know no status for this: then *stop* is a cancel by the cause ``disposed``,
*drain* is to be idle once, and input is taken as ever, until the end and after it.
"""

from __future__ import annotations

from collections.abc import Collection

from probate_model import decisions, driver, idle, inbox, registry, signals
from probate_model.alphabet.editions import DisposedStatus, TeardownOrder
from probate_model.alphabet.events import RETURNED, Raised, Status, StatusChanged, StopCause
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import Dispose
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import Demand, demand, failure_clause
from probate_model.deactivation import deactivate
from probate_model.references import with_handle
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.windows import Window
from probate_model.world import Agent, Driver, Stage, Teardown

_DISPOSED = demand("DISPOSE-03", edge="DISPOSE-03", status="DISPOSE-03")
UNLOADED = demand("OWNER-01", edge="OWNER-01", status="DISPOSE-03")
"""Why the end of an agent is announced that an unload begins."""
_TAKEN_ALONG = demand("OWNER-06", edge="OWNER-06", status="DISPOSE-03")
_CLEANUP_AFTER_CHILDREN = demand("DISPOSE-08", edge="OWNER-06")
_CLEANUP = demand("DISPOSE-08", edge="DISPOSE-08")
_CLEANUP_FIRST_AFTER_CHILDREN = demand("DISPOSE-11", edge="OWNER-06")
_CLEANUP_FIRST = demand("DISPOSE-11", edge="DISPOSE-05")
_DROPPED = demand("DISPOSE-10", queue="INBOX-09", count="INBOX-09", seq="TURN-13")


def dispose(run: Run, op: Dispose) -> bool:
    """Carry out the begin of the op: join the teardown, beginning it if nobody has."""
    agent = with_handle(run, op.agent)
    if agent is None:
        return False
    join(run, agent.label, op.label)
    return True


def join(run: Run, label: Label, caller: Label, due: Demand = _DISPOSED) -> None:
    """Let a caller wait for the end of a live agent, and begin that if nobody has."""
    agent = run.agents[label]
    if agent.teardown is Teardown.DONE:
        run.owe(caller, RETURNED, "DISPOSE-01")
        return
    run.update(label, disposers=(*agent.disposers, caller))
    begin(run, label, Refusal.LIFECYCLE_DISPOSED, due)


def begin(run: Run, label: Label, cause: Refusal, due: Demand = _DISPOSED) -> None:
    """Begin the teardown, or join it. A pending creation is only deactivated: it rolls itself back.

    ``due`` says why the agent's end is announced.
    """
    deactivate(run, label, code(cause))
    agent = run.agents[label]
    if cause is Refusal.LIFECYCLE_DISPOSED:
        _mark_window(run, agent)
    if agent.teardown is not Teardown.NONE:
        return
    begun = decisions.teardown_begun(agent.stage, is_status=run.edition.disposed_status is DisposedStatus.YES)
    if begun is Teardown.ASKED:
        run.update(label, teardown=begun)
    elif begun is Teardown.STOPPED:
        stop(run, label, due)


def _mark_window(run: Run, agent: Agent) -> None:
    if agent.stage is Stage.PUBLISHING:
        run.mark("window", Window.DISPOSE_WHILE_ANNOUNCED)
    if any(flush.outcome is None for flush in agent.flushes):
        run.mark("window", Window.DISPOSE_IN_HELD_FLUSH)
    if agent.turn_open:
        run.mark("window", Window.DISPOSE_IN_TURN)
    unloading = any(agent.label in unload.awaited for unload in run.unloads)
    if agent.teardown not in (Teardown.NONE, Teardown.DONE) and unloading:
        run.mark("window", Window.DISPOSE_IN_UNLOAD)


def stop(run: Run, label: Label, due: Demand = _DISPOSED) -> None:
    """Take no more input, fire the turn's signal, wake the driver, announce ``disposed`` if the agent was published."""
    if run.edition.disposed_status is DisposedStatus.NO:
        _cancel_for_good(run, label)
        return
    agent = run.agents[label]
    run.update(
        label,
        teardown=Teardown.STOPPED,
        status=Status.DISPOSED,
        waiters=(),
        exit_waiters=agent.exit_waiters + agent.waiters,
    )
    if signals.fire(run, label, StopCause.DISPOSED):
        due = due._replace(edge="DISPOSE-02")
    if agent.published:
        run.emit(label, StatusChanged(agent.ref, Status.DISPOSED), due)
    else:
        run.silence("PUBLISH-08", agent, "agent/status", status=Status.DISPOSED)
    if run.agents[label].driver is Driver.NONE:
        idle.driver_exited(run, label)


def _cancel_for_good(run: Run, label: Label) -> None:
    """Stop where disposal is no status: drop what is pending, and fire the turn's signal."""
    agent = run.agents[label]
    run.update(label, teardown=Teardown.STOPPED, woken=None if agent.woken is None else False)
    if agent.driver is Driver.NONE:
        run.update(label, driver=Driver.PARKED)
    if agent.wakes and agent.status is Status.IDLE:
        empty = run.edition.empty_turns and agent.driver is Driver.PARKED
        run.update(label, marker=True, fired=StopCause.DISPOSED if empty else None)
    run.silence("DISPOSE-13", agent, "agent/status", status=Status.DISPOSED)
    for text in (*agent.queued, *agent.steering):
        run.silence("DISPOSE-10", agent, "log", record="user/message", text=text)
    inbox.discard(run, label, _DROPPED)
    signals.fire(run, label, StopCause.DISPOSED)


def roll_back(run: Run, label: Label) -> None:
    """Unwind a creation that entered nothing: only its scope is left."""
    status = Status.DISPOSED if run.edition.disposed_status is DisposedStatus.YES else Status.IDLE
    run.update(label, stage=Stage.FAILED, teardown=Teardown.DETACHED, status=status)
    ended = run.agents[label].failure == code(Refusal.OWNER_DISPOSED)
    run.silence("CREATE-09" if ended else "CREATE-14", run.would_be(label), "session/created")


def can_advance(agents: Collection[Agent], agent: Agent) -> bool:
    """Tell whether the teardown of an agent, one of ``agents``, has something to do."""
    match agent.teardown:
        case Teardown.ASKED:
            return agent.stage is not Stage.PUBLISHING
        case Teardown.STOPPED:
            return _drained(agent)
        case Teardown.DETACHED:
            return True
        case Teardown.SCOPE:
            return _scope_can_advance(agents, agent)
        case _:
            return False


def _drained(agent: Agent) -> bool:
    if agent.flushes or agent.called:
        return False
    if agent.status is Status.DISPOSED:
        return agent.driver is Driver.EXITED
    return agent.status is Status.IDLE and agent.driver is Driver.PARKED and not driver.can_run(agent)


def _scope_can_advance(agents: Collection[Agent], agent: Agent) -> bool:
    if not _is_unwound(agent):
        return True
    if agent.in_cleanup is not None and not agent.in_cleanup.over:
        return False
    return all(other.teardown is Teardown.DONE for other in agents if other.origin.parent == agent.label)


def advance(run: Run, label: Label) -> None:
    """Go on with the teardown by one stretch."""
    agent = run.agents[label]
    scope_last = run.edition.teardown is TeardownOrder.SCOPE_LAST
    match decisions.teardown_after(agent.teardown, scope_last=scope_last, unwound=_is_unwound(agent)):
        case Teardown.STOPPED:
            stop(run, label)
        case Teardown.DETACHED:
            detach_if_drained(run, label)
        case Teardown.DONE:
            _finish(run, label)
        case _ if agent.teardown is Teardown.SCOPE:
            _unwind_scope(run, label)
        case _:
            _enter_scope(run, label)


def detach_if_drained(run: Run, label: Label) -> None:
    """Remove both entries, once no driver and no flush is left that could still need the session.

    Where the scope unwinds before that, they stay.
    """
    if run.edition.teardown is TeardownOrder.SCOPE_LAST and _drained(run.agents[label]):
        run.update(label, teardown=Teardown.DETACHED)
        keeping.retire(run, label)
        registry.detach(run, label)


def _enter_scope(run: Run, label: Label) -> None:
    children = tuple(
        other.label
        for other in reversed(run.agents.values())
        if other.origin.parent == label and other.teardown is not Teardown.DONE
    )
    agent = run.update(label, teardown=Teardown.SCOPE, children=children)
    if _is_unwound(agent):
        _finish(run, label)
    else:
        _unwind_scope(run, label)


def _is_unwound(agent: Agent) -> bool:
    """Tell whether nothing of the scope is left to begin: no child to end, and no cleanup."""
    return not agent.children and not (agent.cleanup and agent.in_cleanup is None)


def _unwind_scope(run: Run, label: Label) -> None:
    """Begin what is next of the scope: the end of a child, or the cleanup when none is left."""
    agent = run.agents[label]
    if agent.children:
        first, *rest = agent.children
        run.update(label, children=tuple(rest))
        begin(run, first, Refusal.OWNER_DISPOSED, _TAKEN_ALONG)
    else:
        parent = any(other.origin.parent == label for other in run.agents.values())
        if run.edition.teardown is TeardownOrder.SCOPE_LAST:
            due = _CLEANUP_AFTER_CHILDREN if parent else _CLEANUP
        else:
            due = _CLEANUP_FIRST_AFTER_CHILDREN if parent else _CLEANUP_FIRST
        if agent.stage is Stage.FAILED and agent.failure is not None:
            due = due._replace(clause=keeping.failure_clause_of(run, label) or failure_clause(agent.failure))
        run.cleanup_began(label, due)
        run.update(label, in_cleanup=run.arrive(GateKind.CLEANUP, label))


def _finish(run: Run, label: Label) -> None:
    registry.detach(run, label)
    agent = run.agents[label]
    run.update(label, teardown=Teardown.DONE, disposers=())
    if agent.origin.parent is not None:
        run.touched.add(agent.origin.parent)
    for caller in agent.disposers:
        run.owe(caller, RETURNED, "DISPOSE-01")
    if agent.stage is Stage.FAILED and agent.failure is not None:
        run.owe(label, Raised(agent.failure), keeping.failure_clause_of(run, label) or failure_clause(agent.failure))
    keeping.forget(run, label)
