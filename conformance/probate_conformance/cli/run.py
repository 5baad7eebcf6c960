"""``probate run``: the reference with the agents of a configuration, on a terminal or a pipe."""

from __future__ import annotations

import argparse
from typing import Final

from probate_conformance.cli.handing_over import become
from probate_conformance.errors import Exit

NAME: Final = "run"
SUMMARY: Final = "talk to the reference, with the agents of a configuration"
DESCRIPTION: Final = """\
Start the agents that a configuration names and talk to them: a line is a prompt, `@label` in front of it chooses among
several agents. Ctrl-C cancels what is being worked on; a second one, or one while nothing is, leaves, and so does the
end of the input. `python -m probate_reference run` is the same program.
"""
EXIT_CODES: Final = """\
exit codes:
  0      the input has ended
  1      sessions cannot be kept, no agent could be started, or standard output cannot be written to
  2      the command, or the configuration, is wrong
  70     it could not end in order
  128+N  signal N came
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("config", metavar="CONFIG", help="a file of TOML, as for `probate acp`, with [[agents]]")
    parser.add_argument("--loop", choices=("asyncio", "trio"), default="asyncio", help="the event loop")


def run(arguments: argparse.Namespace) -> Exit:
    """Become the reference's program. Does not return."""
    become(NAME, arguments.loop, arguments.config)
