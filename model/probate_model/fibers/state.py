"""What profile ``fibers`` adds to a world: fibers, effects and provisions, each with where it stands.

A fiber that is disposed and an effect that has ended stay as what can be named; there is no history in them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from probate_model.alphabet.fibers import FiberState, ServiceName
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Code, Label
from probate_model.world import Wait


@plain
class Phase(IntEnum):
    """How far the transition of a fiber has come."""

    REST = 0
    """There is none."""
    LOAD_DUE = 1
    """It is announced as loading; its body has not been entered."""
    IN_BODY = 2
    """Its body runs."""
    UNLOAD_DUE = 3
    """It is announced as unloading; nothing has begun to end."""
    UNLOADING = 4
    """All that belongs to it ends, and is awaited."""


class Fiber(NamedTuple):
    """One plug-in in its place in the tree."""

    label: Label
    parent: Label
    inject: tuple[ServiceName, ...]
    provides: tuple[ServiceName, ...]
    effects: tuple[int, ...]
    state: FiberState = FiberState.PENDING
    phase: Phase = Phase.REST
    bound: tuple[Label, ...] | None = None
    """The providers that it is loaded with, in the order of ``inject``; those that it failed with, if it has failed."""
    doomed: bool = False
    """Somebody disposes it."""
    failed: bool = False
    """Its body failed."""
    marred: bool = False
    """A disposer has failed since the unload began."""
    body: Wait | None = None
    members: tuple[Label, ...] = ()
    """What belongs to it, oldest first: effects, provisions, children, agents."""
    to_end: tuple[Label, ...] = ()
    """What has not begun to end, newest first: where siblings end one by one."""
    resting: tuple[Label, ...] = ()
    """Who waits until no transition is left."""
    enders: tuple[Label, ...] = ()
    """Who waits for its end."""


@plain
class Stage(IntEnum):
    """How far an effect has come."""

    SETTING_UP = 0
    SET_UP = 1
    ENDING = 2
    ENDED = 3


class Effect(NamedTuple):
    """An effect; its members are undone from the last to the first."""

    label: Label
    fiber: Label
    left: int
    """How many members are not called yet."""
    stage: Stage = Stage.SET_UP
    own: bool = False
    """It was set up by the body, so no op can name it."""
    asked: bool = False
    """Its end was asked for."""
    setup: Wait | None = None
    wait: Wait | None = None
    """The disposer that was called last."""
    failure: Code | None = None
    """What the setup raises when all is undone."""
    marred: bool = False
    """The disposer that was called last has failed, and the rest is not skipped."""
    late: bool = False
    """Its end was asked for while its setup ran."""
    enders: tuple[Label, ...] = ()


class Provision(NamedTuple):
    """A service that is provided, or withdrawn and still in use."""

    label: Label
    fiber: Label
    service: ServiceName
    own: bool = False
    """It was provided by the body, so no op can name it."""
    withdrawn: bool = False
    told: tuple[Label, ...] = ()
    """The dependents that have not unloaded since they were told."""
    awaited: bool = False
    """There were some."""
    asked: bool = False
    """Its end was asked for by itself."""
    ended: bool = False
    enders: tuple[Label, ...] = ()


class FibersRoom(NamedTuple):
    """The plug-in tree: fibers in the order in which they were plugged in."""

    fibers: tuple[Fiber, ...] = ()
    effects: tuple[Effect, ...] = ()
    provisions: tuple[Provision, ...] = ()
