"""Open a runtime, and leave it with nothing left behind.

A runtime owns one task group, and everything that is asynchronous in it is a task of that group:
when the ``async with`` block is left there is no agent, no fiber, no flush and no background listener
any more. Leaving it normally unloads the plug-in tree, every owner and the provider, and waits as
long as the work in flight takes. Leaving it with an exception, or being cancelled from outside,
cancels the work in flight; the logs are still closed and flushed and the cleanups still run, shielded.

A runtime lives in one thread, that of its event loop. From another one it is reached with ``anyio.from_thread``.

A runtime with a home keeps its logs there. It holds the home from the begin of the block to its end, and the very last
thing it does is to write what could not be written before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from anyio import create_task_group, get_cancelled_exc_class

from .fibers import FiberTree
from .kernel import Kernel
from .owners import Owner, Provider
from .persistence import JsonlStore, NotDurable, Persistence
from .reports import contained, log_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike
    from types import TracebackType

    from .events import EventBus
    from .registry import AgentRegistry
    from .reports import Report
    from .seams import Flush, Model, Prepare, Tool
    from .session import SessionStore
    from .toolbox import Toolbox

__all__ = ("Runtime", "RuntimeStatistics")


@dataclass(frozen=True, slots=True)
class RuntimeStatistics:
    """A runtime at one moment.

    :ivar owners: how many owners it knows
    :ivar agents: how many agents are registered
    :ivar sessions: how many sessions are live
    :ivar lifecycles: how many lifecycles there are, pending and ending ones included
    """

    owners: int
    agents: int
    sessions: int
    lifecycles: int


class Runtime:
    """Holds agents, and everything that they share.

    :param model: the model of all agents
    :param tools: what the model can call; see also :attr:`tools`
    :param prepare: awaited before each step opens
    :param home: the directory in which to keep the logs; without one they end with the process
    :param persistence: keeps the logs, where a home with files is not what is wanted
    :param flush: listeners that make logs safe; see also :meth:`on_flush`
    :param report: called with the place and the failure of everything that was contained; the
        default writes to the log
    """

    def __init__(
        self,
        model: Model,
        *,
        tools: Iterable[Tool] = (),
        prepare: Prepare | None = None,
        home: str | PathLike[str] | None = None,
        persistence: Persistence | None = None,
        flush: Iterable[Flush] = (),
        report: Report = log_report,
    ) -> None:
        if home is not None:
            if persistence is not None:
                raise ValueError("give a runtime a home or a persistence, not both")
            persistence = Persistence(JsonlStore(home))
        self._kernel = Kernel(model, prepare, persistence, contained(report))
        self._provider = Provider(self._kernel)
        self._owners: dict[str, Owner] = {}
        for tool in tools:
            self.tools.add(tool)
        if persistence is not None:
            self.on_flush(persistence.flush)
        self._fibers = FiberTree(self._kernel, self._provider)
        for listener in flush:
            self.on_flush(listener)

    @property
    def events(self) -> EventBus:
        """The bus that tells what happens."""
        return self._kernel.events

    @property
    def agents(self) -> AgentRegistry:
        """The registry of the live agents."""
        return self._kernel.agents

    @property
    def sessions(self) -> SessionStore:
        """The store of the live sessions."""
        return self._kernel.sessions

    @property
    def tools(self) -> Toolbox:
        """The tools of all agents; what is added or removed counts from the next call on."""
        return self._kernel.tools

    @property
    def persistence(self) -> Persistence | None:
        """What keeps the logs, or ``None``."""
        return self._kernel.persistence

    @property
    def provider(self) -> Provider:
        """The maker of all agents; unloading it ends them all."""
        return self._provider

    @property
    def fibers(self) -> FiberTree:
        """The tree of what is plugged in; a plug-in of yours is plugged into its ``root``."""
        return self._fibers

    def owner(self, name: str) -> Owner:
        """Return the owner of this name; it is made, and active, when first asked for."""
        owner = self._owners.get(name)
        if owner is None:
            owner = self._owners[name] = Owner(self._kernel, self._provider, name)
        return owner

    def on_flush(self, listener: Flush) -> Callable[[], None]:
        """Install a flush listener; it is called in every flush that begins from now on.

        It is called synchronously, in the order of installation, and what it returns is awaited in
        a later step. So an ``async`` function will do, and a plain function that returns an
        awaitable can see the moment itself.

        :param listener: makes a log safe; it is never cancelled
        :return: a function that removes it
        """
        key = object()
        self._kernel.flushes[key] = listener

        def remove() -> None:
            self._kernel.flushes.pop(key, None)

        return remove

    def statistics(self) -> RuntimeStatistics:
        """Return the state of the runtime at this moment."""
        return RuntimeStatistics(
            owners=len(self._owners),
            agents=len(self.agents),
            sessions=len(self.sessions),
            lifecycles=self._kernel.lifecycles,
        )

    async def __aenter__(self) -> Self:
        """Start the runtime.

        :raises RuntimeError: if it was started before
        :raises StorageError: if the home cannot be used, or somebody else uses it; the runtime has not started then
        """
        self._kernel.start(create_task_group())
        if self._kernel.persistence is not None:
            try:
                await self._kernel.persistence.open()
            except BaseException:
                self._kernel.task_group = None
                raise
        await self._kernel.require_running().__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """End every agent and wait for all of it; then the runtime has ended for good.

        :raises NotDurable: if there are records that could not be written, and the block raised nothing itself
        """
        task_group = self._kernel.require_running()
        self._fibers._end()
        for owner in self._owners.values():
            _ = owner._incarnation.unload()
        _ = self._provider._incarnation.unload()
        self._kernel.closing = True
        try:
            if exc_value is None or _is_cancellation(exc_value):
                return await task_group.__aexit__(exc_type, exc_value, traceback)
            # A task group would wrap what the block raised; the embedder wants it as it is, unless there is more.
            task_group.cancel_scope.cancel()
            try:
                await task_group.__aexit__(None, None, None)
            except get_cancelled_exc_class():
                return None
            except BaseExceptionGroup as group:
                raise BaseExceptionGroup(group.message, (exc_value, *group.exceptions)) from None
            return None
        finally:
            self._kernel.task_group = None
            await self._close_persistence(raising=exc_value is None)

    async def _close_persistence(self, *, raising: bool) -> None:
        if self._kernel.persistence is None:
            return
        try:
            await self._kernel.persistence.close()
        except NotDurable as failure:
            if raising:
                raise
            self._kernel.report("persistence", failure)


def _is_cancellation(raised: BaseException) -> bool:
    """Return whether a cancellation is in it, which has to reach the scope that it came from."""
    cancelled = get_cancelled_exc_class()
    if isinstance(raised, BaseExceptionGroup):
        return raised.subgroup(cancelled) is not None
    return isinstance(raised, cancelled)
