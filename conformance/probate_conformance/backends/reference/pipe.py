"""One direction of a connection in memory: what is written is there at once, and read when the reader runs next."""

from __future__ import annotations

import json

import anyio
from anyio import EndOfStream
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.lowlevel import checkpoint


class Pipe(ByteReceiveStream, ByteSendStream):
    """One direction of a connection. What is written together is read together."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ended = False
        self._changed = anyio.Event()

    def write(self, message: object) -> None:
        """Write one line, at once."""
        self._put(json.dumps(message).encode() + b"\n")

    def end(self) -> None:
        """Write no more."""
        self._ended = True
        self._changed.set()

    @property
    def ended(self) -> bool:
        """Whether nothing more is written."""
        return self._ended

    def _put(self, data: bytes) -> None:
        self._data += data
        self._changed.set()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Wait for something, and give all of it."""
        del max_bytes
        await checkpoint()
        while not self._data:
            if self._ended:
                raise EndOfStream
            self._changed = anyio.Event()
            await self._changed.wait()
        data = bytes(self._data)
        self._data.clear()
        return data

    async def send(self, item: bytes) -> None:
        """Write."""
        await checkpoint()
        self._put(item)

    async def aclose(self) -> None:
        """Write no more."""
        self.end()
