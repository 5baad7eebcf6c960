"""Begin now, await later: the awaitable that every asynchronous operation returns.

The lifecycle contract speaks of what happens in one tick: a send, a cancel and a dispose with
nothing in between. A coroutine function cannot say that, for its body starts only when it is
awaited. So an operation here does its begin when it is *called*, and hands back a :class:`Call`,
which is nothing but the place where its end will be known.

Three consequences are wanted. A call may be awaited by anybody, any number of times, or by nobody.
Cancelling a task that awaits it cancels the waiting only, for the operation belongs to the runtime
and not to who watches it. And the failure of a call that nobody awaits is no error of the program,
since whoever began it may have lost interest.

One danger comes with it: code that a call waits for may await the call, and both wait for ever.
Every piece of foreign code that a lifecycle or a fiber waits for runs under a *frame*, which names
it and the task. An unsettled call that is awaited in that task, or in a task group that the task
has to wait for, asks itself whether it waits for the frame, and raises :class:`WouldDeadlock` if so.
A task that such code starts in anybody else's group is not accused, nor is one of asyncio's own, of
which nobody can tell who waits for it: a wrong accusation is worse than a missed one.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from anyio import Event, get_current_task, get_running_tasks
from anyio.lowlevel import checkpoint

from .refusals import WouldDeadlock

if TYPE_CHECKING:
    from types import TracebackType

    from .fibers.effects import Effect
    from .fibers.fiber import Fiber
    from .lifecycle import Lifecycle

__all__ = ("Call",)

T = TypeVar("T")


class Frame:
    """Mark one task as running code that something waits for.

    :ivar lifecycle: the lifecycle whose teardown waits for the code, or ``None``
    :ivar drives: whether the agent's driver waits for it too
    :ivar fiber: the fiber whose transition waits for it, or ``None``
    :ivar effect: the effect whose end waits for it, or ``None``
    """

    __slots__ = ("alive", "drives", "effect", "fiber", "lifecycle", "task")

    def __init__(
        self,
        lifecycle: Lifecycle | None = None,
        drives: bool = False,
        fiber: Fiber | None = None,
        effect: Effect | None = None,
    ) -> None:
        self.lifecycle = lifecycle
        self.drives = drives
        self.fiber = fiber
        self.effect = effect
        self.task = get_current_task().id
        self.alive = True

    def holds(self) -> bool:
        """Return whether the code has to wait for the current task: it is its own, or in a group below it."""
        task = get_current_task()
        if task.id == self.task:
            return True
        parents = {other.id: other.parent_id for other in get_running_tasks()}
        parent = task.parent_id
        while parent is not None and parent != self.task:
            parent = parents.get(parent)
        return parent is not None

    def line(self) -> Iterator[Lifecycle]:
        """Yield the lifecycles whose teardown waits for the code."""
        if self.lifecycle is not None:
            yield from self.lifecycle.line()

    def fibers(self) -> Iterator[Fiber]:
        """Yield the fibers whose end waits for the code: its own, those of the lifecycles, and their ancestors."""
        if self.fiber is not None:
            yield from self.fiber.line()
        for lifecycle in self.line():
            if lifecycle.owner is not None and lifecycle.owner.fiber is not None:
                yield from lifecycle.owner.fiber.line()


# A context variable is inherited by every task that such code starts, which is why the frame also names its task.
_frame: ContextVar[Frame | None] = ContextVar("probate_reference_frame", default=None)


def enter_frame(lifecycle: Lifecycle, drives: bool) -> Frame:
    """Put the current task under a frame; the caller sets ``alive`` to false at the task's end."""
    return _enter(Frame(lifecycle, drives))


def enter_fiber(fiber: Fiber, effect: Effect | None = None) -> Frame:
    """Put the current task under a frame of a fiber; the caller sets ``alive`` to false when the code has ended."""
    return _enter(Frame(fiber=fiber, effect=effect))


def _enter(frame: Frame) -> Frame:
    _frame.set(frame)
    return frame


def leave_frames() -> None:
    """Take the current task out of the frame that it inherited from the task that started it."""
    _frame.set(None)


class Call(Generic[T]):
    """An operation that has begun; await it for its end.

    Await it as often and from as many tasks as you like. Cancelling a task that awaits it does not
    cancel the operation.
    """

    __slots__ = ("_event", "_failure", "_settled", "_traceback", "_value")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._failure: BaseException | None = None
        self._traceback: TracebackType | None = None
        self._event: Event | None = None

    @property
    def done(self) -> bool:
        """Whether the operation has ended."""
        return self._settled

    def __await__(self) -> Generator[object, None, T]:
        return cast("Generator[object, None, T]", self._wait().__await__())

    def __repr__(self) -> str:
        state = "pending" if not self._settled else "raised" if self._failure is not None else "returned"
        return f"<{type(self).__name__} {state}>"

    async def _wait(self) -> T:
        if self._settled:
            await checkpoint()
        else:
            frame = _frame.get()
            if frame is not None and frame.alive and self._waits_for(frame) and frame.holds():
                raise WouldDeadlock(f"{self!r} waits for the code that awaits it")
            await self._join()
        if self._failure is not None:
            # The stored traceback is put back, or every further await would add its own lines to it.
            raise self._failure.with_traceback(self._traceback)
        return cast("T", self._value)

    async def _join(self) -> None:
        """Wait for the end without looking at its outcome and without guarding against a deadlock."""
        if not self._settled:
            if self._event is None:
                self._event = Event()
            await self._event.wait()

    def _waits_for(self, frame: Frame) -> bool:  # noqa: ARG002
        """Return whether this call can end only after the code under the frame has ended."""
        return False

    def _return(self, value: T) -> None:
        self._value = value
        self._settle()

    def _raise(self, failure: BaseException) -> None:
        self._failure = failure
        self._traceback = failure.__traceback__
        self._settle()

    def _settle(self) -> None:
        self._settled = True
        if self._event is not None:
            self._event.set()
            self._event = None


def returned(value: T) -> Call[T]:
    """Return a call that has already returned a value."""
    call: Call[T] = Call()
    call._return(value)
    return call


def raised(failure: BaseException) -> Call[Any]:
    """Return a call that has already failed."""
    call: Call[Any] = Call()
    call._raise(failure)
    return call


def close_unawaited(awaitable: object) -> None:
    """Close what nobody is going to await, if it is a coroutine."""
    if isinstance(awaitable, Coroutine):
        awaitable.close()
