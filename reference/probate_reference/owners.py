"""Own agents: who may create them, and who takes them along.

Every agent has two owners that can end it without asking. Its *owner* asked for it: a part of the
embedding program, or another agent. The *provider* made it, and an agent cannot outlive what it is
made of. To unload either is to end all its agents.

An owner can be loaded again, also while its old agents still end. So what agents belong to is not
the owner but one *incarnation* of it: an unload ends one incarnation, and what is created after the
next load is none of its business.

An unload says at once that nothing new may begin and calls off what is pending. The agents are
ended a step later, newest first, all of them before the first has finished, because what one of
them waits for may be another.

A fiber of the plug-in tree lives by the same rules, and so it stands on incarnations too: one for
each activation. What belongs to it, be it an effect, a service, a child or an agent, is a
:class:`Member`, and all members are ended in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from anyio import CancelScope

from .calls import Call, Frame, leave_frames
from .creation import Creation, refused
from .lifecycle import Lifecycle
from .refusals import (
    Aborted,
    IdExists,
    InvalidContent,
    NoPersistence,
    OwnerDisposed,
    OwnerInactive,
    ProviderInactive,
)
from .session import checked_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .fibers.fiber import Fiber
    from .kernel import Kernel
    from .refusals import Refusal
    from .seams import Cleanup, Setup
    from .signals import CreationSignal

__all__ = ("Incarnation", "Member", "Owner", "Provider", "Unload")


class Member(Protocol):
    """Something that ends with what it belongs to."""

    def call_off(self, cause: Refusal) -> None:
        """Hear that an end was asked for, there and then."""

    def begin_end(self, cause: Refusal) -> None:
        """Begin to end, which happens in a later step; if it has begun already, nothing more happens."""

    async def join_end(self) -> None:
        """Wait until it has ended completely, whoever began that."""


class Unload(Call[None]):
    """Returns when everything that belonged to an incarnation has ended."""

    __slots__ = ("_incarnation",)

    def __init__(self, incarnation: Incarnation) -> None:
        super().__init__()
        self._incarnation = incarnation

    def _waits_for(self, frame: Frame) -> bool:
        incarnation = self._incarnation
        return any(lifecycle.owner is incarnation or lifecycle.incarnation is incarnation for lifecycle in frame.line())


class Incarnation:
    """What agents belong to: one life of an owner, of the provider, or of a fiber.

    :ivar unloading: the end that all callers share, once it was asked for
    :ivar fiber: the fiber whose life it is, or ``None``
    """

    __slots__ = ("_ended", "_kernel", "_members", "fiber", "unloading")

    def __init__(self, kernel: Kernel, ended: type[Refusal], fiber: Fiber | None = None) -> None:
        self._kernel = kernel
        self._ended = ended
        self._members: dict[Member, None] = {}
        self.fiber = fiber
        self.unloading: Unload | None = None

    @property
    def active(self) -> bool:
        """Whether agents may still be created under it."""
        return self.unloading is None and (self.fiber is None or self.fiber.open)

    @property
    def ending(self) -> bool:
        """Whether its end was asked for, or that of something that it belongs to."""
        return self.unloading is not None or (self.fiber is not None and not all(one.open for one in self.fiber.line()))

    @property
    def members(self) -> tuple[Member, ...]:
        """What belongs to it, oldest first: pending and ending members included."""
        return tuple(self._members)

    def adopt(self, member: Member) -> None:
        """Own something."""
        self._members[member] = None

    def release(self, member: Member) -> None:
        """Own it no longer."""
        self._members.pop(member, None)

    def unload(self) -> Unload:
        """Begin to end everything; every call joins the first."""
        self._kernel.require_own_thread()
        if self.unloading is None:
            self.unloading = self.refuse()
            self.call_off()
            if not self._kernel.spawn(self._end_members):
                self.unloading._return(None)
        return self.unloading

    def refuse(self) -> Unload:
        """Take nothing more from here on."""
        self.unloading = Unload(self)
        return self.unloading

    def call_off(self) -> None:
        """Tell every member, there and then, that the end was asked for."""
        for member in tuple(self._members):
            member.call_off(self._refusal())

    def _refusal(self) -> Refusal:
        return self._ended("what the creation belonged to was unloaded")

    async def _end_members(self) -> None:
        leave_frames()
        members = tuple(reversed(self._members))
        for member in members:
            member.begin_end(self._refusal())
        with CancelScope(shield=True):
            for member in members:
                await member.join_end()
        assert self.unloading is not None
        self.unloading._return(None)


class Provider:
    """The maker of agents. While it is not loaded nobody can create one."""

    __slots__ = ("_incarnation", "_kernel")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._incarnation = Incarnation(kernel, ProviderInactive)

    @property
    def active(self) -> bool:
        """Whether agents can be created."""
        return self._incarnation.active

    def load(self) -> None:
        """Become active again; nothing happens if it is.

        :raises RuntimeError: if the runtime is not running
        """
        if not self.active:
            self._kernel.require_running()
            self._incarnation = Incarnation(self._kernel, ProviderInactive)

    def unload(self) -> Call[None]:
        """End all agents, whoever owns them, and call off all pending creations.

        :return: a call that never raises a refusal; repeated unloads share it
        """
        return self._incarnation.unload()

    def _begin_creation(
        self,
        owner: Incarnation | Lifecycle,
        id: str,
        setup: Setup | None,
        signal: CreationSignal | None,
        cleanups: tuple[Cleanup, ...],
        metadata: Mapping[str, str] | None = None,
        *,
        resumes: bool = False,
    ) -> Creation:
        """Begin a creation for an owner, or refuse it."""
        kernel = self._kernel
        kernel.require_started()
        kernel.require_own_thread()
        if resumes and kernel.persistence is None:
            return refused(NoPersistence("the runtime keeps no logs to resume from: give it a home"))
        if not owner.active:
            return refused(OwnerInactive("the owner is not active"))
        if not self.active:
            return refused(ProviderInactive("the agent provider is not active"))
        if signal is not None and signal.aborted:
            return refused(Aborted(f"creation of {id!r} was aborted"))
        if id in kernel.sessions:
            return refused(IdExists(f"session {id!r} already exists"))
        try:
            remembered = checked_metadata(metadata)
        except InvalidContent as refusal:
            return refused(refusal)
        lifecycle = Lifecycle(kernel, self, owner, id, setup, signal, cleanups, remembered, resumes)
        kernel.spawn(lifecycle.run)
        return lifecycle.creation


class Owner:
    """A part of the embedding program that agents can belong to."""

    __slots__ = ("_incarnation", "_kernel", "_name", "_provider")

    def __init__(self, kernel: Kernel, provider: Provider, name: str) -> None:
        self._kernel = kernel
        self._provider = provider
        self._name = name
        self._incarnation = Incarnation(kernel, OwnerDisposed)

    @property
    def name(self) -> str:
        """The name under which the runtime knows it."""
        return self._name

    @property
    def active(self) -> bool:
        """Whether it may own something new."""
        return self._incarnation.active

    def create(
        self,
        id: str,
        *,
        setup: Setup | None = None,
        signal: CreationSignal | None = None,
        cleanups: tuple[Cleanup, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Creation:
        """Begin to create an agent that belongs to this owner.

        Nothing is published before a later step. A refusal is raised when the call is awaited.

        :param id: the id of the agent and its session
        :param setup: runs in private before the agent is published; it is cancelled if the creation
            is called off
        :param signal: lets the caller call the creation off while it is pending
        :param cleanups: awaited in the last step of the teardown, the last one first
        :param metadata: what to remember with the log, such as a working directory
        :return: a call that returns the handle, or raises after everything was rolled back:
            :class:`OwnerInactive`, :class:`ProviderInactive`, :class:`Aborted`, :class:`IdExists`,
            :class:`InvalidContent`, :class:`OwnerDisposed`, :class:`LifecycleDisposed`, or what the
            setup or a vetoing listener raised
        """
        return self._provider._begin_creation(self._incarnation, id, setup, signal, cleanups, metadata)

    def resume(
        self,
        id: str,
        *,
        setup: Setup | None = None,
        signal: CreationSignal | None = None,
        cleanups: tuple[Cleanup, ...] = (),
    ) -> Creation:
        """Begin to create an agent that goes on with a stored log.

        It is :meth:`create` with a load before the setup. What a crash has left open in the log is closed first, on
        the disk. The new session begins with all the records, none of which is logged again; seqs and turns go on.

        :return: a call that returns the handle, or raises as :meth:`create` does, and also
            :class:`NoPersistence`, :class:`NotFound`, or a :class:`StorageError` if the log cannot be read
        """
        return self._provider._begin_creation(self._incarnation, id, setup, signal, cleanups, resumes=True)

    def load(self) -> None:
        """Become active again, with no agents; nothing happens if it is active.

        :raises RuntimeError: if the runtime is not running
        """
        if not self.active:
            self._kernel.require_running()
            self._incarnation = Incarnation(self._kernel, OwnerDisposed)

    def unload(self) -> Call[None]:
        """End all its agents and call off its pending creations.

        :return: a call that never raises a refusal; repeated unloads share it
        """
        return self._incarnation.unload()

    def __repr__(self) -> str:
        return f"<Owner {self._name!r} {'active' if self.active else 'inactive'}>"
