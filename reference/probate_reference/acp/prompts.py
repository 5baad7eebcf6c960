"""Settle a prompt exactly once, and by nobody's turn but its own.

The slot of a prompt is there before the prompt is sent, so nothing that the sending sets off can be missed.
It is *tagged* by the first turn that a message opens after that; a turn that an injection opened is none of
its business, nor is the late end of a turn that came before. It settles by the first of three: the end of
its own turn, a cancel or a teardown, or, should the end have been missed, the agent's rest, when the log
says what became of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probate_reference.calls import Call
from probate_reference.jsonrpc import ErrorCode, RpcError
from probate_reference.records import TurnEnd, TurnReason, TurnStart, TurnTrigger

from .protocol import stop_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probate_reference.jsonrpc import Incoming
    from probate_reference.records import Record

__all__ = ("Prompt",)


class Prompt:
    """A prompt that was taken. Its request is answered at the moment when it settles, before anything else can be said.

    :ivar turn: the number of its turn, when that has begun
    :ivar reason: why its turn fails, as far as that is known
    """

    __slots__ = ("_end", "_incoming", "_watermark", "reason", "turn")

    def __init__(self, watermark: int, incoming: Incoming) -> None:
        self._watermark = watermark
        self._incoming = incoming
        self._end: Call[None] = Call()
        self.turn: int | None = None
        self.reason: str | None = None

    @property
    def done(self) -> bool:
        """Whether it has settled."""
        return self._end.done

    def settled(self) -> Call[None]:
        """Return a call that returns when it has settled."""
        return self._end

    def hear(self, record: Record) -> None:
        """Look at a record of the session's log as it is committed."""
        if isinstance(record, TurnStart):
            if self.turn is None and record.trigger is TurnTrigger.MESSAGE:
                self.turn = record.turn
        elif isinstance(record, TurnEnd) and record.turn == self.turn:
            self._settle(record.reason)

    def cancel(self) -> None:
        """Settle as cancelled."""
        self._settle(TurnReason.ABORTED)

    def rest(self, log: Sequence[Record]) -> None:
        """Settle by what the log says, now that the agent is at rest; cancelled, if it says nothing."""
        for record in log[self._watermark :]:
            self.hear(record)
        self.cancel()

    def _settle(self, reason: TurnReason) -> None:
        if self.done:
            return
        stop = stop_reason(reason)
        if stop is None:
            self._incoming.fail(RpcError(ErrorCode.INTERNAL_ERROR, "turn failed", self.reason))
        else:
            self._incoming.succeed({"stopReason": stop})
        self._end._return(None)
