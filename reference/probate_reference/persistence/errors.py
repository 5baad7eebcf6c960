"""Say what is wrong with a store: each failure tells what, where, and how to mend it.

What a caller did wrong in asking is a :class:`Refusal`, as everywhere. What is wrong with the disk, with the files
on it, or with another process, is a :class:`StorageError`: it reaches the embedder where the runtime is entered or
left, and a resume raises it. A flush that meets one is reported as the agent's error, and nothing is lost by it, since
the records stay in memory until a later flush has written them.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ("HomeLocked", "HomeUnusable", "LogDamaged", "LogTooNew", "NotDurable", "SeqMismatch", "StorageError")


class StorageError(Exception):
    """The base of everything that can be wrong with a store."""


class HomeUnusable(StorageError):
    """Raised when a home cannot be made, read or written."""

    def __init__(self, home: Path, failure: OSError) -> None:
        super().__init__(
            f"cannot keep sessions in {str(home)!r}: {failure.strerror or failure}; "
            "name a directory that this user may write to"
        )


class HomeLocked(StorageError):
    """Raised when somebody else, in this process or another one, has the home open."""

    def __init__(self, home: Path, holder: str) -> None:
        super().__init__(
            f"{str(home)!r} is in use by {holder or 'another process'}; end it, or name another home for this one"
        )


class LogDamaged(StorageError):
    """Raised when a log is damaged at a place that no crash can explain; it is left as it is."""

    def __init__(self, id: str, place: str, damage: str) -> None:
        super().__init__(
            f"the log of session {id!r} is damaged at {place}: {damage}; "
            "it was left as it is: restore it from a copy, or delete the session"
        )


class LogTooNew(StorageError):
    """Raised when a log was written by a later version of this package."""

    def __init__(self, place: str, version: int) -> None:
        super().__init__(f"the log at {place} has format version {version}; read it with the version that wrote it")


class SeqMismatch(StorageError):
    """Raised when an append does not begin where the log ends; nothing was written."""

    def __init__(self, id: str, seq: int, expected: int) -> None:
        super().__init__(f"append seq mismatch in session {id!r}: {seq} was offered, {expected} is next")


class NotDurable(StorageError):
    """Raised when a store is to be closed and records cannot be written; at the end of a runtime they are lost.

    :ivar failures: why, by the id of the session
    """

    def __init__(self, failures: dict[str, BaseException]) -> None:
        first = next(iter(failures.values()))
        super().__init__(f"records of {', '.join(map(repr, failures))} could not be written: {first}")
        self.failures = failures
