"""Packing: a world as one whole number, and trees that find in it what a stretch does.

Every part of a world (see ``tracing``) has a field of bits in the number, which holds the number of its value in a
table. Beside each agent stands its *outline*: its stem, and what it takes of the bound. That is all that anybody but
itself looks at as a rule, so who knows the shared parts, one agent and the outlines of the others knows all that can
become of that agent.

What a stretch changes is then one number that is added, since whatever it changes it has looked at.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import Any, Final, NamedTuple

from probate_conformance.exploring.tracing import SHARED, Part, Stem
from probate_conformance.exploring.walking import Taken

_BITS_OF_SHARED: Final = 14
_BITS_OF_AGENT: Final = 24
_BITS_OF_OUTLINE: Final = 14


class Table:
    """The values of one part, each with its number."""

    __slots__ = ("ids", "most", "values")

    def __init__(self, *values: Hashable, bits: int) -> None:
        self.values: list[Any] = list(values)
        self.ids: dict[Hashable, int] = {value: number for number, value in enumerate(values)}
        self.most = 1 << bits

    def id(self, value: Hashable) -> int:
        """Give the number of a value, a new one if it has none.

        :raises OverflowError: if there are more values than the field can tell apart
        """
        number = self.ids.get(value)
        if number is None:
            number = self.ids[value] = len(self.values)
            self.values.append(value)
            if number >= self.most:
                raise OverflowError(f"one part of the world has more than {self.most:,} values")
        return number


class Field(NamedTuple):
    """Where a part stands."""

    shift: int
    ones: int

    @property
    def mask(self) -> int:
        """The bits of the part."""
        return self.ones << self.shift

    def of(self, state: int) -> int:
        """Give the number of the part's value in a state."""
        return (state >> self.shift) & self.ones


class Layout:
    """Where each part stands: whether it settles, the shared parts, the agents, their outlines."""

    def __init__(self, agents: int) -> None:
        shift = 1
        fields: list[Field] = []
        for bits in (
            *(_BITS_OF_SHARED for _ in SHARED),
            *(_BITS_OF_AGENT for _ in range(agents)),
            *(_BITS_OF_OUTLINE for _ in range(agents)),
        ):
            fields.append(Field(shift, (1 << bits) - 1))
            shift += bits
        count = len(SHARED)
        self.settling = Field(0, 1)
        self.shared = dict(zip(SHARED, fields[:count], strict=True))
        self.agents = fields[count : count + agents]
        self.outlines = fields[count + agents :]
        shared = 1 + sum(field.mask for field in self.shared.values())
        outlines = sum(field.mask for field in self.outlines)
        self.nobody = shared + outlines
        """What is known to who looks at no agent."""
        self.alone = [
            shared + outlines - outline.mask + agent.mask
            for agent, outline in zip(self.agents, self.outlines, strict=True)
        ]
        """What is known to each agent."""

    def tables(self) -> tuple[dict[str, Table], list[Table]]:
        """Give tables for the shared parts, and for the agents; the first value of each of these is none."""
        return (
            {name: Table(bits=_BITS_OF_SHARED) for name in SHARED},
            [Table(None, bits=_BITS_OF_AGENT) for _ in self.agents],
        )

    def outline_table(self) -> Table:
        """Give a table for outlines."""
        return Table(None, bits=_BITS_OF_OUTLINE)


class Shown(NamedTuple):
    """What a leaf stands for: a stretch, or which steps could run."""

    choice: int = -1
    taken: Taken | None = None
    steps: tuple[int, ...] = ()


class Node:
    """A node of a tree: the part to look at, and where each of its values leads; or a leaf, that looks at nothing."""

    __slots__ = ("delta", "part", "shows", "ways")

    def __init__(self, part: Part | None = None, shows: Shown | None = None, delta: int = 0) -> None:
        self.part = part
        self.ways: dict[int, Node] = {}
        self.shows = shows
        self.delta = delta
        """Of a leaf: what is added to the state."""


class Forest:
    """Trees over the states of one layout.

    :param stems: the number of the stem for that of each outline
    """

    def __init__(self, layout: Layout, stems: list[int]) -> None:
        self._layout = layout
        self._stems = stems

    def look(self, part: Part, state: int) -> int:
        """Give the number of a part's value in a state."""
        match part:
            case str():
                return self._layout.shared[part].of(state)
            case Stem(place):
                return self._stems[self._layout.outlines[place].of(state)]
            case _:
                return self._layout.agents[part].of(state)

    def find(self, root: Node | None, state: int, only: int | None = None) -> tuple[Node | None, bool]:
        """Find the leaf of a state; none if there is none yet.

        :param only: an agent; then it is told, too, whether the way to the leaf looked at another one
        """
        node, elsewhere = root, False
        while node is not None and (part := node.part) is not None:
            if isinstance(part, int) and part != only:
                elsewhere = True
            node = node.ways.get(self.look(part, state))
        return node, elsewhere

    def grown(self, root: Node | None, state: int, parts: Iterable[Part], leaf: Node) -> Node:
        """Give a tree with one more way through it, along some parts to a leaf."""
        way: list[Part | None] = [*parts]
        if not way:
            return leaf
        first = node = root or Node(way[0])
        for here, there in pairwise([*way, None]):
            assert here is not None
            assert node.part == here
            node = node.ways.setdefault(self.look(here, state), leaf if there is None else Node(there))
        return first
