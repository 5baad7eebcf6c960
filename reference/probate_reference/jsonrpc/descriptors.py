"""Read and write file descriptors without blocking, and without changing them for anybody else.

Standard input and output belong to whoever started us as much as to us: making them non-blocking would
reach into a shell that shares the terminal. So the descriptors stay as they are. Reading waits until there
is something and takes what there is. Writing waits until there is room and writes no more than what a pipe
then surely takes; a socket is told each time not to wait. Threads would do too, but a thread that reads
cannot be cancelled, and a server that hangs in a read at its end has no end.

A regular file, and a device such as ``/dev/null``, never lets anybody wait, and the selectors refuse it; it
is read and written as it is.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import stat

from anyio import (
    BrokenResourceError,
    BusyResourceError,
    CancelScope,
    ClosedResourceError,
    EndOfStream,
    wait_readable,
    wait_writable,
)
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.lowlevel import checkpoint

__all__ = ("DescriptorReceiveStream", "DescriptorSendStream")


def _lets_wait(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return True
    return stat.S_ISCHR(mode) and os.isatty(descriptor)


class _Descriptor:
    """A descriptor that is closed when nobody is inside a wait for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lets_wait = _lets_wait(descriptor)
        self._closed = False
        self._wait: CancelScope | None = None

    def _begin(self) -> CancelScope:
        if self._closed:
            raise ClosedResourceError
        if self._wait is not None:
            raise BusyResourceError("using")
        self._wait = CancelScope()
        return self._wait

    def _end(self) -> None:
        self._wait = None
        if self._closed:
            os.close(self._descriptor)

    async def aclose(self) -> None:
        """Close the descriptor; who waits for it gets :class:`anyio.ClosedResourceError`."""
        if not self._closed:
            self._closed = True
            if self._wait is None:
                os.close(self._descriptor)
            else:
                self._wait.cancel()
        await checkpoint()


class DescriptorReceiveStream(_Descriptor, ByteReceiveStream):
    """Reads a file descriptor, which it then owns."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._finished = False

    def finish(self) -> None:
        """Read no more than what is there already, as if the writers had gone.

        This is how the output of a process ends with the process, though a descendant holds the pipe open.
        """
        self._finished = True
        if self._wait is not None:
            self._wait.cancel()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Wait for bytes.

        :param max_bytes: how many at most
        :raises EndOfStream: if there are no more
        :raises BrokenResourceError: if they cannot be read
        :raises ClosedResourceError: if the stream was closed here
        """
        await checkpoint()
        scope = self._begin()
        try:
            with scope:
                if self._lets_wait and not self._finished:
                    await wait_readable(self._descriptor)
            if self._closed:
                raise ClosedResourceError
            return self._read(max_bytes)
        finally:
            self._end()

    def _read(self, max_bytes: int) -> bytes:
        if self._finished and self._lets_wait:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            if not poll.poll(0):
                raise EndOfStream
        try:
            data = os.read(self._descriptor, max_bytes)
        except OSError as failure:
            raise BrokenResourceError from failure
        if not data:
            raise EndOfStream
        return data


class DescriptorSendStream(_Descriptor, ByteSendStream):
    """Writes a file descriptor, which it then owns.

    :ivar failure: why it can't be written to, unless that is because nobody reads any more
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.failure: OSError | None = None
        is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
        self._socket = socket.socket(fileno=os.dup(descriptor)) if is_socket else None

    async def send(self, item: bytes) -> None:
        """Write all of it. If this is cancelled, some of it may have been written.

        :raises BrokenResourceError: if nobody reads any more, or it can't be written to
        :raises ClosedResourceError: if the stream was closed here
        """
        await checkpoint()
        left = memoryview(item)
        while left:
            scope = self._begin()
            try:
                with scope:
                    if self._lets_wait:
                        await wait_writable(self._descriptor)
                if self._closed:
                    raise ClosedResourceError
                left = left[self._write(left) :]
            finally:
                self._end()
            if not self._lets_wait:
                await checkpoint()

    def _write(self, data: memoryview) -> int:
        try:
            if self._socket is not None:
                return self._socket.send(data, socket.MSG_DONTWAIT)
            return os.write(self._descriptor, data[: select.PIPE_BUF] if self._lets_wait else data)
        except BlockingIOError:
            return 0
        except OSError as failure:
            if failure.errno not in (errno.EPIPE, errno.ECONNRESET):
                self.failure = failure
            raise BrokenResourceError from failure

    async def aclose(self) -> None:
        """Close the descriptor; who reads from it then sees the end."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        await super().aclose()
