"""Judging a list of events by the set of worlds, burst by burst."""

from __future__ import annotations

from collections.abc import Sequence

from probate_model.alphabet.events import Event, Snapshot
from probate_model.alphabet.items import BurstItem
from probate_model.machine import apply
from probate_model.world import World
from probate_model.worlds import Divergence, Worlds


def sendable(world: World, items: Sequence[BurstItem]) -> list[BurstItem]:
    """Give the items of a burst that are not void."""
    sent = []
    for item in items:
        outcome = apply(world, item)
        if not outcome.void:
            sent.append(item)
            world = outcome.world
    return sent


def judge(
    worlds: Worlds, items: Sequence[BurstItem], observed: Sequence[Event], seen: Snapshot | None = None
) -> Worlds | Divergence:
    """Judge what was observed of one burst."""
    worlds = worlds.begin(sendable(worlds.first, items))
    for event in observed:
        advanced = worlds.observe(event)
        if isinstance(advanced, Divergence):
            return advanced
        worlds, _ = advanced
    return worlds.rest(seen)
