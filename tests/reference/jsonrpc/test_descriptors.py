"""Descriptors: nothing blocks, a close wakes who waits, and the flags stay what they were."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import anyio
import pytest

from probate_reference.jsonrpc import DescriptorReceiveStream, DescriptorSendStream

pytestmark = pytest.mark.anyio

LARGE = bytes(range(256)) * 4_000
"""More than a pipe or a socket takes at once."""


async def read_all(stream: DescriptorReceiveStream) -> bytes:
    data = b""
    while True:
        try:
            data += await stream.receive()
        except anyio.EndOfStream:
            return data


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_bytes_arrive_whole_and_the_end_after_them(kind: str) -> None:
    if kind == "pipe":
        reader, writer = os.pipe()
    else:
        reader, writer = (end.detach() for end in socket.socketpair())
    flags = fcntl.fcntl(writer, fcntl.F_GETFL), fcntl.fcntl(reader, fcntl.F_GETFL)
    send, receive = DescriptorSendStream(writer), DescriptorReceiveStream(reader)
    data = b""

    async def read() -> None:
        nonlocal data
        data = await read_all(receive)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await send.send(LARGE)
        assert (fcntl.fcntl(writer, fcntl.F_GETFL), fcntl.fcntl(reader, fcntl.F_GETFL)) == flags
        await send.aclose()
    await receive.aclose()
    assert data == LARGE


async def test_a_close_wakes_who_reads() -> None:
    reader, writer = os.pipe()
    stream = DescriptorReceiveStream(reader)
    raised: list[str] = []

    async def read() -> None:
        try:
            await stream.receive()
        except anyio.ClosedResourceError:
            raised.append("closed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
    assert raised == ["closed"]
    os.close(writer)
    with pytest.raises(anyio.ClosedResourceError):
        await stream.receive()


async def test_a_broken_pipe_is_told() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = DescriptorSendStream(writer)
    with pytest.raises(anyio.BrokenResourceError):
        await stream.send(b"x")
    await stream.aclose()


async def test_a_finished_stream_gives_what_is_there_though_a_writer_lives() -> None:
    reader, writer = os.pipe()
    stream = DescriptorReceiveStream(reader)
    os.write(writer, b"last words")
    stream.finish()
    assert await read_all(stream) == b"last words"
    await stream.aclose()
    os.close(writer)


async def test_finishing_wakes_who_reads() -> None:
    reader, writer = os.pipe()
    stream = DescriptorReceiveStream(reader)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_all, stream)
        await anyio.wait_all_tasks_blocked()
        stream.finish()
    await stream.aclose()
    os.close(writer)


async def test_files_and_devices_that_never_wait(tmp_path: Path) -> None:
    path = tmp_path / "file"
    send = DescriptorSendStream(os.open(path, os.O_WRONLY | os.O_CREAT))
    await send.send(LARGE)
    await send.aclose()
    receive = DescriptorReceiveStream(os.open(path, os.O_RDONLY))
    assert await read_all(receive) == LARGE
    await receive.aclose()
    null = DescriptorReceiveStream(os.open("/dev/null", os.O_RDWR))
    assert await read_all(null) == b""
    await null.aclose()


async def test_a_cancelled_read_leaves_the_stream_usable() -> None:
    reader, writer = os.pipe()
    stream = DescriptorReceiveStream(reader)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await stream.receive()
    os.write(writer, b"x")
    assert await stream.receive() == b"x"
    os.close(writer)
    await stream.aclose()
