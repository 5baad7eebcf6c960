"""``probate schema``: what files and messages look like, as JSON Schema."""

from __future__ import annotations

import argparse
from typing import Final

from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit, unknown_name
from probate_conformance.schemas import SCHEMAS, schema_text

NAME: Final = "schema"
SUMMARY: Final = "print what a trace file, a message, a manifest or a report looks like, as JSON Schema"
DESCRIPTION: Final = """\
Print a JSON Schema:
  trace     a trace file, as `probate replay` reads it
  wire      a message of the line protocol, in either direction
  manifest  what a backend says of itself
  report    one line of a report in NDJSON
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("name", metavar="SCHEMA", help=", ".join(SCHEMAS))


def run(arguments: argparse.Namespace) -> Exit:
    """Print the schema.

    :raises UsageError: if there is none of this name
    """
    if arguments.name not in SCHEMAS:
        raise unknown_name("schema", arguments.name, SCHEMAS)
    emit(schema_text(arguments.name))
    return Exit.PASS
