"""Hold what one agent is doing, and carry out everything that happens to it synchronously.

Every input here is synchronous and may come from inside a listener: send, steer, cancel and the
stop of the driver. The driver is the only task, and it is woken, never called: between the send and
the driver's wake-up lies a window in which a cancel makes the prompt vanish as if it had never
come.

What a cancel can reach is told apart by the *turn holder*. It is installed before ``running`` is
announced and taken away just before the turn's end is logged, so a cancel in the closing flush
cannot spoil a turn that is over. Without a holder, a cancel that finds something waiting leaves a
mark without a cause; the driver looks at the mark before it claims anything. A cancel that finds
nothing leaves nothing, or it would swallow the next prompt.

Disposal is no cancel. It flips the status for good, leaves the inbox alone and fires the same
signal; the driver sees the status and never claims again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import Event

from .calls import Call, Frame, returned
from .events import AgentQueued, AgentStatus, CancelRequested, LogAppended, Status
from .inbox import Inbox
from .injection import commit_injection
from .refusals import Disposed
from .session import check_text
from .signals import AbortCause, CancelCause, Signal

if TYPE_CHECKING:
    from .agent import Agent
    from .events import ErrorSource
    from .kernel import Kernel
    from .lifecycle import Lifecycle
    from .records import Record
    from .session import Session

__all__ = ("Core", "Idle", "Turn")


class Idle(Call[None]):
    """Returns when the agent has nothing left to do, or when its driver has ended."""

    __slots__ = ("_lifecycle",)

    def __init__(self, lifecycle: Lifecycle) -> None:
        super().__init__()
        self._lifecycle = lifecycle

    def _waits_for(self, frame: Frame) -> bool:
        return frame.drives and frame.lifecycle is self._lifecycle


class Turn:
    """The holder of one turn: its signal, and what its end depends on."""

    __slots__ = ("failure", "max_tokens", "number", "open_step", "signal")

    def __init__(self, signal: Signal) -> None:
        self.signal = signal
        self.number = 0
        self.open_step = 0
        self.max_tokens = False
        self.failure: tuple[int, ErrorSource, BaseException] | None = None

    def stopped(self) -> bool:
        """Return whether the turn's signal has fired: by a cancel, or by disposal."""
        return self.signal._cause is not None


