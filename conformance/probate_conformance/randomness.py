"""The random numbers that traces are generated from, written down so that a seed means the same everywhere.

``SplitMix64``: the state is a 64-bit number, and each draw adds ``0x9E3779B97F4A7C15`` to it and then mixes the sum:
xor with itself shifted right by 30, times ``0xBF58476D1CE4E5B9``, xor with itself shifted right by 27, times
``0x94D049BB133111EB``, xor with itself shifted right by 31, everything modulo 2**64. A number below ``n`` is the high
64 bits of the draw times ``n``. No library's generator is used, because none promises the same numbers in its next
version.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, TypeVar

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15


class SplitMix64:
    """A stream of numbers that a seed determines."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def draw(self) -> int:
        """Give the next number from 0 to 2**64 - 1."""
        self._state = mixed = (self._state + _STEP) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, bound: int) -> int:
        """Give a number from 0 to ``bound - 1``."""
        return (self.draw() * bound) >> 64

    def chance(self, favourable: int, possible: int) -> bool:
        """Decide whether something special happens, as likely as ``favourable`` in ``possible``."""
        return (self.draw() * possible) >> 64 < favourable

    def choose(self, options: Sequence[T]) -> T:
        """Give one of the options, each as likely as another."""
        return options[(self.draw() * len(options)) >> 64]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Give one of the options, each as likely as its weight says."""
        bounds = list(accumulate([weight for weight, _ in options]))
        return options[bisect_right(bounds, self.below(bounds[-1]))][1]


def stream_of(seed: int, number: int) -> SplitMix64:
    """Give the stream of the ``number``-th trace of a run with this seed."""
    return SplitMix64(SplitMix64(seed).draw() + number)
