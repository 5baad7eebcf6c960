"""The plain space: every choice taken by the rules, on whole worlds, and everything asked each time.

It is slow, and there is nothing clever in it. It is there to be agreed with.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate_conformance.exploring import judging
from probate_conformance.exploring.bounds import Bound
from probate_conformance.exploring.searching import Ahead
from probate_conformance.exploring.walking import SETTLE, Choice, Position, Taken, choices, start, take


class PlainSpace:
    """The positions within a bound, and what leads from each to which."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.start = start(bound.edition)
        self.choices: list[Choice] = [SETTLE]
        self._ids: dict[Choice, int] = {SETTLE: 0}
        self._shown: list[tuple[int, Taken]] = []

    def successors(self, state: Position) -> tuple[list[Position], Ahead]:
        """Give all positions that can come next, and what sort of a list that is."""
        following = []
        last: Choice | None = None
        for last in choices(self.bound, state):
            number = self._ids.setdefault(last, len(self.choices))
            if number == len(self.choices):
                self.choices.append(last)
            taken = take(state, last)
            self._shown.append((number, taken))
            following.append(taken.position)
        return following, "rest" if last is SETTLE else "steps" if state.settling else "any"

    def numbers(self, state: Position) -> list[int]:
        """Give the number of the choice that leads to each of these, in the same order."""
        return [self._ids[choice] for choice in choices(self.bound, state)]

    def shown(self) -> Iterator[tuple[int, Taken]]:
        """Give the choices that were taken since this was asked last, each with its number."""
        yield from self._shown
        self._shown.clear()

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give what is wrong with a choice."""
        return judging.of_a_choice(taken)

    def faults(self, state: Position) -> Iterator[str]:
        """Give what is wrong with a position."""
        for place in range(len(state.world.agents)):
            yield from judging.of_an_agent(state.world, place)
        yield from judging.of_the_registries(state.world)

    def rest_faults(self, state: Position) -> Iterator[str]:
        """Give what is wrong with a position in that it is at rest."""
        yield from judging.at_rest(state)
