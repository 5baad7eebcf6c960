"""A toy agent runtime: what an adapter drives. Put your own in its place.

It has owners, a provider, and agents. An agent takes prompts, runs each as a turn of one model call, can be
cancelled, and ends once, in order, whoever asks for it. What it does is told to listeners.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

Listener = Callable[[str, "Agent", dict[str, Any]], None]


class Refused(Exception):
    """Why a call was refused. ``code`` says it to a program."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Signal:
    """Ends the work of one turn. It fires once; the first cause is the one that counts."""

    def __init__(self) -> None:
        self.cause: str | None = None
        self.hear: Callable[[str], None] | None = None

    def fire(self, cause: str) -> None:
        """Fire it, and tell whoever listens at that moment."""
        if self.cause is None:
            self.cause = cause
            if self.hear is not None:
                self.hear(cause)


Model = Callable[["Agent", Signal], Awaitable[str]]
"""A model call. It gives ``max-tokens`` or any other word, which is an answer; an exception is a failure."""


class Owner:
    """Whoever has agents made. The provider, who makes them all, is one too. Once it ends, so do they."""

    def __init__(self, runtime: Runtime, failure: str) -> None:
        self.active = True
        self.agents: list[Agent] = []
        self._runtime = runtime
        self._failure = failure
        self._unloading: asyncio.Task[None] | None = None

    def unload(self) -> asyncio.Task[None]:
        """End it and all that was made through it; whoever comes later joins."""
        if self._unloading is None:
            self.active = False
            for agent in self.agents:
                agent.fail(self._failure)
            self._unloading = asyncio.create_task(self._unload())
        return self._unloading

    async def _unload(self) -> None:
        ends = [agent.dispose() for agent in reversed(self.agents)]  # newest first, then side by side
        if ends:
            await asyncio.wait(ends)


