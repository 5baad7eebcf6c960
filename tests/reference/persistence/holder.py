"""The other process: it opens a home, says so, and keeps it until its standard input ends or it is killed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from probate_reference import JsonlStore, SqliteStore, Store

MAKERS: dict[str, Callable[[Path], Store]] = {"jsonl": JsonlStore, "sqlite": SqliteStore}
"""The kinds of store, by name."""


def main() -> None:
    """Hold the home that the arguments name, in the kind of store that they name."""
    store = MAKERS[sys.argv[1]](Path(sys.argv[2]))
    store.open()
    sys.stdout.write("open\n")
    sys.stdout.flush()
    sys.stdin.read()
    store.close()


if __name__ == "__main__":
    main()
