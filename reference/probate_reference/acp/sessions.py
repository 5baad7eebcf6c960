"""One session as its client knows it: an agent, the power to end it, and at most one prompt.

What is sent of a session is what belongs to the turn of the prompt that is being worked on. So when a prompt
is answered nothing of it follows, however long its turn takes to unwind, and what else happens to the agent is
in its log and not on the wire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio import create_task_group

from probate_reference.jsonrpc import ConnectionClosed, ErrorCode, RpcError
from probate_reference.models import ModelFailed
from probate_reference.permissions import Permission
from probate_reference.refusals import Refusal
from probate_reference.signals import CancelCause

from . import protocol
from .parameters import prompt_text
from .presentation import Presentation, call_id
from .prompts import Prompt

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from probate_reference.agent import Agent, Handle
    from probate_reference.calls import Call
    from probate_reference.jsonrpc import Incoming, Peer
    from probate_reference.live import Piece
    from probate_reference.permissions import PermissionRequest
    from probate_reference.records import Record

    from .protocol import Update

__all__ = ("Session",)

REPLAYED_AT_ONCE: Final = 1_000
"""How many records are shown before we wait for the client to have read them."""


class Session:
    """A session that a client holds.

    :ivar agent: its agent
    :ivar place: how many sessions its client had asked for before
    """

    __slots__ = ("_handle", "_peer", "_presentation", "_prompt", "agent", "place")

    def __init__(self, handle: Handle, peer: Peer, place: int) -> None:
        self.agent: Agent = handle.agent
        self.place = place
        self._handle = handle
        self._peer = peer
        self._prompt: Prompt | None = None
        self._presentation = Presentation(self._send)

    @property
    def id(self) -> str:
        """The id of the session and its agent."""
        return self.agent.id

    @property
    def busy(self) -> bool:
        """Whether a prompt is being worked on."""
        return self._prompt is not None and not self._prompt.done

    def prompt(self, incoming: Incoming) -> Awaitable[object]:
        """Take a prompt: the slot first, and then the prompt is sent.

        :return: what there is to wait for; the request is answered at the moment when the prompt settles
        :raises RpcError: if one is in flight, if it says nothing that we can read, or if the agent does not take it;
            then no prompt was taken
        """
        if self.busy:
            raise RpcError(ErrorCode.INVALID_REQUEST, "a prompt is already in flight", {"sessionId": self.id})
        text = prompt_text(incoming.params)
        prompt = self._prompt = Prompt(len(self.agent.session), incoming)
        try:
            self.agent.send(text)
        except BaseException as raised:
            self._prompt = None
            if isinstance(raised, Refusal):
                raise RpcError(ErrorCode.INVALID_PARAMS, str(raised), {"code": raised.code}) from raised
            raise
        incoming.on_cancel(self.cancel)
        return self._follow(prompt)

    async def _follow(self, prompt: Prompt) -> None:
        async with create_task_group() as tasks:
            tasks.start_soon(self._rest_when_idle, prompt)
            await prompt.settled()
            tasks.cancel_scope.cancel()

    async def _rest_when_idle(self, prompt: Prompt) -> None:
        # An agent whose prompt vanished before it had run never leaves its rest, so nothing is heard of it.
        await self.agent.idle()
        prompt.rest(self.agent.session.records)

    def cancel(self) -> None:
        """Cancel the agent on the user's behalf, and then settle the prompt, without waiting for its turn."""
        self.agent.cancel(CancelCause.USER)
        self._break_off()

    def dispose(self) -> Call[None]:
        """Settle the prompt as cancelled and end the agent."""
        self._break_off()
        return self._handle.dispose()

    def _break_off(self) -> None:
        if self._prompt is not None and not self._prompt.done:
            self._presentation.break_off()
            self._prompt.cancel()

    # What is heard of the agent

    def hear(self, record: Record) -> None:
        """Show a record, if it belongs to the prompt, and let the prompt look at it."""
        prompt = self._prompt
        if prompt is None or prompt.done:
            return
        if self._is_own_turn():
            self._presentation.live(record)
        prompt.hear(record)

    def piece(self, piece: Piece) -> None:
        """Show a piece of what the model says, if it belongs to the prompt."""
        if self._prompt is not None and not self._prompt.done and piece.turn == self._prompt.turn:
            self._presentation.piece(piece.text, thought=piece.thought)

    def fail(self, failure: BaseException) -> None:
        """Remember why the turn of the prompt fails, if the client may know."""
        if self._prompt is not None and self._is_own_turn() and isinstance(failure, ModelFailed):
            self._prompt.reason = str(failure)

    def rest(self) -> None:
        """Let the prompt settle by the log: the agent is idle, or disposed."""
        if self._prompt is not None and not self._prompt.done:
            self._prompt.rest(self.agent.session.records)

    async def replay(self) -> None:
        """Send the whole log, as it is now, as updates."""
        presentation = Presentation(self._send)
        log = self.agent.session.records
        for begin in range(0, len(log), REPLAYED_AT_ONCE):
            presentation.replay(log[begin : begin + REPLAYED_AT_ONCE])
            if begin + REPLAYED_AT_ONCE < len(log):
                await self._peer.drained()

    def _is_own_turn(self) -> bool:
        assert self._prompt is not None
        turn = self._prompt.turn
        return turn is not None and self.agent.session.statistics().open_turn == turn

    def _send(self, update: Update) -> None:
        self._peer.notify("session/update", {"sessionId": self.id, "update": update})

    # Permission

    async def ask(self, request: PermissionRequest) -> Permission:
        """Ask the client whether a tool may be called; only one answer of all is a yes."""
        context = request.context
        question = self._peer.request(
            "session/request_permission",
            protocol.permission_question(
                self.id,
                call_id(context.turn, context.step, context.number),
                request.tool,
                dict(request.arguments),
            ),
        )
        unsubscribe = None if context.signal is None else context.signal.subscribe(lambda _cause: question.cancel())
        try:
            answer = await question
        except (RpcError, ConnectionClosed):
            return Permission.UNAVAILABLE
        finally:
            if unsubscribe is not None:
                unsubscribe()
        return _permission(answer)


def _permission(answer: object) -> Permission:
    outcome = answer.get("outcome") if isinstance(answer, dict) else None
    if not isinstance(outcome, dict):
        return Permission.REJECTED
    if outcome.get("outcome") == "cancelled":
        return Permission.CANCELLED
    if outcome.get("outcome") == "selected" and outcome.get("optionId") == protocol.ALLOW_ONCE:
        return Permission.ALLOWED
    return Permission.REJECTED
