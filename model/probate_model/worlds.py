"""The set of worlds: which of the model's many runs a backend may be in.

With the gates set the model is deterministic, except where the contract leaves order open: drivers of different
agents take turns in any order, teardowns under one unload run side by side, and a settlement comes at any time after
its cause. So "the backend did what the model does" means that *some* firing order yields exactly what was observed.
This module keeps the worlds that are still possible and advances them by one observed event at a time, through silent
steps where there are any.

A *branch* is a world, and the rest of the stretch that led to it and is not yet observed: a stretch is atomic, so its
events are contiguous and nothing of another activity may come between. Branches hold no history, so those that agree
on what can still happen are one.

If the set grows beyond its bound for one event, the answer is neither yes nor no, and ``TooManyWorlds`` says so.

When no branch accepts an event, the divergence is put down to a clause, in a fixed order: what is still owed at rest; a
silence that was broken; a field that differs; an event that came before what it has to wait for, or that tore a stretch
of another activity; the event that was due instead. Where an event tells its cause by itself, that comes first: see
``telltales``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, NamedTuple

from probate_model.alphabet.events import (
    AgentDisposed,
    Event,
    Logged,
    Returned,
    SessionCreated,
    Settled,
    Snapshot,
    subject_of,
)
from probate_model.alphabet.items import BurstItem, Open
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentRef
from probate_model.clauses import AT_REST, extra_clause
from probate_model.machine import apply, bind, enabled, fire, settle
from probate_model.reduction import hurry
from probate_model.registry import snapshot
from probate_model.run import Expected, Silence
from probate_model.telltales import GONE, failed_turn, jumps_queue, refused
from probate_model.world import Stage, World

BOUND: Final = 4096
"""The most worlds that one observed event may lead to, if nothing else is said."""


class TooManyWorlds(Exception):
    """Raised when one event leaves more worlds possible than the bound allows."""

    def __init__(self, worlds: int, bound: int) -> None:
        super().__init__(f"one event leaves {worlds} worlds possible, and the bound is {bound}")
        self.worlds = worlds


@plain
class Reason(StrEnum):
    """How a divergence was put down to its clause."""

    OWED = "owed"
    SILENCE = "silence"
    FIELD = "field"
    EARLY = "early"
    TORN = "torn"
    DUE = "due"
    EXTRA = "extra"
    SNAPSHOT = "snapshot"
    NEVER_QUIET = "never quiet"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first observation that no run of the model explains."""

    clause: str
    reason: Reason
    seen: Event | Snapshot | None
    """What was observed; none if it was rest, while something was still owed."""
    allowed: tuple[Event | Snapshot, ...]
    """What could have come instead."""
    field: str | None = None
    position: int | None = None
    """The number of the observation in its burst, from 0; none if it is what was seen at rest."""


class Branch(NamedTuple):
    """A world that is still possible, and what of the last stretch is not observed yet."""

    world: World
    rest: tuple[Expected, ...] = ()


class View(NamedTuple):
    """How much of the model a backend claims to show; what it does not is erased from both sides."""

    event: Callable[[Event], Event | None] = lambda event: event
    snapshot: Callable[[Snapshot], Snapshot] = lambda seen: seen


EVERYTHING: Final = View()
"""The view of a backend that claims to show everything."""


