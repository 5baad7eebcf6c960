"""Plug things in and take them out again: fibers, effects, services."""

from __future__ import annotations

from .effects import Disposer, Effect, EffectSetup
from .fiber import Body, Fiber, FiberState
from .reload import Reloader
from .services import Provision
from .tree import FiberObserver, FiberTree, FiberTreeStatistics

__all__ = (
    "Body",
    "Disposer",
    "Effect",
    "EffectSetup",
    "Fiber",
    "FiberObserver",
    "FiberState",
    "FiberTree",
    "FiberTreeStatistics",
    "Provision",
    "Reloader",
)
