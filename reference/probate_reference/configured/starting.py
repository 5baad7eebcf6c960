"""Start the agents that a configuration names, each for itself, and let them die with the fiber that started them.

This is a plug-in: plug :meth:`ConfiguredAgents.apply` into the tree. Nobody holds a handle of what it starts. The
agents belong to its fiber, and unloading that is the way to end them all.

**A failure is contained.** An entry that cannot be started is told to a listener and reported as
``config-start-failed``; the others do not notice, nor does the program that started them. When the fiber itself is
ending, or the provider of agents, a start that fails is no news, and nothing is told.

**Whoever has the id must be gone.** When a plug-in is reloaded, the new one is there before the old one has ended. The
old agent then still has its id, and perhaps records that are not on the disk yet. So a start waits as long as the
holder of the id is *ending*, and no longer: a holder that means to stay is a conflict, not a predecessor. If the
waiting fiber is disposed itself, the waiting stops; nothing is created then, and nothing told.

**Absence has to be proved.** An exact ``session`` is resumed if there is a log, and created only if there is surely
none. A log that cannot be read is not absent, and no listing can tell: a store lists what it can read. So the resume
comes first; only if *it* says that there is nothing, and the store, asked for this one id, says so too, a new session
is made. Anything else, a damaged log above all, stays the failure that it is. A new session in its place would look
healthy, and what was said before would be lost without a word.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import CancelScope, create_task_group

from probate_reference.calls import Call, leave_frames
from probate_reference.refusals import IdExists, NotFound
from probate_reference.reports import is_failure

from .entries import AgentEntry, check_entries

if TYPE_CHECKING:
    from probate_reference.agent import Agent, Handle
    from probate_reference.fibers import Fiber

__all__ = ("ConfiguredAgents", "StartFailed")


@dataclass(frozen=True, slots=True)
class StartFailed:
    """An entry could not be started.

    :ivar id: the id that its agent would have had
    :ivar error: why not; the failure itself
    """

    entry: AgentEntry
    id: str
    error: BaseException


def _new_id() -> str:
    return str(uuid.uuid4())


class ConfiguredAgents:
    """Agents that a configuration names.

    :param entries: which
    :param new_id: gives the part of an id that is new at every start
    :param failed: called with each entry that could not be started; what it raises is reported and harms nobody
    :raises ConfigError: if the entries cannot be meant together; nothing has started then
    """

    def __init__(
        self,
        entries: Sequence[AgentEntry],
        *,
        new_id: Callable[[], str] = _new_id,
        failed: Callable[[StartFailed], object] | None = None,
    ) -> None:
        check_entries(entries)
        self._entries = tuple(entries)
        self._new_id = new_id
        self._failed = failed
        self._load: _Load | None = None

    def apply(self, fiber: Fiber) -> None:
        """Begin to start all of them for a fiber: the body of the plug-in. It waits for none of them."""
        load = self._load = _Load(fiber, self._failed)
        ids = [entry.identity or f"{entry.label}-session-{self._new_id()}" for entry in self._entries]
        fiber.effect(lambda: load.stop)
        if not fiber.tree._kernel.spawn(load.run, tuple(zip(self._entries, ids, strict=True))):
            load.settled._return(None)

    def settled(self) -> Call[None]:
        """Return a call that returns when each entry of the newest load has started, has failed, or was called off.

        :raises RuntimeError: if it was never loaded
        """
        if self._load is None:
            raise RuntimeError("the configured agents were not loaded yet: await the rest of their fiber first")
        return self._load.settled

    def agent(self, label: str) -> Agent | None:
        """Return the newest agent of a label, or ``None`` if it has not started."""
        return None if self._load is None else self._load.started.get(label)


class _Load:
    """One load of the plug-in."""

    def __init__(self, fiber: Fiber, failed: Callable[[StartFailed], object] | None) -> None:
        self._fiber = fiber
        self._life = fiber._life
        self._kernel = fiber.tree._kernel
        self._provider = fiber.tree._provider
        self._failed = failed
        self._scope = CancelScope()
        self.settled: Call[None] = Call()
        self.started: dict[str, Agent] = {}

    async def run(self, wanted: Sequence[tuple[AgentEntry, str]]) -> None:
        """Start each of them, side by side."""
        leave_frames()
        try:
            with self._scope:
                async with create_task_group() as tasks:
                    for one in wanted:
                        tasks.start_soon(self._start, *one)
        finally:
            self.settled._return(None)

    async def stop(self) -> None:
        """Stop waiting for whatever is waited for; what is pending then is called off by the fiber itself."""
        self._scope.cancel()
        await self.settled._join()

    async def _start(self, entry: AgentEntry, id: str) -> None:
        provider = self._provider._incarnation
        provided = provider.active
        try:
            handle = await self._start_once_free(entry, id)
        except BaseException as failure:
            if not is_failure(failure):
                raise
            if not self._life.ending and not (provided and provider.ending):
                self._tell(StartFailed(entry, id, failure))
        else:
            self.started[entry.label] = handle.agent

    async def _start_once_free(self, entry: AgentEntry, id: str) -> Handle:
        while True:
            await self._until_free(id)
            try:
                if entry.identity is None or (entry.session and self._kernel.persistence is None):
                    return await self._create(entry, id)
                return await self._resume_or_create(entry, id)
            except IdExists:
                # Whoever took it first may have begun to end since; one that stays is a conflict.
                holder = self._kernel.agents.get(id)
                if holder is not None and not holder._core.lifecycle.ending:
                    raise

    async def _until_free(self, id: str) -> None:
        """Wait until nobody has the id who is about to give it up."""
        while (holder := self._kernel.agents.get(id)) is not None and holder._core.lifecycle.ending:
            await self._kernel.sessions._until_gone(holder.session)

    async def _resume_or_create(self, entry: AgentEntry, id: str) -> Handle:
        try:
            return await self._fiber.resume(id)
        except NotFound:
            persistence = self._kernel.persistence
            if entry.resume or persistence is None or await persistence.exists(id):
                raise
        return await self._create(entry, id)

    async def _create(self, entry: AgentEntry, id: str) -> Handle:
        return await self._fiber.create(id, metadata=entry.metadata)

    def _tell(self, failed: StartFailed) -> None:
        report = self._kernel.report
        report(f"config-start-failed {failed.entry.label}", failed.error)
        if self._failed is not None:
            try:
                self._failed(failed)
            except Exception as failure:
                report("listener config-start-failed", failure)
