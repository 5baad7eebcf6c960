"""Rehearsals: the canonical run of a trace on the model, burst by burst.

A rehearsal says which items of a burst are void, what is expected, and the world that it ends in. Whoever writes a
trace at random rehearses it while writing, to know what means something next; judging a backend starts from the same
rehearsals, so the model need not run twice. They are only a quick way: where a backend has taken another legal way,
the burst is rehearsed again from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probate_model.alphabet.events import Event, Settled
from probate_model.alphabet.items import BurstItem
from probate_model.machine import Layout, apply, settle
from probate_model.run import Expected, Silence
from probate_model.world import World


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The canonical run of one burst."""

    start: World
    sent: tuple[BurstItem, ...]
    void: tuple[BurstItem, ...]
    expected: tuple[Expected, ...]
    silences: tuple[Silence, ...]
    marks: tuple[str, ...]
    world: World
    """The world at rest."""
    begun: int
    """How many of the events come from the begins."""
    begun_silences: tuple[Silence, ...]
    begun_world: World
    layout: Layout
    """Where the settlements may stand."""

    def allows(self, events: Sequence[Event]) -> bool:
        """Tell whether what was seen is the canonical run, but for settlements that came at another time."""
        if len(events) != len(self.expected):
            return False
        layout = self.layout
        tied, free, breaks, earliest = layout.tied, layout.free, layout.breaks, layout.earliest
        place = 0
        left = set(free)
        for seen in events:
            if isinstance(seen, Settled) and seen.call in left:
                if free[seen.call].event != seen or place not in breaks or place < earliest[seen.call]:
                    return False
                left.remove(seen.call)
            elif place == len(tied) or tied[place].event != seen:
                return False
            else:
                place += 1
        return place == len(tied) and not left


class Rehearsing:
    """Rehearses a trace as it is written: add items, and settle at the end of a burst."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: list[Rehearsal] = []
        self._start_burst()

    def _start_burst(self) -> None:
        self._start = self.world
        self._sent: list[BurstItem] = []
        self._void: list[BurstItem] = []
        self._expected: list[Expected] = []
        self._silences: list[Silence] = []
        self._marks: list[str] = []

    @property
    def pending(self) -> bool:
        """Whether items were added since the last settle."""
        return bool(self._sent or self._void)

    def add(self, item: BurstItem) -> None:
        """Begin an item in the current burst."""
        outcome = apply(self.world, item)
        if outcome.void:
            self._void.append(item)
            return
        self._sent.append(item)
        self.world = outcome.world
        self._expected += outcome.expected
        self._silences += outcome.silences
        self._marks += outcome.marks

    def settle(self) -> Rehearsal:
        """End the current burst."""
        layout = Layout(self._expected)
        settled = settle(self.world, layout)
        rehearsal = Rehearsal(
            start=self._start,
            sent=tuple(self._sent),
            void=tuple(self._void),
            expected=(*self._expected, *settled.expected),
            silences=(*self._silences, *settled.silences),
            marks=(*self._marks, *settled.marks),
            world=settled.world,
            begun=len(self._expected),
            begun_silences=tuple(self._silences),
            begun_world=self.world,
            layout=layout,
        )
        self.world = settled.world
        self.done.append(rehearsal)
        self._start_burst()
        return rehearsal


def rehearse(world: World, burst: Sequence[BurstItem]) -> Rehearsal:
    """Run one burst on the model in the canonical order."""
    rehearsing = Rehearsing(world)
    for item in burst:
        rehearsing.add(item)
    return rehearsing.settle()
