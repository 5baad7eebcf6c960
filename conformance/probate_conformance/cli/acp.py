"""``probate acp``: the reference as an agent for editors, on standard input and output."""

from __future__ import annotations

import argparse
from typing import Final

from probate_conformance.cli.handing_over import become
from probate_conformance.errors import Exit

NAME: Final = "acp"
SUMMARY: Final = "serve the reference to an editor, over the Agent Client Protocol"
DESCRIPTION: Final = """\
Serve the reference as an agent over the Agent Client Protocol (version 1) on standard input and output, until the
input ends. `python -m probate_reference acp` is the same program, with exit codes of its own: 0 the client has gone,
128+N signal N came, 1 sessions cannot be kept, 2 wrong usage, 70 it could not end in order.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "config",
        metavar="CONFIG",
        nargs="?",
        help="a file of TOML; without one, an agent that echoes, has no tools and keeps nothing",
    )
    parser.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio", help="the event loop")


def run(arguments: argparse.Namespace) -> Exit:
    """Become the reference's program. Does not return."""
    become(NAME, arguments.loop, arguments.config)
