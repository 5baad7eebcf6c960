"""Start a command, see it end, and leave nothing of it behind.

A shell command is seldom one process. It forks, its children ignore signals, close what they inherited, outlive
the shell. What holds them together is the process group: each command leads a session and a group of its own,
and every signal goes to the group.

**The end** comes in two steps, and the order matters. That the leader has ended is *seen* without reaping it. As
long as it is not reaped its number is taken, so the group can be signalled without the danger of hitting somebody
else who was given the number meanwhile. Then what is left of the group is killed, and only then the leader
is reaped. So a command that ends by itself takes along what it left in its group: whoever wants something to live
on starts it as a task.

**To be told to end** is TERM for the group, and KILL when a grace has passed. If the leader goes at once and others
of the group do not, those have the rest of the grace too: as long as one of them holds the pipes, somebody
is there. One that closed them has nobody to speak for it, and goes with the leader.

A process that leaves the group on purpose (a daemon) is no longer the command's. It cannot keep us waiting
either: what the pipes hold is read when the group is gone, and nobody waits for their end.

**To see the end** needs no thread and no signal handler where the system has process descriptors (Linux):
they become readable. Elsewhere a thread waits.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import IO, TYPE_CHECKING, Final, Protocol

import anyio
from anyio import CancelScope, CapacityLimiter, Event, create_task_group, to_thread, wait_readable

from .specs import Exit

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from .output import Stream

__all__ = ("Clock", "Process", "SystemClock")

_CHUNK: Final = 65_536
_REST: Final = 1 << 20
"""How much is read at most after the end: as much as a pipe can hold."""


class Clock(Protocol):
    """What measures a grace and a timeout."""

    async def sleep(self, seconds: float) -> None:
        """Return when so much time has passed."""
        ...


class SystemClock:
    """The clock on the wall."""

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await anyio.sleep(seconds)


class Process:
    """One command and all that is in its process group.

    :param argv: the program and its arguments
    :param workdir: where it runs
    :param environment: all that it knows of an environment
    :param streams: where its standard output and its standard error go
    :param grace: how long the group may take to end after it was told to
    :param clock: measures the grace
    :raises OSError: if it cannot be started
    :raises ValueError: if the command cannot be passed to a program
    """

    __slots__ = ("_clock", "_ended", "_grace", "_group", "_pipes_closed", "_popen", "_seen", "_streams", "_told")

    def __init__(
        self,
        argv: list[str],
        workdir: Path,
        environment: dict[str, str],
        streams: tuple[Stream, Stream],
        grace: float,
        clock: Clock,
    ) -> None:
        self._streams = streams
        self._grace = grace
        self._clock = clock
        self._told = False
        self._seen = False
        self._ended = False
        self._pipes_closed: Event | None = None
        self._group: TaskGroup | None = None
        self._popen = subprocess.Popen(
            argv,
            cwd=workdir,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The number of the leader and of its group."""
        return self._popen.pid

    def terminate(self) -> None:
        """Tell the group to end; when the grace has passed, it is ended."""
        if self._told or self._ended:
            return
        self._told = True
        self._signal(signal.SIGTERM)
        if self._group is not None:
            self._group.start_soon(self._escalate)

    async def run(self) -> Exit:
        """Wait for the end, and clean up after it.

        If the waiting is cancelled, the group is killed at once; nothing is left behind then either.
        """
        out, error = self._popen.stdout, self._popen.stderr
        assert out is not None
        assert error is not None
        try:
            async with create_task_group() as group:
                self._group = group
                self._pipes_closed = Event()
                if self._told:
                    group.start_soon(self._escalate)
                group.start_soon(self._pump_both, out, error)
                await self._leader_ended()
                if self._told:
                    await self._pipes_closed.wait()
                # What is told to end from here on is killed anyway.
                self._group = None
                group.cancel_scope.cancel()
        finally:
            self._group = None
            with CancelScope(shield=True):
                self._signal(signal.SIGKILL)
                await self._leader_ended()
                self._ended = True
                self._popen.wait()
            for pipe, stream in zip((out, error), self._streams, strict=True):
                _read_rest(pipe, stream)
                pipe.close()
                stream.close()
        code = self._popen.returncode
        return Exit(signal=-code) if code < 0 else Exit(code)

    def _signal(self, number: signal.Signals) -> None:
        if self._ended:
            return
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):
            # The leader is there, if only as a zombie; some systems do not let a group of zombies be signalled.
            return

    async def _escalate(self) -> None:
        """End the group when the grace has passed."""
        await self._clock.sleep(self._grace)
        self._signal(signal.SIGKILL)
        assert self._pipes_closed is not None
        self._pipes_closed.set()

    async def _pump_both(self, out: IO[bytes], error: IO[bytes]) -> None:
        async with create_task_group() as pumps:
            pumps.start_soon(_pump, out, self._streams[0])
            pumps.start_soon(_pump, error, self._streams[1])
        assert self._pipes_closed is not None
        self._pipes_closed.set()

    async def _leader_ended(self) -> None:
        """Wait until the leader has ended, without reaping it."""
        if self._seen:
            return
        try:
            descriptor = os.pidfd_open(self._popen.pid)
        except (AttributeError, OSError):
            # A limiter of its own: the threads of long commands must not be those that others wait for.
            await to_thread.run_sync(self._wait_in_thread, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        else:
            try:
                await wait_readable(descriptor)
            finally:
                os.close(descriptor)
        self._seen = True

    def _wait_in_thread(self) -> None:
        os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)


async def _pump(pipe: IO[bytes], stream: Stream) -> None:
    """Read a pipe to its end."""
    descriptor = pipe.fileno()
    while True:
        await wait_readable(descriptor)
        data = os.read(descriptor, _CHUNK)
        if not data:
            return
        stream.write(data)


def _read_rest(pipe: IO[bytes], stream: Stream) -> None:
    """Read what a pipe still holds, without waiting for more."""
    descriptor = pipe.fileno()
    os.set_blocking(descriptor, False)
    left = _REST
    while left > 0:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            return
        stream.write(data)
        left -= len(data)
