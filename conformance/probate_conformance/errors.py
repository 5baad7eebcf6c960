"""What can go wrong outside of a verdict, and the exit code that it leads to.

Each failure that a user can cause is one class. It says what is wrong, where, and how to mend it, in one message; the
command line prints that and nothing else. A traceback that reaches the user is a defect of ours.
"""

from __future__ import annotations

from enum import IntEnum


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
