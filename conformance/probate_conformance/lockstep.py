"""Lockstep: one trace, run on a backend and judged against the model burst by burst.

The model goes first and is the only oracle. Its canonical run of a burst is compared with what was observed as a
list; that is the fast path, and nearly always the end of it. Only on a mismatch is the set of worlds searched for a
run that explains the observation. Since the fast path keeps one world where several may be possible, a divergence
that comes after it is judged once more from the start with the whole set: the recorded observations are all that this
needs.

It is written as a conversation (see ``wire``), so the same code judges a backend in an event loop and one in another
process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from probate_conformance.errors import BackendBroke, BackendSilent
from probate_conformance.trace import Trace
from probate_conformance.wire import Burst, Close, Command, Open, Quiet, Reply
from probate_model.alphabet.editions import CHOICES, EDITION_2026_06
from probate_model.alphabet.events import Event, Settled, Snapshot
from probate_model.alphabet.items import BurstItem
from probate_model.clauses import AT_REST, CLAUSES, SETTLES_ONCE, Demand
from probate_model.following import follow
from probate_model.machine import bind
from probate_model.registry import snapshot
from probate_model.rehearsal import Rehearsal, rehearse
from probate_model.run import Expected, Silence
from probate_model.world import World, new_world
from probate_model.worlds import EVERYTHING, Divergence, Reason, TooManyWorlds, View, Worlds

_TELLING: Final = {
    clause.id: frozenset(name for name in CHOICES if type(getattr(EDITION_2026_06, name)) in map(type, clause.under))
    for clause in CLAUSES.values()
    if clause.under and clause.id != "IDLE-04"
}
"""The clauses whose events tell how a choice is made. That a waiter returns when its agent ends tells nothing."""
_EVENT: Final = attrgetter("event")
_DEMAND: Final = attrgetter("demand")
_CLAUSE: Final = attrgetter("clause")


class Verdict(StrEnum):
    """What became of one trace, or of one clause."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_CLAIMED = "not claimed"
    NOT_REACHED = "not reached"
    BLOCKED = "blocked"
    BROKEN = "harness error"


@dataclass(slots=True)
class Exchange:
    """One burst: the items that were sent, those that were void, and what came back."""

    sent: tuple[BurstItem, ...]
    void: tuple[BurstItem, ...]
    events: tuple[Event, ...] = ()
    snapshot: Snapshot | None = None
    never_quiet: bool = False


class Drift(NamedTuple):
    """A divergence that other choices of the edition explain, as far as the next if not to rest; see ``drift``."""

    choices: tuple[str, ...]
    divergence: Divergence
    flipped: tuple[str, ...]
    """The choices that were flipped before."""
    exchanges: int
    """How many bursts had been run by then."""


@dataclass(slots=True)
class Examined:
    """What one run of one trace showed."""

    verdict: Verdict = Verdict.PASS
    divergence: Divergence | None = None
    reason: str = ""
    """Why the run is inconclusive or broken."""
    broke: BackendBroke | None = None
    demanded: Counter[str] = field(default_factory=Counter)
    exchanges: list[Exchange] = field(default_factory=list)
    searched: int = 0
    """How many bursts needed more than the canonical run."""
    unknown: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    """The windows, holds and reactions that the model came to."""
    final: Worlds | None = None
    drifts: list[Drift] = field(default_factory=list)
    """What was explained, in order."""
    shown: set[str] = field(default_factory=set)
    """The choices that were seen to be as the contract was read: events came that a clause of theirs calls for."""
    sought: bool = False
    """Whether an explanation was looked for."""
    rehearsals: list[Rehearsal] = field(default_factory=list)
    """The canonical run of each burst from where it began."""
    held: list[Expected] = field(default_factory=list)
    """What was expected of the bursts that held, and is not counted yet."""
    silent: list[Silence] = field(default_factory=list)
    """What was silent in them, and is not counted yet."""
    reached: list[str] = field(default_factory=list)
    """The marks that were come to and are not counted yet."""

    @property
    def steps(self) -> int:
        """How many items were carried out."""
        return sum(len(exchange.sent) for exchange in self.exchanges)

    @property
    def voids(self) -> int:
        """How many items were void."""
        return sum(len(exchange.void) for exchange in self.exchanges)


class Explains(Protocol):
    """Looks for the choices by which a divergence may be explained."""

    def explain(self, trace: Trace, view: View, examined: Examined, divergence: Divergence) -> tuple[str, ...]:
        """Give the choices with which the model follows furthest beyond it; none if it does with none."""


