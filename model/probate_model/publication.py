"""Publication: one synchronous stretch in which a private transaction becomes a live agent.

Session and agent are entered first, both, and only then announced: whoever hears the first announcement finds the
pair in both registries. Every announcement may be answered from inside by something that ends the creation, so each
is followed by a check, and nothing is announced of what is dead. A listener that throws in one of the two creation
events vetoes: the entries go again at once, and what was announced is announced as disposed. No other failure of a
listener vetoes anything.

A teardown that is asked for while publication is on the stack waits until it unwinds, so that listeners which come
later in the same dispatch still find the entries.
"""

from __future__ import annotations

from probate_model import registry, teardown
from probate_model.alphabet.editions import IdFree, TeardownOrder
from probate_model.alphabet.events import AgentCreated, SessionCreated, SessionStarted, StartSource
from probate_model.alphabet.events import Returned as CallReturned
from probate_model.alphabet.names import Code, Label
from probate_model.alphabet.refusals import Refusal, code
from probate_model.clauses import Demand, demand
from probate_model.deactivation import deactivate
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.world import Agent, Driver, Origin, Returned, Stage, Teardown

_SESSION_CREATED = demand("PUBLISH-01", edge="CREATE-01", agent="PUBLISH-01")
_AGENT_CREATED = demand("PUBLISH-02", edge="PUBLISH-02", agent="PUBLISH-02")
_SESSION_CREATED_AGAIN = demand("REGISTRY-03", edge="CREATE-01", agent="PUBLISH-01")
_SESSION_STARTED = demand("PUBLISH-03", edge="PUBLISH-03", source="PUBLISH-03")
_SESSION_RESUMED = demand("PUBLISH-03", edge="PUBLISH-03", source="RESUME-10")


def owner_active(run: Run, origin: Origin) -> bool:
    """Tell whether the one on whose behalf a creation is made has not begun to end."""
    if origin.parent is not None:
        return not run.agents[origin.parent].ending
    for owner in run.owners:
        if owner.name == origin.owner:
            return owner.active and owner.incarnation == origin.incarnation
    return False


def why_dead(run: Run, agent: Agent) -> Refusal | None:
    """Give the reason why a pending creation may not go on; none if it may."""
    if not owner_active(run, agent.origin):
        return Refusal.OWNER_DISPOSED
    provider = run.provider
    if not provider.active or provider.incarnation != agent.provider:
        return Refusal.PROVIDER_INACTIVE
    return None


def publish(run: Run, label: Label) -> None:
    """Publish the agent, or roll back what was published of it."""
    agent = run.agents[label]
    if registry.holds_session(run, agent.id):
        deactivate(run, label, code(Refusal.ID_EXISTS))
        run.silence("CREATE-12", run.would_be(label), "session/created")
        teardown.roll_back(run, label)
        return
    run.update(label, stage=Stage.PUBLISHING, number=run.next_number(agent.id), session_announced=True)
    again = _is_free_early(run) and registry.unwinds(run, agent.id)
    registry.enter(run, label)
    due = _SESSION_CREATED_AGAIN if again else _SESSION_CREATED
    veto = _announce(run, label, due._replace(edge="RESUME-01") if keeping.is_resumed(run, label) else due)
    if run.agents[label].failure is None and veto is None:
        driver = run.agents[label].driver
        driver = Driver.PARKED if driver is Driver.NONE else driver
        run.update(label, stage=Stage.LIVE, driver=driver, returned=Returned.SINCE_SETTLE)
        returned = "RESUME-01" if keeping.is_resumed(run, label) else "CREATE-01"
        run.owe(label, CallReturned(run.agents[label].ref), "REGISTRY-03" if again else returned)
        return
    if veto is not None:
        deactivate(run, label, veto)
    run.update(label, stage=Stage.FAILED)
    if veto is not None and run.agents[label].teardown is Teardown.NONE:
        teardown.stop(run, label)
        teardown.detach_if_drained(run, label)
    elif run.agents[label].teardown is Teardown.NONE:
        run.update(label, teardown=Teardown.ASKED)


def _is_free_early(run: Run) -> bool:
    """Tell whether an id can be used again while the scope of who had it unwinds."""
    return run.edition.id_free is IdFree.AT_DETACH and run.edition.teardown is TeardownOrder.SCOPE_LAST


def _announce(run: Run, label: Label, due: Demand) -> Code | None:
    """Make the three announcements, each only if the creation is alive; gives the code of a veto."""
    ref = run.agents[label].ref
    veto = run.emit(label, SessionCreated(ref), due)
    if veto is not None or not _alive(run, label):
        run.silence("PUBLISH-06" if veto is None else "PUBLISH-04", run.agents[label], "agent/created")
        return veto
    run.update(label, agent_announced=True)
    veto = run.emit(label, AgentCreated(ref), _AGENT_CREATED)
    if veto is not None or not _alive(run, label):
        run.silence("PUBLISH-06", run.agents[label], "agent/session-start")
        return veto
    run.update(label, published=True)
    if keeping.is_resumed(run, label):
        run.emit(label, SessionStarted(ref, StartSource.RESUME), _SESSION_RESUMED)
        run.silence("RESUME-07", run.agents[label], "log", broad=True)
    else:
        run.emit(label, SessionStarted(ref, StartSource.STARTUP), _SESSION_STARTED)
    _alive(run, label)
    return None


def _alive(run: Run, label: Label) -> bool:
    agent = run.agents[label]
    if agent.failure is None and (refusal := why_dead(run, agent)) is not None:
        deactivate(run, label, code(refusal))
    return run.agents[label].failure is None
