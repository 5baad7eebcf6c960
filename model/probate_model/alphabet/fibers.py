"""The words of profile ``fibers``: what is plugged in, what it sets up, and what it provides.

A plug-in is scripted by what its body does each time it is loaded: it sets up effects (each a number of members), then
provides services, then waits at its gate ``body``. Effects can also be registered and services provided from outside,
on any fiber, which is how the moments in between are reached. The body's effects are named by the fiber: ``f.0`` is the
first effect of ``f``. A label of a fiber is bound from its own item on, since plugging in is synchronous. It is also
the name of an owner: an agent that is created by it belongs to the fiber.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, NewType, TypeAlias

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Label
from probate_model.alphabet.rooms import InRoom
from probate_model.alphabet.values import value

ServiceName = NewType("ServiceName", str)
"""The name under which a service is provided."""

ROOT: Final = Label("root")
"""The fiber that everything belongs to in the end. It is always active."""


@plain
class FiberState(StrEnum):
    """How a fiber is, as announced. ``disposed`` is final."""

    PENDING = "pending"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    UNLOADING = "unloading"
    DISPOSED = "disposed"


@plain
class EffectSetup(StrEnum):
    """Whether the setup of an effect takes time: it then waits at the gate ``effect``, after its last member."""

    NONE = "none"
    PLAIN = "plain"


@plain
class By(StrEnum):
    """How a service is asked for."""

    DECLARED = "declared"
    """Through the declaration of the fiber or of an ancestor."""
    NAME = "name"
    """Looked up at this moment, which anybody may do."""


@plain
class DisposerOutcome(StrEnum):
    """How a disposer ended."""

    OK = "ok"
    FAIL = "fail"


@value(frozen=True, slots=True)
class Plug:
    """Plug in a plug-in as a child of a fiber. Synchronous; nothing of its body runs before a later step."""

    label: Label
    parent: Label = ROOT
    inject: tuple[ServiceName, ...] = ()
    provides: tuple[ServiceName, ...] = ()
    effects: tuple[int, ...] = ()
    """How many members each effect of its body has."""
    item: Literal["plug"] = "plug"


@value(frozen=True, slots=True)
class Unplug:
    """Dispose a fiber; every caller joins the one end."""

    label: Label
    fiber: Label
    item: Literal["unplug"] = "unplug"


@value(frozen=True, slots=True)
class Restart:
    """Unload a fiber and load it again, or try again if it has failed. Returns when no transition is left."""

    label: Label
    fiber: Label
    item: Literal["restart"] = "restart"


@value(frozen=True, slots=True)
class AddEffect:
    """Register an effect on a fiber. Synchronous, unless its setup takes time."""

    label: Label
    fiber: Label
    members: int = 1
    setup: EffectSetup = EffectSetup.NONE
    item: Literal["effect"] = "effect"


@value(frozen=True, slots=True)
class Provide:
    """Provide a service on a fiber, synchronously. It ends with the fiber, or by ``end_effect``."""

    label: Label
    fiber: Label
    service: ServiceName
    item: Literal["provide"] = "provide"


@value(frozen=True, slots=True)
class EndEffect:
    """Dispose one effect, or withdraw one service, that an op registered; every caller joins the one end."""

    label: Label
    effect: Label
    item: Literal["end_effect"] = "end_effect"


@value(frozen=True, slots=True)
class Use:
    """Ask for a service on a fiber, synchronously. Returns the label of the fiber that provides it, or nothing."""

    label: Label
    fiber: Label
    service: ServiceName
    by: By = By.DECLARED
    item: Literal["use"] = "use"


FiberOp: TypeAlias = Plug | Unplug | Restart | AddEffect | Provide | EndEffect | Use
"""All ops of the profile."""


class _OfFiber(InRoom):
    __slots__ = ()
    fiber: Label

    @property
    def about(self) -> str:
        """The fiber."""
        return f"fiber {self.fiber}"


class _OfEffect(InRoom):
    __slots__ = ()
    effect: Label

    @property
    def about(self) -> str:
        """The effect."""
        return f"effect {self.effect}"


@value(frozen=True, slots=True)
class FiberChanged(_OfFiber):
    """A fiber has taken on another state."""

    fiber: Label
    state: FiberState
    event: Literal["fiber/state"] = "fiber/state"


@value(frozen=True, slots=True)
class BodyEntered(_OfFiber):
    """The body of a fiber is entered, before it does anything."""

    fiber: Label
    event: Literal["fiber/body"] = "fiber/body"


@value(frozen=True, slots=True)
class DisposerCalled(_OfEffect):
    """A disposer is called: the one of member ``member``, from 1, of an effect."""

    effect: Label
    member: int
    event: Literal["effect/dispose"] = "effect/dispose"


@value(frozen=True, slots=True)
class DisposerEnded(_OfEffect):
    """A disposer has ended."""

    effect: Label
    member: int
    outcome: DisposerOutcome
    event: Literal["effect/disposed"] = "effect/disposed"


FiberEvent: TypeAlias = FiberChanged | BodyEntered | DisposerCalled | DisposerEnded
"""All events of the profile."""

FIBER_EVENTS: Final = ("fiber/state", "fiber/body", "effect/dispose", "effect/disposed")
"""Their kinds."""


def body_effect(fiber: Label, place: int) -> Label:
    """Name an effect of a fiber's body, by its place in the body from 0."""
    return Label(f"{fiber}.{place}")
