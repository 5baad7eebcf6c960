"""Background tasks started and reaped in a second, and what is left after ten thousand of them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio

from bench.conversing import now
from bench.results import Section, check
from probate_reference.tasks import Executor, Request

AT_ONCE = 20
"""How many tasks run at a time."""


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _childless() -> bool:
    """Tell whether this process has no child, neither one that runs nor one that was not reaped."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def _files() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("probate-tasks-*"))


async def _run(number: int) -> float:
    """Start so many tasks and wait for them; give how many that are in a second."""
    async with Executor(shell="/bin/sh") as executor:  # noqa: S604 - a parameter of ours
        spec = executor.resolve(Request("exit 0", owner="bench"))
        began = now()
        for _ in range(number // AT_ONCE):
            for task in [executor.start(spec) for _ in range(AT_ONCE)]:
                await task.done
        rate = number / (now() - began)
        check(len(executor.list()) == number, "not every task is remembered")
        check(executor.statistics().processes == 0, "a process is left")
    return rate


def tasks(*, quick: bool) -> Section:
    """Measure on both loops; fail if a process, a descriptor or a file is left."""
    number = 400 if quick else 10_000
    section = Section("background tasks")
    rows = []
    for loop in ("asyncio", "trio"):
        anyio.run(_run, AT_ONCE, backend=loop)
        descriptors, files = _descriptors(), _files()
        rate = anyio.run(_run, number, backend=loop)
        check(_childless(), "a process is left")
        check(_descriptors() == descriptors, "a descriptor is left")
        check(_files() == files, "a file is left")
        rows.append((loop, f"{rate:,.0f}"))
        section.figures[loop] = rate
    section.table(("", "started and reaped in a second"), rows)
    section.note(f"after {number:,} tasks on each loop no process, no file descriptor and no file is left")
    section.figures["tasks"] = number
    return section
