"""Shell commands that say when they are there, and a clock that stands still.

No test sleeps: a command that has come to a point writes a line to a pipe with a name, and the test reads it. Whether
a process is gone is asked of the system, by a descriptor that becomes readable when it is.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
from anyio import to_thread, wait_readable

SHELL = "/bin/sh"


class Pipe:
    """A pipe with a name, from a command to the test or back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    async def line(self) -> str:
        """Wait until a command has written a line."""
        return (await to_thread.run_sync(self.path.read_text)).strip()

    async def write(self, text: str) -> None:
        """Write a line, for a command that reads one."""
        await to_thread.run_sync(self.path.write_text, f"{text}\n")


class StandingClock:
    """A clock that moves only when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._now = 0.0
        self._moved = anyio.Event()
        self._asked = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        """Return when so much time was let pass."""
        self.asked.append(seconds)
        self._asked.set()
        until = self._now + seconds
        while self._now < until:
            await self._moved.wait()

    async def sleeper(self) -> None:
        """Wait until somebody sleeps, or did."""
        await self._asked.wait()

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
        self._moved.set()
        self._moved = anyio.Event()


class Watched:
    """A process that need not be ours, to be asked whether it is gone."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    async def gone(self) -> None:
        """Wait until it is gone; forget it then."""
        try:
            await wait_readable(self._descriptor)
        finally:
            os.close(self._descriptor)


def children() -> list[str]:
    """Name the child processes of this process, those included that are dead and not reaped."""
    found = subprocess.run(
        ["ps", "-o", "pid=,stat=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    return [line for line in found.stdout.splitlines() if "ps -o pid" not in line]


def descriptors() -> set[str]:
    """Name what this process has open."""
    names = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            names.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            continue
    return names
