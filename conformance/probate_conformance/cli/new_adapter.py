"""``probate new-adapter``: an adapter to start from, with a toy runtime that it drives."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Final

from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit, unknown_name
from probate_conformance.templates import TEMPLATES

NAME: Final = "new-adapter"
SUMMARY: Final = "write an adapter to start from, with a toy runtime that it drives"
DESCRIPTION: Final = """\
Write an adapter that works into a new folder, with a toy runtime in the same language, a README
and a `check` command. It passes the clauses that it claims: put your runtime in the toy's place
piece by piece. TypeScript is run by Node as it stands, which strips the types (22.18 or newer).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("language", metavar="LANGUAGE", help=", ".join(TEMPLATES))
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to; it must be empty, or not there yet")


def run(arguments: argparse.Namespace) -> Exit:
    """Write the template, and tell what to do with it.

    :raises UsageError: if there is none in that language, or the folder is in use
    :raises ReportError: if a file can't be written
    """
    if arguments.language not in TEMPLATES:
        mend = "any language that reads and writes lines of JSON will do: docs/protocol.md"
        raise unknown_name("language", arguments.language, TEMPLATES, also=mend)
    template = TEMPLATES[arguments.language]
    template.write(arguments.folder)
    folder = shlex.quote(str(arguments.folder))
    emit(
        f"{folder} holds {', '.join(template.files)}\n\n"
        f"  cd {folder}\n"
        f"  probate doctor {template.command}\n"
        f"  ./check --cases 20\n"
    )
    return Exit.PASS
