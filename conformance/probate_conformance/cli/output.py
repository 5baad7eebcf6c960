"""Where the command line writes to, and what becomes of it when nobody reads."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from pathlib import Path
from typing import Self

from probate_conformance.errors import ReportError, UsageError


def make_lenient() -> None:
    """Have the standard streams write what their encoding lacks as an escape, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def emit(text: str) -> None:
    """Write to standard output, and see that it arrives.

    If whoever read it has gone, as ``head`` does, nothing more is written, and that is no error.

    :raises ReportError: if it can't be written
    """
    if sys.stdout is None:
        raise ReportError("can't be written to: it is closed", where="standard output")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        _forget_stdout()
        raise ReportError(f"can't be written to: {error.strerror}", where="standard output") from error


class ReportFile:
    """The file that a report goes to; opened before the run, so that one that can't be is known then.

    :param path: where; none is no file
    :raises UsageError: on entering, if it can't be opened
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise UsageError(
                    f"the report can't be written there: {error.strerror}",
                    where=str(self._path),
                    mend="name a file in a folder that exists and can be written to",
                ) from error
        return self

    def __exit__(self, *error: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def write(self, text: str) -> None:
        """Write the whole report, instead of what the file held.

        :raises ReportError: if it can't be written; what is there then is not whole
        """
        if self._descriptor is None:
            return
        rest = memoryview(text.encode())
        try:
            if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, 0)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise ReportError(f"the report can't be written: {error.strerror}", where=str(self._path)) from error


def require_apart(first: str, one: Path | None, second: str, other: Path | None) -> None:
    """See that two options do not name one file, of which the second would write over what the first wrote.

    :param first: the option that ``one`` was given to
    :param second: the option that ``other`` was given to
    :raises UsageError: if they do; what is no file, such as a terminal, takes both
    """
    if one is None or other is None or os.path.realpath(one) != os.path.realpath(other):
        return
    if not os.path.lexists(one) or os.path.isfile(one):
        raise UsageError(
            f"{first} and {second} name the same file, and one would write over the other",
            where=str(other),
            mend=f"name another file: {second}",
        )


def complain(text: str) -> None:
    """Write an error to standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"probate: {text}\n")
            sys.stderr.flush()


def _forget_stdout() -> None:
    """Let what is still buffered for standard output go nowhere, so that the end of the process does not fail by it."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
