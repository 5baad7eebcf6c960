"""Creation: a transaction that nobody sees until it is published.

A creation checks, prepares its agent privately, lets a setup run, and then publishes in one stretch. Until then it
can be ended by four parties: its own signal, its owner (as a whole, or this one lifecycle), its parent agent, and the
provider. The setup is raced against them, because it may never return. The first cause wins and is what the call
raises, but only after all that had been prepared is unwound: a caller who sees the failure sees a clean slate.

The signal belongs to the creation. Once the agent is live, it is nobody's to abort.
"""

from __future__ import annotations

from probate_model import publication, registry, teardown
from probate_model.alphabet.editions import DisposedStatus, IdFree
from probate_model.alphabet.events import RETURNED, Raised
from probate_model.alphabet.gates import THROW, GateKind
from probate_model.alphabet.names import Label, Tag
from probate_model.alphabet.ops import (
    Abort,
    ByAgent,
    ByOwner,
    Create,
    CreationSignal,
    Resume,
    Setup,
    Withdraw,
)
from probate_model.alphabet.refusals import Refusal, code, thrown
from probate_model.clauses import demand
from probate_model.deactivation import deactivate
from probate_model.fibers.access import adopt_agent
from probate_model.references import on_creation, with_handle
from probate_model.run import Run
from probate_model.windows import Window
from probate_model.world import Agent, Origin, Stage, Teardown

_SETUP_TAG = Tag("setup")
_ABORTED = demand("CALL-02")
_WITHDRAWN = demand("CALL-02")


def create(run: Run, op: Create) -> bool:
    """Carry out the begin of the op: refuse, or start a private transaction."""
    origin = origin_of(run, op)
    if origin is None:
        return False
    if not publication.owner_active(run, origin):
        refuse(run, op.label, Refusal.OWNER_INACTIVE, "CREATE-02")
    elif not run.provider.active:
        refuse(run, op.label, Refusal.PROVIDER_INACTIVE, "CREATE-03")
    elif op.signal is CreationSignal.PRE_ABORTED:
        refuse(run, op.label, Refusal.ABORTED, "CREATE-04")
    elif registry.holds_session(run, op.id):
        if not any(run.agents[label].id == op.id for label in run.registry):
            run.mark("window", Window.REUSE_BETWEEN_DETACHES)
        kept = run.edition.id_free is IdFree.AFTER_SCOPE and registry.unwinds(run, op.id)
        refuse(run, op.label, Refusal.ID_EXISTS, "REGISTRY-04" if kept else "CREATE-05")
    else:
        provider = run.provider.incarnation
        agent = Agent(op.label, op.id, origin, provider, op.setup, op.cleanup, op.signal)
        run.add(agent._replace(woken=False) if run.edition.latches else agent)
        adopt_agent(run, origin.owner, op.label)
    return True


def origin_of(run: Run, op: Create | Resume) -> Origin | None:
    """Give on whose behalf a creation is made; none if the reference is not bound."""
    match op.by:
        case ByOwner(name):
            owner = next((owner for owner in run.owners if owner.name == name), None)
            return None if owner is None else Origin(name, owner.incarnation, None)
        case ByAgent(label):
            parent = with_handle(run, label)
            return None if parent is None else Origin(None, 0, parent.label)


def refuse(run: Run, call: Label, refusal: Refusal, clause: str) -> None:
    """Let a creation raise that has not begun anything."""
    run.owe(call, Raised(code(refusal)), clause)


def abort(run: Run, op: Abort) -> bool:
    """Carry out the op: fire the creation's signal, which a settled creation does not hear."""
    agent = on_creation(run, op.creation)
    if agent is None or agent.signal is not CreationSignal.ARMED:
        return False
    if agent.stage in (Stage.LIVE, Stage.FAILED):
        if run.edition.disposed_status is DisposedStatus.YES:
            run.silence("CREATE-07", agent, "agent/status", status="disposed")
        elif agent.teardown is Teardown.NONE:
            run.silence("CREATE-07", agent, "agent/disposed")
    else:
        deactivate(run, agent.label, code(Refusal.ABORTED))
    run.settled(op.label, RETURNED, _ABORTED)
    return True


def withdraw(run: Run, op: Withdraw) -> bool:
    """Carry out the op: end this one lifecycle, as its owner may."""
    agent = on_creation(run, op.creation)
    if agent is None:
        return False
    teardown.begin(run, agent.label, Refusal.LIFECYCLE_DISPOSED)
    run.settled(op.label, RETURNED, _WITHDRAWN)
    return True


def can_advance(agent: Agent) -> bool:
    """Tell whether the creation has something to do."""
    match agent.stage:
        case Stage.BEGUN | Stage.SET_UP:
            return True
        case Stage.IN_SETUP:
            return agent.failure is not None or (agent.in_setup is not None and agent.in_setup.over)
        case _:
            return False


def advance(run: Run, label: Label) -> None:
    """Go on with a creation: enter the setup, take its result, publish, or begin the rollback."""
    agent = run.agents[label]
    if agent.failure is None and (refusal := publication.why_dead(run, agent)) is not None:
        deactivate(run, label, code(refusal))
        agent = run.agents[label]
    if agent.failure is None and agent.stage is Stage.BEGUN and agent.setup is Setup.PLAIN:
        if any(other.id == agent.id and other.stage is Stage.IN_SETUP for other in run.agents.values()):
            run.mark("window", Window.TWO_CREATIONS_AT_GATE)
        run.update(label, stage=Stage.IN_SETUP, in_setup=run.arrive(GateKind.SETUP, label))
        return
    if agent.failure is None and agent.in_setup is not None and agent.in_setup.outcome == THROW:
        deactivate(run, label, thrown(_SETUP_TAG))
    agent = run.agents[label]
    if agent.in_setup is not None:
        agent = run.update(label, in_setup=None)
    if agent.failure is None:
        publication.publish(run, label)
    else:
        teardown.roll_back(run, label)
