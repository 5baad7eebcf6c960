"""A runtime with a store, whose model and whose store stop at gates, and loops of configured agents in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeVar

from probate_reference import (
    Agent,
    Event,
    Fiber,
    ModelRequest,
    Persistence,
    Reply,
    Runtime,
    SessionStart,
    Signal,
    Store,
)
from probate_reference.configured import AgentEntry, ConfiguredAgents, StartFailed
from tests.reference.kit import Gate

T = TypeVar("T")


class Stage:
    """A runtime, and what became of it.

    :ivar model: where the model stops; it is deaf, so a turn ends when the gate lets it
    :ivar store: where the store stops before it is read
    :ivar starts: who started, and from where
    """

    def __init__(self, store: Store | None) -> None:
        self.model = Gate(Reply("answer"))
        self.store = Gate(None)
        self.starts: list[str] = []
        self.failures: list[StartFailed] = []
        self.reports: list[tuple[str, BaseException]] = []
        self.numbers = map(str, count(1))
        self.persistence = None if store is None else Persistence(store, offload=self._offload)
        self.runtime = Runtime(self._model, persistence=self.persistence, report=self._report)
        self.runtime.events.on(self._started, SessionStart.kind)

    def plug(
        self, *entries: AgentEntry, failed: Callable[[StartFailed], object] | None = None, parent: Fiber | None = None
    ) -> tuple[ConfiguredAgents, Fiber]:
        """Plug a loop in."""
        agents = ConfiguredAgents(entries, new_id=lambda: next(self.numbers), failed=failed or self.failures.append)
        return agents, (parent or self.runtime.fibers.root).plug(agents.apply, name="agents")

    async def started(self, *entries: AgentEntry) -> tuple[ConfiguredAgents, Fiber]:
        """Plug a loop in and wait until each entry has started or failed."""
        agents, fiber = self.plug(*entries)
        await fiber.rest()
        await agents.settled()
        return agents, fiber

    @asynccontextmanager
    async def draining(self, entry: AgentEntry) -> AsyncIterator[Fiber]:
        """Give the fiber of a loop that was disposed in the middle of a turn; that ends with the block."""
        agents, fiber = await self.started(entry)
        await say(agents.agent(entry.label), "one")
        self.model.hold()
        talking = agents.agent(entry.label)
        assert talking is not None
        talking.send("two")
        arrival = await self.model.arrival()
        self.model.held = False
        _ = fiber.dispose()
        self.starts.clear()
        try:
            yield fiber
        finally:
            arrival.release()

    def codes(self) -> list[str]:
        """Return which entries have failed, and how."""
        return [f"{failed.id} {type(failed.error).__name__}" for failed in self.failures]

    async def _model(self, request: ModelRequest, signal: Signal) -> Reply:
        reply: Reply = await self.model.pass_through(request)
        return reply

    async def _offload(self, function: Callable[[], T], /, *, abandon: bool) -> T:
        if abandon:
            await self.store.pass_through(function)
        return function()

    def _report(self, place: str, failure: BaseException) -> None:
        self.reports.append((place, failure))

    def _started(self, event: Event) -> None:
        assert isinstance(event, SessionStart)
        self.starts.append(f"{event.agent.id} {event.source}")


async def say(agent: Agent | None, text: str) -> None:
    """Say something to an agent, and wait until it has answered."""
    assert agent is not None
    agent.send(text)
    await agent.idle()
