"""The kit's test of itself: that it finds every known defect, and names the clause that speaks of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from probate_conformance.backends.reference.known_bad.backend import KnownBadBackend
from probate_conformance.backends.reference.known_bad.variant import Loop, Variant
from probate_conformance.checking import check
from probate_conformance.plan import Plan

BUDGET: Final = 2000
"""How many traces may be run until a defect is found, if nothing else is said."""
SCHEDULES: Final = 4
"""Under how many schedules each trace runs, the first of them first in, first out, for a defect of order."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one defect.

    :ivar loop: the loop that it was run on
    :ivar clause: the clause that it was reported by; none if it was not found
    :ivar runs: how many runs it took
    :ivar length: of the shrunk trace
    :ivar story: of the shrunk trace
    """

    variant: Variant
    loop: Loop
    clause: str | None
    runs: int
    length: int = 0
    story: str = ""

    @property
    def passed(self) -> bool:
        """Whether it was found, and named by its clause."""
        return self.clause == self.variant.clause


def selftest(
    variants: Sequence[Variant], budget: int = BUDGET, *, seed: int = 1, loop: Loop = "asyncio", only_due: bool = False
) -> Iterator[Result]:
    """Look for each defect until it is found, or the budget is used up.

    :param budget: how many runs each may take at the most
    :param seed: of the traces
    :param only_due: whether only the clause of each defect is judged
    """
    for variant in variants:
        # On trio every order is a seeded one.
        schedules = SCHEDULES if variant.needs == "schedule" and loop == "asyncio" else 1
        cases = -(-budget // schedules)
        plan = Plan(
            seed=seed,
            cases=cases,
            schedules=schedules,
            stop_at_first=True,
            profile=variant.profile,
            only=(variant.clause,) if only_due else (),
        )
        backend = KnownBadBackend(variant, loop)
        with backend:
            checked = backend.converse(check(backend.manifest, plan, lambda _: None))
        if checked.cases:
            case = checked.cases[0]
            yield Result(variant, loop, case.clause, case.number + 1, case.trace.length, case.story)
        else:
            yield Result(variant, loop, None, checked.traces)
