"""Strategies: traces for Hypothesis, and for whoever writes properties of their own.

    @given(traces())
    def test_that_my_runtime_conforms(trace: Trace) -> None:
        assert_conforms(backend, trace)

A trace is drawn as a seed and as bytes, one for each item. The seed decides what the items are, by the same algorithm
as all generated traces; the bytes decide what is kept of each.

    0           the item is left out
    1 to 16     it is kept in a simpler form, of which 1 is the simplest
    17 to 255   it is kept as it is

What is left out was still written: the items after it were chosen with it in mind, and stay what they are. So when
Hypothesis shrinks a byte it changes one item and no other, and since any sublist of the items of a trace is again a
trace, every step of the way is valid. Were the items themselves decoded from bytes, each change would give all that
follows another meaning: tried, that took five to ten times as many runs to shrink, and ended with longer traces.
"""

from __future__ import annotations

from typing import Final, Literal

from probate_conformance.asserting import Diverged, Undecided, assert_conforms
from probate_conformance.generation import EVERYTHING, Palette, Writer
from probate_conformance.randomness import SplitMix64
from probate_conformance.shrinking import simpler
from probate_conformance.trace import Trace
from probate_model.alphabet.items import Item, Settle

try:
    from hypothesis import strategies as st
    from hypothesis.errors import InvalidArgument
except ImportError as error:
    raise ImportError(
        "probate_conformance.strategies needs Hypothesis, which is not installed: pip install 'hypothesis>=6.115'"
    ) from error

__all__ = ("EVERYTHING", "Diverged", "Palette", "Trace", "Undecided", "assert_conforms", "trace_of", "traces")

_FORMS: Final = 16
"""How many of the bytes stand for simpler forms."""


def traces(
    palette: Palette = EVERYTHING,
    *,
    min_items: int = 20,
    max_items: int = 60,
    schedules: st.SearchStrategy[int] | None = None,
) -> st.SearchStrategy[Trace]:
    """Give a strategy for valid traces of the core profile.

    :param palette: what they are made of: ``Palette.of(backend.manifest.unclaimed)`` is what a backend claims
    :param min_items: the fewest items that are written; shrinking goes below it
    :param max_items: the most
    :param schedules: seeds for the order in which the backend runs its tasks, as ``st.integers(0, 99)``; first in,
        first out is drawn too, and is all that is drawn if none are given
    """
    if not 0 <= min_items <= max_items:
        raise InvalidArgument(f"{min_items=} and {max_items=}: the first must be at least 0, the second not less")

    fifo: st.SearchStrategy[Literal["fifo"] | int] = st.just("fifo")
    orders = fifo if schedules is None else fifo | schedules
    seeds, kept = st.integers(0, 2**64 - 1), st.binary(min_size=min_items, max_size=max_items)
    if palette == EVERYTHING:  # then what Hypothesis prints is shorter
        return st.builds(trace_of, seeds, kept, orders)
    return st.builds(trace_of, seeds, kept, orders, st.just(palette))


def trace_of(seed: int, kept: bytes, schedule: Literal["fifo"] | int = "fifo", palette: Palette = EVERYTHING) -> Trace:
    """Give the trace that a seed and bytes stand for, as Hypothesis prints it: for use in ``@example``.

    :param seed: decides what the items are
    :param kept: one byte for each item, which decides what is kept of it
    """
    writer = Writer(SplitMix64(seed), palette)
    writer.begin()
    items: list[Item] = []
    for byte in kept:
        before = len(writer.items)
        writer.go_on()
        if byte and len(writer.items) > before:
            items.append(_form(writer.items[-1], byte))
    return writer.written().with_items(items).model_copy(update={"schedule": schedule})


def _form(item: Item, byte: int) -> Item:
    """Give the form of an item: bit by bit, each part of it is either left out or kept."""
    if byte > _FORMS or isinstance(item, Settle):
        return item
    bits, kept = byte - 1, 0
    while kept < len(forms := list(simpler(item))):
        if bits & 1:
            kept += 1
        else:
            item = forms[kept]
        bits >>= 1
    return item
