"""End the process when it cannot end in order.

An end in order waits for others: for a disk, for a command, for the code of an embedder. Nearly all of that is bounded.
So that the whole is, there is a thread that waits beside it and, when the stated time is over, kills what the tools
have left and ends the process there and then.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from .processes import kill_marked
from .tasks.executor import MARK

__all__ = ("GAVE_UP", "STATED_SECONDS", "limit_end")

STATED_SECONDS: Final = 10.0
"""Within how many seconds after the end has begun the process is gone, whatever happens."""

GAVE_UP: Final = 70
"""The exit code of a process that could not end in order."""


def limit_end(mark: str, say: Callable[[str], object]) -> None:
    """Let the process be gone within the stated time from now on.

    :param mark: that of the executor
    :param say: takes what there is to say if it comes to that
    """

    def give_up() -> None:
        say(f"could not end in order within {STATED_SECONDS:g} seconds")
        kill_marked(MARK, mark)
        os._exit(GAVE_UP)

    timer = threading.Timer(STATED_SECONDS, give_up)
    timer.daemon = True
    timer.start()
