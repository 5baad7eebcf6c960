"""Readings: where a clause holds that the default edition does not ask."""

from __future__ import annotations

from probate_model.alphabet.editions import EDITION_2026_06, EDITIONS
from probate_model.clauses import Clause


def only_where(clause: Clause) -> str:
    """Tell where alone a clause holds; nothing if the default edition asks it."""
    if clause.holds_in(EDITION_2026_06):
        return ""
    names = ", ".join(edition.name for edition in EDITIONS.values() if clause.holds_in(edition))
    return f"only in edition {names}" if names else "only with choices that no edition has together"
