"""What an event loop is to the kit: something that can be asked for an order, and for silence.

A conformance check compares a subject with the model whenever the subject has come to rest. Two
things decide whether that comparison is worth anything, and neither is offered by anyio.

*Rest must be seen, not guessed.* Waiting a while, or for some number of checkpoints, is wrong for
every chain of wake-ups that is one link longer, and ``anyio.wait_all_tasks_blocked`` on asyncio
sleeps for 100 ms as soon as it finds anybody running. But a loop knows by itself when it has nothing
to do: it is about to wait for the operating system. Each host here looks at exactly that moment, so
quiet costs no more than the steps that the subject takes.

*Order must be chosen, and chosen again.* First in, first out hides the bugs that need another order.
A seeded order finds them, but is of use only if the seed replays. What spoils this is the place of a
task in the queue: task groups cancel their children in the iteration order of a set, which is the
order of addresses. So the seed chooses among the tasks that can run by the order of their creation,
which a deterministic program determines, and never by their places in a queue.

Work outside the loop (threads, child processes) can be seen by no loop. The code that starts it says
so, with :meth:`Host.outside`.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")

TURNS = 10_000
"""How many turns of the loop a subject has for coming to rest, if nothing else is said."""


class Host(Protocol):
    """An event loop that a driver and its subject share.

    A host runs one ``main`` at a time, each in a fresh loop, and can be used again after every end,
    failures included. All methods but :meth:`run` are for use inside ``main``, in the loop's thread.
    """

    @property
    def name(self) -> str:
        """``"asyncio"`` or ``"trio"``."""
        ...

    def run(self, main: Callable[[Host], Awaitable[T]]) -> T:
        """Run ``main`` to its end in a fresh loop, and leave no loop open.

        The schedule starts as if ``schedule(None)`` had been called.

        :param main: is called inside the loop, with this host
        :return: what ``main`` returns
        :raises RuntimeError: if the host is running already
        :raises LoopChanged: if the loop lacks a private name that the host stands on
        :raises BaseException: what ``main`` raises, as it is; ``KeyboardInterrupt`` too
        """
        ...

    def schedule(self, seed: int | None) -> None:
        """Set the order in which tasks run from now on.

        The same seed gives the same order to the same work, whatever the loop did before. To replay,
        call it at the same point of the work: before the first task of a trace is started.

        :param seed: chooses among the tasks that can run; ``None`` is first in, first out on asyncio,
            and seed 0 on trio, whose own order is random
        :raises RuntimeError: if the host isn't running
        """
        ...

    async def quiet(self, limit: int = TURNS) -> bool:
        """Wait until no other task of the loop can run and no outside work is left.

        A task that waits for a deadline to come can't run. It is always a checkpoint. Cancelling it
        ends the waiting and nothing else.

        :param limit: how many turns of the loop may pass; waiting for the operating system is none
        :return: whether it is quiet; ``False`` is "never quiet", something still runs after so many turns
        :raises RuntimeError: if the host isn't running, or another task is in here already
        """
        ...

    def outside(self) -> AbstractContextManager[None]:
        """Say that there is work outside the loop for as long as the context lasts.

        Enter before the work starts and leave after its result is in the loop, both in the loop's
        thread: around the ``await`` of a thread or of a process is right.

        :raises RuntimeError: on entering or leaving, if the host isn't running, or in another thread
        """
        ...


class LoopChanged(RuntimeError):
    """Raised when an event loop has no longer what a host stands on."""


class Outside:
    """Count the work outside a loop.

    :param empty: is called when the last work has ended
    """

    __slots__ = ("_empty", "_thread", "count")

    def __init__(self, empty: Callable[[], None]) -> None:
        self.count = 0
        self._empty = empty
        self._thread = threading.get_ident()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one piece of work while the context lasts."""
        self._check_thread()
        self.count += 1
        try:
            yield
        finally:
            self._check_thread()
            self.count -= 1
            if not self.count:
                self._empty()

    def _check_thread(self) -> None:
        # In another thread the count could fall to 0 before the result is in the loop: quiet would come too early.
        if threading.get_ident() != self._thread:
            raise RuntimeError("outside work is counted in the thread of the loop, around the await of its result")


class Dice:
    """Choose by a seed.

    It stands on ``Random.random()`` alone, whose sequence Python promises to keep between its versions.
    """

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, number: int) -> int:
        """Choose one of ``range(number)``."""
        return int(self._random() * number)
