"""Give observers and owners the thing that works: the agent.

A bare agent is what the registry shows. With it one can talk to the agent, call its work off, wait
for it and create children on its behalf. One cannot end it: that takes the handle, which only the
creation returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .signals import CancelCause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .calls import Call
    from .core import Core
    from .creation import Creation
    from .events import Status
    from .seams import Cleanup, Setup
    from .session import Session
    from .signals import CreationSignal

__all__ = ("Agent", "AgentStatistics", "Handle")


@dataclass(frozen=True, slots=True)
class AgentStatistics:
    """An agent at one moment.

    :ivar queued: how many prompts wait for a turn
    :ivar steering: how many messages wait to join the running turn
    :ivar turn: the number of the turn that can be cancelled, or ``None``
    :ivar idle_waiters: how many calls wait for the agent to be idle
    :ivar open_flushes: how many flushes of injections have not ended
    :ivar children: how many lifecycles, pending ones included, the agent owns
    """

    status: Status
    queued: int
    steering: int
    turn: int | None
    idle_waiters: int
    open_flushes: int
    children: int


class Agent:
    """One agent: a session, an inbox, and a driver that works it off turn by turn."""

    __slots__ = ("_core",)

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def id(self) -> str:
        """The id that the agent shares with its session."""
        return self._core.session.id

    @property
    def session(self) -> Session:
        """The agent's log."""
        return self._core.session

    @property
    def status(self) -> Status:
        """What the agent is doing."""
        return self._core.status

    def send(self, text: str) -> None:
        """Queue a prompt; it gets a turn of its own.

        :param text: what to say
        :raises Disposed: if the agent is disposed
        :raises InvalidContent: if the text cannot be stored without loss
        """
        self._core.send(text)

    def steer(self, text: str) -> None:
        """Say something to the turn that runs; it is heard between two steps.

        If no turn runs, this is :meth:`send`.

        :param text: what to say
        :raises Disposed: if the agent is disposed
        :raises InvalidContent: if the text cannot be stored without loss
        """
        self._core.steer(text)

    def inject(self, text: str) -> None:
        """Put a text into the log as context, without waking the agent.

        :param text: what to log
        :raises Disposed: if the agent is disposed
        :raises InvalidContent: if the text cannot be stored without loss
        """
        self._core.inject(text)

    def cancel(self, cause: CancelCause | Literal["user", "parent"] = CancelCause.USER) -> None:
        """Stop the turn that runs and forget everything that waits.

        It is the only way to stop work. It is cooperative: the turn's signal fires, and the turn
        ends when the work in flight has. On an agent with nothing to do it does nothing. It never
        refuses, not even after disposal.

        :param cause: on whose behalf
        :raises ValueError: if the cause is no cause; nothing has happened then
        """
        self._core.cancel(CancelCause(cause))

    def idle(self) -> Call[None]:
        """Wait until the agent has worked off everything; after disposal, until its driver has ended.

        :return: a call that never raises
        """
        return self._core.idle()

    def create(
        self,
        id: str,
        *,
        setup: Setup | None = None,
        signal: CreationSignal | None = None,
        cleanups: tuple[Cleanup, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Creation:
        """Begin to create an agent on behalf of this one, which owns it and takes it along.

        :param id: the id of the new agent and its session
        :param setup: runs in private before the agent is published
        :param signal: lets the caller call the creation off
        :param cleanups: awaited in the last step of the new agent's teardown, the last one first
        :param metadata: what to remember with the log
        :return: a call that returns the handle, with the refusals of :meth:`Owner.create`
        """
        lifecycle = self._core.lifecycle
        return lifecycle.provider._begin_creation(lifecycle, id, setup, signal, cleanups, metadata)

    def resume(
        self,
        id: str,
        *,
        setup: Setup | None = None,
        signal: CreationSignal | None = None,
        cleanups: tuple[Cleanup, ...] = (),
    ) -> Creation:
        """Begin to create an agent that goes on with a stored log, on behalf of this one, which owns it.

        :return: a call that returns the handle, with the refusals of :meth:`Owner.resume`
        """
        lifecycle = self._core.lifecycle
        return lifecycle.provider._begin_creation(lifecycle, id, setup, signal, cleanups, resumes=True)

    def statistics(self) -> AgentStatistics:
        """Return the state of the agent at this moment."""
        core = self._core
        inbox = core.inbox.statistics()
        return AgentStatistics(
            status=core.status,
            queued=inbox.queued,
            steering=inbox.steering,
            turn=None if core.turn is None else core.turn.number,
            idle_waiters=core.waiters,
            open_flushes=core.open_flushes,
            children=len(core.lifecycle.children),
        )

    def __repr__(self) -> str:
        return f"<Agent {self.id!r} {self.status.value}>"


class Handle:
    """The power to end one agent; whoever created it has it."""

    __slots__ = ("_agent",)

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def agent(self) -> Agent:
        """The agent."""
        return self._agent

    def dispose(self) -> Call[None]:
        """End the agent. Every call joins the one teardown.

        The status flips and the turn's signal fires before this returns. The rest follows in order:
        the driver ends, the agent leaves the registry and its session the store, and what belongs
        to the agent is cleaned up.

        :return: a call that never raises a refusal and returns when all of it has been done
        """
        lifecycle = self._agent._core.lifecycle
        lifecycle.begin_teardown()
        return lifecycle.boundary

    def __repr__(self) -> str:
        return f"<Handle of {self._agent!r}>"
