"""End an agent in the one order that loses nothing.

The order is the contract. The driver ends first, with its closing records and its closing flush,
and so do the flushes of injections: whoever keeps the log still hears all of it. Then the agent
leaves the registry and its session the store, each with an event, and each id is free at that very
moment. Only then is what belonged to the agent cleaned up, which may take as long as it likes
without holding the id: first every child is told to end, newest first, then the agent's own
cleanups run, the newest first and one after the other, while the children end beside them.

Nothing here can fail. A cleanup that raises is reported, and the rest goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .events import AgentDisposed, SessionDisposed
from .refusals import OwnerDisposed

if TYPE_CHECKING:
    from .lifecycle import Lifecycle

__all__ = ("unwind",)


async def unwind(lifecycle: Lifecycle) -> None:
    """Do what is left of a teardown when the driver has ended or never began."""
    core = lifecycle.core
    try:
        core.exit_driver()
        await core.drain_flushes()
        await _retire(lifecycle)
        _detach(lifecycle)
        await _end_scope(lifecycle)
    finally:
        # Whatever breaks here, whoever waits for the end must not wait for ever.
        lifecycle.finish()


async def _retire(lifecycle: Lifecycle) -> None:
    """Save what a flush that failed has left behind, while the session is still in the store."""
    kernel = lifecycle.kernel
    if kernel.persistence is not None:
        try:
            await kernel.persistence.retire(lifecycle.core.session)
        except Exception as failure:
            kernel.report("persistence", failure)


def _detach(lifecycle: Lifecycle) -> None:
    kernel = lifecycle.kernel
    agent = lifecycle.core.agent
    if kernel.agents._detach(agent) and lifecycle.agent_announced:
        kernel.events._emit(AgentDisposed(agent))
    if kernel.sessions._detach(agent.session) and lifecycle.session_announced:
        kernel.events._emit(SessionDisposed(agent))


async def _end_scope(lifecycle: Lifecycle) -> None:
    children = lifecycle.children[::-1]
    for child in children:
        child.begin_teardown(OwnerDisposed(f"agent {lifecycle.scope.id!r} began to end"))
    while (cleanup := lifecycle.scope._next_cleanup()) is not None:
        try:
            await cleanup()
        except BaseException as raised:
            lifecycle.kernel.contain("cleanup", raised)
    for child in children:
        await child.boundary._join()
