"""The clauses: the contract as a numbered list.

Each clause is one sentence about something that can be observed. Rules name the clauses that they carry out: every
expected event knows the clause that demands it, the clause about its place in the order (``edge``), and the clauses
about its fields; a rule that is silent on purpose names the clause of its silence. So when a backend diverges, what
is reported is a clause and not two lists that differ.

Here is what a clause and a demand are; each profile has a chapter of its own beside this, which defines its clauses
when it is imported. Ids never move and are never reused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from probate_model.alphabet.editions import EDITION_2026_06, Choice, Edition
from probate_model.alphabet.members import plain


@plain
class Level(StrEnum):
    """How much a clause asks."""

    MUST = "MUST"
    SHOULD = "SHOULD"


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence of the contract.

    ``source`` names the section of the seeds (S1 is the lifecycle note, S2 the one-id note) or of the fact sheet;
    ``seen`` names the kinds of event through which it is observed; ``choice`` names the edition choice that changes
    it, if one does, and ``under`` how an edition has to choose for it to hold; ``needs`` names the ops, gates,
    features and kinds of event without which it can't be demanded.
    """

    id: str
    sentence: str
    why: str
    source: str
    seen: tuple[str, ...]
    level: Level = Level.MUST
    profile: str = "core"
    choice: str | None = None
    needs: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    under: tuple[Choice, ...] = ()

    def holds_in(self, edition: Edition) -> bool:
        """Tell whether it is a clause of an edition; where it is none it is never demanded."""
        return all(edition.has(choice) for choice in self.under)


CLAUSES: dict[str, Clause] = {}


def define(
    name: str,
    sentence: str,
    why: str,
    source: str,
    *seen: str,
    profile: str,
    level: Level = Level.MUST,
    choice: str | None = None,
    needs: tuple[str, ...] = (),
    codes: tuple[str, ...] = (),
    under: tuple[Choice, ...] = (),
) -> None:
    """Define a clause; see ``Clause`` for what is what.

    :raises ValueError: if the id is taken
    """
    if name in CLAUSES:
        raise ValueError(f"clause {name} is defined twice")
    CLAUSES[name] = Clause(name, sentence, why, source, seen, level, profile, choice, needs, codes, under)


class Demand(NamedTuple):
    """Why an event is expected: the clause, the clause of its place in the order, and the clauses of its fields."""

    clause: str
    edge: str
    fields: tuple[tuple[str, str], ...] = ()

    def of_field(self, name: str) -> str:
        """Give the clause that a field's value is demanded by."""
        return dict(self.fields).get(name, self.clause)

    @property
    def clauses(self) -> tuple[str, ...]:
        """All clauses that the event speaks for, each once."""
        return _clauses_of(self)


@cache
def _clauses_of(demand: Demand) -> tuple[str, ...]:
    return tuple(dict.fromkeys((demand.clause, demand.edge, *(clause for _, clause in demand.fields))))


def demand(clause: str, *, edge: str | None = None, **fields: str) -> Demand:
    """Name the clauses of an expected event; every one must be defined."""
    made = Demand(clause, edge or clause, tuple(fields.items()))
    for name in made.clauses:
        if name not in CLAUSES:
            raise ValueError(f"no clause {name}")
    return made


EDGES: dict[str, str] = {}
"""For clauses of settlements: the clause about their place in the order, where that is another one."""

EXTRAS: dict[str, str] = {}
"""For each kind of event: the clause that one breaks which no rule calls for."""

OTHER_EXTRAS: dict[str, str] = {}
"""The same for editions in which that clause does not hold."""

_SETTLEMENTS: dict[str, Demand] = {}


def demand_of(clause: str) -> Demand:
    """Give the demand for a settlement: that it comes, when it may come, and with what."""
    made = _SETTLEMENTS.get(clause)
    if made is None:
        made = _SETTLEMENTS[clause] = demand(clause, edge=EDGES.get(clause, clause), outcome=clause)
    return made


def extra_clause(kind: str, edition: Edition = EDITION_2026_06) -> str:
    """Give the clause that an event of ``kind`` breaks when no rule of an edition calls for it."""
    return EXTRAS[kind] if CLAUSES[EXTRAS[kind]].holds_in(edition) else OTHER_EXTRAS[kind]
