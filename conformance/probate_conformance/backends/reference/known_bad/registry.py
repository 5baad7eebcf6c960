"""Defects of the two registries."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import teardown
from probate_reference.lifecycle import Lifecycle
from probate_reference.registry import AgentRegistry
from probate_reference.session import SessionStore

REGISTRY: Final = Family()


@REGISTRY.variant(
    "loser-removes-the-winners-entry",
    "M44",
    "REGISTRY-02",
    "A detach goes by the id, so a creation that lost the race for it removes what the winner entered.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # Whatever has that id now.
    patches.edit(AgentRegistry, "_detach", ("if entry is None or entry[0] is not agent:", "if entry is None:"))
    patches.edit(
        SessionStore,
        "_detach",
        ("if self._sessions.get(session.id) is not session:", "if session.id not in self._sessions:"),
    )


@REGISTRY.variant(
    "scope-takes-the-entries-along",
    "M66",
    "REGISTRY-02",
    "When the cleanups of an agent have ended, whatever has its id then leaves the registry and the store.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # A second detach does no harm, as long as nobody has come in between.
    def leave(lifecycle: Lifecycle) -> None:
        if lifecycle.session_announced:
            lifecycle.kernel.agents._entries.pop(lifecycle.scope.id, None)
            lifecycle.kernel.sessions._sessions.pop(lifecycle.scope.id, None)

    patches.edit(teardown, "unwind", ("lifecycle.finish()", "_leave(lifecycle)\nlifecycle.finish()"), _leave=leave)


@REGISTRY.variant(
    "children-are-roots",
    "E8",
    "REGISTRY-02",
    "The roots list every agent, also those that another agent owns.",
)
def _(patches: Patches) -> None:
    # The list, under another name.
    patches.replace(AgentRegistry, "roots", AgentRegistry.list)
