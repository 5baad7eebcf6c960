"""The reference with a defect, as a backend."""

from __future__ import annotations

import threading
from typing import Final, TypeVar

from probate_conformance.backends.reference.backend import ReferenceBackend
from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Loop, Variant
from probate_conformance.manifest import Manifest
from probate_conformance.wire import Conversation

T = TypeVar("T")

_ONE_AT_A_TIME: Final = threading.Lock()


class KnownBadBackend(ReferenceBackend):
    """The reference with one defect, which is in it only while the backend converses.

    The reference is one for the whole process. So there is one conversation at a time, and no other backend made of
    the reference may be used from inside of it.
    """

    def __init__(self, variant: Variant, loop: Loop = "asyncio") -> None:
        super().__init__(loop)
        suffix = "" if loop == "asyncio" else "-trio"
        self.variant = variant
        self.manifest = Manifest(
            name=f"known-bad-{variant.name}{suffix}", version="1", language="python", profiles=(variant.profile,)
        )

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply.

        :raises RuntimeError: if another known-bad backend converses
        """
        if not _ONE_AT_A_TIME.acquire(blocking=False):
            raise RuntimeError("another known-bad backend converses; only one defect can be planted at a time")
        try:
            with Patches() as patches:
                self.variant.plant(patches)
                return super().converse(conversation)
        finally:
            _ONE_AT_A_TIME.release()
