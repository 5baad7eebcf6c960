"""What profile ``bridge`` adds to a world: connections, sessions, and at most one prompt for each.

What was closed stays as what can be named. What the bridge itself waits for in the core (a creation, the
end of an agent or of its owner) is a call of the core as any other, under a label of the bridge's own; when such a
call would settle, ``BridgeRoom.takes`` takes it instead, and the bridge goes on in a step of its own.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from probate_model.alphabet.bridge import BridgeOp, Folder
from probate_model.alphabet.events import HeardEvent, Settlement
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentId, Label, Text

if TYPE_CHECKING:
    from probate_model.run import Run

OWN: Final = "acp/"
"""What the labels of the bridge's own calls begin with."""


@plain
class Link(IntEnum):
    """How far a connection has come."""

    OPEN = 0
    CLOSING = 1
    """Its teardown has begun; nothing more is read."""
    CLOSED = 2
    """All that it held has ended."""
    GONE = 3
    """Everything was answered, and the client has seen the end of our output."""


class Connection(NamedTuple):
    """A client."""

    label: Label
    link: Link = Link.OPEN
    lines: tuple[BridgeOp, ...] = ()
    """What was written and not read."""
    ended: bool = False
    """The client has ended its output."""
    awaited: tuple[Label, ...] = ()
    """The ends of agents that the teardown waits for."""
    callers: tuple[Label, ...] = ()
    """Who waits for the teardown, begun or not."""


@plain
class Holding(IntEnum):
    """How far a session has come."""

    CREATING = 0
    """Its creation has not settled."""
    CREATED = 1
    """It has; the session is to be installed."""
    UNWANTED = 2
    """It lost against the close: its agent ends, and then the client hears of it."""
    HELD = 3
    CLOSING = 4
    """The client has closed it, and is answered when its agent has ended."""
    GONE = 5
    LOOKING = 6
    """It is to be loaded, and nobody has looked whether it can."""
    DROPPED = 7
    """Its request was called off, and whoever works on that does not know yet."""


class Slot(NamedTuple):
    """A prompt that is in flight."""

    call: Label
    text: Text
    turn: int | None = None
    """Its own turn, once that has begun."""


class Session(NamedTuple):
    """A session, by the label of what asked for it, which is its agent's label too."""

    label: Label
    connection: Label
    id: AgentId
    loads: bool = False
    """Whether it is a stored one, whose id is reserved until the client has its answer."""
    folder: Folder = Folder.SAME
    """Where the client says that it works."""
    holding: Holding = Holding.CREATING
    outcome: Settlement | None = None
    """How its creation settled."""
    answered: bool = False
    called_off: bool = False
    """Its request was called off."""
    made: bool = False
    """The answer was a session."""
    known: bool = False
    """The client could name it since the last settle."""
    slot: Slot | None = None
    closer: Label | None = None
    """The request that has closed it."""
    over: bool = False
    """Its agent has ended, as far as the bridge was waiting for that."""

    @property
    def names(self) -> tuple[Label | None, ...]:
        """The agent, and the calls that are open."""
        return self.label, self.closer, None if self.slot is None else self.slot.call

    @property
    def end(self) -> Label:
        """The call by which the bridge waits for its agent's end."""
        return Label(f"{OWN}{self.label}/end")


@plain
class Closing(IntEnum):
    """How far the close of the bridge has come."""

    NO = 0
    BEGUN = 1
    UNLOADED = 2
    """Its owner has unloaded."""
    DONE = 3


UNLOAD: Final = Label(f"{OWN}unload")
"""The call by which the bridge waits for its owner's end."""


class BridgeRoom(NamedTuple):
    """The bridge."""

    connections: tuple[Connection, ...] = ()
    sessions: tuple[Session, ...] = ()
    """In the order in which they were asked for, which is the order in which a teardown takes them."""
    loading: tuple[AgentId, ...] = ()
    """The ids that are reserved."""
    failed: tuple[AgentId, ...] = ()
    """The ids of which a load has failed."""
    closing: Closing = Closing.NO
    closers: tuple[Label, ...] = ()

    def hear(self, run: Run, label: Label | None, event: HeardEvent) -> None:
        """Let the bridge hear an event, before any other listener."""
        from probate_model.bridge import prompts  # noqa: PLC0415 - the rules stand on the run, which calls this

        prompts.hear(run, label, event)

    def takes(self, run: Run, call: Label, outcome: Settlement) -> bool:
        """Take the settlement of a call if it is one of the bridge's own; tells whether it was."""
        from probate_model.bridge import awaiting  # noqa: PLC0415 - as above

        return awaiting.take(run, call, outcome)
