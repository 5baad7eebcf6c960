"""Hold one connection: read, dispatch, answer, and end in order.

**Order.** The reader is one task, and it dispatches synchronously. A notification's handler is a plain
function that has done everything when it returns; a request's handler is a function that does its begin
when it is called and gives back what there is to await. So a cancel that comes in the line after a
prompt finds that prompt, and a chunk of text that comes in the line before an answer has been taken when
the answer is.

**Writing.** Whoever has something to say puts a whole line into one queue, synchronously, and one task
writes it. What is said first arrives first. If the other side does not read, the queue grows up to a
limit, and then the connection is closed: to wait instead would let a deaf client hold an agent.

**The end.** The connection is closed once, with a cause: the other side has ended its output, the pipe
is broken, the other side does not read, or we want it. At that moment our own requests fail, and whoever
holds the connection is told. What it does then is awaited; then requests that are still being worked on
get a bounded time before they are called off, and so does what is left to write. A half-closed connection
is still good for answers: a client may ask, close its end of the input, and read. Who would rather hear the
other side out than end when nothing can be written to it any more says so; then what cannot be written is
lost, and only what was asked by that fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import anyio
from anyio import BrokenResourceError, CancelScope, ClosedResourceError, EndOfStream, Event, create_task_group

from probate_reference.calls import Call
from probate_reference.reports import contained, log_report

from .incoming import Incoming
from .lines import MAX_LINE, Lines, TooLong
from .messages import Answer, ErrorCode, Malformed, Notification, Request, RpcError, encode, read, request_id
from .outgoing import ConnectionClosed, Outgoing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import ByteReceiveStream, ByteSendStream, TaskGroup

    from probate_reference.reports import Report

    from .messages import Message, RequestId

__all__ = ("CloseCause", "Peer")

MAX_WAITING: Final = 64 * 1024 * 1024
"""How many bytes may wait for a peer that does not read."""

LAST_SECONDS: Final = 2.0
"""When the connection has closed: how long the last work may take, and then the last writing."""


class CloseCause(StrEnum):
    """Why a connection was closed."""

    ENDED = "ended"
    """The other side has ended its output."""
    BROKEN = "broken"
    """What we write does not arrive any more, or reading failed."""
    DEAF = "deaf"
    """The other side does not read, and too much waits for it."""
    LOCAL = "local"
    """We have closed it."""


class Peer:
    """One side of a connection.

    :param receive: where lines come from
    :param send: where lines go to; both streams are closed when :meth:`run` ends
    :param on_request: called with each request, in order of arrival; does its begin when it is called, and what it
        returns is awaited in a task and a cancel scope of its own. Raises :class:`RpcError`, there or later, to answer
        with an error
    :param on_notification: called with each notification's method and params, in order of arrival
    :param on_closed: called at the moment when the connection is closed; what it returns is awaited before the rest is
        called off
    :param report: called with what was contained
    :param max_line: how long a line may be
    :param max_waiting: how many bytes may wait to be written
    :param hears_out: whether the connection stays open when what we write does not arrive any more, until the other
        side has ended its output
    :param sleep: the clock by which the last work and the last writes are bounded
    """

    def __init__(
        self,
        receive: ByteReceiveStream,
        send: ByteSendStream,
        *,
        on_request: Callable[[Incoming], Awaitable[object]],
        on_notification: Callable[[str, Mapping[str, object]], object],
        on_closed: Callable[[CloseCause], Call[None] | None] | None = None,
        report: Report = log_report,
        max_line: int = MAX_LINE,
        max_waiting: int = MAX_WAITING,
        hears_out: bool = False,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self._receive = receive
        self._send = send
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_closed = on_closed
        self._report = contained(report)
        self._lines = Lines(max_line)
        self._max_waiting = max_waiting
        self._hears_out = hears_out
        self._sleep = sleep
        self._closed: Call[CloseCause] = Call()
        self._cause: CloseCause | None = None
        self._teardown: Call[None] | None = None
        self._incoming: dict[RequestId, Incoming] = {}
        self._incoming_changed = Event()
        self._outgoing: dict[RequestId, Outgoing] = {}
        self._last_id = 0
        self._queue: deque[bytes] = deque()
        self._unasked: list[Outgoing] = []
        self._waiting = 0
        self._written = Event()
        self._something_to_write = Event()
        self._finishing = False
        self._lost = False
        self._reading = CancelScope()
        self._writing = CancelScope()
        self._draining = CancelScope()
        self._tasks: TaskGroup | None = None
        self._started = False

    @property
    def closed(self) -> Call[CloseCause]:
        """A call that returns why the connection was closed, when it is."""
        return self._closed

    @property
    def open_requests(self) -> int:
        """How many requests of the other side have not been answered."""
        return len(self._incoming)

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Say something; it goes nowhere if the connection is gone."""
        self._put({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Mapping[str, object]) -> Outgoing:
        """Ask something.

        :return: a call that returns the result
        """
        self._last_id += 1
        outgoing = Outgoing(self._last_id, self._cancel_outgoing)
        if self._cause is not None or self._lost:
            outgoing._raise(_closed(self._cause or CloseCause.BROKEN))
        else:
            self._outgoing[outgoing.id] = outgoing
            self._unasked.append(outgoing)
            self._put({"jsonrpc": "2.0", "id": outgoing.id, "method": method, "params": params})
        return outgoing

    async def drained(self) -> None:
        """Wait until nothing waits to be written, or nothing will be any more."""
        while self._waiting and not self._lost:
            await self._written.wait()

    def close(self, cause: CloseCause = CloseCause.LOCAL) -> None:
        """Close the connection, if it is not closed: nothing more is read, and what was asked of the other side fails.

        :param cause: why; the first cause stays
        """
        if self._cause is not None:
            return
        self._cause = cause
        self._reading.cancel()
        outgoing, self._outgoing = self._outgoing, {}
        for one in outgoing.values():
            one._raise(_closed(cause))
        if self._on_closed is not None:
            try:
                self._teardown = self._on_closed(cause)
            except Exception as failure:
                self._report("closing", failure)
        self._closed._return(cause)

    async def run(self) -> None:
        """Serve the connection until it has closed and everything that was asked has been answered.

        If it is cancelled, the connection is closed and what is being worked on is cancelled; nothing is awaited then.

        :raises RuntimeError: if it has been run before
        """
        if self._started:
            raise RuntimeError("a connection is run only once")
        self._started = True
        try:
            async with create_task_group() as tasks:
                self._tasks = tasks
                tasks.start_soon(self._write_all)
                with self._reading:
                    self.close(await self._read_all())
                await self._end()
        finally:
            self._lost = True
            self.close()
            self._written.set()
            with CancelScope(shield=True):
                await self._receive.aclose()
                await self._send.aclose()

    async def _end(self) -> None:
        """Wait for whoever holds the connection, call off what is left, and let the last words out."""
        assert self._tasks is not None
        if self._teardown is not None:
            await self._teardown._join()
        async with create_task_group() as patience:
            patience.start_soon(self._abandon_late)
            while self._incoming:
                self._incoming_changed = Event()
                await self._incoming_changed.wait()
            patience.cancel_scope.cancel()
        self._finishing = True
        self._something_to_write.set()
        self._tasks.start_soon(self._bound_draining)

    async def _abandon_late(self) -> None:
        await self._sleep(LAST_SECONDS)
        for incoming in self._incoming.values():
            incoming.abandon()

    # Reading

    async def _read_all(self) -> CloseCause:
        while True:
            try:
                data = await self._receive.receive()
            except EndOfStream:
                self._read_line(self._lines.finish())
                return CloseCause.ENDED
            except (BrokenResourceError, ClosedResourceError, OSError):
                return CloseCause.BROKEN
            for line in self._lines.feed(data):
                if self._cause is not None:
                    return self._cause
                if isinstance(line, TooLong):
                    says = f"the line is longer than {line.limit} bytes"
                    self._refuse(Malformed(RpcError(ErrorCode.PARSE_ERROR, says), says), self._put)
                else:
                    self._read_line(line)

    def _read_line(self, line: bytes) -> None:
        if not line.strip():
            return
        message = read(line)
        if not isinstance(message, list):
            self._dispatch(message, self._put)
            return
        batch = _Batch(message, self._put)
        for member in message:
            self._dispatch(member, batch.add)

    def _dispatch(self, message: Message, put: Callable[[object], None]) -> None:
        match message:
            case Request():
                self._take_request(message, put)
            case Notification("$/cancel_request", params):
                name = request_id(params.get("requestId"))
                if name is not None and (incoming := self._incoming.get(name)) is not None:
                    incoming.cancel()
            case Notification(method, params):
                try:
                    self._on_notification(method, params)
                except Exception as failure:
                    self._report(f"notification {method}", failure)
            case Answer():
                outgoing = self._outgoing.pop(message.id, None)
                if outgoing is None:
                    self._report("connection", ValueError(f"an answer to nothing that was asked: {message.id!r:.100}"))
                else:
                    outgoing._take(message)
            case Malformed():
                self._refuse(message, put)

    def _refuse(self, malformed: Malformed, put: Callable[[object], None]) -> None:
        self._report("connection", ValueError(malformed.says))
        if malformed.error is not None:
            put({"jsonrpc": "2.0", "id": None, "error": malformed.error.json()})

    def _take_request(self, request: Request, put: Callable[[object], None]) -> None:
        assert self._tasks is not None
        if request.id in self._incoming:
            says = f"the id {request.id!r:.100} is in use by a request that was not answered yet"
            self._refuse(Malformed(RpcError(ErrorCode.INVALID_REQUEST, says), says), put)
            return
        incoming = Incoming(request, lambda answer: self._put_answer(answer, put))
        try:
            work = self._on_request(incoming)
        except RpcError as error:
            incoming.fail(error)
        except Exception as failure:
            self._report(f"request {request.method}", failure)
            incoming.fail(RpcError(ErrorCode.INTERNAL_ERROR, "internal error"))
        else:
            self._incoming[incoming.id] = incoming
            self._tasks.start_soon(self._serve, incoming, work)

    async def _serve(self, incoming: Incoming, work: Awaitable[object]) -> None:
        try:
            await incoming.serve(work, self._report)
        finally:
            del self._incoming[incoming.id]
            self._incoming_changed.set()

    def _cancel_outgoing(self, id: RequestId) -> None:
        self._put({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})

    # Writing

    def _put_answer(self, answer: dict[str, object], put: Callable[[object], None]) -> None:
        try:
            encode(answer)
        except (TypeError, ValueError) as failure:
            self._report("answer", failure)
            answer = {
                "jsonrpc": "2.0",
                "id": answer["id"],
                "error": RpcError(ErrorCode.INTERNAL_ERROR, "internal error").json(),
            }
        put(answer)

    def _put(self, message: object) -> None:
        if self._lost or self._finishing:
            return
        line = encode(message)
        self._waiting += len(line)
        if self._waiting > self._max_waiting:
            self._lose(CloseCause.DEAF)
            return
        self._queue.append(line)
        self._something_to_write.set()

    def _lose(self, cause: CloseCause) -> None:
        """Give up writing for good."""
        self._lost = True
        self._queue.clear()
        self._written.set()
        self._writing.cancel()
        self.close(cause)

    def _break_off(self, unasked: list[Outgoing]) -> None:
        """Give up writing because nothing arrives any more; what was asked by it fails in any case."""
        if not self._hears_out:
            self._lose(CloseCause.BROKEN)
            return
        self._lost = True
        self._queue.clear()
        self._written.set()
        for one in unasked:
            if self._outgoing.pop(one.id, None) is not None:
                one._raise(_closed(CloseCause.BROKEN))

    async def _write_all(self) -> None:
        with self._writing:
            while not (self._finishing and not self._queue):
                if not self._queue:
                    self._something_to_write = Event()
                    await self._something_to_write.wait()
                    continue
                data = b"".join(self._queue)
                self._queue.clear()
                asked, self._unasked = self._unasked, []
                try:
                    await self._send.send(data)
                except (BrokenResourceError, ClosedResourceError, OSError):
                    self._break_off([*asked, *self._unasked])
                    break
                self._waiting -= len(data)
                if not self._queue:
                    self._written.set()
                    self._written = Event()
        self._draining.cancel()

    async def _bound_draining(self) -> None:
        with self._draining:
            await self._sleep(LAST_SECONDS)
            self._writing.cancel()


def _closed(cause: CloseCause) -> ConnectionClosed:
    return ConnectionClosed(f"the connection has closed: {cause}")


class _Batch:
    """Collects the answers to a batch, which go out as one when the last of them is there."""

    __slots__ = ("_answers", "_expected", "_put")

    def __init__(self, messages: list[Message], put: Callable[[object], None]) -> None:
        self._answers: list[object] = []
        self._put = put
        self._expected = sum(
            isinstance(message, Request) or (isinstance(message, Malformed) and message.error is not None)
            for message in messages
        )

    def add(self, answer: object) -> None:
        """Take one answer."""
        self._answers.append(answer)
        if len(self._answers) == self._expected:
            self._put(self._answers)
