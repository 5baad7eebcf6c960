"""Start a program, talk to it, and see to it that nothing of it is left.

A program is ended in three steps, each of which it may use to do better: its input ends, its group is told to end,
its group is made to. Somebody else's program may have started others meanwhile, which ignore signals, outlive it or
have left its group. So when the program itself has gone, what is left of its group is killed, and then everything
that still has our mark in its environment.

That the program has gone is seen without reaping it. As long as it is not reaped its number is taken, and no signal
for its group can reach a stranger.

The run of a subagent knows only :class:`Child`, so that something else may stand in for a process.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from anyio import CancelScope, create_task_group

from probate_reference.calls import Call
from probate_reference.environment import child_environment
from probate_reference.jsonrpc import DescriptorReceiveStream, DescriptorSendStream
from probate_reference.processes import kill_marked, leader_ended, mark_for

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, ByteSendStream

__all__ = (
    "MARK",
    "Child",
    "Command",
    "ProcessChild",
    "Spawner",
    "end",
    "environment_of",
    "spawn_process",
    "watch_and_end",
)

MARK: Final = "PROBATE_SUBAGENT"
"""The variable that everything a subagent starts has in its environment: the ids of its run and of those around it."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start.

    :ivar arguments: the program and its arguments
    :ivar folder: where it runs
    :ivar overlay: what it finds in its environment besides what it inherits; ``None`` removes a name
    :ivar mark: a word of its own, by which it and what it starts can be told
    """

    arguments: tuple[str, ...]
    folder: str
    overlay: Mapping[str, str | None] = field(default_factory=dict)
    mark: str = ""


class Child(Protocol):
    """A program that runs."""

    @property
    def receive(self) -> ByteReceiveStream:
        """What it says; ends when it has gone."""
        ...

    @property
    def send(self) -> ByteSendStream:
        """What it hears."""
        ...

    @property
    def exited(self) -> Call[None]:
        """A call that returns when it has gone by itself or was made to; never raises."""
        ...

    async def watch(self) -> None:
        """See when it goes, and settle :attr:`exited`; cancelled when that does not matter any more."""
        ...

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and all of its group."""
        ...

    def clear(self) -> str:
        """Kill what it has left behind, now that it has gone.

        :return: how it went, for people
        """
        ...


Spawner: TypeAlias = Callable[[Command], Child]
"""Starts a program, or raises :class:`OSError`."""


class ProcessChild:
    """A program that runs in a process group of its own; see :class:`Child`."""

    def __init__(self, popen: subprocess.Popen[bytes], mark: str) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        self._popen = popen
        self._mark = mark
        self._receive = DescriptorReceiveStream(os.dup(popen.stdout.fileno()))
        self._send = DescriptorSendStream(os.dup(popen.stdin.fileno()))
        popen.stdin.close()
        popen.stdout.close()
        self._exited: Call[None] = Call()

    @property
    def receive(self) -> DescriptorReceiveStream:
        """Its standard output."""
        return self._receive

    @property
    def send(self) -> DescriptorSendStream:
        """Its standard input."""
        return self._send

    @property
    def exited(self) -> Call[None]:
        """A call that returns when the process has ended."""
        return self._exited

    @property
    def pid(self) -> int:
        """The number of the process and of its group."""
        return self._popen.pid

    async def watch(self) -> None:
        """Wait for the end of the process; then its output ends too, though a descendant may hold it open."""
        await leader_ended(self._popen.pid)
        self._receive.finish()
        if not self._exited.done:
            self._exited._return(None)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the group."""
        if self._popen.returncode is None:
            try:
                os.killpg(self._popen.pid, number)
            except (ProcessLookupError, PermissionError):
                return  # the process is a zombie by now, and on some systems nobody may signal those

    def clear(self) -> str:
        """Kill what is left of the group and what has our mark, and reap the process."""
        self.signal(signal.SIGKILL)
        code = self._popen.wait()
        kill_marked(MARK, self._mark)
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def environment_of(command: Command, ambient: Mapping[str, str]) -> dict[str, str]:
    """Return what a command finds in its environment: what it inherits, what is configured, and its mark."""
    return child_environment(ambient, {**command.overlay, MARK: mark_for(ambient, MARK, command.mark)})


def spawn_process(command: Command, ambient: Mapping[str, str] | None = None) -> ProcessChild:
    """Start a process.

    It inherits what :func:`.child_environment` leaves of the environment, and our standard error.

    :param ambient: the environment to inherit from; that of this process if ``None``
    :raises OSError: if it cannot be started
    """
    popen = subprocess.Popen(
        command.arguments,
        cwd=command.folder,
        env=environment_of(command, os.environ if ambient is None else ambient),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    return ProcessChild(popen, command.mark)


async def end(child: Child, grace: float, sleep: Callable[[float], Awaitable[object]]) -> str:
    """End a child that is being watched, and what it has started: by its input's end, by TERM, by KILL.

    :param grace: how long it may take after each step
    :param sleep: the clock
    :return: how it went, for people
    """
    await child.send.aclose()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _goes_within(child, grace, sleep):
            break
        child.signal(number)
    await child.exited._join()
    return child.clear()


async def watch_and_end(child: Child, grace: float, sleep: Callable[[float], Awaitable[object]]) -> str:
    """End a child that nobody watches any more; see :func:`end`."""
    went = ""
    async with create_task_group() as tasks:
        tasks.start_soon(child.watch)
        went = await end(child, grace, sleep)
        tasks.cancel_scope.cancel()
    return went


async def _goes_within(child: Child, grace: float, sleep: Callable[[float], Awaitable[object]]) -> bool:
    with CancelScope() as scope:
        async with create_task_group() as tasks:

            async def time_up() -> None:
                await sleep(grace)
                scope.cancel()

            tasks.start_soon(time_up)
            await child.exited._join()
            tasks.cancel_scope.cancel()
    return child.exited.done
