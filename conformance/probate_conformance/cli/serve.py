"""``probate serve``: a backend behind the line protocol, on standard input and output."""

from __future__ import annotations

import argparse
from typing import Final

from probate_conformance.backends.registry import make_backend
from probate_conformance.backends.serve import serve_standard_streams
from probate_conformance.cli.options import add_deadline
from probate_conformance.errors import Exit

NAME: Final = "serve"
SUMMARY: Final = "carry out the line protocol on standard input and output"
DESCRIPTION: Final = """\
Carry out the line protocol (`probate schema wire`) on standard input and output until the input
ends. What else is written to standard output goes to standard error.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("backend", metavar="BACKEND", help="what carries it out; `probate list --backends`")
    add_deadline(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Serve until the input ends.

    :raises UsageError: if the name means nothing
    :raises BackendAbsent: if the backend is not installed
    :raises BackendBroke: if it can't be started
    :raises ReportError: if standard output can't be written to
    """
    serve_standard_streams(make_backend(arguments.backend, deadline=arguments.deadline))
    return Exit.PASS
