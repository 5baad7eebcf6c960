"""Put a text into the log without running the model.

Whether a turn is open is asked of the log. If one is, the text joins it, except that an answer which
asks for tools is never torn from their results: then it waits for the last of them. If none is, the text gets a
turn of its own, opened and closed in one go, and a flush that the caller does not wait for. The
teardown does, because a log that is not flushed is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .flushing import start_flush
from .records import ContextMessage, TurnEnd, TurnReason, TurnStart, TurnTrigger

if TYPE_CHECKING:
    from .core import Core

__all__ = ("commit_injection", "end_batch")


def commit_injection(core: Core, text: str) -> None:
    """Log an accepted injection where it belongs now."""
    session = core.session
    if session._open_turn is None:
        number = session._last_turn + 1
        core.append(TurnStart(number, TurnTrigger.INJECTION))
        core.append(ContextMessage(text))
        core.append(TurnEnd(number, TurnReason.COMPLETED))
        start_flush(core)
    elif core.batch_active:
        if core.deferred_injections is None:
            core.deferred_injections = []
        core.deferred_injections.append(text)
    else:
        core.append(ContextMessage(text))


def end_batch(core: Core) -> None:
    """Log the injections that waited for the results of a tool batch."""
    core.batch_active = False
    deferred = core.deferred_injections
    if deferred is not None:
        core.deferred_injections = None
        for text in deferred:
            core.append(ContextMessage(text))
