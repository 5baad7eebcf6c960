"""The inductive step, for CrossHair: from a world that the invariants let stand, whatever happens leads to another one.

It is the real machine on real worlds. The values that are not chosen yet say where the driver is, how far the teardown
has come, whether the signal is armed and whether a prompt waits. ``test_inductive`` takes the same step over far more
worlds, one by one. A world is named in the assertion that it stands, since leading assertions are what CrossHair takes
as the precondition, and to build it twice would cost it twice as many paths.

By the time a world is built the solver has chosen all of its values, one path for each. So CrossHair follows the rules,
in which something new could be decided, and not the invariants, which only look at what came of it. They took more than
half of the time.
"""

from __future__ import annotations

from crosshair.tracers import NoTracing

from probate_model.alphabet.events import Status
from probate_model.machine import apply, enabled, fire
from probate_model.run import Outcome
from probate_model.world import Driver, Teardown, World
from tests.proofs.worlds import Shape, agent, breaches, ops, world, wrong

DRIVERS = (Driver.PARKED, Driver.MODEL, Driver.EXITED)
PAIRED = (
    Shape(Driver.PARKED, Status.IDLE, Teardown.NONE, queued=1),
    Shape(Driver.MODEL, Status.DISPOSED, Teardown.STOPPED, armed=True),
    Shape(Driver.EXITED, Status.DISPOSED, Teardown.STOPPED),
    Shape(Driver.EXITED, Status.DISPOSED, Teardown.DETACHED, entered=False),
)


def one(driver: int, teardown: int, armed: bool, queued: bool) -> World:
    """Build a world of one agent."""
    place, stage = DRIVERS[driver], Teardown(teardown)
    status = Status.RUNNING if place is Driver.MODEL else Status.IDLE
    status = Status.DISPOSED if stage > Teardown.ASKED else status
    entered = stage < Teardown.DETACHED
    shape = Shape(place, status, stage, entered, queued=1 if queued else 0)
    if armed:  # not `armed=armed`: it would not be chosen yet
        shape = shape._replace(armed=True)
    return world(agent(0, "a", shape), entered=(entered,))


def two(first: int, second: int, same: bool) -> World:
    """Build a world of two agents, under one id or under two."""
    shapes = PAIRED[first], PAIRED[second]
    agents = (agent(0, "a", shapes[0]), agent(1, "a" if same else "b", shapes[1]))
    return world(*agents, entered=(shapes[0].entered, shapes[1].entered))


def stands(of: World) -> bool:
    """Tell whether the invariants let a world stand."""
    with NoTracing():  # type: ignore[no-untyped-call]
        return not any(breaches(of))


def keeps(before: World, outcome: Outcome) -> bool:
    """Tell whether what an op or a step leads to is as it should be."""
    with NoTracing():  # type: ignore[no-untyped-call]
        return not any(wrong(before, outcome))


def ops_of_one(driver: int, teardown: int, armed: bool, queued: bool) -> str:
    """Every op on the one agent there is."""
    assert 0 <= driver <= 2
    assert 0 <= teardown <= 5
    assert stands(before := one(driver, teardown, armed, queued))
    for op in ops(0, "a"):
        assert keeps(before, apply(before, op))
    return DRIVERS[driver].name


def steps_of_one(driver: int, teardown: int, armed: bool, queued: bool) -> str:
    """Every step that the one agent there is can take."""
    assert 0 <= driver <= 2
    assert 0 <= teardown <= 5
    assert stands(before := one(driver, teardown, armed, queued))  # noqa: RUF018
    steps = enabled(before)
    for step in steps:
        assert keeps(before, fire(before, step))
    return "steps" if steps else "rests"


def ops_of_two(first: int, second: int, same: bool) -> str:
    """Every op on one of two agents."""
    assert 0 <= first <= 3
    assert 0 <= second <= 3
    assert stands(before := two(first, second, same))
    for op in ops(0, "a"):
        assert keeps(before, apply(before, op))
    return "one id" if same else "two ids"


def steps_of_two(first: int, second: int, same: bool) -> str:
    """Every step that one of two agents can take."""
    assert 0 <= first <= 3
    assert 0 <= second <= 3
    assert stands(before := two(first, second, same))  # noqa: RUF018
    for step in enabled(before):
        assert keeps(before, fire(before, step))
    return "one id" if same else "two ids"
