"""Read what a person types, line by line; a pipe will do as well.

The terminal itself edits a line until it is entered. Reading waits without a thread, so who waits for a line can be
cancelled, and what was typed meanwhile is there for the next who asks.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from anyio import BrokenResourceError, EndOfStream

from probate_reference.jsonrpc.lines import Lines, TooLong

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream

__all__ = ("Keyboard",)

MAX_LINE: Final = 1024 * 1024


class Keyboard:
    """Gives lines.

    :param stream: where they are typed
    """

    def __init__(self, stream: ByteReceiveStream) -> None:
        self._stream = stream
        self._lines = Lines(MAX_LINE)
        self._waiting: deque[str | TooLong] = deque()
        self._ended = False

    async def line(self) -> str | TooLong | None:
        """Wait for a line. If this is cancelled, nothing is lost.

        :return: the line, what stands for one that was too long, or ``None`` when there are no more
        """
        while not self._waiting and not self._ended:
            try:
                data = await self._stream.receive()
            except (EndOfStream, BrokenResourceError):
                self._ended = True
                last = self._lines.finish()
                if last:
                    self._waiting.append(_text(last))
            else:
                self._waiting.extend(one if isinstance(one, TooLong) else _text(one) for one in self._lines.feed(data))
        return self._waiting.popleft() if self._waiting else None


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()
