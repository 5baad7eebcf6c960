"""Report what was contained.

A listener, a cleanup or a callback that fails must not change what happens to the agent. It must
not vanish either. Each such failure goes to one function, which the embedder may give; the default
writes it to the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from anyio import current_effective_deadline, get_cancelled_exc_class

__all__ = ("Report", "contained", "is_failure", "log_report", "words")

Report: TypeAlias = Callable[[str, BaseException], object]
"""Called with the place of the failure (such as ``listener session/created`` or ``cleanup``) and the failure."""

_logger = logging.getLogger("probate_reference")


def log_report(place: str, failure: BaseException) -> None:
    """Write a contained failure to the log of this package."""
    try:
        said = repr(failure)
    except Exception:
        said = type(failure).__name__
    _logger.error("contained failure in %s: %s", place, said, exc_info=failure)


def words(failure: BaseException) -> str:
    """Return what a failure says in one piece, or what it is if it says nothing or cannot even do that."""
    try:
        return str(failure) or type(failure).__name__
    except Exception:
        return type(failure).__name__


def contained(report: Report) -> Report:
    """Return a report that cannot fail itself: what the given one raises goes to the log."""

    def guarded(place: str, failure: BaseException) -> None:
        try:
            report(place, failure)
        except Exception as second:
            log_report(place, failure)
            log_report("report", second)

    return guarded


def is_failure(raised: BaseException) -> bool:
    """Return whether what foreign code raised is its own failure, and not our cancellation.

    On asyncio, code that awaits a future which somebody else cancelled raises the same class as a
    task that is cancelled. It is our cancellation only if a scope around us is cancelled.
    """
    if isinstance(raised, Exception):
        return True
    if not isinstance(raised, get_cancelled_exc_class()):
        return False
    return current_effective_deadline() != float("-inf")