def examine(
    trace: Trace, view: View, rehearsals: Sequence[Rehearsal] = (), explains: Explains | None = None
) -> Generator[Command, Reply, Examined]:
    """Run a trace and judge it. A conversation; gives what it showed.

    :param trace: what to run
    :param view: how much of the model the backend claims to show
    :param rehearsals: the canonical run of the trace as far as it is known, burst by burst; it only saves work
    :param explains: looks for explanations of divergences, with which the trace then goes on

    A backend that breaks, or is silent, ends the trace and not the run.
    """
    result = Examined()
    start = new_world(trace.world, trace.reading, trace.profile)
    try:
        yield Open(
            world=trace.world,
            edition=trace.edition,
            profile=trace.profile,
            schedule=None if trace.schedule == "fifo" else trace.schedule,
        )
        worlds = Worlds.of(start, view)
        for place, burst in enumerate(trace.bursts()):
            known = rehearsals[place] if place < len(rehearsals) else None
            if known is None or known.start != worlds.first:
                known = rehearse(worlds.first, burst)
            rehearsal = known
            result.rehearsals.append(rehearsal)
            reply = yield Burst.model_construct(message="burst", items=rehearsal.sent)
            if not isinstance(reply, Quiet):
                raise BackendBroke(f"a burst was answered by {reply.message!r}", mend="answer a burst by 'quiet'")
            exchange = Exchange(rehearsal.sent, rehearsal.void, reply.events, reply.snapshot, reply.never)
            result.exchanges.append(exchange)
            if reply.unknown:
                result.unknown.update(reply.unknown)
            result.reached += rehearsal.marks
            try:
                advanced = _advance(worlds, rehearsal, exchange, result)
                if isinstance(advanced, Divergence):
                    advanced = judge(start, view, result)
                first, before, found = advanced, trace, len(result.drifts)
                while isinstance(advanced, Divergence) and explains is not None:
                    _counted(result)
                    choices = explains.explain(trace, view, result, advanced)
                    if not choices:
                        break
                    result.drifts.append(Drift(choices, advanced, trace.flipped, len(result.exchanges)))
                    trace = trace.model_copy(update={"flipped": (*trace.flipped, *choices)})
                    start = new_world(trace.world, trace.reading, trace.profile)
                    advanced = judge(start, view, result, counting=True)
                if isinstance(advanced, Divergence):
                    # What explains a part of a burst is no explanation: a fault may look like a choice for an event.
                    advanced, trace = first, before
                    del result.drifts[found:]
            except TooManyWorlds as many:
                result.verdict, result.reason = Verdict.INCONCLUSIVE, str(many)
                break
            if isinstance(advanced, Divergence):
                result.verdict, result.divergence = Verdict.FAIL, advanced
                break
            worlds = advanced
        result.final = worlds
        yield Close()
    except BackendSilent as silent:
        result.verdict, result.reason, result.broke = Verdict.INCONCLUSIVE, str(silent), silent
    except BackendBroke as broke:
        result.verdict, result.reason, result.broke = Verdict.BROKEN, str(broke), broke
    _counted(result)
    return result


def _advance(worlds: Worlds, rehearsal: Rehearsal, exchange: Exchange, result: Examined) -> Worlds | Divergence:
    """Compare with the canonical run, and search only if that differs."""
    view = worlds.view
    shown = worlds.show(rehearsal.expected)
    look = view.snapshot
    canonical = tuple(map(_EVENT, shown)) == exchange.events
    if (
        not exchange.never_quiet
        and (canonical or (view is EVERYTHING and rehearsal.allows(exchange.events)))
        and (exchange.snapshot is None or look(rehearsal.snapshot) == look(exchange.snapshot))
    ):
        _count(result, exchange, shown, rehearsal.silences)
        return Worlds.of(rehearsal.world, view)
    if not exchange.never_quiet:
        seen = [event for event in map(worlds.view.event, exchange.events) if event is not None]
        begun = worlds.show(rehearsal.expected[: rehearsal.begun])
        followed = follow(rehearsal.begun_world, begun, seen, worlds.show)
        if followed is not None:
            world = bind(followed.world)
            if exchange.snapshot is None or look(snapshot(world)) == look(exchange.snapshot):
                _count(result, exchange, followed.matched, (*rehearsal.begun_silences, *followed.silences))
                return Worlds.of(world, worlds.view)
    result.searched += 1
    return search(worlds, exchange, result)


def search(worlds: Worlds, exchange: Exchange, result: Examined) -> Worlds | Divergence:
    """Advance the whole set of worlds through one exchange."""
    worlds = worlds.begin(exchange.sent)
    matched: list[Expected] = []
    for position, event in enumerate(exchange.events):
        if worlds.view.event(event) is None:
            continue
        advanced = worlds.observe(event)
        if isinstance(advanced, Divergence):
            return replace(advanced, position=position)
        worlds, expected = advanced
        matched.append(expected)
    if exchange.never_quiet:
        owed = worlds.owed()
        return Divergence(owed or SETTLES_ONCE, Reason.NEVER_QUIET, None, ())
    silences = worlds.silences
    rested = worlds.rest(exchange.snapshot)
    if not isinstance(rested, Divergence):
        _count(result, exchange, matched, silences)
    return rested


def judge(start: World, view: View, result: Examined, *, counting: bool = False) -> Worlds | Divergence:
    """Judge all recorded exchanges from the start with the whole set of worlds.

    :param counting: whether what the last of them demands is to be counted, if it holds
    """
    worlds = Worlds.of(start, view)
    discarded = Examined()
    for exchange in result.exchanges:
        last = counting and exchange is result.exchanges[-1]
        advanced = search(worlds, exchange, result if last else discarded)
        if isinstance(advanced, Divergence):
            return advanced
        worlds = advanced
    return worlds


def _count(result: Examined, exchange: Exchange, expected: Sequence[Expected], silences: Sequence[Silence]) -> None:
    """Note what was demanded of a burst that held; ``_counted`` counts it."""
    result.held += expected
    result.silent += silences
    if exchange.snapshot is not None:
        result.demanded[AT_REST] += 1


def _counted(result: Examined) -> None:
    """Count what was noted: each demand once, however often it was met, since a demand speaks for many clauses."""
    demanded = result.demanded
    met: Counter[Demand] = Counter(map(_DEMAND, result.held))
    for demand, times in met.items():
        for clause in demand.clauses:
            demanded[clause] += times
        if demand.clause in _TELLING:
            result.shown |= _TELLING[demand.clause]
    settled = [*map(type, map(_EVENT, result.held))].count(Settled)
    if settled:
        demanded[SETTLES_ONCE] += settled
    demanded.update(map(_CLAUSE, result.silent))
    result.marks.update(result.reached)
    for noted in (result.held, result.silent, result.reached):
        noted.clear()
