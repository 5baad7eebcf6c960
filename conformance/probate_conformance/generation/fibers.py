"""Traces of profile ``fibers``: plug-ins that come and go, and now and then an agent that belongs to one.

Two items in three are about the tree; the others are those of ``core``, so that agents are in the middle of something
when the fiber that they belong to unloads, or the provider does. There are two services, so that fibers meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from probate_conformance.generation.core import Writer
from probate_model.alphabet.fibers import (
    ROOT,
    AddEffect,
    By,
    EffectSetup,
    EndEffect,
    FiberState,
    Plug,
    Provide,
    Restart,
    ServiceName,
    Unplug,
    Use,
)
from probate_model.alphabet.gates import FAIL, OK, Gate, GateKind, GateOutcome
from probate_model.alphabet.items import Action, BurstItem, Hold, Open, Pattern, Plan, React, Scalar, Throw
from probate_model.alphabet.names import AgentId, Label, OwnerName, Tag
from probate_model.alphabet.ops import ByOwner, Create, Op
from probate_model.fibers.access import is_open, provided, uses
from probate_model.fibers.state import Fiber, FibersRoom, Provision, Stage
from probate_model.machine import somebody_waits

_SERVICES: Final = (ServiceName("s"), ServiceName("t"))
_IDS: Final = (AgentId("a"), AgentId("b"), AgentId("c"))
_MOST_FIBERS: Final = 6
_STORY_OPS: Final = frozenset({"plug", "unplug", "provide", "end_effect"})
_GATES: Final = frozenset({GateKind.BODY, GateKind.EFFECT, GateKind.DISPOSER})
_HEARD: Final = ((6, "fiber/state"), (3, "fiber/body"), (4, "effect/dispose"), (2, "effect/disposed"))


class FiberWriter(Writer):
    """Writes one trace of profile ``fibers``."""

    profile: ClassVar[str] = "fibers"

    # The tree as it would be now.

    @property
    def _room(self) -> FibersRoom:
        room = self.world.rooms.fibers
        assert room is not None
        return room

    def _plugged(self) -> list[Fiber]:
        return [fiber for fiber in self._room.fibers if fiber.state is not FiberState.DISPOSED]

    def _fiber(self) -> Label:
        """Draw a fiber: mostly one that is not disposed, and the youngest most often."""
        live = self._plugged()
        if not live or self.random.chance(1, 12):
            return self.random.choose(self._room.fibers).label
        return live[-1 - min(self.random.below(len(live)), self.random.below(len(live)))].label

    def _ends(self) -> list[Label]:
        """Give what ``end_effect`` can name: mostly what has not ended."""
        effects = [effect for effect in self._room.effects if not effect.own]
        provisions = [one for one in self._room.provisions if not one.own]
        live = [effect.label for effect in effects if effect.stage is not Stage.ENDED]
        live += [one.label for one in provisions if not one.ended]
        return live or [effect.label for effect in effects] + [one.label for one in provisions]

    def _owner_names(self) -> tuple[OwnerName, ...]:
        fibers = tuple(OwnerName(fiber.label) for fiber in self._plugged() if is_open(fiber))
        return (*fibers, *fibers, *self.spec.owners)

    # What seldom comes about by chance.

    def go_on(self) -> None:
        """Write one more item, or now and then a few in a row that belong together."""
        told = self.palette.ops.issuperset(_STORY_OPS) and "services" in self.palette.features
        stories = (self._replaced, self._flapping) if told else ()
        if self.promised is None and stories and self.random.chance(1, 14):
            self.random.choose(stories)()
        else:
            super().go_on()

    def _replaced(self) -> None:
        """Let a provider go that is in use, and plug in another one before its dependents have unloaded."""
        used = [one for one in self._room.provisions if not one.withdrawn and self._users(one)]
        if not used:
            return
        provision = self.random.choose(used)
        user = self._users(provision)[-1]
        effects = [
            effect for effect in self._room.effects if effect.fiber == user.label and effect.stage is Stage.SET_UP
        ]
        if effects and "disposer" in self.palette.gates:
            self._add(Hold(Gate(GateKind.DISPOSER, self.random.choose(effects).label)))
        self._add(Unplug(self._label("d"), provision.fiber))
        if self.random.chance(1, 2):
            self._settle()
        self._add(Plug(self._label("f"), provides=(provision.service,)))

    def _flapping(self) -> None:
        """Withdraw a service while a dependent loads, and mostly provide it again before that has loaded."""
        free = [name for name in _SERVICES if provided(self._room, name) is None]
        active = [fiber.label for fiber in self._room.fibers if fiber.state is FiberState.ACTIVE]
        if not free or not active or "body" not in self.palette.gates:
            return
        service, provider = self.random.choose(free), self.random.choose(active)
        first = Provide(self._label("p"), provider, service)
        user = Plug(self._label("f"), inject=(service,), effects=(1,))
        self._add(first)
        self._add(Hold(Gate(GateKind.BODY, user.label)))
        self._add(user)
        self._settle()
        self._add(EndEffect(self._label("x"), first.label))
        if self.random.chance(3, 4):
            self._add(Provide(self._label("p"), provider, service))

    def _users(self, provision: Provision) -> list[Fiber]:
        return [fiber for fiber in self._room.fibers if uses(fiber, provision.service, provision.fiber)]

    # The items.

    def _kinds(self) -> list[tuple[int, Callable[[], BurstItem]]]:
        agents = self.promised not in _GATES and (self.promised is not None or self.random.chance(1, 3))
        if agents and "create" in self.palette.ops:
            return super()._kinds()
        promised, self.promised = self.promised, None
        if promised is GateKind.BODY:
            return [(1, self._plug)]
        if promised is GateKind.EFFECT:
            return [(1, lambda: self._effect(setup=EffectSetup.PLAIN))]
        ops, world = self.palette.ops, self.world
        live, known = self._plugged(), self._room.fibers
        kinds: list[tuple[int, Callable[[], BurstItem]]] = []

        def offer(weight: int, make: Callable[[], BurstItem], *names: str, when: object = True) -> None:
            if when and all(name in ops for name in names):
                kinds.append((weight, make))

        offer(14 if len(live) < 2 else 5, self._plug, "plug", when=len(live) < _MOST_FIBERS)
        offer(5, lambda: Unplug(self._label("d"), self._fiber()), "unplug", when=known)
        offer(3, lambda: Restart(self._label("b"), self._fiber()), "restart", when=known)
        offer(4, self._effect, "effect", when=known)
        offer(4, self._provide, "provide", when=known)
        offer(5, lambda: EndEffect(self._label("x"), self.random.choose(self._ends())), "end_effect", when=self._ends())
        offer(4, self._use, "use", when=known)
        held = [state.gate for state in world.gates if state.held]
        waiting = [gate for gate in held if somebody_waits(world, gate)]
        gates = any(gate in self.palette.gates for gate in _GATES)
        offer(9, lambda: Hold(self._tree_gate()), when=gates and live)
        offer(12, lambda: self._release(waiting), when=waiting)
        offer(2, lambda: Open(self.random.choose(held)), when=held)
        offer(4, self._tree_plan, when=gates and live)
        offer(6, self._tree_react, when="react" in self.palette.features and live)
        return kinds

    def _services(self, often: int) -> tuple[ServiceName, ...]:
        """Draw no service, one, or seldom both; ``often`` times in ten at least one."""
        if not self.random.chance(often, 10) or "services" not in self.palette.features:
            return ()
        return _SERVICES if self.random.chance(1, 6) else (self.random.choose(_SERVICES),)

    def _plug(self, label: Label | None = None) -> Plug:
        parents = [fiber.label for fiber in self._plugged()]
        within = parents and "children" in self.palette.features and self.random.chance(1, 3)
        parent = self.random.choose(parents) if within else ROOT
        inject = self._services(5)
        provides = tuple(name for name in self._services(4) if name not in inject)
        effects = tuple(1 + self.random.below(3) for _ in range(self.random.below(4)))
        return Plug(label or self._label("f"), parent, inject, provides, effects)

    def _effect(self, label: Label | None = None, setup: EffectSetup | None = None) -> AddEffect:
        slow = EffectSetup.PLAIN if self.random.chance(1, 3) and "effect" in self.palette.gates else EffectSetup.NONE
        return AddEffect(label or self._label("e"), self._fiber(), 1 + self.random.below(3), setup or slow)

    def _provide(self, label: Label | None = None) -> Provide:
        label = label or self._label("p")
        # A service that its own provider has just withdrawn is the one to provide again.
        withdrawn = [one for one in self._room.provisions if one.withdrawn and not one.ended]
        if withdrawn and self.random.chance(2, 3):
            again = self.random.choose(withdrawn)
            return Provide(label, again.fiber, again.service)
        return Provide(label, self._fiber(), self.random.choose(_SERVICES))

    def _use(self, label: Label | None = None) -> Use:
        by = By.NAME if self.random.chance(1, 3) else By.DECLARED
        return Use(label or self._label("u"), self._fiber(), self.random.choose(_SERVICES), by)

    def _tree_gate(self) -> Gate:
        """Draw a gate that something of the tree may come to, or of what is then promised next."""
        kinds = [(3, GateKind.BODY), (5, GateKind.DISPOSER), (2, GateKind.EFFECT)]
        kind = self.random.weighted([(weight, kind) for weight, kind in kinds if kind in self.palette.gates])
        room = self._room
        if kind is GateKind.DISPOSER:
            effects = [effect.label for effect in room.effects if effect.stage is not Stage.ENDED]
            if effects:
                return Gate(kind, self.random.choose(effects))
            kind = GateKind.BODY
        if kind is GateKind.EFFECT and "effect" in self.palette.ops:
            self.promised = kind
            return Gate(kind, Label(f"e{self.count + 1}"))
        live = self._plugged()
        if len(live) < _MOST_FIBERS and self.random.chance(1, 2) and "plug" in self.palette.ops:
            self.promised = kind
            return Gate(kind, Label(f"f{self.count + 1}"))
        return Gate(kind, self.random.choose(live).label)

    def _outcome(self, kind: GateKind) -> GateOutcome:
        if kind is GateKind.DISPOSER:
            return self.random.weighted([(5, OK), (3, FAIL)])
        return super()._outcome(kind)

    def _tree_plan(self) -> Plan:
        gate = self._tree_gate()
        return Plan(gate, tuple(self._outcome(gate.kind) for _ in range(1 + self.random.below(3))))

    def _tree_react(self) -> React:
        label = self._label("r")
        kind = self.random.weighted([(weight, kind) for weight, kind in _HEARD if kind in self.palette.events])
        where: list[tuple[str, Scalar]] = []
        if kind == "fiber/state":
            where.append(("state", self.random.choose(tuple(FiberState)[1:]).value))
        if kind.startswith("fiber") and self.random.chance(1, 2):
            where.append(("fiber", self._fiber()))
        actions: list[Action] = [
            self._tree_action(Label(f"{label}.{place}")) for place in range(1 + self.random.chance(1, 3))
        ]
        if "throw" in self.palette.features and self.random.chance(1, 6):
            actions.append(Throw(Tag(str(label))))
        return React(label, Pattern(kind, tuple(where)), tuple(actions), 2 if self.random.chance(1, 4) else 1)

    def _tree_action(self, label: Label) -> Op:
        ops = self.palette.ops
        options: list[tuple[int, str, Callable[[], Op]]] = [
            (6, "unplug", lambda: Unplug(label, self._fiber())),
            (3, "restart", lambda: Restart(label, self._fiber())),
            (4, "effect", lambda: self._effect(label)),
            (2, "plug", lambda: self._plug(label)),
            (3, "provide", lambda: self._provide(label)),
            (3, "use", lambda: self._use(label)),
            (1, "create", lambda: Create(label, self.random.choose(_IDS), ByOwner(OwnerName(self._fiber())))),
        ]
        options += (
            [(4, "end_effect", lambda: EndEffect(label, self.random.choose(self._ends())))] if self._ends() else []
        )
        return self.random.weighted([(weight, make) for weight, name, make in options if name in ops])()
