"""Known-bad backends: the reference with one defect each, to show that the kit finds it and names its clause."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.base import Backend
from probate_conformance.backends.reference.known_bad.backend import KnownBadBackend
from probate_conformance.backends.reference.known_bad.beginnings import BEGINNINGS
from probate_conformance.backends.reference.known_bad.bridge import BRIDGE
from probate_conformance.backends.reference.known_bad.cancel import CANCEL
from probate_conformance.backends.reference.known_bad.fibers import FIBERS
from probate_conformance.backends.reference.known_bad.inputs import INPUTS
from probate_conformance.backends.reference.known_bad.owners import OWNERS
from probate_conformance.backends.reference.known_bad.publication import PUBLICATION
from probate_conformance.backends.reference.known_bad.records import RECORDS
from probate_conformance.backends.reference.known_bad.registry import REGISTRY
from probate_conformance.backends.reference.known_bad.selftesting import BUDGET, Result, selftest
from probate_conformance.backends.reference.known_bad.sessions import SESSIONS
from probate_conformance.backends.reference.known_bad.subagents import SUBAGENTS
from probate_conformance.backends.reference.known_bad.tasks import TASKS
from probate_conformance.backends.reference.known_bad.teardown import TEARDOWN
from probate_conformance.backends.reference.known_bad.turns import TURNS
from probate_conformance.backends.reference.known_bad.variant import Loop, Variant

__all__ = ("BUDGET", "VARIANTS", "Result", "Variant", "backend", "selftest")

VARIANTS: Final[dict[str, Variant]] = {
    variant.name: variant
    for family in (
        CANCEL,
        INPUTS,
        TURNS,
        RECORDS,
        BEGINNINGS,
        PUBLICATION,
        TEARDOWN,
        OWNERS,
        REGISTRY,
        FIBERS,
        SESSIONS,
        TASKS,
        BRIDGE,
        SUBAGENTS,
    )
    for variant in family.variants
}


def backend(name: str, loop: Loop = "asyncio") -> Backend:
    """Make the backend of one variant.

    :raises KeyError: if there is no variant of this name
    """
    return KnownBadBackend(VARIANTS[name], loop)
