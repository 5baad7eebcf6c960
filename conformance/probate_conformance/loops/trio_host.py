"""trio as a host: a run queue that gives one task at a time, and the driver last.

trio takes everything that can run as one batch, puts it in a random order and lets each task make
one step. That is no use to us twice over: the order replays only through private switches, and a task never
gets two steps ahead of another, which hides every bug that needs it to. trio takes the batch as
``list(runq)`` and then clears ``runq``. So :class:`_RunQueue` lists one task only, and clears
nothing. A batch of one has only one order, which keeps trio's own randomness out.

**Order.** The one task is chosen by the seed from the list of those that can run, in the order of their
creation (``Task._counter``). Their places in the queue, which come from the iteration of sets, never matter.

**Quiet.** A driver that waits for quiet is in the run queue all the time, but is left out of the choice
as long as anybody else is in it. When it is chosen all the same, it was alone: in this very turn
trio has looked for I/O without waiting, since somebody could run, and has cancelled what was past its
deadline. So one checkpoint is all that it takes, and ``wait_all_tasks_blocked``, which keeps a sorted list of
the waiting and needs a full I/O wait, has nothing to add. While there is outside work the driver parks instead, so
that trio really waits for I/O; the end of the last work puts it back.

**What is private** stands in :class:`_RunQueue` and :func:`_install`: ``GLOBAL_RUN_CONTEXT.runner.runq``, the
way in which trio takes from it, and ``Task._counter``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar, final

import trio
from trio.lowlevel import Abort, Task, checkpoint, current_task, reschedule, wait_task_rescheduled

from .base import TURNS, Dice, Host, LoopChanged, Outside

T = TypeVar("T")


def _serial(task: Task) -> int:
    """Tell how many tasks were created before a task."""
    return task._counter


class _RunQueue(deque[Task]):
    """What can run, given away one at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.driver: Task | None = None
        self.parked = False
        self.turns = 0
        self._dice = Dice(0)

    def shuffle(self, seed: int) -> None:
        """Choose by this seed from now on."""
        self._dice = Dice(seed)

    def __iter__(self) -> Iterator[Task]:
        """Take the next task out, and give it as if it were all."""
        return iter((self._take(),) if self else ())

    def clear(self) -> None:
        """Clear nothing: what was given is out already."""

    def _take(self) -> Task:
        driver = self.driver
        if driver is not None:
            self.turns -= 1
            if self.turns < 0:
                return self._give_up(driver)
        if len(self) == 1:
            return self.pop()
        tasks = sorted(deque.__iter__(self), key=_serial)
        if driver is not None and not self.parked:
            tasks.remove(driver)
        task = tasks[self._dice.below(len(tasks))] if len(tasks) > 1 else tasks[0]
        self.remove(task)
        return task

    def _give_up(self, driver: Task) -> Task:
        """Let the driver run although others can."""
        self.unpark()
        self.driver = None
        self.remove(driver)
        return driver

    def gave_up(self) -> bool:
        """Tell whether the driver runs although others can."""
        return self.driver is None

    def unpark(self) -> None:
        """Put a parked driver back among those that can run."""
        if self.parked and self.driver is not None:
            self.parked = False
            reschedule(self.driver)

    def abort(self, _: object) -> Abort:
        """Let a parked driver be cancelled; it then runs like any other task."""
        self.driver = None
        self.parked = False
        return Abort.SUCCEEDED


def _install(queue: _RunQueue) -> None:
    """Put our run queue in the place of trio's, from inside a run."""
    runner = trio._core._run.GLOBAL_RUN_CONTEXT.runner
    queue.extend(runner.runq)
    runner.runq = queue


@final
class TrioHost:
    """The trio host.

    One turn is one step of one task.
    """

    name = "trio"

    def __init__(self) -> None:
        self._queue: _RunQueue | None = None
        self._outside = Outside(lambda: None)

    def run(self, main: Callable[[Host], Awaitable[T]]) -> T:
        """Run ``main`` to its end in a fresh loop; see :meth:`Host.run`."""
        if self._queue is not None:
            raise RuntimeError("the host is running already")
        check_private()
        queue = self._queue = _RunQueue()
        self._outside = Outside(queue.unpark)

        async def drive() -> T:
            _install(queue)
            return await main(self)

        try:
            return trio.run(drive)
        finally:
            self._queue = None

    def schedule(self, seed: int | None) -> None:
        """Set the order of what follows; see :meth:`Host.schedule`."""
        self._running().shuffle(0 if seed is None else seed)

    async def quiet(self, limit: int = TURNS) -> bool:
        """Wait for quiet; see :meth:`Host.quiet`."""
        queue = self._running()
        if queue.driver is not None:
            raise RuntimeError("another task waits for quiet already")
        # The last turn is the driver's own.
        queue.turns = limit + 1
        queue.driver = current_task()
        try:
            while True:
                await checkpoint()
                if queue.gave_up():
                    return False
                if not self._outside.count:
                    return True
                queue.parked = True
                await wait_task_rescheduled(queue.abort)
        finally:
            queue.driver = None
            queue.parked = False

    def outside(self) -> AbstractContextManager[None]:
        """Count outside work; see :meth:`Host.outside`."""
        self._running()
        return self._outside.one()

    def _running(self) -> _RunQueue:
        if self._queue is None:
            raise RuntimeError("the host isn't running")
        return self._queue


@cache
def check_private() -> None:
    """Look whether trio still has the private parts that this module stands on; once in a process.

    :raises LoopChanged: with the first part that is missing or different
    """

    def need(found: bool, part: str) -> None:
        if not found:
            raise LoopChanged(f"trio {trio.__version__} has changed: {part}; the seeded order stands on it")

    async def probe() -> list[int]:
        core = getattr(getattr(trio, "_core", None), "_run", None)
        runner = getattr(getattr(core, "GLOBAL_RUN_CONTEXT", None), "runner", None)
        need(runner is not None, "there is no `_core._run.GLOBAL_RUN_CONTEXT.runner`")
        need(type(getattr(runner, "runq", None)) is deque, "a runner has no deque `runq`")
        need(isinstance(getattr(current_task(), "_counter", None), int), "a task has no `_counter`")
        queue = _RunQueue()
        _install(queue)
        left: list[int] = []

        async def look() -> None:
            left.append(len(queue))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(look)
        return left

    need(trio.run(probe) == [2, 1, 0], "it doesn't take from `runq` by listing and clearing it")
