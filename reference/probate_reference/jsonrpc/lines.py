"""Cut a stream of bytes into lines, and never hold more of it than a limit.

Somebody who never sends a newline must not eat our memory. A line that grows beyond the limit is given
up: what is left of it is skipped as it comes, and in its place stands one :class:`TooLong`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ("MAX_LINE", "Lines", "TooLong")

MAX_LINE: Final = 32 * 1024 * 1024
"""How long a line may be: an editor sends whole files in one, and nobody has yet sent one of this size."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """Stands for a line that was longer than the limit.

    :ivar limit: the limit, in bytes
    """

    limit: int


class Lines:
    """Takes bytes as they come and gives whole lines, without their newlines.

    :param limit: how many bytes a line may have
    """

    __slots__ = ("_buffer", "_limit", "_scanned", "_skipping")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._scanned = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """Take some bytes, and yield the lines that they complete; consume all of it before the next call."""
        self._buffer += data
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            if self._skipping:
                self._skipping = False
            elif len(line) > self._limit:
                yield TooLong(self._limit)
            else:
                yield line
        if self._skipping or len(self._buffer) > self._limit:
            if not self._skipping:
                self._skipping = True
                yield TooLong(self._limit)
            self._buffer.clear()
        self._scanned = len(self._buffer)

    def finish(self) -> bytes:
        """Return what is left when the stream has ended: the line that was torn, or nothing."""
        left = bytes(self._buffer)
        self._buffer.clear()
        self._scanned = 0
        return left
