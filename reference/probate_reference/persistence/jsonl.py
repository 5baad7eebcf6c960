"""Keep each session in a file of its own, one line per record: the default.

The home holds ``lock`` and ``sessions/NAME.jsonl``. A file begins with a header line that says which format and
version it has and whose it is, and only ever grows at its end.

*When is it safe?* There is one policy and no knob: what ``create`` or ``append`` has acknowledged is on the disk. An
append writes all its lines at once and then waits for ``fsync``. A create writes the header and the first lines into a
new file under another name, waits for ``fsync``, gives it its name and waits for the ``fsync`` of the directory, so a
log that can be seen has a whole header and its whole first batch. Between two flushes nothing is written, and what a
crash can cost is what no flush has acknowledged.

*What may a crash leave?* Bytes behind the last acknowledged line: whole lines, or a torn one. Whole lines are kept, for
they did happen. A torn line is dropped by the next append, and so is any other damage behind the last turn that was
committed; every byte before it stays. Damage before a committed ``turn/end`` is nothing that a crash does, and such a
log is refused and left alone. A file under the other name was never acknowledged; it is removed when the home is
opened.

One lock serves the whole home and ends with the process, however it ends.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from probate_reference.records import Record
from probate_reference.refusals import LogExists, NotFound

from .codec import Malformed, decode_log, encode_record, read_object, write_object
from .errors import HomeLocked, HomeUnusable, LogDamaged, LogTooNew, SeqMismatch, StorageError
from .files import Files
from .store import VERSION, Header, Store, StoredLog, StoredSession

__all__ = ("JsonlStore",)

_FORMAT = "probate-session"
_SUFFIX = ".jsonl"
_NEW_SUFFIX = ".new"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST_NAME = 150


@dataclass(frozen=True, slots=True)
class _End:
    """Where a log ends: how many records it has, and how many bytes they and the header are."""

    count: int
    size: int


class JsonlStore(Store):
    """Stores sessions as files in a directory.

    :param home: the directory; it is made when the store is opened
    :param files: how the disk is touched
    """

    def __init__(self, home: str | os.PathLike[str], files: Files | None = None) -> None:
        self._home = Path(home)
        self._sessions = self._home / "sessions"
        self._files = files or Files()
        self._lock: int | None = None
        self._ends: dict[str, _End] = {}
        self._unnamed: set[str] = set()

    def __repr__(self) -> str:
        return f"<JsonlStore {str(self._home)!r}>"

    def open(self) -> None:
        """Make the home, lock it, and remove what a crash has left half made."""
        files = self._files
        try:
            files.make_directory(self._sessions)
            lock = files.lock(self._home / "lock")
        except BlockingIOError:
            raise HomeLocked(self._home, self._holder()) from None
        except OSError as failure:
            raise HomeUnusable(self._home, failure) from failure
        try:
            files.truncate(lock, 0)
            files.write(lock, f"process {os.getpid()}\n".encode())
            for name in files.names(self._sessions):
                if name.endswith(_NEW_SUFFIX):
                    files.remove(self._sessions / name)
        except OSError as failure:
            files.close(lock)
            raise HomeUnusable(self._home, failure) from failure
        self._lock = lock

    def _holder(self) -> str:
        with suppress(OSError):
            return self._files.read(self._home / "lock").decode(errors="replace").strip()
        return ""

    def close(self) -> None:
        """Unlock the home."""
        self._ends.clear()
        self._unnamed.clear()
        lock, self._lock = self._lock, None
        if lock is not None:
            self._files.close(lock)

    def exists(self, id: str) -> bool:
        """Return whether the file is there."""
        self._require_open()
        return self._files.exists(self._path(id))

    def create(self, header: Header, records: Sequence[Record]) -> None:
        """Write a new file under another name and then give it its own."""
        self._require_open()
        files = self._files
        path = self._path(header.id)
        if files.exists(path):
            raise LogExists(f"session {header.id!r} has a log already: resume it, or take another id")
        data = write_object(
            {"format": _FORMAT, "version": VERSION, "id": header.id, "metadata": dict(header.metadata)}
        ) + _lines(0, records)
        new = path.with_name(path.name + _NEW_SUFFIX)
        descriptor = files.open_new(new)
        try:
            self._write(descriptor, data)
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        files.rename(new, path)
        self._unnamed.add(header.id)
        self._sync_name(header.id)
        self._ends[header.id] = _End(len(records), len(data))

    def append(self, id: str, seq: int, records: Sequence[Record]) -> None:
        """Write the lines at the end of the file and wait until they are on the disk."""
        self._require_open()
        files = self._files
        end = self._ends.get(id) or self._scan(id)[1]
        if seq != end.count:
            raise SeqMismatch(id, seq, end.count)
        path = self._path(id)
        try:
            descriptor = files.open_end(path)
        except FileNotFoundError:
            raise NotFound(f"the log of session {id!r} is gone: {str(path)!r}") from None
        try:
            size = files.size(descriptor)
            if size < end.size:
                raise LogDamaged(id, str(path), f"{end.size - size} bytes that were safe are missing")
            if size > end.size:
                files.truncate(descriptor, end.size)
            data = _lines(seq, records)
            self._write(descriptor, data)
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        self._sync_name(id)
        self._ends[id] = _End(seq + len(records), end.size + len(data))

    def read(self, id: str) -> StoredLog:
        """Read and check the file."""
        self._require_open()
        return self._scan(id)[0]

    def list(self) -> tuple[StoredSession, ...]:
        """Read the header of each file."""
        self._require_open()
        found = []
        for name in self._files.names(self._sessions):
            if not name.endswith(_SUFFIX):
                continue
            path = self._sessions / name
            with suppress(Malformed, LogTooNew, FileNotFoundError):
                header = _header(self._files.read_line(path).rstrip(b"\n"), str(path))
                found.append(StoredSession(header.id, header.metadata, self._files.modified(path)))
        return tuple(sorted(found, key=lambda stored: stored.id))

    def delete(self, id: str) -> None:
        """Remove the file."""
        self._require_open()
        try:
            self._files.remove(self._path(id))
        except FileNotFoundError:
            raise NotFound(f"no stored session {id!r}") from None
        self._files.sync_directory(self._sessions)
        self.forget(id)

    def forget(self, id: str) -> None:
        """Forget where the file ends; the next append looks."""
        self._ends.pop(id, None)

    def _require_open(self) -> None:
        if self._lock is None:
            raise StorageError(f"the store in {str(self._home)!r} is not open")

    def _path(self, id: str) -> Path:
        """Give each id a name of its own on every file system: no capitals, no dots, not too long."""
        raw = id.encode("utf-8", "surrogatepass")
        name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in raw)
        if len(name) > _LONGEST_NAME or not name:
            name = f"{name[:_LONGEST_NAME]}~{sha256(raw).hexdigest()}"
        return self._sessions / (name + _SUFFIX)

    def _write(self, descriptor: int, data: bytes) -> None:
        while data:
            data = data[self._files.write(descriptor, data) :]

    def _sync_name(self, id: str) -> None:
        """Wait until the name of a new file is on the disk; a failed wait is made good by the next append."""
        if id in self._unnamed:
            self._files.sync_directory(self._sessions)
            self._unnamed.discard(id)

    def _scan(self, id: str) -> tuple[StoredLog, _End]:
        path = self._path(id)
        try:
            data = self._files.read(path)
        except FileNotFoundError:
            raise NotFound(f"no stored session {id!r}") from None
        lines = data.split(b"\n")
        lines.pop()  # what stands behind the last newline is no line
        try:
            if not lines:
                raise Malformed("no whole header")
            header = _header(lines[0], str(path))
            if header.id != id:
                raise Malformed(f"it is the log of session {header.id!r}")
        except Malformed as failure:
            raise LogDamaged(id, f"{path}, line 1", str(failure)) from failure
        try:
            records = decode_log(lines[1:])
        except Malformed as failure:
            raise LogDamaged(id, f"{path}, line {failure.index + 2}", str(failure)) from failure
        size = sum(map(len, lines[: len(records) + 1])) + len(records) + 1
        return StoredLog(header, records, torn=size < len(data)), _End(len(records), size)


def _lines(seq: int, records: Sequence[Record]) -> bytes:
    return b"".join(encode_record(number, record) for number, record in enumerate(records, seq))


def _header(line: bytes, place: str) -> Header:
    value = read_object(line)
    version, name, metadata = value.get("version"), value.get("id"), value.get("metadata")
    if value.get("format") != _FORMAT or type(version) is not int or version < 1:
        raise Malformed(f"not the header of a {_FORMAT}")
    if version > VERSION:
        raise LogTooNew(place, version)
    if not isinstance(name, str) or not isinstance(metadata, dict):
        raise Malformed("a header without an id or without metadata")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise Malformed("metadata that is no text")
    return Header(name, MappingProxyType(metadata))
