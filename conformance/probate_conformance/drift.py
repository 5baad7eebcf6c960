"""Drift: a divergence that another choice of the edition explains.

A runtime may follow an edition in all but some of its choices. Judged by that edition alone it would fail at the first
of them in nearly every trace, and nothing behind it would ever be looked at. So when a trace diverges, each choice is
flipped in turn, then each pair, and what was observed so far is judged once more from the start of the trace. The flip
that gets furthest with what was observed is taken, and the next is looked for where that ends, until the burst comes to
rest as it was observed: these flips are its *explanation*. Each of the clauses has failed then, once; the run goes on
with the choices flipped, in later traces too, so that what lies behind is judged. A burst that no flips bring to rest
ends the trace as ever, with none of them. Its like in later traces is looked into a few times more, since a choice may
have stood beside a fault there, and then not again until a choice is flipped: a fault of the runtime comes up in many
traces.

A fault is no choice, though it may look like one for an event, or in one trace. So a choice that the runtime was *seen*
to make as the edition does is never flipped: that is, once an event was observed that a clause of that choice calls
for. A silence says nothing here, since it is kept by whoever does nothing.

What a flip does to a trace depends on what was flipped and seen before it, so a run has a *reading* of the contract,
which changes from trace to trace in order of number. It is all that the outcome of a trace depends on beside the trace
itself: whoever runs a trace ahead of time can be told whether that was in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from probate_conformance.lockstep import Drift, Examined, Exchange
from probate_conformance.trace import Trace
from probate_model.alphabet.editions import Edition, choices_of
from probate_model.alphabet.events import Event, Logged, Raised, Settled, Snapshot
from probate_model.world import new_world
from probate_model.worlds import Divergence, Reason, TooManyWorlds, View, Worlds

TRIES: Final = 3
"""How often an explanation is looked for where a divergence of one kind was not explained."""

NARROW: Final = 256
"""The most worlds that are kept while an explanation is looked for. Dozens of flips are tried for one divergence."""


class Reading(NamedTuple):
    """How a run reads the contract at some point: the edition that it began with, and what it has learnt since."""

    flipped: tuple[str, ...] = ()
    """The choices that are flipped, in the order in which that was found."""
    kept: frozenset[str] = frozenset()
    """The choices that were seen to be as the edition has them."""
    plain: frozenset[str] = frozenset()
    """The clauses that something has failed by which no flip explains: no pair is tried for them again."""
    alike: tuple[str, ...] = ()
    """What has failed without being explained since the last flip, each time by its kind, and in order of it."""

    def after(self, drifts: Iterable[Drift], shown: Iterable[str], failed: Divergence | None) -> Reading:
        """Give the reading after a trace.

        :param drifts: what was explained in it
        :param shown: the choices that were seen in it, as its reading had them
        :param failed: the divergence that it failed by, unexplained
        """
        flipped = (*self.flipped, *(name for drift in drifts for name in drift.choices))
        plain, alike = self.plain, self.alike if flipped == self.flipped else ()
        if failed is not None:
            plain, alike = plain | {failed.clause}, tuple(sorted((*alike, kind_of(failed))))
        return Reading(flipped, self.kept.union(shown), plain, alike)

    def explain(self, trace: Trace, view: View, examined: Examined, divergence: Divergence) -> tuple[str, ...]:
        """Give the choices with which the model follows furthest beyond a divergence; none if it does with none.

        :param trace: as it is read up to there
        :param examined: what was observed so far
        """
        examined.sought = True
        if self.alike.count(kind_of(divergence)) >= TRIES:
            return ()
        exchanges = examined.exchanges
        free = [name for name in choices_of(trace.profile) if name not in {*trace.flipped, *self.kept, *examined.shown}]
        edition = trace.reading
        reached = _reach(trace, edition, view, exchanges)
        sizes = (1,) if divergence.clause in self.plain else (1, 2)
        for size in sizes:
            best: tuple[str, ...] = ()
            for names in combinations(free, size):
                further = _reach(trace, edition.flipped(names), view, exchanges)
                if further > reached:
                    best, reached = names, further
            if best:
                return best
        return ()


def kind_of(divergence: Divergence) -> str:
    """Say of what kind a divergence is: its clause, how it was put down to that, and what was seen for what."""
    return " ".join((divergence.clause, divergence.reason, *map(_kind, (divergence.seen, *divergence.allowed[:1]))))


def _kind(event: Event | Snapshot | None) -> str:
    match event:
        case Logged():
            return event.record.record
        case Settled(outcome=Raised(code)):
            return f"{event.event}/{code}"
        case Snapshot() | None:
            return "rest"
        case _:
            return event.event


def _reach(trace: Trace, edition: Edition, view: View, exchanges: Sequence[Exchange]) -> tuple[int, int, int]:
    """Tell how far the model accepts what was observed: the burst, the event in it, and how far it comes to rest."""
    worlds = Worlds.of(new_world(trace.world, edition, trace.profile), view, bound=NARROW)
    number = 0
    try:
        for exchange in exchanges:
            worlds = worlds.begin(exchange.sent)
            for place, event in enumerate(exchange.events):
                if view.event(event) is None:
                    continue
                advanced = worlds.accept(event)
                if advanced is None:
                    return number, place, 0
                worlds, _ = advanced
            if exchange.never_quiet:
                return number, len(exchange.events), 0
            rested = worlds.rest(exchange.snapshot)
            if isinstance(rested, Divergence):
                return number, len(exchange.events), int(rested.reason is Reason.SNAPSHOT)
            worlds, number = rested, number + 1
    except TooManyWorlds:
        return -1, 0, 0
    return number, 0, 0
