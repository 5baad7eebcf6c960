"""``probate list``: what there is to name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from probate_conformance.backends.reference import known_bad
from probate_conformance.backends.registry import BUILT_IN, GROUP, announced
from probate_conformance.cli.options import add_color
from probate_conformance.cli.output import emit
from probate_conformance.errors import Exit
from probate_conformance.manifest import PROFILES
from probate_conformance.render.layout import table, wrapped
from probate_conformance.render.style import Ink, Style, style_for
from probate_conformance.trace import MODELLED_PROFILES
from probate_model.alphabet.editions import EDITIONS
from probate_model.clauses import CLAUSES

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
    add_color(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """List what is asked for."""
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    sections = {
        "backends": _backends(style, every=arguments.backends),
        "profiles": _profiles(style),
        "editions": _editions(style),
        "clauses": _clauses(style),
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
    names = list(EDITIONS)
    yield style.ink(f"  {'choice':<22} " + " ".join(f"{name:<16}" for name in names).rstrip(), Ink.DIM)
    choices = [edition.choices() for edition in EDITIONS.values()]
    for choice in choices[0]:
        yield f"  {choice:<22} " + " ".join(f"{of[choice]:<16}" for of in choices).rstrip()


def _if_not(modelled: bool) -> str:
    return "" if modelled else " (its rules are not modelled yet)"


def _clauses(style: Style) -> Iterator[str]:
    yield style.ink(f"clauses of profile core ({len(CLAUSES)})", Ink.BOLD)
    for _, members in groupby(CLAUSES.values(), key=lambda clause: clause.id.partition("-")[0]):
        yield ""
        yield from table([(clause.id, f"{clause.level}  {clause.sentence}") for clause in members], style, width=12)
