"""Pass on what a model says while it says it.

The log holds whole messages, and what counts is there. Somebody who looks on does not want to wait for them.
So a model may tell each piece to a :class:`Live`, and whoever shows an agent listens. Nothing depends on it:
a listener that fails is reported, and a model that tells nothing is no worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .reports import contained, log_report

if TYPE_CHECKING:
    from .agent import Agent
    from .reports import Report

__all__ = ("Live", "Piece")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of what a model says.

    :ivar turn: in which turn
    :ivar step: in which step of it
    :ivar thought: whether the model only thinks it
    """

    agent: Agent
    turn: int
    step: int
    text: str
    thought: bool = False


class Live:
    """Tells listeners each piece, in order and at once."""

    __slots__ = ("_listeners", "_report")

    def __init__(self, report: Report = log_report) -> None:
        self._listeners: dict[object, Callable[[Piece], object]] = {}
        self._report = contained(report)

    def on(self, listener: Callable[[Piece], object]) -> Callable[[], None]:
        """Install a listener.

        :return: a function that removes it
        """
        key = object()
        self._listeners[key] = listener

        def remove() -> None:
            self._listeners.pop(key, None)

        return remove

    def say(self, piece: Piece) -> None:
        """Tell a piece; no failure of a listener escapes."""
        for listener in tuple(self._listeners.values()):
            try:
                listener(piece)
            except Exception as failure:
                self._report("live text", failure)
