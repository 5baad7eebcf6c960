"""Two ends of a connection in memory, and a peer that records what it is told."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, ObjectReceiveStream, ObjectSendStream
from anyio.lowlevel import checkpoint

from probate_reference import Call
from probate_reference.jsonrpc import CloseCause, Incoming, Peer


class Receive(ByteReceiveStream):
    def __init__(self, stream: ObjectReceiveStream[bytes]) -> None:
        self._stream = stream

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()


class Send(ByteSendStream):
    def __init__(self, stream: ObjectSendStream[bytes]) -> None:
        self._stream = stream

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()


async def little_time(_seconds: float) -> None:
    """A clock on which everybody has had several turns when the time is up."""
    for _ in range(20):
        await checkpoint()


def wire(capacity: float = math.inf) -> tuple[Send, Receive]:
    """Make a one-way wire; with no capacity its sender waits for the reader."""
    send, receive = anyio.create_memory_object_stream[bytes](capacity)
    return Send(send), Receive(receive)


class Far:
    """The other side, which may say anything at all."""

    def __init__(self, send: Send, receive: Receive) -> None:
        self.send = send
        self.receive = receive
        self._buffer = b""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.send.aclose()
            await self.receive.aclose()

    async def say(self, *messages: object) -> None:
        """Say messages; bytes are sent as they are."""
        for message in messages:
            await self.send.send(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def hear(self) -> Any:
        """Wait for the next line."""
        while b"\n" not in self._buffer:
            self._buffer += await self.receive.receive()
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    async def hear_all(self) -> list[Any]:
        """Collect every line until the end."""
        heard = []
        while True:
            try:
                heard.append(await self.hear())
            except anyio.EndOfStream:
                assert self._buffer == b""
                return heard


class Near:
    """A peer whose handlers are given by method, and what it was told."""

    def __init__(self, **options: Any) -> None:
        self.told: list[tuple[str, Mapping[str, object]]] = []
        self.reports: list[tuple[str, BaseException]] = []
        self.incoming: dict[str, Incoming] = {}
        self.handlers: dict[str, Callable[[Incoming], Awaitable[object]]] = {}
        self.closing: Call[None] | None = None
        self.causes: list[CloseCause] = []
        to_near, near_receives = wire()
        near_sends, from_near = wire(options.pop("capacity", math.inf))
        self.far = Far(to_near, from_near)
        self.peer = Peer(
            near_receives,
            near_sends,
            on_request=self._request,
            on_notification=self._notification,
            on_closed=self._closed,
            report=lambda place, failure: self.reports.append((place, failure)),
            **options,
        )

    def _request(self, incoming: Incoming) -> Awaitable[object]:
        self.told.append((incoming.method, incoming.params))
        self.incoming[incoming.method] = incoming
        return self.handlers[incoming.method](incoming)

    def _notification(self, method: str, params: Mapping[str, object]) -> None:
        self.told.append((method, params))
        if method == "fails":
            raise ValueError(method)

    def _closed(self, cause: CloseCause) -> Call[None] | None:
        self.causes.append(cause)
        return self.closing


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[Near]:
    """Run a peer for as long as the block lasts; then the far side goes away and the peer has to end."""
    near = Near(**options)
    async with near.far, anyio.create_task_group() as tasks:
        tasks.start_soon(near.peer.run)
        yield near
        await near.far.send.aclose()
