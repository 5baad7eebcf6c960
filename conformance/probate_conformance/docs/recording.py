"""A trace, run on the model stretch by stretch, with what made each stretch possible.

This is the model's canonical run, taken apart: the same steps in the same order as ``settle`` fires them, one at a
time, so that the world before and after each is at hand. A step's cause is the stretch since which the step could run
and would have done what it then did. It is read off the model, never written by hand, and it is what the arrows of a
picture show.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from probate_conformance.trace import Trace
from probate_model.alphabet.events import Event, Flushed, Logged
from probate_model.alphabet.items import BurstItem
from probate_model.alphabet.names import Label, OwnerName
from probate_model.machine import Activity, Step, apply, bind, enabled, fire, settle
from probate_model.rooms import Inside
from probate_model.run import Expected, Outcome, Silence
from probate_model.world import Due, Unload, World, new_world

StepKey: TypeAlias = tuple[Activity, Label | OwnerName | str | None, int]
"""What stays the same of an activity while it runs: which one it is, whose, and of which incarnation."""


_Deed: TypeAlias = tuple[Hashable, ...]
_Since: TypeAlias = dict[StepKey, tuple[_Deed, int]]


class Unfit(ValueError):
    """Raised for a trace that can't be shown, for it does not do what it says."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What happens without anything in between: the synchronous part of an item, or one step of an activity."""

    number: int
    burst: int
    item: BurstItem | None
    key: StepKey | None
    """The activity; none for an item."""
    before: World
    after: World
    expected: tuple[Expected, ...]
    silences: tuple[Silence, ...]
    cause: int | None = None
    """The number of the stretch since which the step could run so; none for an item, which is the caller's to begin."""


def record(trace: Trace) -> tuple[Stretch, ...]:
    """Run a trace on the model, without its epilogue.

    :raises Unfit: if an item of it is void
    """
    return tuple(_record(trace))


def _record(trace: Trace) -> Iterator[Stretch]:
    world = new_world(trace.world, trace.reading, trace.profile)
    since: _Since = {}
    number = 0
    for burst, items in enumerate(trace.bursts()[:-1]):
        for item in items:
            outcome = apply(world, item)
            if outcome.void:
                raise Unfit(f"item {item} of the trace is void")
            yield _stretch(number, burst, item, None, world, outcome, None)
            world = outcome.world
            since = _enabled_since(since, world, number)
            number += 1
        at_once = settle(world)
        events: list[Event] = []
        while steps := enabled(world):
            for step in steps:
                if step not in enabled(world):
                    continue
                key = _key(step)
                outcome = fire(world, step)
                yield _stretch(number, burst, None, key, world, outcome, since.pop(key)[1])
                events += outcome.events
                world = outcome.world
                since = _enabled_since(since, world, number)
                number += 1
        world = bind(world)
        assert events == at_once.events, "this is not the run that settle makes"
        assert world == at_once.world, "this is not the run that settle makes"


def _stretch(
    number: int,
    burst: int,
    item: BurstItem | None,
    key: StepKey | None,
    before: World,
    outcome: Outcome,
    cause: int | None,
) -> Stretch:
    return Stretch(number, burst, item, key, before, outcome.world, outcome.expected, outcome.silences, cause)


def _enabled_since(since: _Since, world: World, number: int) -> _Since:
    """Give what each step that can run now would do, and since when; what is new or changed, since this stretch."""
    now: _Since = {}
    for step in enabled(world):
        key, deed = _key(step), _deed(world, step)
        before = since.get(key)
        now[key] = before if before is not None and before[0] == deed else (deed, number)
    return now


def _deed(world: World, step: Step) -> _Deed:
    """Give what a step would do: its events, apart from numbers that only count, and the calls that it frees."""
    outcome = fire(world, step)
    freed = (due.call for due in outcome.world.due if due not in world.due)
    return (*(_without_numbers(event) for event in outcome.events), *freed)


def _without_numbers(event: Event) -> Hashable:
    match event:
        case Logged(agent, _, record):
            return agent, record
        case Flushed(agent):
            return agent
        case _:
            return event


def _key(step: Step) -> StepKey:
    match step.subject:
        case Due(call=call):
            return step.activity, call, 0
        case Unload(owner=owner, incarnation=incarnation):
            return step.activity, owner, incarnation
        case Inside(what=what):
            return step.activity, str(what), 0
        case label:
            return step.activity, label, 0


def loud_cause(stretches: Sequence[Stretch], stretch: Stretch, loud: frozenset[int]) -> Stretch | None:
    """Give the nearest cause that shows something: a cause that is silent stands for its own.

    :param loud: the numbers of the stretches that show something
    :return: none for what the caller does, and for what only goes on with its own activity
    """
    key = stretch.key
    while stretch.cause is not None:
        stretch = stretches[stretch.cause]
        if stretch.number in loud:
            return None if stretch.key == key else stretch
    return None
