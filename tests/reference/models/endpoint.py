"""An endpoint on the loopback that plays what a test wants, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream


def piece(finish: str | None = None, **delta: object) -> bytes:
    """Write a piece of an answer."""
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n".encode()


DONE = b"data: [DONE]\n\n"
HANG = b""
"""The endpoint falls silent until the other side goes away."""


class Endpoint:
    """Answers each request with the next of the planned answers: a status, and the parts of a body."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, list[bytes]]] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.left = anyio.Event()
        self.silent = anyio.Event()
        self.extra = ""
        self.url = ""

    def plan(self, *parts: bytes, status: int = 200) -> None:
        """Plan an answer."""
        self.answers.append((status, list(parts)))

    async def serve(self, stream: SocketStream) -> None:
        """Answer one request."""
        async with stream:
            head, body = await self._read(stream)
            request, *fields = head.decode().split("\r\n")
            self.paths.append(request.split(" ")[1])
            self.headers.append({name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)})
            self.bodies.append(json.loads(body))
            status, parts = self.answers.pop(0)
            await stream.send(
                f"HTTP/1.1 {status} X\r\nContent-Type: text/event-stream\r\n{self.extra}"
                "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()
            )
            try:
                for part in parts:
                    if part == HANG:
                        self.silent.set()
                        await stream.receive()
                    await stream.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                await stream.send(b"0\r\n\r\n")
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.left.set()

    async def _read(self, stream: SocketStream) -> tuple[bytes, bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        while len(body) < length:
            body += await stream.receive()
        return head, body


@asynccontextmanager
async def endpoint() -> AsyncIterator[Endpoint]:
    """Serve for as long as the block lasts."""
    made = Endpoint()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    made.url = f"http://127.0.0.1:{port}/v1"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, made.serve)
        yield made
        tasks.cancel_scope.cancel()
