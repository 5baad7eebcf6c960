"""Write to standard output without ever making the event loop wait for whoever reads it.

A terminal can be stopped, and a pager need not read. What is written meanwhile is kept, in order, and written when
there is room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import BrokenResourceError, Event

if TYPE_CHECKING:
    from anyio.abc import ByteSendStream

__all__ = ("Output",)


class Output:
    """Takes text at once and writes it in its own time.

    :param stream: where to
    :param encoding: how; what it does not have is escaped
    :ivar broken: set when nobody reads any more
    """

    def __init__(self, stream: ByteSendStream, encoding: str = "utf-8") -> None:
        self._stream = stream
        self._encoding = encoding
        self._waiting: list[str] = []
        self._more = Event()
        self._closed = False
        self.broken = Event()

    def write(self, text: str) -> None:
        """Take a text."""
        self._waiting.append(text)
        self._more.set()

    def close(self) -> None:
        """Let :meth:`run` end when all was written."""
        self._closed = True
        self._more.set()

    async def run(self) -> None:
        """Write until all was written and it is closed, or nobody reads any more."""
        while True:
            while self._waiting:
                text = "".join(self._waiting)
                self._waiting.clear()
                try:
                    await self._stream.send(text.encode(self._encoding, "backslashreplace"))
                except BrokenResourceError:
                    self.broken.set()
                    return
            if self._closed:
                return
            self._more = Event()
            await self._more.wait()
