"""Keep the logs of the living: sessions, and the store that makes their ids unique.

An agent *is* its session, so one id names both, and the store is the one place where that id is
guarded. Two creations may prepare the same id in private; only one of them can enter. An entry is
exact: what detaches is this session, never "whatever has that id now".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from anyio import Event

from .records import Record, TurnEnd, TurnStart
from .refusals import IdExists, InvalidContent

__all__ = ("Session", "SessionStatistics", "SessionStore", "SessionStoreStatistics", "check_text", "checked_metadata")


_NO_METADATA: Mapping[str, str] = MappingProxyType({})


def checked_metadata(metadata: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return a copy that nobody can change.

    :raises InvalidContent: if it is no mapping from texts to texts that can be stored without loss
    """
    if not metadata:
        return _NO_METADATA
    copy = dict(metadata)
    for text in (*copy.keys(), *copy.values()):
        check_text(text)
    return MappingProxyType(copy)


def check_text(text: str) -> None:
    """Check that a text can be stored without loss.

    :raises InvalidContent: if it is no string, or it is not valid Unicode
    """
    if not isinstance(text, str):
        raise InvalidContent(f"a text is needed, not {type(text).__name__}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as failure:
            raise InvalidContent("the text is not valid Unicode") from failure


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """A session at one moment.

    :ivar records: how many records the log has
    :ivar turns: the number of the last turn that was opened
    :ivar open_turn: the number of the turn that is open, or ``None``
    :ivar live: whether the store holds this session
    """

    records: int
    turns: int
    open_turn: int | None
    live: bool


class Session:
    """One append-only log. A record's ``seq`` is its index."""

    __slots__ = ("_id", "_last_turn", "_live", "_metadata", "_open_turn", "_records")

    def __init__(self, id: str, metadata: Mapping[str, str] = _NO_METADATA, seed: Sequence[Record] = ()) -> None:
        self._id = id
        self._records: list[Record] = []
        self._last_turn = 0
        self._open_turn: int | None = None
        self._live = False
        self._seed(seed, metadata)

    @property
    def id(self) -> str:
        """The id that the session shares with its agent."""
        return self._id

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the creator wanted to be remembered; it is stored with the log and comes back with a resume."""
        return self._metadata

    @property
    def records(self) -> tuple[Record, ...]:
        """All records so far, as a copy."""
        return tuple(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Record]:
        return iter(tuple(self._records))

    def __getitem__(self, seq: int) -> Record:
        return self._records[seq]

    def __repr__(self) -> str:
        return f"<Session {self._id!r} records={len(self._records)}>"

    def statistics(self) -> SessionStatistics:
        """Return the state of the session at this moment."""
        return SessionStatistics(
            records=len(self._records),
            turns=self._last_turn,
            open_turn=self._open_turn,
            live=self._live,
        )

    def _seed(self, records: Sequence[Record], metadata: Mapping[str, str]) -> None:
        """Begin with what was stored; nobody is told."""
        self._metadata = metadata
        for record in records:
            self._commit(record)

    def _commit(self, record: Record) -> int:
        """Add a record and return its seq. What can be asked of the log is kept beside it."""
        seq = len(self._records)
        self._records.append(record)
        if type(record) is TurnStart:
            self._last_turn = self._open_turn = record.turn
        elif type(record) is TurnEnd:
            self._open_turn = None
        return seq


@dataclass(frozen=True, slots=True)
class SessionStoreStatistics:
    """The store at one moment.

    :ivar sessions: how many sessions are live
    """

    sessions: int


class SessionStore:
    """Holds the live sessions, in the order in which they entered."""

    __slots__ = ("_awaited", "_sessions")

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._awaited: dict[Session, Event] = {}

    def get(self, id: str) -> Session | None:
        """Return the live session with this id, or ``None``."""
        return self._sessions.get(id)

    def list(self) -> tuple[Session, ...]:
        """Return the live sessions in the order in which they entered."""
        return tuple(self._sessions.values())

    def __contains__(self, id: object) -> bool:
        return id in self._sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def __bool__(self) -> bool:
        return True

    def statistics(self) -> SessionStoreStatistics:
        """Return the state of the store at this moment."""
        return SessionStoreStatistics(sessions=len(self._sessions))

    def _enter(self, session: Session) -> None:
        """Make a session live.

        :raises IdExists: if another live session has its id
        """
        if session.id in self._sessions:
            raise IdExists(f"session {session.id!r} already exists")
        self._sessions[session.id] = session
        session._live = True

    def _detach(self, session: Session) -> bool:
        """Take exactly this session out; return false if it is not in."""
        if self._sessions.get(session.id) is not session:
            return False
        del self._sessions[session.id]
        session._live = False
        awaited = self._awaited.pop(session, None)
        if awaited is not None:
            awaited.set()
        return True

    async def _until_gone(self, session: Session) -> None:
        """Wait until exactly this session is not live any more."""
        if self._sessions.get(session.id) is session:
            await self._awaited.setdefault(session, Event()).wait()
