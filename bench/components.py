"""The small model for our search: what ``caching`` does for the real one, where what a move looks at is found out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.agents import Agent, Shared, alone, lives, moves
from probate_conformance.exploring.packing import Table
from probate_conformance.exploring.searching import Ahead
from probate_conformance.exploring.walking import SETTLE, Choice, Taken

_AGENT: Final = 20


class Components:
    """Agents and what they share as numbers, and each agent's moves as what they add.

    An agent's moves do not depend on its place, so each is found out once for both.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.agents = Table(Agent(), bits=_AGENT)
        self.shared = Table(Shared(), bits=_AGENT)
        self.choices: list[Choice] = [SETTLE]
        self.start = 0
        ones = (1 << _AGENT) - 1
        self._ones = ones
        self._first = ones << 2 * _AGENT | ones
        self._second = ones << 2 * _AGENT | ones << _AGENT
        self._of_first: dict[int, tuple[int, ...]] = {}
        self._of_second: dict[int, tuple[int, ...]] = {}
        self._moves: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._lives = [lives(Agent())]
        self._wrong: tuple[str, ...] = ()

    def successors(self, state: int) -> tuple[list[int], Ahead]:
        """Give the states that come next."""
        first, second = state & self._first, state & self._second
        if (of_first := self._of_first.get(first)) is None:
            of_first = self._of_first[first] = self._learn(state, 0)
        if (of_second := self._of_second.get(second)) is None:
            of_second = self._of_second[second] = self._learn(state, _AGENT)
        return [state + delta for delta in of_first + of_second], "any"

    def numbers(self, state: int) -> list[int]:
        """Give the same number for each: the moves are not told apart here."""
        return [1] * len(self.successors(state)[0])

    def _learn(self, state: int, shift: int) -> tuple[int, ...]:
        key = state >> shift & self._ones, state >> 2 * _AGENT
        found = self._moves.get(key)
        if found is None:
            found = self._moves[key] = list(self._found(*key))
        return tuple((own << shift) + common for own, common in found)

    def _found(self, before: int, shared: int) -> Iterator[tuple[int, int]]:
        agent, common = self.agents.values[before], self.shared.values[shared]
        if not alone(agent, common):
            self._wrong = ("an invariant of one agent does not hold",)
        for _, moved, after in moves(agent, common, self.most):
            number = self.agents.id(moved)
            if number == len(self._lives):
                self._lives.append(lives(moved))
            yield number - before, (self.shared.id(after) - shared) << 2 * _AGENT

    def shown(self) -> tuple[tuple[int, Taken], ...]:
        """Give nothing: moves are not judged, states are."""
        return ()

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give nothing."""
        del taken
        yield from ()

    def faults(self, state: int) -> tuple[str, ...]:
        """Give what is wrong with a state; of one agent by itself that is found out when its moves are."""
        lives, ones = self._lives, self._ones
        one = lives[state & ones]
        if one and one == lives[state >> _AGENT & ones]:
            return ("two agents live under one id",)
        return self._wrong

    def rest_faults(self, state: int) -> tuple[str, ...]:
        """Give nothing: nothing settles here."""
        del state
        return ()
