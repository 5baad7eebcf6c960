"""Defects of teardown."""

from __future__ import annotations

from typing import Final

from anyio import create_task_group

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import teardown
from probate_reference.agent import Handle
from probate_reference.calls import Call
from probate_reference.events import AgentDisposed, SessionDisposed
from probate_reference.lifecycle import Lifecycle

TEARDOWN: Final = Family()


@TEARDOWN.variant(
    "handle-detaches-side-by-side",
    "M56",
    "DISPOSE-07",
    "A dispose by the handle leaves agent and session to sibling tasks, so that it is left to chance which goes first.",
    needs="schedule",
    loops=("trio",),
)
def _(patches: Patches) -> None:
    # First in, first out, the sibling that was started first is the first: only another order shows it.
    by_handle: set[Lifecycle] = set()
    dispose, unwind = Handle.dispose, teardown.unwind

    def noting(handle: Handle) -> Call[None]:
        by_handle.add(handle.agent._core.lifecycle)
        return dispose(handle)

    async def detach_agent(lifecycle: Lifecycle) -> None:
        if lifecycle.kernel.agents._detach(lifecycle.core.agent):
            lifecycle.kernel.events._emit(AgentDisposed(lifecycle.core.agent))

    async def detach_session(lifecycle: Lifecycle) -> None:
        if lifecycle.kernel.sessions._detach(lifecycle.core.session):
            lifecycle.kernel.events._emit(SessionDisposed(lifecycle.core.agent))

    async def unwinding(lifecycle: Lifecycle) -> None:
        if lifecycle in by_handle:
            by_handle.discard(lifecycle)
            lifecycle.core.exit_driver()
            await lifecycle.core.drain_flushes()
            async with create_task_group() as siblings:
                siblings.start_soon(detach_agent, lifecycle)
                siblings.start_soon(detach_session, lifecycle)
        await unwind(lifecycle)

    patches.replace(Handle, "dispose", noting)
    patches.replace(teardown, "unwind", unwinding)
