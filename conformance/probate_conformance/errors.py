"""What can go wrong outside of a verdict, and the exit code that it leads to.

Each failure that a user can cause is one class. It says what is wrong, where, and how to mend it, in one message; the
command line prints that and nothing else. A traceback that reaches the user is a defect of ours.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """The exit codes of every verb."""

    PASS = 0
    """Everything asked for was carried out and held."""
    FAIL = 1
    """A clause failed, and failed again when confirmed."""
    USAGE = 2
    """The command or a file that it was given is wrong."""
    INCONCLUSIVE = 3
    """Something was neither shown to hold nor to fail."""
    BROKEN = 4
    """The backend broke the protocol, went silent or died."""
    NOT_RUN = 5
    """Nothing was executed: the backend is not installed, or nothing was left to run."""
    DEFECT = 6
    """Probate itself could not do its work."""


WORST_FIRST: Final = (
    Exit.DEFECT,
    Exit.USAGE,
    Exit.FAIL,
    Exit.BROKEN,
    Exit.INCONCLUSIVE,
    Exit.NOT_RUN,
    Exit.PASS,
)
"""Which exit code a run of several parts has: the first of these that one of them has.

A defect of ours makes every other verdict doubtful; a failure is certain, whatever else happened; a backend that broke
says more than one that was not judged; and what was not run at all says least, but is never success.
"""


DEBUG: Final = "PROBATE_DEBUG"
"""The environment variable that makes errors show their tracebacks too."""

MOST_LISTED: Final = 20
"""How many known names an error lists at the most."""


class ProbateError(Exception):
    """A failure that the user is told of in one message."""

    exit: Exit = Exit.DEFECT

    def __init__(self, what: str, *, where: str | None = None, mend: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.mend:
            lines.append(f"  {self.mend}")
        return "\n".join(lines)


class UsageError(ProbateError):
    """A name or an argument that means nothing here."""

    exit = Exit.USAGE


class TraceError(ProbateError):
    """A trace file that can't be read as a trace."""

    exit = Exit.USAGE


class BackendAbsent(ProbateError):
    """A backend that is known and not installed."""

    exit = Exit.NOT_RUN


class BackendBroke(ProbateError):
    """A backend that broke the protocol, or died, or raised where it must not."""

    exit = Exit.BROKEN


class BackendSilent(BackendBroke):
    """A backend that did not answer before its deadline: inconclusive for the trace that it was in."""


class ReportError(ProbateError):
    """A report that can't be written."""


def unknown_name(
    kind: str, name: str, known: Iterable[str], *, also: str | None = None, near: str | None = None
) -> UsageError:
    """Give the error for a name that means nothing: what is known, and what was probably meant.

    :param also: what else could be named, or where all is listed
    :param near: what is compared with the known names, if not the name itself
    """
    names = list(known)
    close = get_close_matches(near or name, names, 1, 0.5)
    listed = f"known are {', '.join(names)}" if len(names) <= MOST_LISTED else None
    mend = "; ".join(part for part in (f"did you mean {close[0]!r}?" if close else None, listed, also) if part)
    return UsageError(f"unknown {kind} {name!r}", mend=mend.replace("?;", "?"))


def trace_if_debugging(error: BaseException) -> None:
    """Show the traceback of an error on standard error, if the user asked for that by ``PROBATE_DEBUG``."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
