"""``probate replay``: run one case and tell its story."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from pathlib import Path
from typing import Final

from probate_conformance.backends.registry import make_backend
from probate_conformance.cli.options import add_color, add_deadline, require_edition, require_profile
from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit, TraceError, unknown_name
from probate_conformance.interrupts import Interrupt
from probate_conformance.render import text
from probate_conformance.render.style import style_for
from probate_conformance.report import UNEXPLAINED
from probate_conformance.running import replay
from probate_conformance.trace import Trace, load
from probate_model.clauses import CLAUSES

NAME: Final = "replay"
SUMMARY: Final = "run one case and tell its story"
DESCRIPTION: Final = """\
Run the trace of a case file once and tell what was done and what was seen. Exit code 1 if it
fails, whether or not that is the divergence that the case expects.
"""
DEFAULT: Final = "reference"
LARGEST: Final = 4 * 1024 * 1024
"""The most bytes that a case file may have; the largest that was ever written has a hundredth of it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a case file, as `probate check` writes them")
    parser.add_argument(
        "--backend",
        metavar="BACKEND",
        help=f"what to run it on (default: the backend that the case names; {DEFAULT} if it names none)",
    )
    add_deadline(parser)
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Run the case and tell its story.

    :raises TraceError: if the file is no trace
    :raises UsageError: if a name means nothing
    :raises BackendAbsent: if the backend is not installed
    :raises BackendBroke: if it can't be started
    """
    _require_plain(arguments.file)
    trace = load(arguments.file)
    require_edition(trace.edition)
    require_profile(trace.profile, trace.edition, trace.flipped)
    _require_clause(trace, arguments.file)
    name = arguments.backend or (trace.expected.backend if trace.expected else DEFAULT)
    backend = make_backend(name, deadline=arguments.deadline)
    interrupt = Interrupt()
    with interrupt.taken():
        replayed = replay(name, backend, trace, interrupt)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    emit(text.render_replay(replayed, style))
    return replayed.exit


def _require_clause(trace: Trace, path: Path) -> None:
    """See that what a case is expected to fail by is known: nobody could tell otherwise that it does not."""
    clause = trace.expected.clause if trace.expected else UNEXPLAINED
    if clause not in (*CLAUSES, UNEXPLAINED):
        error = unknown_name("clause", clause, CLAUSES, also="`probate list --clauses` tells all")
        raise TraceError(f"is expected to fail by the {error.what}", where=str(path), mend=error.mend)


def _require_plain(path: Path) -> None:
    """See that a file is one that ends, and soon. What can't be looked at, or is a folder, is left to who reads it."""
    try:
        found = path.stat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode):
        return
    if not stat.S_ISREG(found.st_mode):
        raise TraceError("can't read the trace: it is no regular file", where=str(path))
    if found.st_size > LARGEST:
        raise TraceError(
            f"can't read the trace: it has {found.st_size:,} bytes, and no trace has more than {LARGEST:,}",
            where=str(path),
        )
