"""The machine: what a caller does, what could run now, and how it runs.

``apply`` carries out the synchronous part of an item. ``enabled`` lists the steps of asynchronous activities that
could run, ``fire`` runs one of them to its next wait, and ``settle`` fires until nothing is left. All are functions
from a world to an outcome; nothing is kept in between.

``settle`` fires in the canonical order: in rounds, every step that is enabled at the start of a round once, agents in
order of creation, then unloads, then settlements. That is what a fair run queue does, and it is only an order among
many: where the contract leaves order open, ``Worlds`` accepts every other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, assert_never

from probate_model import (
    cancel,
    creation,
    flushing,
    idle,
    inbox,
    injection,
    owners,
    registry,
    teardown,
    turns,
)
from probate_model.alphabet import ops
from probate_model.alphabet.gates import GateKind, GateOutcome, default_outcome
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Release
from probate_model.alphabet.names import Label
from probate_model.clauses import demand_of
from probate_model.run import Expected, Outcome, Run, Silence
from probate_model.world import (
    Agent,
    Due,
    Flush,
    GateState,
    Listener,
    Returned,
    Teardown,
    Unload,
    World,
)


class Step(NamedTuple):
    """One stretch of one activity that could run now."""

    activity: Literal["creation", "driver", "flush", "teardown", "unload", "settlement"]
    subject: Label | Unload | Due


_BEGINS: dict[type[ops.Op], Callable[[Run, Any], bool]] = {
    ops.Create: creation.create,
    ops.Abort: creation.abort,
    ops.Withdraw: creation.withdraw,
    ops.Send: inbox.send,
    ops.Steer: inbox.steer,
    ops.Inject: injection.inject,
    ops.Cancel: cancel.cancel,
    ops.AwaitIdle: idle.await_idle,
    ops.Dispose: teardown.dispose,
    ops.UnloadOwner: owners.unload_owner,
    ops.LoadOwner: owners.load_owner,
    ops.UnloadProvider: owners.unload_provider,
    ops.LoadProvider: owners.load_provider,
    ops.Look: registry.look,
}


class NotModelled(ValueError):
    """Raised for an op of a profile whose rules this model does not have."""


def _begin(run: Run, op: ops.Op) -> bool:
    begin = _BEGINS.get(type(op))
    if begin is None:
        raise NotModelled(f"no rule of this model carries out the op {op.item!r}")
    return begin(run, op)


def apply(world: World, item: BurstItem) -> Outcome:
    """Carry out the synchronous part of an item.

    :param world: the world in which it happens
    :param item: an op, a reaction to install, or something done to a gate
    :return: the world it leads to, and the events on the way; ``void`` if the item does nothing here
    :raises NotModelled: if the item is an op without a rule
    """
    run = Run(world, _begin)
    match item:
        case React():
            run.change(listeners=(*world.listeners, Listener(item, item.nth - 1)))
            done = True
        case Plan() | Hold() | Release() | Open():
            done = _on_gate(run, item)
        case _:
            done = _begin(run, item)
    return run.freeze(void=not done)


def _on_gate(run: Run, item: Plan | Hold | Release | Open) -> bool:
    kind, label = item.gate.kind, item.gate.creation
    state = run.gate(kind, label) or GateState(item.gate)
    match item:
        case Plan(outcomes=outcomes):
            run.set_gate(state._replace(plan=state.plan + outcomes))
            return True
        case Hold(temper=temper):
            run.set_gate(state._replace(held=True, temper=temper))
            return True
        case Open():
            run.set_gate(state._replace(held=False))
            while _release(run, kind, label, default_outcome(kind)):
                pass
            return True
        case Release(outcome=outcome):
            return _release(run, kind, label, outcome)
        case _:
            assert_never(item)


_WAITS: dict[GateKind, str] = {
    GateKind.SETUP: "in_setup",
    GateKind.PREPARE: "wait",
    GateKind.MODEL: "wait",
    GateKind.TOOL: "wait",
    GateKind.CLEANUP: "in_cleanup",
}


def _release(run: Run, kind: GateKind, label: Label, outcome: GateOutcome) -> bool:
    """Let the oldest arrival that waits at the gate go on; tells whether one waited."""
    agent = run.find(label)
    if agent is None:
        return False
    if kind is GateKind.FLUSH:
        for position, flush in enumerate(agent.flushes):
            if flush.outcome is None:
                ended = Flush(flush.closing, outcome)
                before, after = agent.flushes[:position], agent.flushes[position + 1 :]
                run.update(label, flushes=(*before, ended, *after))
                return True
        return False
    if kind not in _WAITS or (kind in turns.GATES and agent.driver is not turns.GATES[kind]):
        return False
    if kind is GateKind.SETUP and agent.failure is not None:
        return False
    wait = getattr(agent, _WAITS[kind])
    if wait is None or wait.over:
        return False
    run.update(label, **{_WAITS[kind]: wait._replace(outcome=outcome)})
    return True


def enabled(world: World) -> tuple[Step, ...]:
    """List the steps that could run now, in the canonical order."""
    steps: list[Step] = []
    for agent in world.agents:
        if agent.teardown is not Teardown.DONE:
            _steps_of(world, agent, steps)
    steps += [Step("unload", unload) for unload in world.unloads if owners.can_advance(world, unload)]
    steps += [Step("settlement", due) for due in world.due]
    return tuple(steps)


def _steps_of(world: World, agent: Agent, steps: list[Step]) -> None:
    label = agent.label
    if creation.can_advance(agent):
        steps.append(Step("creation", label))
    if turns.can_run(agent):
        steps.append(Step("driver", label))
    if flushing.can_advance(agent):
        steps.append(Step("flush", label))
    if teardown.can_advance(agent) or teardown.scope_can_advance(world.agents, agent):
        steps.append(Step("teardown", label))


def can_fire(world: World, step: Step) -> bool:
    """Tell whether a step, listed in an earlier world, is enabled in this one."""
    match step:
        case Step("settlement", Due() as due):
            return any(other is due for other in world.due)
        case Step("unload", Unload() as unload):
            return any(other is unload for other in world.unloads) and owners.can_advance(world, unload)
        case _:
            agent = next(agent for agent in world.agents if agent.label == step.subject)
            if agent.teardown is Teardown.DONE:
                return False
            steps: list[Step] = []
            _steps_of(world, agent, steps)
            return step in steps


def fire(world: World, step: Step) -> Outcome:
    """Run one enabled step to its next wait.

    :param world: a world in which ``step`` is enabled
    :return: the world it leads to, and the events on the way
    """
    run = Run(world, _begin)
    match step:
        case Step("creation", str() as label):
            creation.advance(run, label)
        case Step("driver", str() as label):
            turns.advance(run, label)
        case Step("flush", str() as label):
            flushing.advance(run, label)
        case Step("teardown", str() as label):
            teardown.advance(run, label)
        case Step("unload", Unload() as unload):
            owners.advance(run, unload)
        case Step("settlement", Due() as due):
            run.change(due=tuple(other for other in world.due if other is not due))
            run.settled(due.call, due.outcome, demand_of(due.clause))
        case _:
            raise ValueError(f"not a step: {step!r}")
    return run.freeze()


def settle(world: World) -> Outcome:
    """Fire in the canonical order until nothing is enabled; then bind what has returned.

    :return: the quiescent world, and all events on the way
    """
    expected: list[Expected] = []
    silences: list[Silence] = []
    while round_ := enabled(world):
        for position, step in enumerate(round_):
            if position and not can_fire(world, step):
                continue
            outcome = fire(world, step)
            world = outcome.world
            expected += outcome.expected
            silences += outcome.silences
    return Outcome(bind(world), tuple(expected), tuple(silences))


def bind(world: World) -> World:
    """Let the creations that have returned be named from here on: what a settle does at its end."""
    if all(agent.returned is not Returned.SINCE_SETTLE for agent in world.agents):
        return world
    return world._replace(
        agents=tuple(
            agent._replace(returned=Returned.BOUND) if agent.returned is Returned.SINCE_SETTLE else agent
            for agent in world.agents
        )
    )
