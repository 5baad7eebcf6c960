"""Crashes of the reference with durable sessions: killed, restarted, looked at, and gone on with.

Every one is a real process that ends by ``SIGKILL``, or by ``SIGXFSZ`` in a write of SQLite, with real files and real
``fsync``; see ``tests.reference.persistence.crash_child``. What is simulated is only the loss of power: of what was
written and not waited for, a part is taken from the disk afterwards.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from bench.results import Goal, Section
from tests.reference.persistence.crashes import campaign

CRASHES = 1000


def crashing(*, quick: bool) -> Section:
    """Kill a thousand workers, and tell what was found."""
    crashes = 100 if quick else CRASHES
    # In memory, if there is such a place: the calls are the same, and a kill takes nothing from it.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a directory of our own is made there
    with TemporaryDirectory(prefix="probate-", dir=memory) as directory:
        count = campaign(Path(directory), crashes)
    section = Section("crashes of durable sessions")
    section.table(("killed", "crashes"), [(where, f"{number:,}") for where, number in sorted(count.crashes.items())])
    section.note(f"{count.survived:,} crashes survived, {count.records:,} records checked, {count.resumed:,} resumes")
    section.note(
        f"after {count.power:,} of them the power was lost too (simulated); all are real processes, killed by a signal"
    )
    section.note(
        f"{count.finished:,} more workers had done their work before it came to that, and were looked at as well"
    )
    section.goals += [
        Goal("crashes survived", count.survived, crashes, unit=""),
        *(
            Goal(
                f"of the {of:,} with {store} between a write and its fsync", count.unsynced[store] / of, 1 / 3, unit=""
            )
            for store, of in sorted(count.stores.items())
        ),
    ]
    section.figures |= {
        "crashes": dict(count.crashes),
        "stores": dict(count.stores),
        "unsynced": dict(count.unsynced),
        "power": count.power,
        "records": count.records,
        "resumed": count.resumed,
        "finished": count.finished,
    }
    return section
