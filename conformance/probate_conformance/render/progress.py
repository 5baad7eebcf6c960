"""The progress of a run: one line on standard error that is written over, on a terminal and nowhere else."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

from probate_conformance.plan import UNLIMITED
from probate_conformance.tally import Checked

_EVERY: Final = 0.1
"""How many seconds are at least between two lines."""


class ProgressLine:
    """A line about the run of one backend.

    :param stream: where to; nothing is written if it is no terminal, or one that can't write over a line
    :param clock: tells the time in seconds
    :param profile: the one that is run
    :param profiles: those that were asked for, in order
    """

    def __init__(
        self,
        name: str,
        stream: TextIO | None,
        environment: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
        *,
        profile: str = "core",
        profiles: Sequence[str] = (),
    ) -> None:
        self._name = name
        self._profile = profile
        self._profiles = profiles
        self._shown = stream is not None and stream.isatty() and environment.get("TERM") != "dumb"
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._last = self._started

    def __call__(self, checked: Checked) -> None:
        """Show how far the run is, unless that was shown just now."""
        if not self._shown:
            return
        now = self._clock()
        if now - self._last >= _EVERY:
            self._last = now
            self._write(line(f"{self._name} {self._part(checked)}", checked, now - self._started))

    def _part(self, checked: Checked) -> str:
        """Say which profile it is, and, once it is known which of them are claimed, of how many."""
        claimed = () if checked.manifest is None else checked.manifest.profiles
        parts = [profile for profile in self._profiles if profile in claimed]
        if len(parts) < 2 or self._profile not in parts:
            return self._profile
        return f"{self._profile} ({parts.index(self._profile) + 1} of {len(parts)})"

    def clear(self) -> None:
        """Leave nothing of the line."""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        assert self._stream is not None
        width = shutil.get_terminal_size().columns - 1
        with contextlib.suppress(OSError):
            self._stream.write(f"\r\033[K{text[:width]}")
            self._stream.flush()


def line(name: str, checked: Checked, elapsed: float) -> str:
    """Tell how far a run is."""
    rate = checked.traces / elapsed if elapsed > 0 else 0.0
    failures = sum(checked.failed.values())
    limited = checked.planned < UNLIMITED
    parts = [
        f"{name}: {checked.traces:,}{f' of {checked.planned:,}' if limited else ''} traces",
        f"{rate:,.0f}/s",
        "no failure" if not failures else f"{failures} failing by {', '.join(checked.failed)}",
    ]
    if checked.troubles:
        parts.append(f"{len(checked.troubles)} inconclusive or broken")
    if checked.shrinking:
        parts.append(f"shrinking {checked.shrinking}")
    elif rate and limited:
        parts.append(f"{(checked.planned - checked.traces) / rate:.0f} s left")
    return ", ".join(parts)
