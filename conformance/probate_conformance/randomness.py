"""The random numbers that traces are generated from, written down so that a seed means the same everywhere.

``SplitMix64``: the state is a 64-bit number, and each draw adds ``0x9E3779B97F4A7C15`` to it and then mixes the sum:
xor with itself shifted right by 30, times ``0xBF58476D1CE4E5B9``, xor with itself shifted right by 27, times
``0x94D049BB133111EB``, xor with itself shifted right by 31, everything modulo 2**64. A number below ``n`` is the high
64 bits of the draw times ``n``. No library's generator is used, because none promises the same numbers in its next
version.

Numbers are drawn some six times for each item, so nothing is called on the way to one that is made already. Some are
made at a time, side by side in one large number: each has a lane of 128 bits, of which the upper half is empty between
two operations, so a product stays in its lane. That takes half of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import unpack
from typing import Final, TypeVar

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
_AHEAD: Final = 32
"""How many numbers are made at a time."""
_ONES: Final = sum(1 << 128 * lane for lane in range(_AHEAD))
_LOW: Final = _ONES * _MASK
_STEPS: Final = sum((1 + lane) * _STEP % (1 << 64) << 128 * lane for lane in range(_AHEAD))


class SplitMix64:
    """A stream of numbers that a seed determines."""

    __slots__ = ("_numbers", "_state")

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK
        self._numbers: list[int] = []
        """Those that are made and not drawn, the next one last."""

    def draw(self) -> int:
        """Give the next number from 0 to 2**64 - 1."""
        return (self._numbers or self._made()).pop()

    def _made(self) -> list[int]:
        """Make the next numbers."""
        mixed = (self._state * _ONES + _STEPS) & _LOW
        mixed = ((mixed ^ (mixed >> 30 & _LOW)) * 0xBF58476D1CE4E5B9) & _LOW
        mixed = ((mixed ^ (mixed >> 27 & _LOW)) * 0x94D049BB133111EB) & _LOW
        mixed ^= mixed >> 31 & _LOW
        self._numbers = list(unpack(f"<{2 * _AHEAD}Q", mixed.to_bytes(16 * _AHEAD, "little"))[-2::-2])
        self._state = (self._state + _AHEAD * _STEP) & _MASK
        return self._numbers

    def below(self, bound: int) -> int:
        """Give a number from 0 to ``bound - 1``."""
        return ((self._numbers or self._made()).pop() * bound) >> 64

    def chance(self, favourable: int, possible: int) -> bool:
        """Decide whether something special happens, as likely as ``favourable`` in ``possible``."""
        return ((self._numbers or self._made()).pop() * possible) >> 64 < favourable

    def choose(self, options: Sequence[T]) -> T:
        """Give one of the options, each as likely as another."""
        return options[((self._numbers or self._made()).pop() * len(options)) >> 64]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Give one of the options, each as likely as its weight says."""
        place = self.below(sum([weight for weight, _ in options]))
        for weight, option in options:
            place -= weight
            if place < 0:
                return option
        raise ValueError("there is nothing to draw from")


def stream_of(seed: int, number: int) -> SplitMix64:
    """Give the stream of the ``number``-th trace of a run with this seed."""
    return SplitMix64(SplitMix64(seed).draw() + number)
