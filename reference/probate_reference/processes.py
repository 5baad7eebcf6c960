"""See a process go, and find others by a mark that they have inherited, wherever they have gone.

A process group holds together what does not want to leave it. What starts a session of its own, or is started
by something that did, is not found by the group any more, nor by its parent when that has gone. What is seldom
thrown away is the environment. So whoever starts somebody else's program puts a variable with a value of its own
there, and in the end looks whether anybody still has it. What is started by something marked may be marked again;
then its value names both, with a colon between them.

Only Linux lets us read the environment of others; elsewhere nobody is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from anyio import CapacityLimiter, to_thread, wait_readable

__all__ = ("kill_marked", "leader_ended", "mark_for", "marked")

MAX_PASSES: Final = 1_000
"""How often we look again: somebody who forks faster than that cannot be ended by looking."""


async def leader_ended(process: int) -> None:
    """Wait until a child process has ended, without reaping it: until it is reaped, its number stays its own."""
    try:
        descriptor = os.pidfd_open(process)
    except (AttributeError, OSError):  # a system without such descriptors
        wait = partial(os.waitid, os.P_PID, process, os.WEXITED | os.WNOWAIT)
        await to_thread.run_sync(wait, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        return
    try:
        await wait_readable(descriptor)
    finally:
        os.close(descriptor)


def mark_for(ambient: Mapping[str, str], name: str, value: str) -> str | None:
    """Return what a variable is to hold so that what finds it there is marked, beside what has marked us."""
    return ":".join(mark for mark in (ambient.get(name), value) if mark) or None


def marked(name: str, value: str) -> list[int]:
    """Return the processes that have a value in a variable of their environment, this one left out."""
    variable, wanted = f"{name}=".encode(), value.encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes()
        except OSError:  # it has gone, or is somebody else's
            continue
        values = (entry[len(variable) :] for entry in environment.split(b"\0") if entry.startswith(variable))
        if any(wanted in value.split(b":") for value in values):
            found.append(int(path.name))
    return [process for process in found if process != os.getpid()]


def kill_marked(name: str, value: str) -> int:
    """Kill them, and those that they start meanwhile, until there are none.

    :return: how many are left, which is none unless they fork without an end
    """
    for _ in range(MAX_PASSES):
        processes = marked(name, value)
        if not processes:
            return 0
        for process in processes:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        os.sched_yield()
    return len(marked(name, value))
