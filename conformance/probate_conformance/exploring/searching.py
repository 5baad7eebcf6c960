"""Searching: breadth first through all positions within a bound, so that what is found is found by the shortest way.

A search ends in one of three ways: all positions were looked at, and then what was not found is not there; something
was found that should not be; or a limit was reached, of positions, memory or time. A limit is never a pass: what holds
of the positions that were looked at is *undetermined* of the others.

What a settle may do is looked at as a whole: its steps must not lead back to where they were, or it need not end. That
is what all that is said about liveness rests on; see ``properties``.
"""

from __future__ import annotations

import resource
import time
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse, islice
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from probate_conformance.exploring.walking import SETTLE, Choice, Taken

S = TypeVar("S", bound=Hashable)

ENDLESS: Final = "L24: a settle need not end: its steps lead back to where they were"
_LOOK: Final = 1 << 12
"""After how many positions limits are looked at."""


Ahead: TypeAlias = Literal["any", "steps", "rest"]
"""What comes next: anything; steps alone, since it settles; or anything, and at last the end of a settle."""


class Space(Protocol[S]):
    """What is searched."""

    start: S
    choices: list[Choice]

    def successors(self, state: S) -> tuple[list[S], Ahead]:
        """Give all states that can come next, and what sort of a list that is."""
        ...

    def numbers(self, state: S) -> list[int]:
        """Give the number of the choice that leads to each of these, in the same order."""
        ...

    def shown(self) -> Iterable[tuple[int, Taken]]:
        """Give the choices that were not met before, since this was asked last, each with its number."""
        ...

    def judged(self, taken: Taken) -> Iterator[str]:
        """Give what is wrong with a choice."""
        ...

    def faults(self, state: S) -> Iterable[str]:
        """Give what is wrong with a state."""
        ...

    def rest_faults(self, state: S) -> Iterable[str]:
        """Give what is wrong with a state in that it is at rest."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search gives up."""

    states: int | None = None
    megabytes: int | None = None
    seconds: float | None = None

    def reached(self, states: int, began: float) -> str | None:
        """Tell which limit is reached, in words; none if none is."""
        if self.states is not None and states >= self.states:
            return f"the limit of {self.states:,} states"
        if self.megabytes is not None and memory() >= self.megabytes:
            return f"the limit of {self.megabytes:,} MB"
        if self.seconds is not None and time.monotonic() - began >= self.seconds:
            return f"the limit of {self.seconds:g} s"
        return None


