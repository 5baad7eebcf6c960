"""asyncio as a host: a loop whose selector knows when it is quiet, and whose queue can choose.

**Quiet.** Once in each turn an asyncio loop asks its selector for I/O, and says how long it may wait:
0 if anything can run, else until the next timer or for ever. A timeout that isn't 0 thus *is* the
loop's own statement that it has nothing to do. The selector is a public parameter of the loop, so
:class:`_Selector` sees that statement without any private name. It then looks for I/O without
waiting. If there is none and no outside work either, it wakes the driver, which runs alone in this very turn.
The driver sits in no queue while it waits, so it neither counts as somebody who can run nor waits
for its turn behind others. A turn with a timeout of 0, or with I/O, is one in
which something runs, and is counted.

**Order.** A loop takes its callbacks from the left of ``_ready``. With a seed, :class:`_Ready` gives
it another one instead. What may be next are the steps of tasks up to the leftmost plain callback,
and that callback. The seed chooses among them, from a list in the order of the tasks' creation. So:

* Plain callbacks stay first in, first out among themselves, and no step comes before a plain callback
  that was queued before it. Libraries lean on that promise of asyncio: a child process, for one,
  connects its pipes in a callback, and then wakes the task that is going to write to them. A seed
  that lets the task go first shows no bug but a hang of asyncio's making.
* A step may be put off for as long as the seed likes, past other steps and past callbacks. That is
  no more than a slow task does, and a subject has to bear it.
* Where steps stand among each other never matters. That is what makes a seed replay, since a task
  group cancels its children in the order of their addresses.

The queue is the same object for the life of the loop, as other threads append to it. Without a seed it
has no method of its own, so first in, first out costs nothing.

**What is private** stands in :class:`_Ready`, :func:`_stepped` and :func:`check_private`: the queue
``_ready``, taken from with ``popleft``, the fields ``_callback`` and ``_cancelled`` of a handle, and
how a step of a task looks; for :func:`start_now` also ``_run`` of a handle, and how the loop notes which task is the
current one. uvloop has none of it.
"""

from __future__ import annotations

import asyncio
import itertools
import selectors
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, closing
from functools import cache
from typing import Any, Final, TypeVar, final

from .base import TURNS, Dice, Host, LoopChanged, Outside

T = TypeVar("T")

# What the two callbacks of a task are called: the first step of a C task has no name, the second wakes it up; then
# the same of a task in Python. A plain callback may be a method of a task too, as `task.cancel`.
_STEPS: Final = frozenset({None, "task_wakeup", "__step", "__wakeup"})


def _stepped(handle: asyncio.Handle) -> asyncio.Task[object] | None:
    """Tell which task a handle makes a step of, if any."""
    callback = handle._callback  # type: ignore[attr-defined]
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task) and getattr(callback, "__name__", None) in _STEPS:
        return task
    return None


class _Ready(deque[asyncio.Handle]):
    """What can run, in the order in which it became able to; with a seed, taken in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.urgent: asyncio.Task[object] | None = None
        self._dice = Dice(0)
        self._serials = itertools.count()

    def number(self, task: asyncio.Task[object]) -> int:
        """Give a new task its serial."""
        # A task takes attributes, and a weak dictionary would cost more than all the rest. Serials need no reset:
        # only which of two is lower matters.
        serial = next(self._serials)
        task._probate_serial = serial  # type: ignore[attr-defined]
        return serial

    def shuffle(self, seed: int | None) -> None:
        """Take by a seed from now on, or without one from the left."""
        if seed is None:
            vars(self).pop("popleft", None)
        else:
            self._dice = Dice(seed)
            # Found before the method of the class; the class's own is in C and is what stays without a seed.
            vars(self)["popleft"] = self._choose

    def _choose(self) -> asyncio.Handle:
        """Take the next handle by the rule at the top of the module."""
        if len(self) == 1:
            return deque.popleft(self)
        choices: list[tuple[int, int]] = []
        plain: int | None = None
        # A copy, made at once: another thread may append meanwhile. What it appends comes behind, so places hold.
        for place, handle in enumerate(list(self)):
            task = _stepped(handle)
            if task is None or handle._cancelled:
                plain = place
                break
            if task is self.urgent:
                choices = [(0, place)]
                break
            serial = getattr(task, "_probate_serial", None)
            # Only a task that was made past the loop's create_task is numbered here.
            choices.append((self.number(task) if serial is None else serial, place))
        choices.sort()
        if plain is not None:
            choices.append((0, plain))
        _, place = choices[self._dice.below(len(choices))] if len(choices) > 1 else choices[0]
        chosen = self[place]
        del self[place]
        return chosen


class _Selector(selectors.DefaultSelector):
    """A selector that tells a waiting driver when the loop is quiet."""

    def __init__(self) -> None:
        super().__init__()
        self.outside = Outside(lambda: None)
        self.driver: asyncio.Future[bool] | None = None
        self.turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for I/O; instead of waiting while the loop is quiet, wake the driver."""
        driver = self.driver
        if driver is None:
            return super().select(timeout)
        runs = timeout is not None and timeout <= 0
        idle = not runs and not self.outside.count
        events = super().select(0 if idle else timeout)
        if runs or events:
            self.turns -= 1
            if self.turns < 0:
                self._wake(driver, False)
        elif idle:
            self._wake(driver, True)
        return events

    def _wake(self, driver: asyncio.Future[bool], verdict: bool) -> None:
        self.driver = None
        if not driver.done():
            driver.set_result(verdict)


