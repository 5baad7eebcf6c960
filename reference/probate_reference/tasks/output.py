"""Keep what a command writes: the newest in memory, all of it in a file once it is much.

A command may write without end, and nobody may ever read. So a stream keeps a bounded tail in memory.
Before the first byte is let go of, everything so far is written to a file and the rest follows it there,
up to a bound of its own, since a disk is not endless either. A reader gets what is new since it read
last; if some of that is no longer in memory, it is told so, and where the file is.

Reads are text and writes are bytes, and a character may be torn between two writes. An unfinished one is
held back until its rest has come or the stream has ended.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import IO

__all__ = ("Stream",)


class Stream:
    """What one stream of one command has brought.

    :param keep: how many bytes are kept in memory
    :param spill: how many bytes are kept in a file when there are more than that
    :param path: names the file, when one is needed
    """

    __slots__ = ("_decoder", "_end", "_file", "_keep", "_left", "_path", "_read", "_tail", "_whole", "spilled")

    def __init__(self, keep: int, spill: int, path: Callable[[], Path]) -> None:
        self._keep = keep
        self._left = spill
        self._path = path
        self._tail = bytearray()
        self._end = 0
        self._read = 0
        self._whole = True
        self._file: IO[bytes] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.spilled: Path | None = None

    def write(self, data: bytes) -> None:
        """Take in what the command has written."""
        self._end += len(data)
        if self._whole and self._end > self._keep:
            self._whole = False
            self._open()
            self._to_file(bytes(self._tail))
        self._to_file(data)
        self._tail += data
        del self._tail[: -self._keep]

    def read(self) -> tuple[str, bool]:
        """Return what is new, and whether some of it is missing."""
        start = self._end - len(self._tail)
        lossy = self._read < start
        if lossy:
            # What was held back belongs to what is missing.
            self._decoder.reset()
        new = bytes(self._tail[max(self._read - start, 0) :])
        self._read = self._end
        return self._decoder.decode(new), lossy

    def rest(self) -> str:
        """Return what was held back of an unfinished character; the stream has ended."""
        return self._decoder.decode(b"", final=True)

    def close(self) -> None:
        """Close the file, if there is one. What is in memory can still be read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        try:
            path = self._path()
            self._file = path.open("xb")
        except OSError:
            # No file can be had: what is let go of is lost, and a reader is told so without one.
            return
        self.spilled = path

    def _to_file(self, data: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(data[: self._left])
            self._file.flush()
        except OSError:
            self.close()
        self._left -= len(data)
        if self._left <= 0:
            self.close()
