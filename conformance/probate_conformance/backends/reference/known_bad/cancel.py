"""Defects of the inbox and of cancel."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import driver

CANCEL: Final = Family()


@CANCEL.variant(
    "pre-run-cancel-forgets-waiters",
    "M4",
    "IDLE-02",
    "A cancel before the claim drops the prompt, and leaves those waiting who waited for its turn.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # The one who consumes the marker has nothing to announce, and thinks that there is nobody to tell.
    patches.edit(driver, "drive", ("core.become_idle()\n                continue", "continue"))
