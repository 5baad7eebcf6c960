"""One world on the reference in profile ``fibers``: scripted plug-ins in its tree, and the agents that hang in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

from anyio.abc import TaskGroup

import probate_reference as reference
from probate_conformance.backends.reference.subject import Listener, Subject, fail_on
from probate_conformance.backends.reference.translation import code_of
from probate_model.alphabet.events import Raised, Returned
from probate_model.alphabet.fibers import (
    FIBER_EVENTS,
    ROOT,
    AddEffect,
    BodyEntered,
    By,
    DisposerCalled,
    DisposerEnded,
    DisposerOutcome,
    EffectSetup,
    EndEffect,
    FiberChanged,
    FiberEvent,
    FiberState,
    Plug,
    Provide,
    Restart,
    Unplug,
    Use,
    body_effect,
)
from probate_model.alphabet.gates import FAIL, THROW, GateKind, GateOutcome
from probate_model.alphabet.items import React, WorldSpec
from probate_model.alphabet.names import AgentRef, Label, OwnerName
from probate_model.alphabet.ops import Op


class FiberSubject(Subject):
    """A world of the reference, driven by items of profile ``fibers``."""

    def __init__(self, spec: WorldSpec) -> None:
        super().__init__(spec)
        self._plugged: dict[Label, reference.Fiber] = {}
        self._effects: dict[Label, reference.Effect | reference.Provision] = {}
        self._watching: list[Listener] = []

    def start(self, calls: TaskGroup) -> None:
        """Begin: the tree is watched too."""
        super().start(calls)
        self.runtime.fibers.observe(self._observed)

    # Events.

    def _observed(self, fiber: reference.Fiber, state: reference.FiberState) -> None:
        if fiber.parent is not None:
            label = Label(fiber.name)
            self._plugged.setdefault(label, fiber)  # it is told before the call that plugs it in has returned
            self._tell(FiberChanged(label, FiberState(state.value)))

    def _tell(self, event: FiberEvent) -> None:
        self.events.append(event)
        self._hear_all(self._watching, event)

    def _install(self, item: React) -> None:
        if item.on.event in FIBER_EVENTS:
            self._watching.append(self._listener(item))
        else:
            super()._install(item)

    # Ops.

    def _owner(self, name: OwnerName) -> reference.Owner | reference.Fiber:
        return self._plugged.get(Label(name)) or super()._owner(name)

    def _op(self, op: Op, this: reference.Agent | None) -> None:
        try:
            match op:
                case Plug():
                    self._plug(op)
                case AddEffect():
                    self._effect(op)
                case Unplug() | Restart() | Provide() | Use():
                    fiber = self._plugged.get(op.fiber)
                    if fiber is not None:
                        self._on_fiber(op, fiber)
                case EndEffect():
                    effect = self._effects.get(op.effect)
                    if effect is not None:
                        self._follow(op.label, effect.dispose())
                case _:
                    super()._op(op, this)
        except reference.Refusal as refusal:
            self._settled(op.label, Raised(code_of(refusal)))

    def _on_fiber(self, op: Unplug | Restart | Provide | Use, fiber: reference.Fiber) -> None:
        match op:
            case Unplug():
                self._follow(op.label, fiber.dispose())
            case Restart():
                self._follow(op.label, fiber.restart())
            case Provide():
                self._effects[op.label] = fiber.provide(op.service, op.fiber)
                self._settled(op.label)
            case Use():
                found = fiber.use(op.service) if op.by is By.DECLARED else self.runtime.fibers.get(op.service)
                self._settled(op.label, Returned(None if found is None else AgentRef(str(found))))

    def _plug(self, op: Plug) -> None:
        parent = self.runtime.fibers.root if op.parent == ROOT else self._plugged.get(op.parent)
        if parent is not None:
            self._plugged[op.label] = parent.plug(self._body(op), name=op.label, inject=op.inject)
            self._settled(op.label)

    def _effect(self, op: AddEffect) -> None:
        fiber = self._plugged.get(op.fiber)
        if fiber is None:
            return
        plain = op.setup is EffectSetup.PLAIN
        effect = fiber.effect(self._slow_setup(op) if plain else self._setup_of(op.label, op.members))
        self._effects[op.label] = effect
        if plain:
            self._follow(op.label, effect.ready)
        else:
            self._settled(op.label)

    # The scripted bodies.

    def _body(self, op: Plug) -> reference.Body:
        async def body(fiber: reference.Fiber) -> None:
            self._tell(BodyEntered(op.label))
            for place, members in enumerate(op.effects):
                fiber.effect(self._setup_of(body_effect(op.label, place), members))
            for service in op.provides:
                fiber.provide(service, op.label)
            fail_on(THROW, await self.gates.arrive(GateKind.BODY, op.label), "body")

        return body

    def _setup_of(self, label: Label, members: int) -> reference.EffectSetup:
        return lambda: [self._disposer(label, member) for member in range(1, members + 1)]

    def _slow_setup(self, op: AddEffect) -> reference.EffectSetup:
        async def setup() -> AsyncIterator[reference.Disposer]:
            for member in range(1, op.members + 1):
                yield self._disposer(op.label, member)
            fail_on(THROW, await self.gates.arrive(GateKind.EFFECT, op.label), "effect")

        return setup

    def _disposer(self, label: Label, member: int) -> reference.Disposer:
        def dispose() -> Coroutine[None, None, None]:
            self._tell(DisposerCalled(label, member))
            return ending(self.gates.come(GateKind.DISPOSER, label))

        async def ending(arrived: Callable[[], Awaitable[GateOutcome]]) -> None:
            outcome = await arrived()
            failed = outcome == FAIL
            self._tell(DisposerEnded(label, member, DisposerOutcome.FAIL if failed else DisposerOutcome.OK))
            fail_on(FAIL, outcome, "disposer")

        return dispose