class Worlds:
    """The worlds that a backend may be in. A value: every method gives a new one."""

    __slots__ = ("bound", "branches", "reduced", "silences", "view")

    def __init__(
        self,
        branches: Iterable[Branch],
        view: View = EVERYTHING,
        silences: tuple[Silence, ...] = (),
        *,
        reduced: bool = True,
        bound: int = BOUND,
    ) -> None:
        kept = tuple(branches)
        self.branches = kept if len(kept) < 2 else tuple(dict.fromkeys(kept))
        self.view = view
        self.silences = silences
        self.reduced = reduced
        self.bound = bound
        if len(self.branches) > bound:
            raise TooManyWorlds(len(self.branches), bound)

    @classmethod
    def of(cls, world: World, view: View = EVERYTHING, *, reduced: bool = True, bound: int = BOUND) -> Worlds:
        """Give the set that holds one world.

        :param reduced: without it every silent step is searched
        :param bound: the most worlds that one observed event may lead to
        """
        return cls([Branch(world)], view, reduced=reduced, bound=bound)

    @property
    def first(self) -> World:
        """One of the worlds; between bursts all of them agree on what a name refers to."""
        return self.branches[0].world

    def begin(self, items: Sequence[BurstItem]) -> Worlds:
        """Begin the items of a burst in every world. Their events are one stretch."""
        branches, silences = [], list(self.silences)
        for branch in self.branches:
            world, rest = branch
            for item in items:
                outcome = apply(world, item)
                world = outcome.world
                rest += self.show(outcome.expected)
                silences += outcome.silences
            branches.append(Branch(self._hurry(world, silences), rest))
        return Worlds(branches, self.view, tuple(silences), reduced=self.reduced, bound=self.bound)

    def observe(self, event: Event) -> tuple[Worlds, Expected] | Divergence:
        """Advance by one observed event.

        :return: the worlds that are possible then with what the event was expected as, or the divergence
        :raises TooManyWorlds: if more are possible than the bound allows
        """
        advanced = self.accept(event)
        if advanced is None:
            shown = self.view.event(event)
            return self._explain(event if shown is None else shown)
        return advanced

    def accept(self, event: Event) -> tuple[Worlds, Expected] | None:
        """Advance by one observed event, as ``observe`` does; none if no run of the model explains it.

        To put a divergence down to its clause costs many times what it costs to see that there is one.

        :raises TooManyWorlds: if more are possible than the bound allows
        """
        after: dict[Branch, Expected] = {}
        silences: list[Silence] = list(self.silences)
        shown = self.view.event(event)
        for (world, rest), silent in self._next():
            if shown is not None and rest[0].event == shown:
                after.setdefault(Branch(world, rest[1:]), rest[0])
                silences += (silence for silence in silent if silence.lasting)
                if len(after) > self.bound:
                    raise TooManyWorlds(len(after), self.bound)
        if not after:
            return None
        kept = tuple(dict.fromkeys(silences))
        return Worlds(after, self.view, kept, reduced=self.reduced, bound=self.bound), next(iter(after.values()))

    def rest(self, seen: Snapshot | None = None) -> Worlds | Divergence:
        """Advance to rest: keep the worlds in which nothing is owed and whose registries are as seen.

        :param seen: the backend's registries at rest; none if it does not show them
        :return: the worlds that are possible then, with what has returned bound and no silences, or the divergence
        """
        quiet = dict.fromkeys(self._at_rest())
        if not quiet:
            owed = self._allowed()
            return Divergence(owed[0].demand.clause, Reason.OWED, None, _events(owed))
        if seen is not None:
            agreeing = [world for world in quiet if self._look(world) == self.view.snapshot(seen)]
            if not agreeing:
                allowed = tuple(dict.fromkeys(self._look(world) for world in quiet))
                return Divergence(AT_REST, Reason.SNAPSHOT, seen, allowed)
            quiet = dict.fromkeys(agreeing)
        return Worlds([Branch(bind(world)) for world in quiet], self.view, reduced=self.reduced, bound=self.bound)

    def owed(self) -> str | None:
        """Give the clause of what is still owed; none if nothing is."""
        allowed = self._allowed()
        return allowed[0].demand.clause if allowed else None

    def show(self, expected: tuple[Expected, ...]) -> tuple[Expected, ...]:
        """Give what the backend claims to show of these events."""
        if self.view is EVERYTHING:
            return expected
        shown = ((self.view.event(entry.event), entry.demand) for entry in expected)
        return tuple(Expected(event, demand) for event, demand in shown if event is not None)

    def _look(self, world: World) -> Snapshot:
        return self.view.snapshot(snapshot(world))

    def _hurry(self, world: World, silences: list[Silence]) -> World:
        return hurry(world, silences) if self.reduced else world

    def _silent_closure(self) -> Iterator[tuple[World, list[tuple[Branch, list[Silence]]]]]:
        """Give every world that silent steps lead to, each with the branches that its other steps lead to.

        A branch comes with the silences on the way to it. Those of a branch that is not taken mean nothing.
        """
        seen: set[World] = set()
        for start in self.branches:
            if start.rest:
                continue
            stack: list[tuple[World, list[Silence]]] = [(start.world, [])]
            while stack:
                world, way = stack.pop()
                if world in seen:
                    continue
                seen.add(world)
                if len(seen) > self.bound:
                    raise TooManyWorlds(len(seen), self.bound)
                loud = []
                for step in enabled(world):
                    outcome = fire(world, step)
                    silences = [*way, *outcome.silences]
                    expected = self.show(outcome.expected)
                    after = self._hurry(outcome.world, silences)
                    if expected:
                        loud.append((Branch(after, expected), silences))
                    else:
                        stack.append((after, silences))
                yield world, loud

    def _next(self) -> Iterator[tuple[Branch, list[Silence]]]:
        """Give every branch whose first event could be observed next, with the silences on the way to it."""
        yield from ((branch, []) for branch in self.branches if branch.rest)
        for _, loud in self._silent_closure():
            yield from loud

    def _at_rest(self) -> Iterator[World]:
        for world, loud in self._silent_closure():
            if not loud and not enabled(world):
                yield world

    def _allowed(self) -> list[Expected]:
        return list(dict.fromkeys(branch.rest[0] for branch, _ in self._next()))

    def _explain(self, event: Event) -> Divergence:
        ways = list(self._next())
        allowed = list(dict.fromkeys(branch.rest[0] for branch, _ in ways))
        events = _events(allowed)
        subject = subject_of(event)

        def broken(silences: Iterable[Silence]) -> Divergence | None:
            clause = next((silence.clause for silence in silences if silence.broken_by(event)), None)
            return None if clause is None else Divergence(clause, Reason.SILENCE, event, events)

        # A silence that is noted further on in a stretch says nothing of what is still due in it.
        due = any(expected.event == event for branch in self.branches for expected in branch.rest)
        # Nor does one about what comes once, whoever brings it about, where somebody else is about to.
        if isinstance(event, AgentDisposed) or (isinstance(event, SessionCreated) and self._may_publish(event)):
            due = due or any(e.event == event for branch in self.branches for e in settle(branch.world).expected)
        if jumps_queue((branch.world for branch in self.branches), event, self.show):
            return Divergence("OWNER-01", Reason.EARLY, event, events)
        if not due and (divergence := broken(s for s in self.silences if not s.broad)) is not None:
            return divergence
        # That a call settles too early says more than that another one of its ends was possible.
        if isinstance(event, Settled) and (divergence := self._too_early(event, events)) is not None:
            return divergence
        # What is silent on a way to what is due of the same agent is silent, unless that would break it too: then it
        # was noted behind it.
        own = [
            [silence for silence in silences if not silence.broken_by(branch.rest[0].event)]
            for branch, silences in ways
            if subject_of(branch.rest[0].event) == subject
        ]
        if (divergence := broken(s for silences in own for s in silences if not s.broad)) is not None:
            return divergence
        first = next((e for e in allowed if subject_of(e.event) == subject or _gives(e.event, subject)), None)
        failed = failed_turn(self.first, event, first)
        other = _closest(event, allowed)
        if other is not None and failed != GONE:
            expected, field = other
            return Divergence(expected.demand.of_field(field), Reason.FIELD, event, events, field)
        # The last rule that kept something from happening is the one that it happened in spite of.
        if not due and (divergence := broken(reversed(self.silences))) is not None:
            return divergence
        if own and (divergence := broken(s for s in own[0] if all(s in silences for silences in own))) is not None:
            return divergence
        if (divergence := self._too_early(event, events)) is not None:
            return divergence
        # What is silent on one way says something only of what can't come later on another.
        if (divergence := broken(silence for _, silences in ways for silence in silences)) is not None:
            return divergence
        if failed is not None:
            return Divergence(failed, Reason.DUE if allowed else Reason.EXTRA, event, events)
        if allowed:
            first = first or refused(self.first, event, allowed) or allowed[0]
            return Divergence(first.demand.clause, Reason.DUE, event, events)
        return Divergence(extra_clause(event.event, self.first.edition), Reason.EXTRA, event, ())

    def _may_publish(self, event: SessionCreated) -> bool:
        """Tell whether a creation has begun that may yet be announced as this, and is not ended."""
        return any(
            agent.stage < Stage.PUBLISHING and agent.failure is None and event.agent.startswith(f"{agent.id}#")
            for branch in self.branches
            for agent in branch.world.agents
        )

    def _too_early(self, event: Event, events: tuple[Event, ...]) -> Divergence | None:
        """Explain an event, or another end of the same call, that is only allowed later."""
        subject = subject_of(event)
        ahead = [
            (branch.rest, self.show((*settle(branch.world).expected, *settle(_opened(branch.world)).expected)))
            for branch in self.branches
        ]
        for rest, later in ahead:
            for expected in (*rest, *later):
                if expected.event != event:
                    continue
                # Inside of a dispatch no other activity can come between: the call that is due there did it.
                if expected in rest[1:] and rest[0].demand.clause == "EVENT-01":
                    return Divergence(rest[0].demand.clause, Reason.DUE, event, events)
                if not rest or expected in rest or _in_dispatch(rest[0].event):
                    return Divergence(expected.demand.edge, Reason.EARLY, event, events)
                # It is in the middle of a stretch: of somebody else's, or of its own, the rest of which is missing.
                if subject_of(rest[0].event) == subject:
                    return Divergence(rest[0].demand.clause, Reason.DUE, event, events)
                torn = rest[0].demand
                clause = torn.clause if isinstance(rest[0].event, Settled) else torn.edge
                return Divergence(clause, Reason.TORN, event, events)
        if isinstance(event, Settled):
            for rest, later in ahead:
                for expected in (*rest, *later):
                    if isinstance(expected.event, Settled) and expected.event.call == event.call:
                        return Divergence(expected.demand.of_field("outcome"), Reason.FIELD, event, events, "outcome")
        return None


