"""Shrinking: the smallest trace that still shows the same thing.

Any sublist of the items of a trace is again a trace, so shrinking is deletion: halves, quarters and so on down to
single items, until none can go. Then what is left is simplified: a reaction does less, a creation asks for less, and
the schedule is first in, first out if that suffices. It works on the trace itself, not on whatever it was generated
from.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from probate_conformance.trace import Trace
from probate_model.alphabet.gates import Temper
from probate_model.alphabet.items import Action, BurstItem, Hold, Item, Plan, React, Reject, Settle, Throw
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import Cancel, Cause, Create, CreationSignal, Setup

MOST_TRIES: Final = 2000
"""How many candidates are tried at the most."""


Search: TypeAlias = Generator[Trace, bool, Trace]
"""Yields a candidate and is sent whether it still fails; gives the smallest that does."""


def shrinking(trace: Trace, tries: int = MOST_TRIES) -> Search:
    """Search for the smallest trace that still fails.

    :param trace: a trace that fails
    :param tries: how many candidates may be tried
    """
    left = tries
    search = _search(trace)
    candidate = next(search)
    try:
        while True:
            fails = False
            if left > 0:
                left -= 1
                fails = yield candidate
            candidate = search.send(fails)
    except StopIteration as stop:
        smallest: Trace = stop.value
        return smallest


def _search(trace: Trace) -> Search:
    while True:
        smaller = yield from _delete(trace)
        smaller = yield from _simplify(smaller)
        if smaller == trace:
            return trace
        trace = smaller


def _delete(trace: Trace) -> Search:
    size = max(1, len(trace.items) // 2)
    while size:
        start = 0
        while start < len(trace.items):
            candidate = trace.with_items(trace.items[:start] + trace.items[start + size :])
            if (yield candidate):
                trace = candidate
            else:
                start += size
        size //= 2
    return trace


def _simplify(trace: Trace) -> Search:
    if trace.schedule != "fifo":
        candidate = trace.model_copy(update={"schedule": "fifo"})
        if (yield candidate):
            trace = candidate
    position = 0
    while position < len(trace.items):
        for form in simpler(trace.items[position]):
            candidate = trace.with_items((*trace.items[:position], form, *trace.items[position + 1 :]))
            if (yield candidate):
                trace = candidate
                break
        else:
            position += 1
    for owner in reversed(trace.world.owners[1:]):
        kept = tuple(other for other in trace.world.owners if other != owner)
        candidate = trace.model_copy(update={"world": replace(trace.world, owners=kept)})
        if (yield candidate):
            trace = candidate
    return trace


def simpler(item: Item) -> Iterator[BurstItem]:
    """Give simpler forms of an item, the simplest first. None is ever as complex, so that this comes to an end."""
    match item:
        case Settle():
            return
        case Create():
            if item.setup is not Setup.NONE:
                yield replace(item, setup=Setup.NONE)
            if item.cleanup:
                yield replace(item, cleanup=False)
            if item.signal is not CreationSignal.NONE:
                yield replace(item, signal=CreationSignal.NONE)
        case Cancel(cause=Cause.PARENT):
            yield replace(item, cause=Cause.USER)
        case Hold(temper=Temper.DEAF):
            yield replace(item, temper=Temper.HONOURS)
        case Plan(outcomes=outcomes) if len(outcomes) > 1:
            yield replace(item, outcomes=outcomes[:-1])
            yield replace(item, outcomes=outcomes[1:])
        case React():
            if item.nth > 1:
                yield replace(item, nth=1)
            for place in range(len(item.do)):
                if len(item.do) > 1:
                    yield replace(item, do=_relabelled(item, place))
            for place in range(len(item.on.where)):
                where = item.on.where[:place] + item.on.where[place + 1 :]
                yield replace(item, on=replace(item.on, where=where))
        case _:
            return


def _relabelled(item: React, without: int) -> tuple[Action, ...]:
    kept = [action for place, action in enumerate(item.do) if place != without]
    return tuple(
        action if isinstance(action, Throw | Reject) else replace(action, label=Label(f"{item.label}.{place}"))
        for place, action in enumerate(kept)
    )
