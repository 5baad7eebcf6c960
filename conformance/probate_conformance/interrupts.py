"""Interrupts, taken where they do no harm.

Between two traces a run looks whether to stop, and in process that is soon enough. A child may be silent until its
deadline, so there the wait is broken off at once. A second interrupt always breaks off.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Interrupt:
    """What Ctrl-C does during a run: a request to stop, and an exception only where waiting would be long.

    :ivar requested: whether to stop
    :ivar by: the signal that asked for it first, if one did
    """

    def __init__(self) -> None:
        self.requested = False
        self.by: signal.Signals | None = None
        self._breaks_off = False

    @contextlib.contextmanager
    def taken(self, number: signal.Signals = signal.SIGINT) -> Iterator[Interrupt]:
        """Take interrupts while this is entered.

        :param number: the signal that they come as
        """
        try:
            before = signal.signal(number, self._on_signal)
        except ValueError:  # not in the main thread, which alone gets signals
            yield self
            return
        try:
            yield self
        finally:
            signal.signal(number, before or signal.SIG_DFL)

    @contextlib.contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Break off at once, as long as this is entered, instead of noting the request only.

        :raises KeyboardInterrupt: from wherever the program is
        """
        before, self._breaks_off = self._breaks_off, True
        try:
            if self.requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._breaks_off = before

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.by = self.by or signal.Signals(number)
        again, self.requested = self.requested, True
        if again or self._breaks_off:
            raise KeyboardInterrupt
