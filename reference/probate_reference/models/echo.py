"""A model that says what it was told: for trying out everything that is not the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probate_reference.live import Piece
from probate_reference.records import UserMessage
from probate_reference.seams import Reply

if TYPE_CHECKING:
    from probate_reference.live import Live
    from probate_reference.seams import ModelRequest
    from probate_reference.signals import Signal

__all__ = ("EchoModel",)


class EchoModel:
    """Answers a prompt with the prompt, word by word.

    :param live: is told each word
    """

    def __init__(self, live: Live | None = None) -> None:
        self._live = live

    async def __call__(self, request: ModelRequest, signal: Signal) -> Reply:  # noqa: ARG002
        """Answer at once."""
        said = next(record.text for record in reversed(request.session.records) if isinstance(record, UserMessage))
        if self._live is not None:
            for word in said.split(" "):
                self._live.say(Piece(request.agent, request.turn, request.step, word + " "))
        return Reply(said)
