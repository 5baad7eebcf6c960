"""The command line: one module for each verb, and what they all share.

A verb reads its arguments, has the work done, and gives an exit code. Whatever a user can cause is an error with a
message of its own, printed here; what nobody foresaw is admitted here as a defect of ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final, NoReturn, Protocol

from probate_conformance.cli import (
    acp,
    backends,
    check,
    diff,
    doctor,
    explain,
    explore,
    listing,
    new_adapter,
    replay,
    run,
    schema,
    selftest,
    serve,
)
from probate_conformance.cli.output import complain, emit, make_lenient
from probate_conformance.errors import DEBUG, Exit, ProbateError, UsageError, trace_if_debugging, unknown_name

EXIT_CODES: Final = """\
exit codes:
  0  all that was asked for was carried out and held
  1  a clause failed, and failed again when it was confirmed
  2  the command, or a file that it was given, is wrong
  3  inconclusive, or interrupted: something was neither shown to hold nor to fail
  4  the backend broke the protocol, went silent or died
  5  nothing was executed: not installed, or nothing to run
  6  probate itself could not do its work
With several backends the worst counts: 6, 2, 1, 4, 3, 5, 0, in this order.
"""

ABOUT: Final = """\
Probate proves that agents are settled in order: it runs generated traces on an agent runtime and holds what it
observes to a model of the contract, clause by clause.
"""


class Verb(Protocol):
    """What the module of a verb has."""

    NAME: str
    SUMMARY: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it.

        :return: the exit code, as ``Exit`` has them, or 128 and the number of the signal that ended it
        :raises ProbateError: if it can't be done
        """
        ...


VERBS: Final[tuple[Verb, ...]] = (
    check,
    replay,
    explore,
    listing,
    explain,
    schema,
    backends,
    selftest,
    serve,
    doctor,
    new_adapter,
    diff,
    acp,
    run,
)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors like all others, and whose help goes where all output goes."""

    def print_help(self, file: object = None) -> None:
        del file
        emit(self.format_help())

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, mend=f"`{self.prog} --help` tells what there is")


def parser() -> argparse.ArgumentParser:
    """Give the parser of the whole command line."""
    form = argparse.RawDescriptionHelpFormatter
    top = _Parser(prog="probate", description=ABOUT, epilog=EXIT_CODES, formatter_class=form, allow_abbrev=False)
    top.add_argument("--version", action="store_true", help="tell the version of probate")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", dest="verb", parser_class=_Parser)
    for verb in VERBS:
        made = verbs.add_parser(
            verb.NAME,
            help=verb.SUMMARY,
            description=getattr(verb, "DESCRIPTION", verb.SUMMARY),
            epilog=getattr(verb, "EXIT_CODES", EXIT_CODES),
            formatter_class=form,
            allow_abbrev=False,
        )
        verb.configure(made)
        made.set_defaults(run=verb.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    :param arguments: those after the program's name; the process's own if none are given
    :return: the exit code
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    make_lenient()
    try:
        return _run(words)
    except ProbateError as error:
        complain(str(error))
        trace_if_debugging(error)
        return error.exit
    except KeyboardInterrupt:
        complain("interrupted")
        return Exit.INCONCLUSIVE
    except Exception as error:
        where = "".join(f"  {note}\n" for note in getattr(error, "__notes__", ()))
        complain(
            f"probate itself failed: {type(error).__name__}: {error}\n{where}"
            f"  this is a defect of probate; please report it with the command and what {DEBUG}=1 shows"
        )
        trace_if_debugging(error)
        return Exit.DEFECT


def _run(words: list[str]) -> int:
    known = [verb.NAME for verb in VERBS]
    if words and not words[0].startswith("-") and words[0] not in known:
        raise unknown_name("verb", words[0], known)
    top = parser()
    parsed = top.parse_args(words)
    if parsed.version:
        emit(f"probate {version('probate')}\n")
        return Exit.PASS
    if parsed.verb is None:
        top.print_help()
        return Exit.USAGE
    code: int = parsed.run(parsed)
    return code
