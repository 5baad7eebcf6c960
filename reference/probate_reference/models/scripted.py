"""A model that plays a script: the same replies in the same order, in every session.

Where a session stands in the script is read from its log, so a session that is resumed goes on where it was.
Each step takes one reply, also one that was called off. A reply may take its time for ever: then the step ends
when somebody stops the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyio import sleep_forever

from probate_reference.live import Piece
from probate_reference.records import StepStart
from probate_reference.seams import Reply

from .failures import ModelFailed

if TYPE_CHECKING:
    from probate_reference.live import Live
    from probate_reference.seams import ModelRequest
    from probate_reference.signals import Signal

__all__ = ("ScriptedModel", "ScriptedReply")


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """What is to happen in one step.

    :ivar reply: what is answered
    :ivar hangs: whether the answer never comes, though what it says is told
    :ivar fails: with which words the model fails instead, or ``None``
    """

    reply: Reply = field(default_factory=Reply)
    hangs: bool = False
    fails: str | None = None


class ScriptedModel:
    """Plays a script.

    :param script: a reply for each step of a session; after the last one it says that the script has ended
    :param live: is told what is said
    """

    def __init__(self, script: Sequence[ScriptedReply], live: Live | None = None) -> None:
        self._script = tuple(script)
        self._live = live

    async def __call__(self, request: ModelRequest, signal: Signal) -> Reply:
        """Play the reply of this step.

        :raises ModelFailed: if that is in the script
        """
        place = sum(isinstance(record, StepStart) for record in request.session.records) - 1
        if place >= len(self._script):
            return Reply("The script has ended.")
        scripted = self._script[place]
        if scripted.fails is not None:
            raise ModelFailed(scripted.fails)
        if self._live is not None and scripted.reply.text:
            self._live.say(Piece(request.agent, request.turn, request.step, scripted.reply.text))
        if scripted.hangs:
            with signal.scope():
                await sleep_forever()
        return scripted.reply
