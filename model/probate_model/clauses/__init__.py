"""The contract as a numbered list: what a clause is (``registry``), and one chapter for each profile."""

from probate_model.clauses import bridge, fibers, sessions, subagents, tasks
from probate_model.clauses.core import AT_REST, SETTLES_ONCE, failure_clause
from probate_model.clauses.registry import (
    CLAUSES,
    EDGES,
    EXTRAS,
    Clause,
    Demand,
    Level,
    define,
    demand,
    demand_of,
    extra_clause,
)

__all__ = [
    "AT_REST",
    "CLAUSES",
    "EDGES",
    "EXTRAS",
    "SETTLES_ONCE",
    "Clause",
    "Demand",
    "Level",
    "bridge",
    "define",
    "demand",
    "demand_of",
    "extra_clause",
    "failure_clause",
    "fibers",
    "sessions",
    "subagents",
    "tasks",
]