def memory() -> int:
    """Give how many megabytes this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


class Finding(NamedTuple):
    """Something that should not be."""

    fault: str
    path: tuple[int, ...]
    """The numbers of the choices that lead there."""


@dataclass(slots=True)
class Searched(Generic[S]):
    """What a search has come to, so far."""

    space: Space[S]
    states: dict[S, int]
    """Each state with its number, in the order in which they were found."""
    order: list[S]
    parents: array[int] = field(default_factory=lambda: array("I", [0]))
    """From which state each was found."""
    transitions: int = 0
    rests: int = 0
    """How many states are the end of a settle."""
    expanded: int = 0
    findings: list[Finding] = field(default_factory=list)
    limit: str | None = None
    """The limit that was reached, in words; none if all was looked at."""
    seconds: float = 0.0

    def path(self, number: int) -> tuple[int, ...]:
        """Give the numbers of the choices that lead to a state."""
        path: list[int] = []
        while number:
            parent = self.order[self.parents[number]]
            following, _ = self.space.successors(parent)
            path.append(self.space.numbers(parent)[following.index(self.order[number])])
            number = self.parents[number]
        return tuple(reversed(path))


class _Steps:
    """The steps from states that settle, by the number of the state; filled in the order of the states."""

    __slots__ = ("ends", "sources", "to")

    def __init__(self) -> None:
        self.sources = array("I")
        self.to = array("I")
        self.ends = array("I", [0])

    def add(self, source: int, to: Iterable[int]) -> None:
        """Add the steps from a state."""
        self.sources.append(source)
        self.to.extend(to)
        self.ends.append(len(self.to))

    def turning(self, states: int) -> int | None:
        """Give the first state from which steps lead back to itself; none if there is none.

        What nothing leads to any more is on no circle, nor is what leads nowhere; what is left after all such have been
        taken away, again and again, is on a circle or on a way from one to another.

        :param states: how many states there are
        """
        sources, to = self.sources, self.to
        incoming = array("I", bytes(4 * states))
        places = array("I", bytes(4 * states))
        for place, source in enumerate(sources, 1):
            places[source] = place
        for target in to:
            incoming[target] += 1
        free = [source for source in sources if not incoming[source]]
        left = len(sources) - len(free)
        while free:
            for target in self._from(places[free.pop()]):
                incoming[target] -= 1
                if not incoming[target] and places[target]:
                    free.append(target)
                    left -= 1
        return None if not left else self._first_on_circle(places, [state for state in sources if incoming[state]])

    def _from(self, place: int) -> Sequence[int]:
        """Give what the ``place``-th source leads to, counted from 1; nothing for 0."""
        return self.to[self.ends[place - 1] : self.ends[place]] if place else ()

    def _first_on_circle(self, places: Sequence[int], left: Sequence[int]) -> int:
        for start in left:
            seen: set[int] = set()
            ahead = [start]
            while ahead:
                for target in self._from(places[ahead.pop()]):
                    if target == start:
                        return start
                    if target not in seen:
                        seen.add(target)
                        ahead.append(target)
        raise AssertionError("what is left has a circle")


def search(
    space: Space[S],
    limits: Limits = Limits(),
    progress: Callable[[Searched[S]], None] | None = None,
    *,
    most: int = 1,
) -> Searched[S]:
    """Search a space.

    :param limits: when to give up
    :param progress: called now and then
    :param most: after how many findings to stop
    """
    began = time.monotonic()
    states: dict[S, int] = {space.start: 0}
    order: list[S] = [space.start]
    searched = Searched(space, states, order)
    steps = _Steps()
    settle = space.choices.index(SETTLE)
    first = (*space.faults(space.start), *space.rest_faults(space.start))
    found = searched.findings
    found += (Finding(fault, ()) for fault in first)
    rested = {space.start}
    # What is asked for each state is called by a short name here: it makes a tenth of the time.
    successors, faults, shown = space.successors, space.faults, space.shown
    is_known, parents = states.__contains__, searched.parents
    unexpanded = enumerate(order)
    transitions = number = 0
    while number < len(order) and len(found) < most:
        searched.expanded, searched.transitions, searched.seconds = number, transitions, time.monotonic() - began
        if progress is not None:
            progress(searched)
        searched.limit = limits.reached(len(order), began)
        if searched.limit is not None:
            break
        for number, state in islice(unexpanded, _LOOK):
            following, ahead = successors(state)
            transitions += len(following)
            # Lazily: one that comes twice is known the second time.
            for after in filterfalse(is_known, following):
                target = states[after] = len(order)
                order.append(after)
                parents.append(number)
                for fault in faults(after):
                    found.append(Finding(fault, searched.path(target)))
            if ahead == "rest":
                if (after := following[-1]) not in rested:
                    rested.add(after)
                    for fault in space.rest_faults(after):
                        found.append(Finding(fault, (*searched.path(number), settle)))
            elif ahead == "steps":
                steps.add(number, [states[after] for after in following])
            for choice, taken in shown():
                for fault in space.judged(taken):
                    found.append(Finding(fault, (*searched.path(number), choice)))
            if len(found) >= most:
                break
        number += 1
    searched.expanded, searched.transitions, searched.rests = number, transitions, len(rested)
    if searched.limit is None and len(found) < most and (turning := steps.turning(len(order))) is not None:
        found.append(Finding(ENDLESS, searched.path(turning)))
    searched.seconds = time.monotonic() - began
    return searched
