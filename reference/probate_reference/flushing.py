"""Make a log safe at the end of a turn.

A flush starts all its listeners, waits for all of them, and only then says that one has failed: a
failure that is told while another listener still writes would be told too early. A flush is never
cancelled. It is shielded even when the task around the runtime is cancelled, since the closing
records of a turn are exactly what one wants to keep then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CancelScope, create_task_group

from .calls import enter_frame
from .events import AgentError, ErrorSource, SessionFlush
from .kernel import is_failure
from .seams import FlushRequest

if TYPE_CHECKING:
    from .core import Core
    from .seams import Flush

__all__ = ("close_flush", "start_flush")


async def close_flush(core: Core) -> None:
    """Carry out a flush in the driver's task and report its failure."""
    request, listeners = _begin(core)
    if listeners:
        _tell(core, await _run(core, request, listeners, drives=True))


def start_flush(core: Core) -> None:
    """Begin a flush that only the teardown waits for."""
    request, listeners = _begin(core)
    if listeners and core.kernel.spawn(_run_alone, core, request, listeners):
        core.open_flushes += 1


def _begin(core: Core) -> tuple[FlushRequest, tuple[Flush, ...]]:
    upto = len(core.session)
    core.kernel.events._emit(SessionFlush(core.agent, upto))
    return FlushRequest(core.agent, core.session, upto), tuple(core.kernel.flushes.values())


def _tell(core: Core, failure: BaseException | None) -> None:
    if failure is not None:
        core.kernel.events._emit(AgentError(core.agent, 0, ErrorSource.FLUSH, failure))


async def _run_alone(core: Core, request: FlushRequest, listeners: tuple[Flush, ...]) -> None:
    frame = enter_frame(core.lifecycle, drives=False)
    try:
        _tell(core, await _run(core, request, listeners, drives=False))
    finally:
        frame.alive = False
        core.end_flush()


async def _run(
    core: Core, request: FlushRequest, listeners: tuple[Flush, ...], *, drives: bool
) -> BaseException | None:
    """Start all listeners, wait for all, and return the failure of the first that failed."""
    with CancelScope(shield=True):
        if len(listeners) == 1:
            return await _attempt(listeners[0], request)
        failures: list[BaseException | None] = [None] * len(listeners)

        async def run_one(index: int) -> None:
            frame = enter_frame(core.lifecycle, drives)
            failures[index] = await _attempt(listeners[index], request)
            frame.alive = False

        async with create_task_group() as task_group:
            for index in range(len(listeners)):
                task_group.start_soon(run_one, index)
    return next((failure for failure in failures if failure is not None), None)


async def _attempt(listener: Flush, request: FlushRequest) -> BaseException | None:
    try:
        await listener(request)
    except BaseException as raised:
        if not is_failure(raised):
            raise
        return raised
    return None
