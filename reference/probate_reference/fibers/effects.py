"""Undo what a plug-in did: effects, and the order in which their members are undone.

An effect is something that a fiber has set up and that has to be taken down. It has one or more
members, each a *disposer*, and the two ways of putting disposers together are the whole point.
Effects of one fiber are siblings: when it unloads, all of them begin to end in one go, the newest
first, and then end side by side. Members of one effect are a chain: the last one ends completely
before the one before it begins. So whatever needs an order goes into one effect, and what does not
should not wait for its neighbours.

A disposer is called synchronously, and what it returns is awaited if it can be. So an ``async``
function will do, and a plain function that returns an awaitable can see the very moment. One that
fails is reported and skips the rest of its own effect, because what comes after it was promised
that it had been done; siblings never notice.

Who asks for the end first begins it, and everybody else joins it. A setup that takes time is never
interrupted by an end: the members that it still adds are undone too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeAlias

from anyio import CancelScope

from probate_reference.calls import Call, Frame, enter_fiber, leave_frames
from probate_reference.refusals import Inactive
from probate_reference.reports import is_failure

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from probate_reference.refusals import Refusal

    from .fiber import Fiber

__all__ = ("Disposer", "Effect", "EffectSetup")

Disposer: TypeAlias = Callable[[], object]
"""Undoes one thing; what it returns is awaited if it can be."""

EffectSetup: TypeAlias = Callable[[], "Disposer | Iterable[Disposer | Effect] | AsyncIterator[Disposer | Effect]"]
"""Does something and gives the disposers: one, several, or a generator that yields each before it goes on."""


class EffectEnd(Call[None]):
    """Returns when every member of an effect has been undone."""

    __slots__ = ("_effect",)

    def __init__(self, effect: Effect) -> None:
        super().__init__()
        self._effect = effect

    def _waits_for(self, frame: Frame) -> bool:
        return frame.effect is not None and self._effect in frame.effect.line()


class Effect:
    """Something that a fiber has set up."""

    __slots__ = ("_disposers", "_end", "_fiber", "_outer", "_ready")

    def __init__(self, fiber: Fiber) -> None:
        self._fiber = fiber
        self._disposers: list[Disposer] = []
        self._outer: Effect | None = None
        self._ready: Call[None] = Call()
        self._end: EffectEnd | None = None

    @property
    def ready(self) -> Call[None]:
        """The end of the setup: a call that returns, or raises what the setup raised after all was undone."""
        return self._ready

    def dispose(self) -> Call[None]:
        """Undo it: the last member first, each one completely before the next begins.

        The last member is called before this returns, or after the setup if that still runs. Cancelling a task that
        awaits the end cancels the waiting only.

        :return: a call that never raises a refusal; every disposal of this effect, and the unload of its fiber,
            share it
        """
        return self._begin()

    def line(self) -> list[Effect]:
        """Return this effect and those that it is a member of."""
        return [self] if self._outer is None else [self, *self._outer.line()]

    # As a member of what its fiber owns

    def call_off(self, cause: Refusal) -> None:
        """Hear that the fiber is to unload; an effect has nothing to do there and then."""

    def begin_end(self, cause: Refusal) -> None:  # noqa: ARG002
        """End with the fiber, as :meth:`dispose` does."""
        _ = self._begin()

    async def join_end(self) -> None:
        """Wait until it has ended."""
        if self._end is not None:
            await self._end._join()

    # Setting up

    def _set_up(self, setup: EffectSetup) -> None:
        """Do what is synchronous about the setup; what an asynchronous generator does comes in later steps."""
        try:
            members = setup()
            if isinstance(members, AsyncIterator):
                self._fiber._kernel.spawn(self._collect_later, members)
                return
            for member in members if isinstance(members, Iterable) else (members,):
                self._collect(member)
        except BaseException as failure:
            self._ready._raise(failure)
            _ = self.dispose()
            raise
        self._ready._return(None)

    async def _collect_later(self, members: AsyncIterator[Disposer | Effect]) -> None:
        frame = enter_fiber(self._fiber, self)
        try:
            async for member in members:
                self._collect(member)
        except BaseException as failure:
            frame.alive = False
            with CancelScope(shield=True):
                await self._go_on(self._call_last())
            if not is_failure(failure):
                self._ready._raise(Inactive("the runtime was cancelled"))
                raise
            self._ready._raise(failure)
        else:
            frame.alive = False
            self._ready._return(None)

    def _collect(self, member: Disposer | Effect) -> None:
        """Take a member over; an effect that is one belongs to this effect from here on, and no more to the fiber."""
        if isinstance(member, Effect):
            member._fiber._life.release(member)
            member._outer = self
            self._disposers.append(member.dispose)
        elif callable(member):
            self._disposers.append(member)
        else:
            raise TypeError(f"an effect is made of disposers, not of {type(member).__name__}")

    # Undoing

    def _begin(self) -> EffectEnd:
        if self._end is None:
            self._end = EffectEnd(self)
            kernel = self._fiber._kernel
            if not (kernel.spawn(self._go_on, self._call_last()) if self._ready.done else kernel.spawn(self._undo)):
                self._finish()
        return self._end

    async def _undo(self) -> None:
        leave_frames()
        with CancelScope(shield=True):
            await self._ready._join()
            await self._go_on(self._call_last())

    def _call_last(self) -> Awaitable[object] | None:
        """Call the last member, and give what is to be awaited of it."""
        if not self._disposers:
            return None
        try:
            answer = self._disposers.pop()()
        except BaseException as raised:
            self._fail(raised)
            return None
        return answer if isawaitable(answer) else None

    async def _go_on(self, begun: Awaitable[object] | None) -> None:
        """Await the member that was called, then call and await the rest."""
        frame = enter_fiber(self._fiber, self)
        with CancelScope(shield=True):
            while True:
                try:
                    if begun is not None:
                        await begun
                except BaseException as raised:
                    self._fail(raised)
                if not self._disposers:
                    break
                begun = self._call_last()
        frame.alive = False
        self._finish()

    def _fail(self, raised: BaseException) -> None:
        self._disposers.clear()
        self._fiber._kernel.contain("disposer", raised)

    def _finish(self) -> None:
        self._fiber._life.release(self)
        if self._end is None:
            self._end = EffectEnd(self)
        if not self._end.done:
            self._end._return(None)
