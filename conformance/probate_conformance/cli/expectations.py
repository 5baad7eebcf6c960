"""The clauses that are known to fail, as a file.

    [[expected]]
    clause = "OWNER-03"
    backend = "dsh"  # every backend if none is named
    reason = "an unload does not wait for the agents of its owner: https://..."

The file is strict, since a list that nobody keeps hides what it was not meant to hide: an entry that names no clause,
or has no reason, is an error, and one that does not fail any more fails the run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from probate_conformance.backends.registry import BUILT_IN, announced
from probate_conformance.errors import UsageError, unknown_name
from probate_model.clauses import CLAUSES

_FORM: Final = "an entry is [[expected]] with clause, reason and, if need be, backend, each a text"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One entry."""

    clause: str
    reason: str
    backend: str | None


@dataclass(frozen=True, slots=True)
class Expectations:
    """The entries of a file."""

    entries: tuple[Expectation, ...] = ()

    @classmethod
    def read(cls, path: Path | None, checked: Iterable[str]) -> Self:
        """Read a file.

        :param path: where it is; nothing is expected if there is none
        :param checked: the backends that are to be checked; others can be named too, if they are known
        :raises UsageError: if it can't be read, or says what means nothing
        """
        if path is None:
            return cls()
        where = str(path)
        try:
            whole = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise UsageError(f"can't read the expected failures: {reason}", where=where) from None
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"not TOML: {error}", where=where) from None
        tables = whole.pop("expected", [])
        if whole:
            raise UsageError(f"has {', '.join(map(repr, whole))} beside 'expected'", where=where, mend=_FORM)
        if not isinstance(tables, list):
            raise UsageError("has an 'expected' that is no list of entries", where=where, mend=_FORM)
        known = {*checked, *BUILT_IN, *announced()}
        entries: list[Expectation] = []
        for number, table in enumerate(tables, start=1):
            entry = _entry(table, f"{where}: entry {number}", known)
            if any((other.clause, other.backend) == (entry.clause, entry.backend) for other in entries):
                raise UsageError(f"{entry.clause} is there twice", where=f"{where}: entry {number}")
            entries.append(entry)
        return cls(tuple(entries))

    def of(self, backend: str, profile: str) -> dict[str, str]:
        """Give the clauses of a profile that are expected to fail on a backend, each with the reason."""
        entries = [entry for entry in self.entries if CLAUSES[entry.clause].profile == profile]
        general = {entry.clause: entry.reason for entry in entries if entry.backend is None}
        return general | {entry.clause: entry.reason for entry in entries if entry.backend == backend}


def _entry(table: object, where: str, backends: set[str]) -> Expectation:
    if not isinstance(table, dict):
        raise UsageError("is no table", where=where, mend=_FORM)
    for name in table:
        if name not in ("clause", "reason", "backend"):
            raise UsageError(f"has {name!r}", where=where, mend=_FORM)
    clause, reason, backend = (table.get(name) for name in ("clause", "reason", "backend"))
    if not isinstance(clause, str):
        raise UsageError("names no clause", where=where, mend=_FORM)
    if clause not in CLAUSES:
        error = unknown_name("clause", clause, CLAUSES, also="`probate list --clauses` tells all")
        raise UsageError(error.what, where=where, mend=error.mend)
    if not (isinstance(reason, str) and reason.strip()):
        raise UsageError(f"gives no reason for {clause}", where=where, mend=_FORM)
    if backend is not None and not isinstance(backend, str):
        raise UsageError(f"names no backend for {clause} but {backend!r}", where=where, mend=_FORM)
    if backend is not None and ":" not in backend and backend not in backends:
        error = unknown_name("backend", backend, backends)
        raise UsageError(error.what, where=where, mend=error.mend)
    return Expectation(clause, " ".join(reason.split()), backend)
