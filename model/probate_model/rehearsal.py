"""Rehearsals: the canonical run of a trace on the model, burst by burst.

A rehearsal says which items of a burst are void, what is expected, and the world that it ends in. Whoever writes a
trace at random rehearses it while writing, to know what means something next; judging a backend starts from the same
rehearsals, so the model need not run twice. They are only a quick way: where a backend has taken another legal way,
the burst is rehearsed again from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probate_model.alphabet.events import Event, Snapshot
from probate_model.alphabet.items import BurstItem
from probate_model.machine import Stretch, Walk, carry_out
from probate_model.orders import Orders
from probate_model.registry import snapshot
from probate_model.run import Expected, Run, Silence
from probate_model.world import World


class Rehearsal(NamedTuple):
    """The canonical run of one burst."""

    start: World
    sent: tuple[BurstItem, ...]
    void: tuple[BurstItem, ...]
    expected: tuple[Expected, ...]
    silences: tuple[Silence, ...]
    marks: tuple[str, ...]
    world: World
    """The world at rest."""
    snapshot: Snapshot
    """What is to be seen of it."""
    begun: int
    """How many of the events come from the begins."""
    begun_silences: tuple[Silence, ...]
    begun_world: World
    stretches: tuple[Stretch, ...]

    def allows(self, events: Sequence[Event]) -> bool:
        """Tell whether what was seen is the canonical run, but for an order that makes no difference."""
        return Orders(self.expected, self.stretches, self.world).allow(events)


class Rehearsing:
    """Rehearses a trace as it is written: add items, and settle at the end of a burst.

    :param world: where it begins: a world at rest
    """

    def __init__(self, world: World) -> None:
        self.done: list[Rehearsal] = []
        self._walk = walk = Walk(world, rested=True)
        self.run: Run = walk.run
        """The world as it is at this moment, to be looked at."""
        self._start = world
        self._sent: list[BurstItem] = []
        self._void: list[BurstItem] = []

    @property
    def pending(self) -> bool:
        """Whether items were added since the last settle."""
        return bool(self._sent or self._void)

    def add(self, item: BurstItem) -> None:
        """Begin an item in the current burst."""
        if carry_out(self.run, item):
            self._sent.append(item)
        else:
            self._void.append(item)

    def settle(self) -> Rehearsal:
        """End the current burst."""
        run = self.run
        begun_world, begun, begun_silences = run.world, len(run.expected), tuple(run.silences)
        stretches = self._walk.settle()
        world = run.world
        rehearsal = Rehearsal(
            start=self._start,
            sent=tuple(self._sent),
            void=tuple(self._void),
            expected=tuple(run.expected),
            silences=tuple(run.silences),
            marks=tuple(run.marks),
            world=world,
            snapshot=snapshot(world),
            begun=begun,
            begun_silences=begun_silences,
            begun_world=begun_world,
            stretches=stretches,
        )
        run.forget()
        self.done.append(rehearsal)
        self._start, self._sent, self._void = rehearsal.world, [], []
        return rehearsal


def rehearse(world: World, burst: Sequence[BurstItem]) -> Rehearsal:
    """Run one burst on the model in the canonical order.

    :param world: where it begins: a world at rest
    """
    rehearsing = Rehearsing(world)
    for item in burst:
        rehearsing.add(item)
    return rehearsing.settle()
