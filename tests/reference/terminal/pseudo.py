"""``probate run`` on a terminal of its own, and somebody who types and reads."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HUNG_SECONDS = 60.0
"""Ends a hang; decides nothing."""

CTRL_C = "\x03"
CTRL_D = "\x04"


class Person:
    """Types, and reads what is shown."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self.shown = ""
        self._terminal = terminal
        self._read = 0

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._terminal, text.encode())

    def see(self, wanted: str) -> str:
        """Wait until something is shown, after what was seen before; return all that came up to it.

        :raises AssertionError: if the program ends, or hangs, without showing it
        """
        while (place := self.shown.find(wanted, self._read)) < 0:
            assert self._more(), f"{wanted!r} never came: {self.shown[self._read :]!r}"
        seen, self._read = self.shown[self._read : place + len(wanted)], place + len(wanted)
        return seen

    def gone(self) -> int:
        """Wait for the end of the program, and return its exit code."""
        while self._more():
            pass
        return self.process.wait(HUNG_SECONDS)

    def _more(self) -> bool:
        if not select.select([self._terminal], [], [], HUNG_SECONDS)[0]:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # nobody has the other end any more
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(config: Path, loop: str, **environment: str) -> Iterator[Person]:
    """Run the program on a new terminal; nothing of it outlives the block."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "probate_reference", "run", "--loop", loop, str(config)]
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **environment},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - there are no threads here
    )
    os.close(theirs)
    try:
        yield Person(process, ours)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)
