"""Shrinking: the smallest trace that still shows the same thing.

Any sublist of the items of a trace is again a trace, so shrinking is deletion: halves, quarters and so on down to
single items, until none can go. Then what is left is simplified: a reaction does less, a creation asks for less, and
the schedule is first in, first out if that suffices. It works on the trace itself, not on whatever it was generated
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from probate_conformance.lockstep import Examined, examine
from probate_conformance.story import seen_line
from probate_conformance.trace import ExpectedDivergence, Trace, dangling
from probate_conformance.wire import Command, Reply
from probate_model.alphabet.gates import Temper
from probate_model.alphabet.items import Action, BurstItem, Hold, Item, Plan, React, Reject, Settle, Throw
from probate_model.alphabet.names import Label
from probate_model.alphabet.ops import Cancel, Cause, Create, CreationSignal, Setup
from probate_model.worlds import View

MOST_TRIES: Final = 2000
"""How many candidates are tried at the most."""
BROKEN_IN_A_ROW: Final = 3
"""After how many traces one after the other in which a backend broke it is given up."""

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


def _always() -> bool:
    return True


def shrunk(
    trace: Trace, examined: Examined, view: View, go_on: Callable[[], bool] = _always
) -> Generator[Command, Reply, tuple[Trace, Examined]]:
    """Shrink a failing trace, keeping the clause that it fails by; gives the trace and its last run.

    :param go_on: asked before each candidate; the smallest trace so far is given if it says no
    """
    assert examined.divergence is not None
    clause = examined.divergence.clause
    search = shrinking(trace)
    best = trace, examined
    broken = 0
    try:
        candidate = next(search)
        while broken < BROKEN_IN_A_ROW and go_on():
            loadable = without_dangling(candidate)
            shown = yield from examine(loadable, view)
            broken += shown.broke is not None
            fails = shown.divergence is not None and shown.divergence.clause == clause
            if fails:
                best = loadable, shown
            candidate = search.send(fails)
    except StopIteration:
        pass
    return best


def with_expectation(trace: Trace, examined: Examined, backend: str) -> Trace:
    """Give a failing trace as a case: with the divergence that it is expected to show."""
    assert examined.divergence is not None
    expected = ExpectedDivergence(
        clause=examined.divergence.clause, backend=backend, seen=seen_line(examined.divergence)
    )
    return trace.model_copy(update={"expected": expected})


def without_dangling(trace: Trace) -> Trace:
    """Give a trace without what refers to something that no item makes.

    That is void, so it changes nothing; but in a file it would be a mistake.
    """
    while faulty := Counter(number for number, _ in dangling(trace)):
        number, faults = next(iter(faulty.items()))
        before, item, after = trace.items[: number - 1], trace.items[number - 1], trace.items[number:]
        trace = trace.with_items((*before, *after))
        if not isinstance(item, React):
            continue
        for place in range(len(item.do)):
            lesser = trace.with_items((*before, *_without_action(item, place), *after))
            if sum(1 for other, _ in dangling(lesser) if other == number) < faults:
                trace = lesser
                break
    return trace


def _without_action(item: React, without: int) -> tuple[React, ...]:
    """Give a reaction without one of its actions; none if that was all it did."""
    kept = [action for place, action in enumerate(item.do) if place != without]
    named = tuple(
        action if isinstance(action, Throw | Reject) else replace(action, label=Label(f"{item.label}.{place}"))
        for place, action in enumerate(kept)
    )
    return (replace(item, do=named),) if named else ()
