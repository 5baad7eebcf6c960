"""Waiting until an agent is idle.

A waiter is not a listener: it is a call that the agent itself keeps, so that no unload of a fiber can lose it and no
throwing listener can starve it. Waiters are taken off the list *before* the status is announced and settle after it;
who registers from inside that announcement waits for what it announced.

A prompt that was sent and not yet claimed is work, although the status still says idle: waiting then means to wait
for its turn. After disposal, idle means that the driver has exited, not that the status says so.

Where input wakes an idle agent within the call, a waiter looks for itself, in a step of its own: if the agent was woken
again by then, it waits on. There, one who waits for what is about to be woken does not have to know of it.
"""

from __future__ import annotations

from probate_model.alphabet.editions import ClosingFlush, Wake
from probate_model.alphabet.events import RETURNED, Status, StatusChanged
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import AwaitIdle
from probate_model.clauses import demand
from probate_model.references import on_agent
from probate_model.run import Run
from probate_model.sessions import keeping
from probate_model.world import Agent, Driver

_IDLE = demand("IDLE-01", edge="FLUSH-03")
_IDLE_UNFLUSHED = demand("IDLE-01")
_IDLE_AFTER_FAILED_FLUSH = demand("FLUSH-02", edge="FLUSH-03", status="IDLE-01")


def await_idle(run: Run, op: AwaitIdle) -> bool:
    """Carry out the op: register at once, settle when idle."""
    agent = on_agent(run, op.agent)
    if agent is None:
        return False
    wait(run, agent, op.label)
    return True


def wait(run: Run, agent: Agent, caller: Label) -> None:
    """Let a caller wait until an agent is idle."""
    if agent.status is Status.DISPOSED:
        if agent.driver is Driver.EXITED:
            run.owe(caller, RETURNED, "IDLE-04")
        else:
            run.update(agent.label, exit_waiters=(*agent.exit_waiters, caller))
    elif run.edition.wake is Wake.WITHIN_SEND:
        run.update(agent.label, waiters=(*agent.waiters, caller))
    elif agent.status is Status.IDLE and not agent.wakes and agent.fired is None:
        run.owe(caller, RETURNED, "IDLE-02")
    else:
        run.update(agent.label, waiters=(*agent.waiters, caller))


def become_idle(run: Run, label: Label, *, after_failed_flush: bool = False) -> None:
    """Release the waiters, and announce idle if the agent was running."""
    agent = run.agents[label]
    freed = () if run.edition.wake is Wake.WITHIN_SEND else agent.waiters
    run.update(label, waiters=agent.waiters[len(freed) :], status=Status.IDLE)
    if agent.status is Status.RUNNING:
        due = _IDLE if run.edition.closing_flush is ClosingFlush.IN_TURN else _IDLE_UNFLUSHED
        due = keeping.idle_demand(run, label, _IDLE_AFTER_FAILED_FLUSH if after_failed_flush else due)
        run.emit(label, StatusChanged(agent.ref, Status.IDLE), due)
    for waiter in freed:
        run.owe(waiter, RETURNED, "IDLE-02")


def look(run: Run, label: Label) -> None:
    """Let the waiters of an agent see that it is idle."""
    agent = run.agents[label]
    run.update(label, waiters=())
    for waiter in agent.waiters:
        run.owe(waiter, RETURNED, "IDLE-02")


def driver_exited(run: Run, label: Label) -> None:
    """Mark the driver as gone for good and release those who wait for that."""
    waiters = run.agents[label].exit_waiters
    run.update(label, driver=Driver.EXITED, armed=False, fired=None, exit_waiters=())
    for waiter in waiters:
        run.owe(waiter, RETURNED, "IDLE-04")
