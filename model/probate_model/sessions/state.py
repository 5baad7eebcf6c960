"""The room of durable sessions: how far each log is stored, how far each session believes that it is.

Like all of the world it holds counters. A stored log is the number of its records and its *shape*: what a reader would
find open at its end. That is all that a load depends on, because the records themselves never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from probate_model.alphabet.events import Record
from probate_model.alphabet.names import AgentId, Label

if TYPE_CHECKING:
    from probate_model.world import Wait


class Shape(NamedTuple):
    """What stands at the end of a log: the last turn, what of it is open, and the calls of the open step unanswered."""

    turn: int = 0
    turn_open: bool = False
    step_open: bool = False
    unanswered: int = 0

    def after(self, record: Record) -> Shape:
        """Give the shape with one record more."""
        match record.record:
            case "turn/start":
                return Shape(self.turn + 1, turn_open=True)
            case "turn/end":
                return Shape(self.turn)
            case "step/start":
                return self._replace(step_open=True, unanswered=0)
            case "step/end":
                return self._replace(step_open=False, unanswered=0)
            case "tool/call":
                return self._replace(unanswered=self.unanswered + 1)
            case "tool/result":
                return self._replace(unanswered=self.unanswered - 1)
            case _:
                return self

    @property
    def closers(self) -> int:
        """How many records it takes to close what is open."""
        return self.unanswered + self.step_open + self.turn_open


@final
class Note:
    """The clause that a look at a log speaks for: that of what befell it last. It decides nothing, so all are equal."""

    __slots__ = ("clause",)

    def __init__(self, clause: str) -> None:
        self.clause = clause

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note)

    def __hash__(self) -> int:
        return 0


class Log(NamedTuple):
    """A stored log."""

    id: AgentId
    records: int
    shape: Shape
    torn: bool
    note: Note


class Kept(NamedTuple):
    """A session object that was announced, or is about to be, and what it believes of its log."""

    label: Label
    resumed: bool = False
    seed: int = 0
    """How many records it began with."""
    claimed: bool = False
    """Whether the log under its id is known to be its own."""
    refused: bool = False
    """Whether that log is another life's."""
    saved: int = 0
    shape: Shape = Shape()
    before: Shape = Shape()
    """The shape without the last record."""
    promised: int = 0
    """How many records the flushes that have begun are to make safe."""
    promised_shape: Shape = Shape()
    first: bool = False
    """Whether nothing was logged since it was resumed."""
    missed: bool = False
    """Whether a flush has failed since the last that did not."""


class Loading(NamedTuple):
    """A resume at its load: not there yet, or waiting."""

    label: Label
    wait: Wait | None = None


class Asked(NamedTuple):
    """A call about the store that has begun: a reload, or a look at the log of an id."""

    label: Label
    id: AgentId | None = None


class Sessions(NamedTuple):
    """The room."""

    bare: bool = False
    """Whether there is no durable store."""
    down: bool = False
    """Whether the process has crashed and is not started again."""
    logs: tuple[Log, ...] = ()
    kept: tuple[Kept, ...] = ()
    loading: tuple[Loading, ...] = ()
    asked: tuple[Asked, ...] = ()
    raced: tuple[Label, ...] = ()
    """The resumes that ended while they waited for their load."""

    def log(self, agent_id: AgentId) -> Log | None:
        """Give the stored log of an id."""
        return next((log for log in self.logs if log.id == agent_id), None)

    def kept_of(self, label: Label) -> Kept | None:
        """Give what is known of a session."""
        return next((kept for kept in self.kept if kept.label == label), None)