class Core:
    """The state of one agent. ``agent`` and ``lifecycle`` are set by whoever makes all three."""

    __slots__ = (
        "_appending",
        "_flushes_drained",
        "_late_injections",
        "_parked",
        "_waiters",
        "agent",
        "batch_active",
        "deferred_injections",
        "driver_exited",
        "inbox",
        "kernel",
        "lifecycle",
        "open_flushes",
        "pre_run_cancelled",
        "published",
        "session",
        "status",
        "turn",
    )

    agent: Agent
    lifecycle: Lifecycle

    def __init__(self, kernel: Kernel, session: Session) -> None:
        self.kernel = kernel
        self.session = session
        self.status = Status.IDLE
        self.inbox = Inbox()
        self.turn: Turn | None = None
        self.pre_run_cancelled = False
        self.published = False
        self.driver_exited = False
        self.batch_active = False
        self.deferred_injections: list[str] | None = None
        self.open_flushes = 0
        self._flushes_drained: Event | None = None
        self._late_injections: list[str] | None = None
        self._appending = False
        self._parked: Event | None = None
        self._waiters: list[Idle] | None = None

    def disposed(self) -> bool:
        """Return whether the status has flipped to ``disposed``."""
        return self.status is Status.DISPOSED

    @property
    def waiters(self) -> int:
        """How many calls wait for the agent to be idle."""
        return 0 if self._waiters is None else len(self._waiters)

    # Input

    def send(self, text: str) -> None:
        """Accept a prompt and schedule the driver's wake-up."""
        self._accept(text)
        self.inbox.queue(text)
        self.wake()
        self.kernel.events._emit(AgentQueued(self.agent, text, steering=False))

    def steer(self, text: str) -> None:
        """Accept a message for the running turn; on an agent that does not run it is a prompt."""
        if self.status is not Status.RUNNING:
            self.send(text)
            return
        self._accept(text)
        self.inbox.steer(text)
        self.kernel.events._emit(AgentQueued(self.agent, text, steering=True))

    def inject(self, text: str) -> None:
        """Log a text now, or as soon as the dispatch of a record of this log has unwound."""
        self._accept(text)
        if self._appending:
            if self._late_injections is None:
                self._late_injections = []
            self._late_injections.append(text)
        else:
            commit_injection(self, text)

    def cancel(self, cause: CancelCause) -> None:
        """Stop what runs and forget what waits; nothing at all if there is neither."""
        self.kernel.require_own_thread()
        turn = self.turn
        pre_run = turn is None and self.inbox.pending()
        if pre_run:
            self.pre_run_cancelled = True
        if turn is not None or pre_run:
            self.kernel.events._emit(CancelRequested(self.agent, cause))
        # What an observer of the request has queued is swept too; what an observer of the abort
        # queues is not.
        self.inbox.clear()
        if turn is not None:
            turn.signal._fire(AbortCause(cause.value))

    def _accept(self, text: str) -> None:
        self.kernel.require_own_thread()
        if self.status is Status.DISPOSED:
            raise Disposed(f"agent {self.session.id!r} is disposed")
        check_text(text)

    # The log

    def append(self, record: Record) -> None:
        """Commit a record and tell it, then commit what its observers have injected."""
        seq = self.session._commit(record)
        if not self.session._live:
            return
        events = self.kernel.events
        if not events._listeners(LogAppended.kind):
            return
        self._appending = True
        try:
            events._emit(LogAppended(self.agent, seq, record))
        finally:
            self._appending = False
        # Taken as a whole: an injection that opens a turn of its own is not mixed with the next.
        late = self._late_injections
        if late is not None:
            self._late_injections = None
            for text in late:
                commit_injection(self, text)

    # Quiescence

    def idle(self) -> Call[None]:
        """Register a waiter, unless there is nothing to wait for."""
        self.kernel.require_own_thread()
        if self.driver_exited or (self.status is Status.IDLE and not self.inbox.has_queued()):
            return returned(None)
        waiter = Idle(self.lifecycle)
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(waiter)
        return waiter

    def become_idle(self) -> None:
        """Leave ``running``: the event first, then the waiters that were there before it."""
        released = self._waiters
        self._waiters = None
        try:
            self.set_status(Status.IDLE)
        finally:
            _release(released)

    def exit_driver(self) -> None:
        """Release everybody who waited for the driver's end."""
        self.driver_exited = True
        released = self._waiters
        self._waiters = None
        _release(released)

    def set_status(self, status: Status) -> None:
        """Change the status and tell it; never away from ``disposed``."""
        if self.status is status or self.status is Status.DISPOSED:
            return
        self.status = status
        self.kernel.events._emit(AgentStatus(self.agent, status))

    # The driver's sleep

    async def park(self) -> None:
        """Wait until something may have to be done."""
        self._parked = Event()
        try:
            await self._parked.wait()
        finally:
            self._parked = None

    def wake(self) -> None:
        """Schedule the driver, if it is parked."""
        if self._parked is not None:
            self._parked.set()

    def stop(self) -> None:
        """Flip the status to ``disposed``; the waiters now wait for the driver's exit."""
        if self.status is Status.DISPOSED:
            return
        self.status = Status.DISPOSED
        if self.turn is not None:
            self.turn.signal._fire(AbortCause.DISPOSED)
        self.wake()
        if self.published:
            self.kernel.events._emit(AgentStatus(self.agent, Status.DISPOSED))

    # Flushes that nobody but the teardown waits for

    def end_flush(self) -> None:
        """Note that a flush started by an injection has ended."""
        self.open_flushes -= 1
        if not self.open_flushes and self._flushes_drained is not None:
            self._flushes_drained.set()
            self._flushes_drained = None

    async def drain_flushes(self) -> None:
        """Wait until no flush started by an injection is open."""
        while self.open_flushes:
            if self._flushes_drained is None:
                self._flushes_drained = Event()
            await self._flushes_drained.wait()


def _release(waiters: list[Idle] | None) -> None:
    if waiters is not None:
        for waiter in waiters:
            waiter._return(None)
