"""The inductive step, over every world that can be built within bounds: each op and each step leads to a sound one.

What CrossHair shows in ``inductive`` is shown here of all places where a driver can be, by trying all: where the values
are few, that is no weaker than a solver, and it is faster by far.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from probate_model import decisions
from probate_model.alphabet.events import Status, StopCause
from probate_model.machine import apply, enabled, fire
from probate_model.world import Driver, Teardown, World
from tests.proofs.inductive import stands
from tests.proofs.worlds import Shape, agent, ops, world, wrong

FEW = (Driver.PARKED, Driver.MODEL, Driver.EXITED)

_EITHER = (False, True)


def shapes(drivers: tuple[Driver, ...], causes: tuple[StopCause | None, ...]) -> Iterator[Shape]:
    """Give every shape that the invariants let stand, of one agent with nothing pending and nobody waiting."""
    for values in product(drivers, Status, Teardown, _EITHER, _EITHER, causes):
        shape = Shape(*values)
        if stands(alone(shape)):
            yield shape


def burdened(shape: Shape) -> Iterator[Shape]:
    """Give a shape with whatever may be pending, and whoever may wait."""
    for queued, steering, marker, waiter, exit_waiter, disposer in product(
        (0, 1, 2), (0, 1), _EITHER, _EITHER, _EITHER, _EITHER
    ):
        more = shape._replace(
            queued=queued,
            steering=steering,
            marker=marker,
            waiter=waiter,
            exit_waiter=exit_waiter,
            disposer=disposer,
        )
        if stands(alone(more)):
            yield more


def alone(shape: Shape) -> World:
    """Give the world of one agent."""
    return world(agent(0, "a", shape), entered=(shape.entered,))


def one_agent() -> Iterator[World]:
    """Give every world of one agent within the bounds."""
    for shape in shapes(tuple(Driver), (None, StopCause.USER, StopCause.DISPOSED)):
        yield from map(alone, burdened(shape))


def two_agents(*drivers: Driver) -> Iterator[World]:
    """Give every world of two agents whose drivers are at these places, under one id and under two."""
    single = [shape._replace(queued=1) for shape in shapes(drivers, (None, StopCause.USER))]
    for first, second, name in product(single, single, "ab"):
        both = world(agent(0, "a", first), agent(1, name, second), entered=(first.entered, second.entered))
        if stands(both):
            yield both


def faults(before: World) -> list[str]:
    """Give what is wrong with what any op or step leads to."""
    outcomes = [apply(before, op) for op in ops(0, "a")] + [fire(before, step) for step in enabled(before)]
    return [fault for outcome in outcomes for fault in wrong(before, outcome)]


@pytest.mark.slow
def test_from_every_world_of_one_agent() -> None:
    counted = 0
    for before in one_agent():
        counted += 1
        assert not faults(before)
    assert counted > 15_000


@pytest.mark.parametrize(
    ("drivers", "worlds"),
    [
        pytest.param(FEW, 1_399, id="few"),
        pytest.param((*FEW, Driver.OPENED, Driver.FLUSHING), 4_783, id="more", marks=pytest.mark.slow),
    ],
)
def test_from_every_world_of_two_agents(drivers: tuple[Driver, ...], worlds: int) -> None:
    counted = 0
    for before in two_agents(*drivers):
        counted += 1
        assert not faults(before)
    assert counted == worlds


def test_a_detach_of_every_entry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "detach", lambda entries, entry: ())
    assert any(map(faults, two_agents(*FEW)))


def test_a_cancel_that_leaves_the_marker_only_when_it_should_not_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = decisions.cancel

    def unmarked(*, active: bool, parked: bool, pending: bool, spares: bool) -> decisions.Cancelled:
        return right(active=active, parked=parked, pending=pending, spares=spares)._replace(marks=False)

    monkeypatch.setattr(decisions, "cancel", unmarked)
    assert any(map(faults, one_agent()))


def test_a_teardown_that_is_not_begun_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "teardown_begun", lambda stage, is_status: Teardown.NONE)
    assert any(map(faults, one_agent()))
