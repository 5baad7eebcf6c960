"""What was found to be behind the faults of a family: written by hand, and held against the reports by the page.

A report says which clauses fail and shows the smallest trace of each; why they do only somebody can say who has read
the runtime. So that is kept in a file, ``causes/FAMILY.toml``, by clause. The page shows of it what the reports bear
out, and names the clauses that fail and that nobody has explained: a new fault can't hide among old ones.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

_FOLDER: Final = "causes"


class Cause(BaseModel):
    """One fault of a runtime, and what it shows in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    clauses: tuple[str, ...]
    why: str
    only: tuple[str, ...] = ()
    """The backends that have it; all of the family if none is named."""

    def shows_in(self, failing: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Give the clauses that fail by it, each with the backends.

        :param failing: all clauses that fail, each with the backends
        """
        found = {name: self._having(failing.get(name, ())) for name in self.clauses}
        return {name: backends for name, backends in found.items() if backends}

    def _having(self, backends: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(backend for backend in backends if not self.only or backend in self.only)


class Causes(BaseModel):
    """All that is known of a family."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: str
    """How it was found out."""
    causes: tuple[Cause, ...] = Field(alias="cause")


def causes_of(family: str) -> Causes | None:
    """Give what is known of a family; none if nobody has looked."""
    file = files(__package__) / _FOLDER / f"{family}.toml"
    return Causes.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None
