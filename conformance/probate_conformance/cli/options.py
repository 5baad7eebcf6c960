"""Arguments that several verbs share, and the checks on them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from probate_conformance.backends.process import DEADLINE
from probate_conformance.errors import UsageError, unknown_name
from probate_conformance.manifest import PROFILES
from probate_conformance.spreading import MOST
from probate_conformance.trace import MODELLED_PROFILES
from probate_model.alphabet.editions import EDITIONS, Edition
from probate_model.clauses import CLAUSES

LONGEST_DEADLINE: Final = 24 * 60 * 60


def add_deadline(parser: argparse.ArgumentParser) -> None:
    """Add how long a backend in another process may take."""
    parser.add_argument(
        "--deadline",
        type=seconds,
        default=DEADLINE,
        metavar="SECONDS",
        help="how long a backend in another process may take for one answer, in seconds (default: %(default)g)",
    )


def add_color(parser: argparse.ArgumentParser) -> None:
    """Add the wish for no colour."""
    parser.add_argument(
        "--no-color",
        action="store_true",
        help="no colour; without it there is colour on a terminal, and NO_COLOR, FORCE_COLOR and TERM=dumb are heeded",
    )


def natural(text: str) -> int:
    """Read a number from 0."""
    return _number(text, 0)


def positive(text: str) -> int:
    """Read a number from 1."""
    return _number(text, 1)


def _number(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is less than {least}")
    return number


def seconds(text: str) -> float:
    """Read a time in seconds: more than 0, and no more than a day."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not (math.isfinite(number) and 0 < number <= LONGEST_DEADLINE):
        raise argparse.ArgumentTypeError(f"{text} is not more than 0 and at most {LONGEST_DEADLINE} seconds")
    return number


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add over how many processes work is spread."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        metavar="N",
        help="spread the traces over N processes; the report is the same for any N "
        f"(default: 1 for a backend of yours; for ours the number of processors, at most {MOST})",
    )


def clause_patterns(text: str) -> tuple[str, ...]:
    """Read patterns of the ids of clauses, with commas between them."""
    patterns = tuple(pattern.strip().upper() for pattern in text.split(","))
    for pattern in patterns:
        if not any(fnmatchcase(clause, pattern) for clause in CLAUSES):
            close = get_close_matches(pattern, CLAUSES, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise argparse.ArgumentTypeError(f"{pattern!r} matches no clause{hint}")
    return patterns


def require_edition(name: str) -> None:
    """See that there is an edition of that name.

    :raises UsageError: if there is none
    """
    if name not in EDITIONS:
        raise unknown_name("edition", name, tuple(EDITIONS))


def profiles_of(edition: Edition) -> list[str]:
    """Give the profiles of which an edition has clauses, in order."""
    there = {clause.profile for clause in CLAUSES.values() if clause.holds_in(edition)}
    return [name for name in MODELLED_PROFILES if name in there]


def require_profile(name: str, edition: str, flipped: Sequence[str] = ()) -> None:
    """See that a profile is one whose rules are modelled, and that there are some in an edition.

    :param flipped: the choices in which it is another edition
    :raises UsageError: if it is not, or if there are none
    """
    if name not in PROFILES:
        raise unknown_name("profile", name, PROFILES)
    if name not in MODELLED_PROFILES:
        raise UsageError(
            f"profile {name!r} is known, but its rules are not modelled yet",
            mend=f"modelled is {', '.join(MODELLED_PROFILES)}",
        )
    there = profiles_of(EDITIONS[edition].flipped(flipped))
    if name not in there:
        editions = [other for other in EDITIONS if name in profiles_of(EDITIONS[other])]
        raise UsageError(
            f"edition {edition} has no clause of profile {name!r}, so there is nothing to judge",
            mend=f"name an edition that has: {', '.join(editions)}; or another profile: {', '.join(there)}",
        )
