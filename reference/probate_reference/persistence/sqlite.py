"""Keep all sessions in one SQLite database, for who prefers one file and a query language.

It is the same interface with the same promises. An append is one transaction, so there is no torn line here: SQLite
rolls back what a crash has cut short. The journal is a write-ahead log with ``synchronous=FULL``, which waits for the
disk at every commit; the database is opened in exclusive mode, which locks it for as long as it is open. What stands in
a row is the very line that :class:`JsonlStore` would have written, and it is believed no more than there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import time
from types import MappingProxyType

from probate_reference.records import Record
from probate_reference.refusals import LogExists, NotFound

from .codec import Malformed, decode_log, encode_record, read_object, write_object
from .errors import HomeLocked, HomeUnusable, LogDamaged, LogTooNew, SeqMismatch, StorageError
from .store import VERSION, Header, Store, StoredLog, StoredSession

__all__ = ("SqliteStore",)

_NAME = "sessions.db"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (
    id BLOB PRIMARY KEY, version INTEGER NOT NULL, metadata BLOB NOT NULL, modified REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record (
    id BLOB NOT NULL, seq INTEGER NOT NULL, line BLOB NOT NULL, PRIMARY KEY (id, seq)
) WITHOUT ROWID;
"""


class SqliteStore(Store):
    """Stores sessions in a database in a directory.

    :param home: the directory; it is made when the store is opened
    """

    def __init__(self, home: str | os.PathLike[str]) -> None:
        self._home = Path(home)
        self._database: sqlite3.Connection | None = None
        self._lock = Lock()
        self._counts: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<SqliteStore {str(self._home)!r}>"

    def open(self) -> None:
        """Make the home, and open and lock the database."""
        path = self._home / _NAME
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as failure:
            raise HomeUnusable(self._home, failure) from failure
        database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.execute("BEGIN EXCLUSIVE")
            database.execute("COMMIT")
            database.executescript(_SCHEMA)
        except sqlite3.Error as failure:
            database.close()
            if failure.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise HomeLocked(self._home, "") from failure
            raise HomeUnusable(self._home, OSError(0, str(failure))) from failure
        self._database = database

    def close(self) -> None:
        """Close the database, which unlocks it; a look at it that somebody has left to itself is waited for."""
        with self._lock:
            self._counts.clear()
            database, self._database = self._database, None
            if database is not None:
                database.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Have the database for oneself, and commit or roll back."""
        with self._lock:
            if self._database is None:
                raise StorageError(f"the store in {str(self._home)!r} is not open")
            try:
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield self._database
                except BaseException:
                    self._database.execute("ROLLBACK")
                    raise
                self._database.execute("COMMIT")
            except sqlite3.Error as failure:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise StorageError(f"the database in {str(self._home)!r} failed: {failure}") from failure

    def exists(self, id: str) -> bool:
        """Return whether the session has a row."""
        with self._transaction() as database:
            return _row(database, id) is not None

    def create(self, header: Header, records: Sequence[Record]) -> None:
        """Insert the session and its first records in one transaction."""
        with self._transaction() as database:
            if _row(database, header.id) is not None:
                raise LogExists(f"session {header.id!r} has a log already: resume it, or take another id")
            metadata = write_object(dict(header.metadata))
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?)", (_key(header.id), VERSION, metadata, time()))
            _insert(database, header.id, 0, records)
        self._counts[header.id] = len(records)

    def append(self, id: str, seq: int, records: Sequence[Record]) -> None:
        """Insert the records in one transaction."""
        with self._transaction() as database:
            if _row(database, id) is None:
                raise NotFound(f"the log of session {id!r} is gone from {str(self._home / _NAME)!r}")
            expected = self._counts.get(id)
            if expected is None:
                expected = len(self._read(database, id).records)
            if seq != expected:
                raise SeqMismatch(id, seq, expected)
            database.execute("DELETE FROM record WHERE id = ? AND seq >= ?", (_key(id), seq))
            database.execute("UPDATE session SET modified = ? WHERE id = ?", (time(), _key(id)))
            _insert(database, id, seq, records)
        self._counts[id] = seq + len(records)

    def read(self, id: str) -> StoredLog:
        """Read and check the rows."""
        with self._transaction() as database:
            return self._read(database, id)

    def _read(self, database: sqlite3.Connection, id: str) -> StoredLog:
        place = str(self._home / _NAME)
        row = _row(database, id)
        if row is None:
            raise NotFound(f"no stored session {id!r}")
        version, metadata, _ = row
        if version > VERSION:
            raise LogTooNew(place, version)
        query = "SELECT line FROM record WHERE id = ? ORDER BY seq"
        lines = [line for (line,) in database.execute(query, (_key(id),))]
        try:
            header = Header(id, _metadata(metadata))
            records = decode_log(lines)
        except Malformed as failure:
            raise LogDamaged(id, f"{place}, record {failure.index}", str(failure)) from failure
        return StoredLog(header, records, torn=len(records) < len(lines))

    def list(self) -> tuple[StoredSession, ...]:
        """Read the rows of all sessions."""
        found = []
        with self._transaction() as database:
            for key, metadata, modified in database.execute(
                "SELECT id, metadata, modified FROM session WHERE version <= ?", (VERSION,)
            ):
                try:
                    found.append(StoredSession(key.decode("utf-8", "surrogatepass"), _metadata(metadata), modified))
                except Malformed:
                    continue
        return tuple(sorted(found, key=lambda stored: stored.id))

    def delete(self, id: str) -> None:
        """Delete the rows."""
        with self._transaction() as database:
            if _row(database, id) is None:
                raise NotFound(f"no stored session {id!r}")
            database.execute("DELETE FROM record WHERE id = ?", (_key(id),))
            database.execute("DELETE FROM session WHERE id = ?", (_key(id),))
        self.forget(id)

    def forget(self, id: str) -> None:
        """Forget how many records the log has; the next append counts."""
        self._counts.pop(id, None)


def _key(id: str) -> bytes:
    return id.encode("utf-8", "surrogatepass")


def _row(database: sqlite3.Connection, id: str) -> tuple[int, bytes, float] | None:
    query = "SELECT version, metadata, modified FROM session WHERE id = ?"
    row: tuple[int, bytes, float] | None = database.execute(query, (_key(id),)).fetchone()
    return row


def _insert(database: sqlite3.Connection, id: str, seq: int, records: Sequence[Record]) -> None:
    rows = [(_key(id), number, encode_record(number, record)) for number, record in enumerate(records, seq)]
    database.executemany("INSERT INTO record VALUES (?, ?, ?)", rows)


def _metadata(line: bytes) -> MappingProxyType[str, str]:
    metadata = read_object(line)
    if not all(isinstance(text, str) for text in metadata.values()):
        raise Malformed("metadata that is no text")
    return MappingProxyType(metadata)
