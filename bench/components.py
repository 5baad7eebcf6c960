"""The small model for our search: what ``caching`` does for the real one, where what a move looks at is found out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.agents import Agent, Shared, State, alone, moves, together
from probate_conformance.exploring.packing import Table
from probate_conformance.exploring.searching import Ahead
from probate_conformance.exploring.walking import SETTLE, Choice, Taken

_AGENT: Final = 20


class Components:
    """Agents and what they share as numbers, and each agent's moves as what they add."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.agents = Table(Agent(), bits=_AGENT)
        self.shared = Table(Shared(), bits=_AGENT)
        self.choices: list[Choice] = [SETTLE]
        self.start = 0
        ones = (1 << _AGENT) - 1
        both = ones << 2 * _AGENT
        self._ones = ones
        self._groups: list[tuple[int, dict[int, list[int]], int]] = [
            (ones | both, {}, 0),
            (ones << _AGENT | both, {}, _AGENT),
        ]
        self._both = ones | ones << _AGENT
        self._fine: set[int] = set()
        self._wrong: tuple[str, ...] = ()

    def state(self, number: int) -> State:
        """Give the state that a number stands for."""
        ones = self._ones
        first, second, shared = number & ones, number >> _AGENT & ones, number >> 2 * _AGENT
        return State(self.agents.values[first], self.agents.values[second], self.shared.values[shared])

    def successors(self, state: int) -> tuple[list[int], Ahead]:
        """Give the states that come next."""
        following: list[int] = []
        for mask, known, shift in self._groups:
            deltas = known.get(state & mask)
            if deltas is None:
                deltas = known[state & mask] = self._learn(state, shift)
            following += [state + delta for delta in deltas]
        return following, "any"

    def numbers(self, state: int) -> list[int]:
        """Give the same number for each: the moves are not told apart here."""
        return [1] * len(self.successors(state)[0])

    def _learn(self, state: int, shift: int) -> list[int]:
        before = state >> shift & self._ones
        shared = state >> 2 * _AGENT
        if not alone(self.agents.values[before], self.shared.values[shared]):
            self._wrong = ("an invariant of one agent does not hold",)
        deltas = []
        for _, agent, after in moves(self.agents.values[before], self.shared.values[shared], self.most):
            own, common = self.agents.id(agent), self.shared.id(after)
            deltas.append(((own - before) << shift) + ((common - shared) << 2 * _AGENT))
        return deltas

    def shown(self) -> tuple[tuple[int, Taken], ...]:
        """Give nothing: moves are not judged, states are."""
        return ()

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give nothing."""
        del taken
        yield from ()

    def faults(self, state: int) -> tuple[str, ...]:
        """Give what is wrong with a state; of one agent by itself that is found out when its moves are."""
        key = state & self._both
        if key not in self._fine:
            whole = self.state(state)
            if not together(whole.first, whole.second):
                return ("two agents live under one id",)
            self._fine.add(key)
        return self._wrong

    def rest_faults(self, state: int) -> tuple[str, ...]:
        """Give nothing: nothing settles here."""
        del state
        return ()
