"""Keep sessions: logs that survive the process, and what may be done with them.

``Runtime(model, home="sessions")`` is all that an embedder types. Everything else is here for who wants to look:
:class:`Persistence` says which session may write where, :class:`JsonlStore` and :class:`SqliteStore` keep the logs.
"""

from __future__ import annotations

from .errors import HomeLocked, HomeUnusable, LogDamaged, LogTooNew, NotDurable, SeqMismatch, StorageError
from .files import Files
from .jsonl import JsonlStore
from .persistence import Offload, Persistence, in_place, in_threads
from .sqlite import SqliteStore
from .store import Header, Store, StoredLog, StoredSession

__all__ = (
    "Files",
    "Header",
    "HomeLocked",
    "HomeUnusable",
    "JsonlStore",
    "LogDamaged",
    "LogTooNew",
    "NotDurable",
    "Offload",
    "Persistence",
    "SeqMismatch",
    "SqliteStore",
    "StorageError",
    "Store",
    "StoredLog",
    "StoredSession",
    "in_place",
    "in_threads",
)
