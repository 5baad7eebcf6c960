"""Answer a request exactly once, whatever happens to the code that works on it.

Three may want to answer: the handler, with what it returns or raises; the other side, which calls the
request off; and the end of the handler's task, however it came about. The first wins and the others find
it done. A handler that is cancelled, by whomever, is no reason to leave somebody waiting for ever.

Being called off is synchronous: what must happen at that moment is registered with
:meth:`Incoming.on_cancel`, then the answer goes out, and only then is the handler's scope cancelled. So
nothing that comes in the next line can overtake it. A handler that must answer at a certain moment, and not
when its task is next in turn, does so itself and returns whatever it likes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from anyio import CancelScope

from probate_reference.reports import is_failure

from .messages import ErrorCode, RpcError

if TYPE_CHECKING:
    from probate_reference.reports import Report

    from .messages import Request, RequestId

__all__ = ("Incoming",)


class Incoming:
    """A request that the other side made of us."""

    __slots__ = ("_answer", "_answered", "_callbacks", "_request", "_scope")

    def __init__(self, request: Request, answer: Callable[[dict[str, object]], None]) -> None:
        self._request = request
        self._answer = answer
        self._answered = False
        self._callbacks: list[Callable[[], object]] = []
        self._scope = CancelScope()

    @property
    def id(self) -> RequestId:
        """What the answer names."""
        return self._request.id

    @property
    def method(self) -> str:
        """What is asked for."""
        return self._request.method

    @property
    def params(self) -> Mapping[str, object]:
        """What it is asked with; nothing of it has been checked."""
        return self._request.params

    @property
    def answered(self) -> bool:
        """Whether the answer has been given."""
        return self._answered

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Register what happens at the moment when the other side calls the request off, before that is answered.

        What the callback answers is dropped, for the answer is that the request was cancelled.

        :param callback: called at most once, and not at all once the request was answered; must not raise
        """
        self._callbacks.append(callback)

    def cancel(self) -> None:
        """Call the request off: it is answered, and whoever works on it is cancelled."""
        if self._answered:
            return
        self._answered = True  # what the callbacks set off may want to answer too
        for callback in self._callbacks:
            callback()
        self._put_error(RpcError(ErrorCode.REQUEST_CANCELLED, "cancelled"))
        self._scope.cancel()

    def abandon(self) -> None:
        """Cancel whoever works on the request, since nobody is there any more who wants its answer."""
        self._scope.cancel()

    def succeed(self, result: object) -> None:
        """Answer with a result, unless the answer has been given."""
        if not self._answered:
            self._answered = True
            self._answer({"jsonrpc": "2.0", "id": self.id, "result": result})

    def fail(self, error: RpcError) -> None:
        """Answer with an error, unless the answer has been given."""
        if not self._answered:
            self._answered = True
            self._put_error(error)

    def _put_error(self, error: RpcError) -> None:
        self._answer({"jsonrpc": "2.0", "id": self.id, "error": error.json()})

    async def serve(self, work: Awaitable[object], report: Report) -> None:
        """Await the work and answer with its outcome. Never raises a failure of the work."""
        try:
            with self._scope:
                try:
                    self.succeed(await work)
                except RpcError as error:
                    self.fail(error)
                except BaseException as raised:
                    if not is_failure(raised):
                        raise
                    report(f"request {self.method}", raised)
                    self.fail(RpcError(ErrorCode.INTERNAL_ERROR, "internal error"))
        finally:
            self.fail(RpcError(ErrorCode.REQUEST_CANCELLED, "cancelled"))
