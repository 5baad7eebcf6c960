"""Work an agent's inbox off: the one task of an agent, and the only thing that opens its turns.

The driver parks until something is queued, claims exactly one prompt, runs a turn with it, flushes
the log and looks again. It is idle only after the flush, and between two queued turns it is not
idle at all.

It looks twice whether a cancel came first. After its wake-up, because the prompt may have been
cancelled before anything was announced: then there is no event. And after it has announced
``running``, because an observer of that may cancel: then there is no turn either, but ``idle`` is
announced, and a prompt that the observer sent afterwards runs with a fresh holder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from .core import Turn
from .events import Status
from .signals import Signal
from .turns import run_turn

if TYPE_CHECKING:
    from .core import Core

__all__ = ("drive",)


async def drive(core: Core) -> None:
    """Run turns until the agent is disposed."""
    inbox = core.inbox
    if inbox.pending():
        # Sent before there was a driver: whoever sees the agent appear may still cancel.
        await checkpoint()
    while not core.disposed():
        if core.pre_run_cancelled:
            core.pre_run_cancelled = False
            if not inbox.has_queued():
                core.become_idle()
                continue
        if not inbox.has_queued():
            await core.park()
            continue
        turn = _install_turn(core)
        if turn is not None:
            await run_turn(core, turn)
            inbox.requeue_steering()
            if not inbox.has_queued() and not core.disposed():
                core.become_idle()


def _install_turn(core: Core) -> Turn | None:
    """Install the holder, announce ``running``, and return the holder if there is a turn to run."""
    turn = core.turn = Turn(Signal(core.kernel.contain))
    core.set_status(Status.RUNNING)
    if core.disposed():
        core.turn = None
        return None
    if not turn.stopped():
        return turn
    core.turn = None
    core.inbox.requeue_steering()
    if not core.inbox.has_queued():
        core.become_idle()
        return None
    core.turn = turn = Turn(Signal(core.kernel.contain))
    return turn
