"""Gates in process: where the scripted bodies of a trace wait.

A body arrives, and either goes on at once with the next planned outcome or waits on an event of its own. Whoever
releases it sets the outcome first and the event after, so nothing here depends on when the waiting task runs. A body
with a signal stays subscribed until it runs again: it is in flight until then, and hears.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import Event

from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, Temper, default_outcome
from probate_model.alphabet.items import GateItem, Hold, Open, Plan, Release
from probate_model.alphabet.names import Label

C = TypeVar("C")
"""What the signals of a runtime carry when they fire."""


@dataclass(slots=True, eq=False)
class _Arrival:
    temper: Temper
    event: Event = field(default_factory=Event)
    outcome: GateOutcome | None = None

    def release(self, outcome: GateOutcome | None) -> None:
        self.outcome = outcome
        self.event.set()


@dataclass(slots=True, eq=False)
class _Desk:
    held: bool = False
    temper: Temper = Temper.HONOURS
    plan: deque[GateOutcome] = field(default_factory=deque)
    waiting: deque[_Arrival] = field(default_factory=deque)


class Visit:
    """One arrival at a gate."""

    def __init__(self, arrival: _Arrival, desk: _Desk | None) -> None:
        self._arrival = arrival
        self._desk = desk

    async def wait(self) -> GateOutcome:
        """Wait for the outcome."""
        if self._arrival.outcome is None:
            await self._arrival.event.wait()
        assert self._arrival.outcome is not None
        return self._arrival.outcome

    def leave(self) -> None:
        """Wait at the gate no more."""
        if self._desk is not None and self._arrival in self._desk.waiting:
            self._desk.waiting.remove(self._arrival)


class Gates:
    """All gates of one world."""

    def __init__(self) -> None:
        self._desks: dict[Gate, _Desk] = {}
        self._never_hold = False

    def apply(self, item: GateItem) -> None:
        """Carry out a gate item."""
        desk = self._desks.setdefault(item.gate, _Desk())
        match item:
            case Plan():
                desk.plan.extend(item.outcomes)
            case Hold():
                desk.held, desk.temper = True, item.temper
            case Release():
                if desk.waiting:
                    desk.waiting.popleft().release(item.outcome)
            case Open():
                self._open(item.gate.kind, desk)

    def held(self, kind: GateKind, label: Label) -> Temper | None:
        """Give the temper of who arrives at a gate now; none if nobody has to wait there."""
        desk = self._desks.get(Gate(kind, label))
        return desk.temper if desk is not None and desk.held and not self._never_hold else None

    def open_all(self) -> None:
        """Let everything go on, and never hold anything again."""
        self._never_hold = True
        for gate, desk in self._desks.items():
            self._open(gate.kind, desk)

    def _open(self, kind: GateKind, desk: _Desk) -> None:
        desk.held = False
        while desk.waiting:
            desk.waiting.popleft().release(default_outcome(kind))

    def come(self, kind: GateKind, label: Label) -> Callable[[], Awaitable[GateOutcome]]:
        """Arrive now, and give what to await for the outcome: for a body that is called before it runs."""
        return self.visit(kind, label).wait

    def visit(self, kind: GateKind, label: Label) -> Visit:
        """Arrive now, and give the visit: for a body that is called before it runs, and may leave."""
        desk = self._desks.get(Gate(kind, label))
        arrival = _Arrival(Temper.DEAF)
        if desk is None or (not desk.held and not desk.plan):
            arrival.release(default_outcome(kind))
        elif not desk.held or self._never_hold:
            arrival.release(desk.plan.popleft() if desk.plan else default_outcome(kind))
        else:
            desk.waiting.append(arrival)
        return Visit(arrival, desk)

    async def arrive(
        self,
        kind: GateKind,
        label: Label,
        subscribe: Callable[[Callable[[C], None]], Callable[[], object]] | None = None,
        heard: Callable[[C], None] | None = None,
    ) -> GateOutcome | None:
        """Wait if the gate is held, and give the outcome to go on with.

        :param subscribe: for bodies that can hear their turn's signal: has a function called, with what the signal
            carries, inside its firing, and gives what takes that back
        :param heard: called inside the firing of the signal while the body is in flight
        :return: the outcome; none if the body stopped waiting because it honours the signal
        """
        desk = self._desks.get(Gate(kind, label))
        if desk is None or (not desk.held and not desk.plan):
            return default_outcome(kind)
        if not desk.held or self._never_hold:
            return desk.plan.popleft() if desk.plan else default_outcome(kind)
        arrival = _Arrival(desk.temper)
        desk.waiting.append(arrival)

        def fired(cause: C) -> None:
            if arrival in desk.waiting and arrival.temper is Temper.HONOURS:
                desk.waiting.remove(arrival)
                arrival.release(None)
            if heard is not None:
                heard(cause)

        unsubscribe = None if subscribe is None else subscribe(fired)
        try:
            await arrival.event.wait()
        finally:
            if unsubscribe is not None:
                unsubscribe()
            if arrival in desk.waiting:
                desk.waiting.remove(arrival)
        return arrival.outcome
