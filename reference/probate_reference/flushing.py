"""Make a log safe at the end of a turn.

A flush starts all its listeners, waits for all of them, and only then says that one has failed: a
failure that is told while another listener still writes would be told too early. The listeners are
*called* in the moment of the flush, so that one which is a plain function can note what there is to
write before anything else happens; what they return is awaited in a later step.

A flush is never cancelled. It is shielded even when the task around the runtime is cancelled, since
the closing records of a turn are exactly what one wants to keep then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CancelScope, create_task_group

from .calls import close_unawaited, enter_frame
from .events import AgentError, ErrorSource, SessionFlush
from .reports import is_failure
from .seams import FlushRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .core import Core

__all__ = ("close_flush", "start_flush")


async def close_flush(core: Core) -> None:
    """Carry out a flush in the driver's task and report its failure."""
    writes = _begin(core)
    if writes:
        _tell(core, await _finish(core, writes, drives=True))


def start_flush(core: Core) -> None:
    """Begin a flush that only the teardown waits for."""
    writes = _begin(core)
    if not writes:
        return
    if core.kernel.spawn(_finish_alone, core, writes):
        core.open_flushes += 1
    else:
        for write in writes:
            close_unawaited(write)


def _begin(core: Core) -> list[Awaitable[None] | Exception]:
    """Tell the flush and call its listeners; give what each has returned or raised."""
    kernel = core.kernel
    upto = len(core.session)
    kernel.events._emit(SessionFlush(core.agent, upto))
    writes: list[Awaitable[None] | Exception] = []
    if kernel.flushes:
        request = FlushRequest(core.agent, core.session, upto)
        for listener in tuple(kernel.flushes.values()):
            try:
                writes.append(listener(request))
            except Exception as failure:
                writes.append(failure)
    return writes


def _tell(core: Core, failure: BaseException | None) -> None:
    if failure is not None:
        core.kernel.events._emit(AgentError(core.agent, 0, ErrorSource.FLUSH, failure))


async def _finish_alone(core: Core, writes: list[Awaitable[None] | Exception]) -> None:
    frame = enter_frame(core.lifecycle, drives=False)
    try:
        _tell(core, await _finish(core, writes, drives=False))
    finally:
        frame.alive = False
        core.end_flush()


async def _finish(core: Core, writes: list[Awaitable[None] | Exception], *, drives: bool) -> BaseException | None:
    """Wait for all listeners, and return the failure of the first that failed."""
    with CancelScope(shield=True):
        if len(writes) == 1:
            return await _attempt(writes[0])
        failures: list[BaseException | None] = [None] * len(writes)

        async def wait(index: int) -> None:
            frame = enter_frame(core.lifecycle, drives)
            failures[index] = await _attempt(writes[index])
            frame.alive = False

        async with create_task_group() as task_group:
            for index in range(len(writes)):
                task_group.start_soon(wait, index)
    return next((failure for failure in failures if failure is not None), None)


async def _attempt(write: Awaitable[None] | Exception) -> BaseException | None:
    if isinstance(write, Exception):
        return write
    try:
        await write
    except BaseException as raised:
        if not is_failure(raised):
            raise
        return raised
    return None