def _gives(event: Event, subject: str) -> bool:
    """Tell whether an event is the return of the agent: what comes instead is about its creation."""
    return isinstance(event, Settled) and event.outcome == Returned(AgentRef(subject))


def _in_dispatch(event: Event) -> bool:
    """Tell whether an event is the settlement of an op that a reaction did, inside of a dispatch."""
    return isinstance(event, Settled) and "." in event.call


def values_of(event: Event) -> dict[str, object]:
    """Give the fields of an event by name, those of a record and of a settlement among them."""
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    if isinstance(event, Logged):
        del values["record"]
        record = {field.name: getattr(event.record, field.name) for field in fields(event.record)}
        values.update(record)
    return values


def _closest(event: Event, allowed: list[Expected]) -> tuple[Expected, str] | None:
    """Find the allowed event of the same kind and subject that differs least, and a field in which it does."""
    best: tuple[int, Expected, str] | None = None
    seen = values_of(event)
    for expected in allowed:
        other = expected.event
        if other.event != event.event or subject_of(other) != subject_of(event):
            continue
        values = values_of(other)
        if isinstance(event, Logged) and values["record"] != seen["record"]:
            continue
        differing = [name for name, value in values.items() if seen.get(name) != value]
        if differing and (best is None or len(differing) < best[0]):
            best = len(differing), expected, differing[-1]
    return None if best is None else best[1:]


def _opened(world: World) -> World:
    """Give the world with all of its gates opened, in which whatever waits at one goes on."""
    for state in world.gates:
        if state.held:
            world = apply(world, Open(state.gate)).world
    return world


def _events(expected: Iterable[Expected]) -> tuple[Event, ...]:
    """Give the events alone, each once: several may be due for the same by different clauses."""
    return tuple(dict.fromkeys(entry.event for entry in expected))
