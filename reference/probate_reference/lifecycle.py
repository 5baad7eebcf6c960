"""Carry one agent from the begin of its creation to the end of its teardown, in one task.

A lifecycle is a straight line: set up in private, publish, drive, unwind. All of it is one task, so
there is no moment at which an agent exists and nobody is responsible for its end, and an agent
costs one parked task and no more.

Whoever wants it to end only says so. :meth:`Lifecycle.deactivate` says that it must not be
published (first cause wins); :meth:`Lifecycle.begin_teardown` also stops the driver, there and
then. Both are synchronous and may come from anywhere, also from a listener in the middle of the
publication; then the publication unwinds first. What follows is done by the lifecycle's own task
when it gets there, once, whoever asked and however often. That is all the memo there is: one
``boundary``, shared by every caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CancelScope

from .agent import Agent, Handle
from .calls import Call, Frame, enter_frame
from .core import Core
from .creation import Creation, publish, run_load, run_setup
from .driver import drive
from .refusals import Aborted, LifecycleDisposed, OwnerDisposed, ProviderInactive
from .seams import AgentScope
from .session import Session
from .teardown import unwind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .kernel import Kernel
    from .owners import Incarnation, Provider
    from .refusals import Refusal
    from .seams import Cleanup, Setup
    from .signals import CreationSignal

__all__ = ("Boundary", "Lifecycle")


class Boundary(Call[None]):
    """Returns when a lifecycle has ended completely."""

    __slots__ = ("_lifecycle",)

    def __init__(self, lifecycle: Lifecycle) -> None:
        super().__init__()
        self._lifecycle = lifecycle

    def _waits_for(self, frame: Frame) -> bool:
        return self._lifecycle in frame.line()


class Lifecycle:
    """The whole life of one agent.

    :ivar active: whether the agent is wanted; never true again once it is false
    :ivar pending: whether the creation has neither published the agent nor failed
    :ivar failure: why the creation failed; the first cause
    :ivar resumes: whether it begins with a log that is loaded
    :ivar parent: the lifecycle of the agent that owns this one, or ``None``
    :ivar owner: the incarnation of the owner that owns this one, or ``None``
    :ivar incarnation: the incarnation of the provider that it was created through
    :ivar children: what this agent owns, oldest first
    :ivar boundary: the one end that all callers share
    """

    __slots__ = (
        "_children",
        "active",
        "agent_announced",
        "boundary",
        "core",
        "creation",
        "failure",
        "incarnation",
        "kernel",
        "owner",
        "parent",
        "pending",
        "private_scope",
        "provider",
        "publishing",
        "resumes",
        "scope",
        "session_announced",
        "setup",
        "signal",
    )

    def __init__(
        self,
        kernel: Kernel,
        provider: Provider,
        owner: Incarnation | Lifecycle,
        id: str,
        setup: Setup | None,
        signal: CreationSignal | None,
        cleanups: tuple[Cleanup, ...],
        metadata: Mapping[str, str],
        resumes: bool,
    ) -> None:
        self.kernel = kernel
        self.provider = provider
        self.incarnation = provider._incarnation
        self.parent = owner if isinstance(owner, Lifecycle) else None
        self.owner = None if isinstance(owner, Lifecycle) else owner
        self.resumes = resumes
        self.core = Core(kernel, Session(id, metadata))
        self.core.lifecycle = self
        self.core.agent = Agent(self.core)
        self.scope = AgentScope(id, cleanups)
        self.setup = setup
        self.signal = signal
        self.creation = Creation(self)
        self.boundary = Boundary(self)
        self.active = True
        self.pending = True
        self.publishing = False
        self.session_announced = False
        self.agent_announced = False
        self.failure: BaseException | None = None
        self.private_scope: CancelScope | None = None
        self._children: dict[Lifecycle, None] | None = None
        kernel.lifecycles += 1
        owner.adopt(self)
        self.incarnation.adopt(self)
        if signal is not None:
            signal._subscribe(self, self.abort)

    @property
    def children(self) -> tuple[Lifecycle, ...]:
        """What this agent owns, oldest first."""
        return () if self._children is None else tuple(self._children)

    def adopt(self, child: Lifecycle) -> None:
        """Own another lifecycle."""
        if self._children is None:
            self._children = {}
        self._children[child] = None

    def release(self, child: Lifecycle) -> None:
        """Own it no longer."""
        if self._children is not None:
            self._children.pop(child, None)
            if not self._children:
                self._children = None

    def line(self) -> Iterator[Lifecycle]:
        """Yield this lifecycle and all that own it: those whose teardown waits for this one's."""
        lifecycle: Lifecycle | None = self
        while lifecycle is not None:
            yield lifecycle
            lifecycle = lifecycle.parent

    @property
    def ending(self) -> bool:
        """Whether its end was asked for, or that of anybody who takes it along."""
        owners = [one.owner for one in self.line() if one.owner is not None]
        return not all(one.active for one in self.line()) or any(one.ending for one in (*owners, self.incarnation))

    def wanted(self) -> bool:
        """Return whether nothing has called the lifecycle off."""
        return self.active

    def abort(self) -> None:
        """Call the creation off, because its signal says so."""
        self.kernel.require_own_thread()
        self.deactivate(Aborted(f"creation of {self.scope.id!r} was aborted"))

    def deactivate(self, cause: BaseException) -> None:
        """Decide that the agent is not wanted; the first cause wins.

        Creations that are pending on the agent's behalf are called off with it.
        """
        if not self.active:
            return
        self.active = False
        if self.pending:
            self.failure = cause
        if self.private_scope is not None:
            self.private_scope.cancel()
        for child in self.children:
            if child.pending:
                child.deactivate(OwnerDisposed(f"agent {self.scope.id!r} began to end"))

    def call_off(self, cause: Refusal) -> None:
        """Hear that an owner or the provider is to end: a creation that is pending is not wanted any more."""
        if self.pending:
            self.deactivate(cause)

    def begin_end(self, cause: Refusal) -> None:
        """End with an owner or the provider."""
        self.begin_teardown(cause)

    async def join_end(self) -> None:
        """Wait for the one end."""
        await self.boundary._join()

    def begin_teardown(self, cause: Refusal | None = None) -> None:
        """Let the lifecycle end: everything that is synchronous about it happens before this returns.

        :param cause: what a pending creation fails with
        """
        self.kernel.require_own_thread()
        self.deactivate(cause or LifecycleDisposed(f"agent {self.scope.id!r} was disposed"))
        if not self.publishing:
            self.core.stop()

    async def run(self) -> None:
        """Live: the task of this lifecycle."""
        frame = enter_frame(self, drives=True)
        try:
            if self.active and self.resumes:
                await run_load(self)
            if self.active and self.setup is not None:
                await run_setup(self, self.setup)
            if self.wanted():
                publish(self)
            if not self.pending:
                await drive(self.core)
        except BaseException:
            # The host cancelled the runtime, or something in it is broken. End in order, then say so.
            self.deactivate(ProviderInactive("the runtime was cancelled"))
            raise
        finally:
            self.begin_teardown()
            with CancelScope(shield=True):
                await unwind(self)
            frame.alive = False

    def settle_creation(self) -> None:
        """Let the creation return its handle; from here on its signal has no power."""
        self.pending = False
        self._forget_request()
        self.creation._return(Handle(self.core.agent))

    def finish(self) -> None:
        """Let go of the owners and end the calls: the very last act."""
        (self.parent or self.owner or self.incarnation).release(self)
        self.incarnation.release(self)
        self.kernel.lifecycles -= 1
        if self.pending:
            self.pending = False
            self._forget_request()
            assert self.failure is not None
            self.creation._raise(self.failure)
        self.failure = None
        self.boundary._return(None)

    def _forget_request(self) -> None:
        self.setup = None
        if self.signal is not None:
            self.signal._unsubscribe(self)
            self.signal = None
