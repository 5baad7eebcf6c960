"""Ask the other side, and know what became of it.

A request of ours is a call like any other: begun when it was made, awaited by whoever likes. It settles
once, by the first answer to its id or by the end of the connection, whichever comes first. Whatever comes
later finds nothing to settle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probate_reference.calls import Call

if TYPE_CHECKING:
    from .messages import Answer, RequestId

__all__ = ("ConnectionClosed", "Outgoing")


class ConnectionClosed(Exception):
    """Raised when the connection ended before the answer came, or before the question was asked."""


class Outgoing(Call[object]):
    """A request that was made of the other side; await it for the result.

    It raises :class:`RpcError` if the answer is an error, and :class:`ConnectionClosed` if there will be none.
    """

    __slots__ = ("_cancel", "_id")

    def __init__(self, id: RequestId, cancel: Callable[[RequestId], None]) -> None:
        super().__init__()
        self._id = id
        self._cancel: Callable[[RequestId], None] | None = cancel

    @property
    def id(self) -> RequestId:
        """What the answer will name."""
        return self._id

    def cancel(self) -> None:
        """Tell the other side that the answer is not wanted any more. It may still answer, or never."""
        cancel, self._cancel = self._cancel, None
        if cancel is not None and not self.done:
            cancel(self._id)

    def _take(self, answer: Answer) -> None:
        if answer.error is None:
            self._return(answer.result)
        else:
            self._raise(answer.error)
