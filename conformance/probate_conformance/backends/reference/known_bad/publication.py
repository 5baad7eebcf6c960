"""Defects of creation and publication."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import teardown

PUBLICATION: Final = Family()


@PUBLICATION.variant(
    "unannounced-agent-is-announced-as-disposed",
    "M46",
    "PUBLISH-04",
    "A creation that ends in session/created announces agent/disposed of an agent that nobody was told of.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # It goes by the registry's entry, which is there before anything is announced.
    patches.edit(teardown, "_detach", (" and lifecycle.agent_announced", ""))
