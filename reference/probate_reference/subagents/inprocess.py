"""Have work done by an agent in this process: a fresh one, or one that knows what its parent knows.

The child belongs to the parent and ends with it. It has an id of its own, always; whose child it is, and how deep, is
remembered beside that. A *spawned* child begins with nothing. A *forked* one begins with the parent's log as far as its
turns are complete: the turn in which the parent asks is open, and half a turn is no conversation.

What a child says counts only if it said it itself. A fork that said nothing has no output, and never the last words
of its parent.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from anyio import CancelScope

from probate_reference.records import AssistantMessage, TurnEnd, TurnReason, TurnStart, TurnTrigger
from probate_reference.refusals import Refusal
from probate_reference.signals import CancelCause, CreationSignal

from .runs import Capability, Run, RunRequest, RunResult, RunStop
from .service import DepthExceeded

if TYPE_CHECKING:
    from probate_reference.agent import Agent
    from probate_reference.creation import Creation
    from probate_reference.owners import Owner
    from probate_reference.records import Record

    from .runs import Start

__all__ = ("DEPTH", "PARENT", "ForkProvider", "InProcessRun", "SpawnProvider", "completed_turns")

PARENT: Final = "parent"
"""Under which name the id of the parent is remembered with a child's log."""

DEPTH: Final = "depth"
"""Under which name it is remembered how deep a child is."""

INHERITED: Final = ("cwd",)


class SpawnProvider:
    """Makes a fresh child for each run.

    :param owner: who owns the children of requests that have no parent
    :param depth_limit: how deep a child may be, whatever its request says; a child without a parent is at 1
    :param mint: makes ids
    """

    def __init__(
        self,
        owner: Owner,
        *,
        depth_limit: int | None = None,
        mint: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._owner = owner
        self._depth_limit = depth_limit
        self._mint = mint

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What a request may need: a limit of the depth."""
        return frozenset({Capability.DEPTH_LIMIT})

    def seed(self, parent: Agent | None) -> Sequence[Record]:  # noqa: ARG002
        """Return what a child begins with: nothing."""
        return ()

    def start(self, request: RunRequest, tasks: Start) -> Run:
        """Begin to make the child.

        :raises DepthExceeded: if it would be too deep
        """
        parent = request.parent
        depth = 1 + (0 if parent is None else _depth(parent))
        limits = [limit for limit in (self._depth_limit, request.depth_limit) if limit is not None]
        if limits and depth > min(limits):
            raise DepthExceeded(f"a subagent at depth {depth} is too deep: the limit is {min(limits)}")
        metadata = {DEPTH: str(depth)}
        if parent is not None:
            metadata[PARENT] = parent.id
            metadata |= {name: parent.session.metadata[name] for name in INHERITED if name in parent.session.metadata}
        signal = CreationSignal()
        if request.signal is not None and request.signal.aborted:
            signal.abort()
        name = self._mint()
        creation = (parent or self._owner).create(name, signal=signal, metadata=metadata)
        seed = self.seed(parent)
        if creation.agent is not None:
            # Nothing of the creation runs before a later step, so the child is still nobody's but ours.
            creation.agent.session._seed(seed, creation.agent.session.metadata)
        return InProcessRun(name, creation, signal, request, len(seed), tasks)


class ForkProvider(SpawnProvider):
    """Makes a child that knows what its parent knows; see :class:`SpawnProvider` for its parameters."""

    def seed(self, parent: Agent | None) -> Sequence[Record]:
        """Return what a child begins with: the complete turns of its parent."""
        return () if parent is None else completed_turns(parent.session.records)


def completed_turns(log: Sequence[Record]) -> Sequence[Record]:
    """Return a log up to the last end of a turn."""
    ends = [place for place, record in enumerate(log) if isinstance(record, TurnEnd)]
    return log[: ends[-1] + 1] if ends else ()


def _depth(agent: Agent) -> int:
    depth = agent.session.metadata.get(DEPTH, "0")
    return int(depth) if depth.isdecimal() and depth.isascii() else 0


class InProcessRun(Run):
    """A run of an agent in this process; made by :class:`SpawnProvider` and :class:`ForkProvider`."""

    def __init__(
        self,
        name: str,
        creation: Creation,
        signal: CreationSignal,
        request: RunRequest,
        seeded: int,
        tasks: Start,
    ) -> None:
        super().__init__(name)
        self._creation = creation
        self._signal = signal
        self._request = request
        self._seeded = seeded
        self._tasks = tasks
        self._cancelled = signal.aborted
        if request.signal is not None and not signal.aborted:
            self._heed(request.signal)
        tasks(self._live)

    @property
    def creation(self) -> Creation:
        """The creation of the child."""
        return self._creation

    def cancel(self) -> None:
        """Call the creation off, or cancel the child on the parent's behalf."""
        self._cancelled = True
        self._signal.abort()
        agent = self._creation.agent
        if agent is not None:
            agent.cancel(CancelCause.PARENT)

    def _begin_end(self) -> None:
        end = self._creation.withdraw()

        async def follow() -> None:
            with CancelScope(shield=True):
                await end._join()
                await self.result
                self._end()

        self._tasks(follow)

    async def _live(self) -> None:
        try:
            self._settle(await self._work())
        finally:
            # Somebody has cancelled us, and the child ends with whoever that was.
            self._settle(RunResult(RunStop.ABORTED if self._cancelled else RunStop.ERROR, (), "the run was broken off"))

    async def _work(self) -> RunResult:
        try:
            agent = (await self._creation).agent
            if not self._cancelled:
                agent.send(self._request.prompt)
                await agent.idle()
        except Exception as failure:
            # What a setup or a listener has thrown is a failure of the child like any other.
            if self._cancelled:
                return RunResult(RunStop.ABORTED)
            says = failure.code if isinstance(failure, Refusal) else type(failure).__name__
            return RunResult(RunStop.ERROR, (), f"{says}: {failure}")
        return self._read(agent.session.records[self._seeded :])

    def _read(self, log: Sequence[Record]) -> RunResult:
        """Read the result from the child's own part of its log."""
        said = [record.text for record in log if isinstance(record, AssistantMessage) and record.text]
        output = (said[-1],) if said else ()
        own = {record.turn for record in log if isinstance(record, TurnStart) and record.trigger is TurnTrigger.MESSAGE}
        ends = [record.reason for record in log if isinstance(record, TurnEnd) and record.turn in own]
        reason = ends[-1] if ends else None
        if reason is TurnReason.COMPLETED:
            return RunResult(RunStop.COMPLETED, output)
        if self._cancelled or reason is TurnReason.ABORTED:
            return RunResult(RunStop.ABORTED, output)
        if reason is TurnReason.MAX_TOKENS:
            return RunResult(RunStop.MAX_TOKENS, output)
        says = "the child never began" if reason is None else f"the child's turn ended: {reason}"
        return RunResult(RunStop.ERROR, output, says)