class Agent:
    """One agent and its session, which is the log of what it did."""

    def __init__(self, runtime: Runtime, id: str, owners: tuple[Owner, Owner]) -> None:
        self.id = id
        self.status = "idle"
        self.records = 0
        self._runtime = runtime
        self._owners = owners
        self._failure: str | None = None
        self._published = False
        self._prompts: deque[str] = deque()
        self.turn = 0
        self._signal: Signal | None = None
        self._wake = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        self._driver: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        for owner in owners:
            owner.agents.append(self)

    # Being made.

    def fail(self, code: str) -> None:
        """Say why it can't be made any more. The first reason counts; later than its creation none does."""
        if self._failure is None and not self._published:
            self._failure = code

    async def publish(self) -> None:
        """Show it to everybody, unless something ended it before.

        :raises Refused: if something did
        """
        runtime = self._runtime
        if self._failure is None and any(other.id == self.id for other in runtime.sessions):
            self._failure = "id-exists"
        if self._failure is not None:
            for owner in self._owners:
                owner.agents.remove(self)
            raise Refused(self._failure)
        runtime.sessions.append(self)
        runtime.agents.append(self)
        self._published = True
        for name in ("session/created", "agent/created", "agent/session-start"):
            self._tell(name)
        self._driver = asyncio.create_task(self._drive())

    # Being used.

    def send(self, text: str) -> None:
        """Queue a prompt.

        :raises Refused: if it is disposed, or the text can't be kept
        """
        if self.status == "disposed":
            raise Refused("disposed")
        if not text.isprintable():
            raise Refused("invalid-content")
        self._prompts.append(text)
        self._tell("agent/queued", text=text)
        self._wake.set()

    def cancel(self, cause: str) -> None:
        """Stop what is queued and what runs; nothing happens if that is nothing."""
        if self._signal is not None or self._prompts:
            self._tell("agent/cancel-requested", cause=cause)
        self._prompts.clear()
        if self._signal is not None:
            self._signal.fire(cause)

    def idle(self) -> Awaitable[None]:
        """Wait until nothing runs and nothing is queued; once it is disposed, until its driver has ended.

        What is waited for is decided now, and not when somebody awaits it.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.status == "disposed" and self._driver is not None:
            self._driver.add_done_callback(lambda _: _let_go(waiter))
        elif self.status == "running" or self._prompts:
            self._waiters.append(waiter)
        else:
            waiter.set_result(None)
        return waiter

    def dispose(self) -> asyncio.Task[None]:
        """End it: its turn, its driver, its entries. There is one end, which everybody joins."""
        if self._ending is None:
            self.fail("lifecycle-disposed")
            if self._published:
                self.status = "disposed"
                if self._signal is not None:
                    self._signal.fire("disposed")
                self._tell("agent/status", status="disposed")
                self._wake.set()
            self._ending = asyncio.create_task(self._end())
        return self._ending

    async def _end(self) -> None:
        if self._driver is None:  # it was never published, and takes itself back
            return
        await asyncio.wait([self._driver])
        self._runtime.agents.remove(self)
        self._tell("agent/disposed")
        self._runtime.sessions.remove(self)
        self._tell("session/disposed")
        for owner in self._owners:
            owner.agents.remove(self)

    # Its driver: one task that runs one turn after the other.

    async def _drive(self) -> None:
        while self.status != "disposed":
            if self._prompts:
                await self._run_turn(self._prompts.popleft())
                continue
            if self.status == "running":
                self._become("idle")
            self._release()
            self._wake.clear()
            await self._wake.wait()
        self._release()

    async def _run_turn(self, prompt: str) -> None:
        self.turn += 1
        self._signal = signal = Signal()
        if self.status == "idle":
            self._become("running")
        self._log("turn/start", turn=self.turn)
        self._log("user/message", text=prompt)
        self._log("step/start", turn=self.turn)
        outcome = "completed"
        try:
            answer = await self._runtime.model(self, signal)
        except Exception:
            outcome = "error"
        else:
            if signal.cause is None:
                self._log("assistant/message")
                outcome = "max-tokens" if answer == "max-tokens" else outcome
        if signal.cause is not None:
            outcome = "disposed" if self.status == "disposed" else "aborted"
        self._log("step/end", turn=self.turn)
        if outcome == "error":
            self._tell("agent/error")
        self._signal = None
        self._log("turn/end", turn=self.turn, outcome=outcome)

    def _become(self, status: str) -> None:
        self.status = status
        self._tell("agent/status", status=status)

    def _release(self) -> None:
        for waiter in self._waiters:
            _let_go(waiter)
        self._waiters.clear()

    def _log(self, record: str, **fields: Any) -> None:
        seq, self.records = self.records, self.records + 1
        self._tell("log", seq=seq, record=record, **fields)

    def _tell(self, name: str, **fields: Any) -> None:
        for listener in self._runtime.listeners:
            listener(name, self, fields)


def _let_go(waiter: asyncio.Future[None]) -> None:
    """Let go on who waits, unless they have stopped waiting: a future that was cancelled takes no result."""
    if not waiter.done():
        waiter.set_result(None)


class Runtime:
    """All of it: the registries, the owners, the provider, and who listens."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.listeners: list[Listener] = []
        self.agents: list[Agent] = []
        self.sessions: list[Agent] = []
        self.owners: dict[str, Owner] = {}
        self.provider: Owner | None = None

    def load_owner(self, name: str) -> None:
        """Let an owner begin, if it has not or has ended."""
        if name not in self.owners or not self.owners[name].active:
            self.owners[name] = Owner(self, "owner-disposed")

    def load_provider(self) -> None:
        """Let the provider begin, if it has not or has ended."""
        if self.provider is None or not self.provider.active:
            self.provider = Owner(self, "provider-inactive")

    def create(self, owner: str, id: str) -> asyncio.Task[Agent]:
        """Begin to make an agent: it is refused, or published, in a later step."""
        made_by, provider = self.owners[owner], self.provider
        code = None
        if not made_by.active:
            code = "owner-inactive"
        elif provider is None or not provider.active:
            code = "provider-inactive"
        elif any(agent.id == id for agent in self.sessions):
            code = "id-exists"
        if code is not None or provider is None:
            return asyncio.create_task(_refuse(code or "provider-inactive"))
        return asyncio.create_task(_publish(Agent(self, id, (made_by, provider))))


async def _publish(agent: Agent) -> Agent:
    await agent.publish()
    return agent


async def _refuse(code: str) -> Agent:
    raise Refused(code)
