"""What is said of the alphabet, read from where it is said: the docstrings of its classes and of its members."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import Enum
from html import escape
from itertools import pairwise
from typing import Final, get_args

from probate_conformance.readings import only_where
from probate_conformance.trace import EVENT_CLASSES
from probate_model.alphabet.editions import EDITIONS
from probate_model.alphabet.events import EVENT_KINDS, VETOABLE, Record, ScopeCleanup, Settled
from probate_model.alphabet.gates import GateKind, fixed_outcomes
from probate_model.alphabet.ops import Op
from probate_model.alphabet.refusals import Refusal
from probate_model.alphabet.subagents import ChildEvent
from probate_model.clauses import CLAUSES, Clause

PAGE: Final = "contract.md"
"""The page that has a row for each clause."""


def table(*rows: Iterable[str]) -> Iterator[str]:
    """Give a table in Markdown; the first row is its head."""
    for place, row in enumerate(rows):
        cells = [cell.replace("|", "\\|").replace("\n", " ") for cell in row]
        yield f"| {' | '.join(cells)} |"
        if not place:
            yield f"|{'---|' * len(cells)}"


def clauses(rows: Iterable[Clause]) -> Iterator[str]:
    """Give the table of some clauses: in HTML, since a table of Markdown breaks an id in two.

    What the default edition does not ask comes last, under a line that says so.
    """
    yield "<table>"
    yield "<tr><th>clause</th><th>level</th><th>what is asked</th><th>why</th></tr>"
    said = ""
    for clause in sorted(rows, key=only_where):
        if (only := only_where(clause)) != said:
            said = only
            yield f'<tr><th colspan="4" align="left">{only}</th></tr>'
        name = f'<td nowrap id="{clause.id.lower()}">{clause.id}</td><td>{clause.level}</td>'
        choice = f" ◇\u00a0<code>{clause.choice}</code>" if clause.choice else ""
        yield f"<tr>{name}<td>{_escaped(clause.sentence)}{choice}</td><td>{_escaped(clause.why)}</td></tr>"
    yield "</table>"


def _escaped(text: str) -> str:
    return escape(text, quote=False)


def said_of(cls: type) -> str:
    """Give the docstring of a class as one line."""
    return marked(" ".join(inspect.cleandoc(cls.__doc__ or "").split()))


def marked(text: str) -> str:
    """Give the text of a docstring as Markdown."""
    return text.replace("``", "`")


def members_of(enum: type[Enum]) -> dict[str, str]:
    """Give what is said of each member of an enum, by the member's name: the string that follows it in the source."""
    tree = ast.parse(inspect.getsource(sys.modules[enum.__module__]))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == enum.__name__)
    said: dict[str, str] = {}
    for node, after in pairwise(body):
        match node, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                said[name] = marked(" ".join(text.split()))
            case _:
                pass
    return said


def ops() -> Iterator[str]:
    """Give the table of the ops."""
    rows = []
    for cls in get_args(Op):
        takes = (f"`{field.name}`" for field in fields(cls) if field.name not in ("label", "item"))
        rows.append((f"`{_default(cls, 'item')}`", ", ".join(takes), said_of(cls)))
    yield from table(("op", "takes", "what it does"), *rows)


def events() -> Iterator[str]:
    """Give the table of the events."""
    unheard = {_default(cls, "event"): cls for cls in get_args(ChildEvent)}
    classes = {**EVENT_CLASSES, **unheard, "scope/cleanup": ScopeCleanup, "settled": Settled}
    rows = []
    for kind in EVENT_KINDS:
        veto = " **Can be vetoed.**" if kind in VETOABLE and "veto" not in said_of(classes[kind]) else ""
        rows.append((f"`{kind}`", _carried(classes[kind], "event"), said_of(classes[kind]) + veto))
    yield from table(("event", "carries", "what it says"), *rows)


def records() -> Iterator[str]:
    """Give the table of the records of a session log."""
    rows = [(f"`{_default(cls, 'record')}`", _carried(cls, "record"), said_of(cls)) for cls in get_args(Record)]
    yield from table(("record", "carries", "what it says"), *rows)


def gates() -> Iterator[str]:
    """Give the table of the gates."""
    said = members_of(GateKind)
    rows = []
    for kind in GateKind:
        outcomes = [f"`{outcome}`" for outcome in fixed_outcomes(kind)]
        if kind is GateKind.MODEL:
            outcomes += ["`tools:K`", "`max-tokens+tools:K`"]
        rows.append((f"`{kind}`", ", ".join(outcomes), said[kind.name]))
    yield from table(("gate", "outcomes (the first is the default)", "where it is"), *rows)


def codes() -> Iterator[str]:
    """Give the table of the codes that a call raises."""
    said = members_of(Refusal)
    rows = [(f"`{member}`", said[member.name]) for member in Refusal]
    yield from table(
        ("code", "what it promises"), *rows, ("`thrown:TAG`", "What a listener or a setup threw, as it is.")
    )


def choices(page: str = "") -> Iterator[str]:
    """Give the table of the edition choices.

    :param page: where the clauses are, if they are not on the same page
    """
    edition = next(iter(EDITIONS.values()))
    rows = []
    for name in edition.choices():
        links = [link(clause.id, page) for clause in CLAUSES.values() if clause.choice == name]
        readings = [f"`{other.choices()[name]}`" for other in EDITIONS.values()]
        about = said_of(type(getattr(edition, name)))
        rows.append((f"`{name}`", about, *readings, ", ".join(links) or "none of its own"))
    yield from table(("choice", "what it decides", *(f"`{name}`" for name in EDITIONS), "clauses"), *rows)


def side_by_side(clauses: Iterable[Clause]) -> Iterator[str]:
    """Give the table of some clauses with the editions beside each other: where each holds, and what decides that."""
    rows = []
    for clause in clauses:
        marks = ("✓" if clause.holds_in(edition) else "" for edition in EDITIONS.values())
        rows.append((link(clause.id, PAGE), clause.sentence, *marks, decides(clause)))
    yield from table(("clause", "what is asked", *(f"`{name}`" for name in EDITIONS), "because of"), *rows)


def decides(clause: Clause) -> str:
    """Give the choices that decide whether a clause holds, with what they have to be; else the one that it reads."""
    edition = next(iter(EDITIONS.values()))
    by_kind = {type(getattr(edition, name)): name for name in edition.choices()}
    asked = [f"`{by_kind[type(choice)]}` is `{choice}`" for choice in clause.under]
    return ", ".join(asked) or (f"`{clause.choice}`" if clause.choice else "")


def link(clause: str, page: str = "") -> str:
    """Give a link to the row of a clause, which is on the same page unless another is given."""
    return f"[{clause}]({page}#{clause.lower()})"


def _default(cls: type, name: str) -> str:
    return str(next(field.default for field in fields(cls) if field.name == name))


def _carried(cls: type, without: str) -> str:
    return ", ".join(f"`{field.name}`" for field in fields(cls) if field.name != without)
