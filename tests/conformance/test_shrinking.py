"""A planted failure shrinks to the few items that show it, each as simple as it can be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.generation import generate
from probate_conformance.lockstep import Verdict, examine
from probate_conformance.shrinking import MOST_TRIES, shrinking, shrunk
from probate_conformance.trace import Trace
from probate_conformance.wire import Burst, Quiet
from probate_model.alphabet.events import CancelRequested, Event, ScopeCleanup, Settled
from probate_model.alphabet.items import WorldSpec
from probate_model.alphabet.names import OwnerName
from probate_model.worlds import EVERYTHING
from tests.model.helpers import items


def shrink(trace: Trace, fails: Callable[[Trace], bool], tries: int = MOST_TRIES) -> tuple[Trace, int]:
    """Shrink a trace; gives the smallest, and how many candidates were tried."""
    search = shrinking(trace, tries)
    tried = 0
    try:
        candidate = next(search)
        while True:
            tried += 1
            candidate = search.send(fails(candidate))
    except StopIteration as stop:
        smallest: Trace = stop.value
        return smallest, tried


def labels(trace: Trace) -> set[str]:
    """Give the labels of a trace."""
    return {str(getattr(item, "label", "")) for item in trace.items}


def long_trace() -> Trace:
    """Give a generated trace with items of our own in its midst."""
    trace = generate(1, 3)
    mine = items("""
        create mine a by=side setup cleanup signal
        settle
        react log record=turn/end turn=1 nth=2 do look; cancel this parent; reject V -> mine.r
        plan model mine tools:2 error text
        hold flush mine deaf
        cancel mine parent -> mine.x
    """)
    return trace.model_copy(
        update={
            "items": (*trace.items[:10], *mine, *trace.items[10:]),
            "world": WorldSpec((OwnerName("host"), OwnerName("side"))),
            "schedule": 5,
        }
    )


def test_what_is_not_needed_is_deleted_and_the_rest_is_made_simple() -> None:
    smallest, _ = shrink(long_trace(), lambda trace: {"mine", "mine.r", "mine.x"} <= labels(trace))
    assert smallest.items == items("""
        create mine a by=side
        react log do reject V -> mine.r
        cancel mine user -> mine.x
    """)
    assert smallest.schedule == "fifo"
    assert smallest.world == WorldSpec((OwnerName("host"),))


def test_what_is_needed_is_kept() -> None:
    trace = long_trace()

    def fails(candidate: Trace) -> bool:
        return candidate.schedule == 5 and len(candidate.world.owners) == 2 and trace.items[10] in candidate.items

    smallest, _ = shrink(trace, fails)
    assert smallest.items == (trace.items[10],)
    assert smallest.schedule == 5


@pytest.mark.parametrize(
    ("item", "simplest"),
    [
        ("create c a setup cleanup pre-aborted", "create c a"),
        ("cancel c parent", "cancel c"),
        ("hold model c deaf", "hold model c"),
        ("plan model c error text max-tokens", "plan model c error"),
        ("react log turn=1 seq=3 nth=4 do look; look; throw V -> r", "react log do throw V -> r"),
        ("send c A", "send c A"),
    ],
)
def test_an_item_is_made_as_simple_as_it_can_be(item: str, simplest: str) -> None:
    smallest, _ = shrink(Trace(items=items(item)), lambda trace: len(trace.items) == 1)
    assert smallest.items == items(simplest)


def test_the_actions_of_a_reaction_that_lost_one_are_named_anew() -> None:
    trace = Trace(items=items("react log do look; cancel this; idle this -> r"))
    smallest, _ = shrink(trace, lambda trace: "idle" in str(trace.items))
    assert smallest.items == items("react log do idle this -> r")


def test_a_trace_that_does_not_fail_is_left_alone() -> None:
    trace = long_trace()
    smallest, _ = shrink(trace, lambda _: False)
    assert smallest is trace


def test_no_more_candidates_are_tried_than_may_be() -> None:
    smallest, tried = shrink(long_trace(), lambda trace: "mine" in labels(trace), tries=5)
    assert tried == 5
    assert "mine" in labels(smallest)


def test_the_smallest_is_smallest_and_found_again() -> None:
    def fails(trace: Trace) -> bool:
        return {"mine", "mine.x"} <= labels(trace)

    smallest, _ = shrink(long_trace(), fails)
    assert shrink(long_trace(), fails)[0] == smallest
    for place in range(len(smallest.items)):
        assert not fails(smallest.with_items(smallest.items[:place] + smallest.items[place + 1 :]))


# With a backend that has a defect.


class Forgetful(ModelBackend):
    """Never shows some events, as if the subject did not emit them."""

    def __init__(self, forgets: Callable[[Event], bool]) -> None:
        super().__init__()
        self.forgets = forgets

    def _burst(self, command: Burst) -> Quiet:
        quiet = super()._burst(command)
        kept = tuple(event for event in quiet.events if not self.forgets(event))
        return Quiet(events=kept, snapshot=quiet.snapshot)


PLANTED: dict[str, tuple[Callable[[Event], bool], str, int]] = {
    "no cleanup": (lambda event: isinstance(event, ScopeCleanup), "DISPOSE-08", 3),
    "no announcement of a cancel": (lambda event: isinstance(event, CancelRequested), "CANCEL-01", 6),
    "no settlement of a dispose": (
        lambda event: isinstance(event, Settled) and event.call.startswith("d"),
        "DISPOSE-01",
        3,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_shrinks_to_the_few_items_that_show_it(name: str) -> None:
    forgets, clause, most = PLANTED[name]
    backend = Forgetful(forgets)
    for number in range(200):
        trace = generate(6, number)
        examined = backend.converse(examine(trace, EVERYTHING))
        if examined.divergence is not None and examined.divergence.clause == clause:
            break
    else:
        raise AssertionError("no trace shows it")
    assert len(trace.items) > 3
    smallest, shown = backend.converse(shrunk(trace, examined, EVERYTHING))
    assert len(smallest.items) <= most, smallest.items
    assert shown.verdict is Verdict.FAIL
    assert shown.divergence is not None
    assert shown.divergence.clause == clause