class _Loop(asyncio.SelectorEventLoop):
    """The loop of asyncio with our selector and our queue."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)
        self.ready = self._ready = _Ready()

    def create_task(self, coro: Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:  # type: ignore[override]
        """Start a task, and number it."""
        task = super().create_task(coro, **options)
        self.ready.number(task)
        return task


@final
class AsyncioHost:
    """The asyncio host.

    One turn is one pass of the loop, in which everything that can run at its start makes one step.
    """

    name = "asyncio"

    def __init__(self) -> None:
        self._loop: _Loop | None = None

    def run(self, main: Callable[[Host], Awaitable[T]]) -> T:
        """Run ``main`` to its end in a fresh loop; see :meth:`Host.run`.

        Tasks that ``main`` left behind are cancelled and waited for.
        """
        if self._loop is not None:
            raise RuntimeError("the host is running already")
        check_private()

        async def drive() -> T:
            return await main(self)

        try:
            with asyncio.Runner(loop_factory=self._open) as runner:
                return runner.run(drive())
        finally:
            self._loop = None

    def schedule(self, seed: int | None) -> None:
        """Set the order of what follows; see :meth:`Host.schedule`."""
        self._running().ready.shuffle(seed)

    async def quiet(self, limit: int = TURNS) -> bool:
        """Wait for quiet; see :meth:`Host.quiet`."""
        loop = self._running()
        selector = loop.selector
        if selector.driver is not None:
            raise RuntimeError("another task waits for quiet already")
        selector.turns = limit
        driver: asyncio.Future[bool] = loop.create_future()
        selector.driver = driver
        # If something runs for ever, its steps must not keep those of the driver from being chosen.
        loop.ready.urgent = asyncio.current_task()
        try:
            return await driver
        finally:
            selector.driver = loop.ready.urgent = None

    def outside(self) -> AbstractContextManager[None]:
        """Count outside work; see :meth:`Host.outside`."""
        return self._running().selector.outside.one()

    def _open(self) -> _Loop:
        self._loop = _Loop()
        return self._loop

    def _running(self) -> _Loop:
        if self._loop is None:
            raise RuntimeError("the host isn't running")
        return self._loop


def start_now(call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task that makes its first step here, as it would if its caller awaited it.

    For use inside a host. (What ``eager_start`` of Python 3.12 does, and for 3.11 too.)
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _Loop)
    task = asyncio.Task(call, loop=loop)  # whatever tasks a runtime has the loop make
    loop.ready.number(task)
    first = next(handle for handle in reversed(list(loop.ready)) if _stepped(handle) is task)
    loop.ready.remove(first)
    caller = asyncio.current_task()
    if caller is not None:
        asyncio.tasks._leave_task(loop, caller)
    try:
        first._run()
    finally:
        if caller is not None:
            asyncio.tasks._enter_task(loop, caller)
    return task


@cache
def check_private() -> None:
    """Look whether asyncio still has the private parts that this module stands on; once in a process.

    :raises LoopChanged: with the first part that is missing or different
    """
    python = sys.version.split()[0]

    def need(found: bool, part: str) -> None:
        if not found:
            raise LoopChanged(f"asyncio in Python {python} has changed: {part}; the seeded order stands on it")

    async def wait(future: asyncio.Future[None]) -> None:
        await future

    stock = asyncio.SelectorEventLoop()
    stock.close()
    need(type(getattr(stock, "_ready", None)) is deque, "a loop has no deque `_ready`")
    with closing(_Loop()) as loop:
        handle = loop.call_soon(loop.stop)
        need(hasattr(handle, "_callback"), "a handle has no `_callback`")
        need(hasattr(handle, "_cancelled"), "a handle has no `_cancelled`")
        asked = []

        def popleft() -> asyncio.Handle:
            asked.append(True)
            return deque.popleft(loop.ready)

        vars(loop.ready)["popleft"] = popleft
        future: asyncio.Future[None] = loop.create_future()
        task = loop.create_task(wait(future))
        first = _stepped(loop.ready[-1])
        loop.run_forever()
        future.set_result(None)
        second = _stepped(loop.ready[-1])
        loop.call_soon(task.cancelled)
        plain = _stepped(loop.ready[-1])
        loop.run_until_complete(task)
        need(len(asked) >= 2, "`_run_once` doesn't take from `_ready` by `popleft`")
        need(first is task, "the first step of a task looks different in `_ready`")
        need(second is task, "the wake-up of a task looks different in `_ready`")
        need(plain is None, "a method of a task looks like a step of it in `_ready`")
