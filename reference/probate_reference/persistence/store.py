"""What a store of session logs does, whatever it keeps them in.

A store is blocking and simple-minded. It knows nothing of agents or of what is live; it keeps one log per id, grows it
at its end and nowhere else, and calls nothing written before it is on the disk. Everything that needs judgement, such
as which session may write to which log, stands in :class:`Persistence`, which also sees to it that a store is asked
one thing at a time about one id.

Two of its rules protect a log from everybody. ``create`` is atomic, and refuses an id that has a log already, whoever
asks. ``append`` says where it believes the log ends, and is refused if it is wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from probate_reference.records import Record

__all__ = ("VERSION", "Header", "Store", "StoredLog", "StoredSession")

VERSION = 1
"""The version of what this package writes; a log with a higher one is not touched."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a log says about itself.

    :ivar id: the id of the session
    :ivar metadata: what its creator wanted to be remembered, such as its working directory
    """

    id: str
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A stored session, without its log.

    :ivar modified: when its log was written to last, in seconds since the epoch
    """

    id: str
    metadata: Mapping[str, str]
    modified: float


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log as it stands in a store.

    :ivar records: everything that was committed
    :ivar torn: whether something stands behind them that a crash has cut short; the next append removes it
    """

    header: Header
    records: tuple[Record, ...]
    torn: bool = False


class Store(ABC):
    """Keeps logs. All methods block, and none is called while another one works on the same id."""

    @abstractmethod
    def open(self) -> None:
        """Begin to use the home, and keep everybody else from using it.

        :raises HomeUnusable: if it cannot be written
        :raises HomeLocked: if somebody else uses it
        """

    @abstractmethod
    def close(self) -> None:
        """Let others use the home; nothing happens if it is not open."""

    @abstractmethod
    def exists(self, id: str) -> bool:
        """Return whether there is a log with this id, in whatever state."""

    @abstractmethod
    def create(self, header: Header, records: Sequence[Record]) -> None:
        """Make a log with its first records. All of it is on the disk when this returns, or none is there.

        :raises LogExists: if the id has a log
        """

    @abstractmethod
    def append(self, id: str, seq: int, records: Sequence[Record]) -> None:
        """Add records, and remove first what a crash or a failed append has left behind the last good one.

        When this returns, all of them are on the disk. When it raises, any number of them may be, and the
        same append may be tried again.

        :param seq: the number of the first of them
        :raises NotFound: if the id has no log
        :raises SeqMismatch: if the log does not end just before ``seq``; nothing is written
        """

    @abstractmethod
    def read(self, id: str) -> StoredLog:
        """Return a log as it stands, and change nothing.

        :raises NotFound: if the id has no log
        :raises LogDamaged: if it is damaged before the end of a turn that was committed
        :raises LogTooNew: if a later version has written it
        """

    @abstractmethod
    def list(self) -> tuple[StoredSession, ...]:
        """Return what is stored, by id. A log whose header cannot be read is left out."""

    @abstractmethod
    def delete(self, id: str) -> None:
        """Remove a log, in whatever state.

        :raises NotFound: if the id has none
        """

    @abstractmethod
    def forget(self, id: str) -> None:
        """Let go of what was remembered about a log, since nobody is going to append to it soon."""
