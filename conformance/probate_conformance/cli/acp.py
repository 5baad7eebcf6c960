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
input ends. `python -m probate_reference acp` is the same program.
"""
EXIT_CODES: Final = """\
exit codes:
  0      the client has gone
  1      sessions cannot be kept, or standard output cannot be written to
  2      the command, or the configuration, is wrong
  70     it could not end in order
  128+N  signal N came
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
