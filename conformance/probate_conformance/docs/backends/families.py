"""Which backends a page is about, and what is to be said of them that no report says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from probate_conformance.backends.dsh import NAMES
from probate_model.alphabet.editions import EDITIONS


@dataclass(frozen=True, slots=True)
class Family:
    """Backends that stand side by side on a page."""

    name: str
    """Of the page."""
    title: str
    words: str
    """What stands at the top."""
    backends: tuple[str, ...]
    """As the command line calls them; the last one is the newest."""
    editions: tuple[str, ...]
    """Under which each is checked; the last one is the one that they follow, by which the page is arranged."""
    profile: str = "core"


DSH: Final = Family(
    name="dsh",
    title="The DeepSeek Harness, release by release",
    words="""\
The DeepSeek Harness (dsh) is published as packages on npm and, for Python, as one executable for each release. Both are
driven from inside, by one adapter: it mounts the published agent loop in a context of its own, with a model and a tool
that wait at gates, and reports what an ordinary listener sees. Nothing in it is patched, and nothing is put right.

The seeds that the contract was drawn from describe dsh as it was in June 2026; that is edition `2026-06`. It has
drifted since, in known ways; edition `2026-08` is the contract with those choices made the other way. So each release
is judged twice.

Each release is checked with the default suite of 3,000 traces under both, since what is rare fails in the long runs
only. Releases 0.1.0rc6 and 0.1.0rc7 behave alike, and so do 0.1.1rc1 and 0.1.2rc1. The machine was busy, so the run
times are long.
""",
    backends=NAMES,
    editions=tuple(EDITIONS),
)

PH_CORE: Final = Family(
    name="ph-core",
    title="ph-core, a harness in Python",
    words="""\
ph-core is published on PyPI. It carries on ideas of dsh, was written by others, and follows neither edition as a whole.
It is driven in a Python of its own: the adapter mounts six of its rows in a context, with a model and a tool that wait
at gates, plays the host that ph-core expects to have, and reports what an ordinary listener hears. Nothing in it is
patched.

It makes some of the choices in which the editions differ one way, and some the other. A trace that meets one of these
ends there, unless the run can go on with that choice flipped; what lies behind it is blocked, and not passed.
""",
    backends=("ph-core",),
    editions=tuple(EDITIONS),
)

FAMILIES: Final = (DSH, PH_CORE)
