"""Three small programs, each with a bug that needs an order which first in, first out never gives.

Each returns whether the bug showed.
"""

from __future__ import annotations

from anyio import create_task_group
from anyio.lowlevel import checkpoint


async def pause(times: int) -> None:
    """Let others run so many times."""
    for _ in range(times):
        await checkpoint()


async def siblings() -> bool:
    """The last flush and the detaching of the session are siblings, so the closing record may be lost."""
    attached = True
    log: list[str] = []

    async def flush() -> None:
        await pause(1)
        if attached:
            log.append("closed")

    async def detach() -> None:
        nonlocal attached
        await pause(2)
        attached = False

    async with create_task_group() as group:
        group.start_soon(flush)
        group.start_soon(detach)
    return log != ["closed"]


async def registry() -> bool:
    """Whoever finds an id free takes it after a wait; a second who comes late enough never sees it free."""
    owners: dict[str, str] = {}
    entered: list[str] = []

    async def enter(agent: str, late: int) -> None:
        await pause(late)
        if "id" not in owners:
            await pause(1)
            owners["id"] = agent
            entered.append(agent)

    async with create_task_group() as group:
        group.start_soon(enter, "first", 0)
        group.start_soon(enter, "second", 3)
    return len(entered) == 2


async def deep() -> bool:
    """The slow one has to overtake the quick one at both of two places."""
    overtaken = 0

    async def race(quick: int, slow: int) -> None:
        nonlocal overtaken
        arrived: list[str] = []

        async def arrive(name: str, steps: int) -> None:
            await pause(steps)
            arrived.append(name)

        async with create_task_group() as group:
            group.start_soon(arrive, "quick", quick)
            group.start_soon(arrive, "slow", slow)
        overtaken += arrived == ["slow", "quick"]

    await race(1, 3)
    await race(2, 4)
    return overtaken == 2


BUGS = (siblings, registry, deep)
