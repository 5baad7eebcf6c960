"""``probate list``: what there is to name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final

from probate_conformance.backends.reference import known_bad
from probate_conformance.backends.registry import BUILT_IN, GROUP, announced
from probate_conformance.cli.options import add_color
from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit, unknown_name
from probate_conformance.manifest import PROFILES
from probate_conformance.readings import only_where
from probate_conformance.render.layout import table, wrapped
from probate_conformance.render.style import Ink, Style, style_for
from probate_conformance.trace import MODELLED_PROFILES
from probate_model.alphabet.editions import EDITIONS
from probate_model.clauses import CLAUSES, Clause

_ALL: Final = "all"
"""Stands for every edition."""

NAME: Final = "list"
SUMMARY: Final = "list backends, profiles, editions and clauses"
DESCRIPTION: Final = """\
List what there is to name. Without an option: backends, profiles and editions.
"""

PROFILE_SUMMARIES: Final = {
    "core": "inbox, cancel, turns, idle, create, dispose, registry",
    "sessions": "store, log, durability, resume, crash",
    "fibers": "the tree of owners, effects, services, reload",
    "tasks": "background tasks and their owner tokens",
    "bridge": "the ACP server in front of agents",
    "subagents": "agents that agents start",
    "acp": "any ACP agent, as a black box",
}
"""What each profile is about."""


EDITION_SUMMARIES: Final = {
    "2026-06": "the contract of the seeds, and the default",
    "2026-08": "what upstream drifted to",
}
"""What each edition is."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--backends", action="store_true", help="the names that BACKEND can be, known-bad ones too")
    parser.add_argument("--profiles", action="store_true", help="the parts of the contract")
    parser.add_argument("--editions", action="store_true", help="the readings of the contract, with their choices")
    parser.add_argument("--clauses", action="store_true", help="every clause, with its level and its sentence")
    parser.add_argument(
        "--edition",
        nargs="?",
        const=_ALL,
        metavar="NAME",
        help="the choices and the clauses of an edition, or without a name of all of them side by side",
    )
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """List what is asked for.

    :raises UsageError: if there is no such edition
    """
    if arguments.edition not in (None, _ALL, *EDITIONS):
        raise unknown_name("edition", arguments.edition, EDITIONS)
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    sections = {
        "backends": _backends(style, every=arguments.backends),
        "profiles": _profiles(style),
        "editions": _editions(style),
        "clauses": _clauses(style),
        "edition": _edition(style, EDITIONS if arguments.edition in (None, _ALL) else [arguments.edition]),
    }
    asked = [name for name in sections if getattr(arguments, name)]
    text = "\n".join("".join(f"{line}\n" for line in sections[name]) for name in asked or list(sections)[:3])
    emit(text if asked else f"{text}\n{len(CLAUSES)} clauses: `probate list --clauses`, `probate explain CLAUSE`\n")
    return Exit.PASS


def _backends(style: Style, *, every: bool) -> Iterator[str]:
    yield style.ink("backends", Ink.BOLD)
    rows = [(name, built_in.summary) for name, built_in in BUILT_IN.items()]
    rows += [(name, f"announced by an installed package: {point.value}") for name, point in announced().items()]
    rows += [
        ("module:factory", "a callable in Python that makes a backend; python:module:factory is the same"),
        (
            "cmd:COMMAND LINE",
            "a program that speaks the line protocol on its standard streams; no shell",
        ),
    ]
    if not every:
        rows.append(("bad:NAME", f"the reference with one known defect, of {len(known_bad.VARIANTS)}: --backends"))
    yield from table(rows, style)
    if every:
        yield ""
        yield style.ink("known-bad backends: the reference with one defect (bad:NAME@trio is on trio)", Ink.BOLD)
        yield from table(
            [(f"bad:{one.name}", f"{one.clause}: {one.says}") for one in known_bad.VARIANTS.values()], style
        )
        yield ""
        yield from wrapped(f"Installed packages announce backends by entry points of the group {GROUP!r}.", 2)


def _profiles(style: Style) -> Iterator[str]:
    yield style.ink("profiles", Ink.BOLD)
    yield from table([(name, PROFILE_SUMMARIES[name] + _if_not(name in MODELLED_PROFILES)) for name in PROFILES], style)


def _editions(style: Style) -> Iterator[str]:
    yield style.ink("editions", Ink.BOLD)
    yield from table([(name, EDITION_SUMMARIES[name]) for name in EDITIONS], style)
    yield ""
    yield from _choices(style, EDITIONS)


def _choices(style: Style, names: Iterable[str]) -> Iterator[str]:
    yield style.ink(f"  {'choice':<22} " + " ".join(f"{name:<16}" for name in names).rstrip(), Ink.DIM)
    choices = [EDITIONS[name].choices() for name in names]
    for choice in choices[0]:
        yield f"  {choice:<22} " + " ".join(f"{of[choice]:<16}" for of in choices).rstrip()


def _edition(style: Style, names: Collection[str]) -> Iterator[str]:
    """List what holds in some editions, side by side if they are several."""
    for name in names:
        yield f"{style.ink(f'edition {name}', Ink.BOLD)}: {EDITION_SUMMARIES[name]}"
    yield ""
    yield from _choices(style, names)
    marks = " " * (8 * len(names)) if len(names) > 1 else ""
    for profile in (profile for profile in PROFILES if profile in MODELLED_PROFILES):
        own = [clause for clause in CLAUSES.values() if clause.profile == profile]
        held = [[clause for clause in own if clause.holds_in(EDITIONS[name])] for name in names]
        counts = " | ".join(str(len(one)) for one in held)
        yield ""
        yield style.ink(f"clauses of profile {profile} ({counts})", Ink.BOLD)
        if marks:
            yield style.ink(f"  {'':<12} {' '.join(f'{name:<7}' for name in names)}", Ink.DIM)
        for clause in own:
            holds = [clause in one for one in held]
            if any(holds):
                columns = " ".join(f"{'holds' if one else '-':<7}" for one in holds) + " " if marks else ""
                yield from table([(clause.id, f"{columns}{clause.sentence}")], style, width=12)


def _if_not(modelled: bool) -> str:
    return "" if modelled else " (its rules are not modelled yet)"


def _clauses(style: Style) -> Iterator[str]:
    yield style.ink(f"clauses ({len(CLAUSES)})", Ink.BOLD)
    for _, members in groupby(CLAUSES.values(), key=lambda clause: clause.id.partition("-")[0]):
        yield ""
        yield from table([(clause.id, f"{clause.level}  {_told(clause)}") for clause in members], style, width=12)


def _told(clause: Clause) -> str:
    only = only_where(clause)
    return f"{clause.sentence} ({only})" if only else clause.sentence
