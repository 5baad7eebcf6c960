"""Traces of profile ``sessions``: those of ``core``, with resumes, crashes, and looks at what is stored.

Beside the draws of ``core`` there are these: an id that is resumed is mostly one that has a log and is not live; a
crash stands mostly at the end of its burst, because the process is down until the next settle; and what befell a log
last is mostly looked at before something else befalls it.

Some of what can go wrong takes a row of items that chance hardly ever brings about, such as a resume that waits while
another one of its id logs something and ends. So one settle in eight begins a *plot*: a short row of items, each with
a settle behind it, between which the other draws go on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from probate_conformance.generation.core import Writer
from probate_model.alphabet.gates import FAIL, OK, Gate, GateKind
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, Release
from probate_model.alphabet.names import AgentId, Label
from probate_model.alphabet.ops import ByOwner, Create, Dispose, Inject, Op, Resume, Send, Setup
from probate_model.alphabet.sessions import Crash, Reload, Restart, Stored, Tail
from probate_model.sessions.state import Sessions
from probate_model.world import Stage

_IDS: Final = (AgentId("a"), AgentId("b"), AgentId("c"))
_MOST_LIVE: Final = 5
_SELDOM: Final = frozenset({"STORE-02", "STORE-05", "STORE-07", "STORE-08", "STORE-09", "STORE-10", "STORE-11"})
"""What seldom befalls a log, by the clause that a look at it speaks for then."""


@dataclass(slots=True)
class SessionsWriter(Writer):
    """Writes one trace of profile ``sessions``."""

    profile: ClassVar[str] = "sessions"
    gates: ClassVar[tuple[tuple[int, GateKind], ...]] = (
        (5, GateKind.MODEL),
        (6, GateKind.FLUSH),
        (6, GateKind.LOAD),
        (3, GateKind.SETUP),
        (1, GateKind.CLEANUP),
        (3, GateKind.TOOL),
        (1, GateKind.PREPARE),
    )

    plot: deque[Callable[[], BurstItem]] = field(default_factory=deque)
    """What is still to come of the plot that has begun."""
    after: list[Callable[[], BurstItem]] = field(default_factory=list)
    """How it goes on after a crash."""

    @property
    def room(self) -> Sessions:
        """The room of the profile, in the world after what is written so far."""
        room = self.world.rooms.sessions
        assert room is not None
        return room

    def go_on(self) -> None:
        """Write one more item, or a settle, which is due after a crash."""
        if self.room.down:
            self.plot.clear()
            self.plot.extend(self.after)
            self.after.clear()
            if not self.random.chance(1, 8):
                self._settle()
                return
        if self.plot and self.promised is None and self.random.chance(4, 5):
            self._add(self.plot.popleft()())
            self._settle()
            return
        if not self.plot and self.random.chance(1, 28):
            self._begin_plot()
        Writer.go_on(self)

    def _kinds(self) -> list[tuple[int, Callable[[], BurstItem]]]:
        ops = self.palette.ops
        if self.promised is GateKind.LOAD and "resume" in ops:
            return [(1, self._resume)]
        kinds = Writer._kinds(self)
        if self.promised is not None and "create" in ops:
            return kinds
        room, live = self.room, self.cast.live
        resumable = [agent_id for agent_id in self._stored_ids() if not self._holds(agent_id)]
        loading = [agent for agent in live if agent.stage is Stage.LOADING]
        unsaved = any(kept.saved < self._records(kept.label) for kept in room.kept)

        def offer(weight: int, make: Callable[[], BurstItem], name: str, *, when: object = True) -> None:
            if when and name in ops:
                kinds.append((weight, make))

        weight = 14 if resumable and len(loading) < 2 else 2
        offer(weight, self._resume, "resume", when=len(live) < _MOST_LIVE)
        offer(20 if room.bare else 4 if unsaved or loading else 2, self._crash, "crash", when=room.bare or live)
        offer(3, lambda: Reload(self._label("o")), "reload", when=not room.bare)
        seldom = any(log.note.clause in _SELDOM for log in room.logs)
        offer(16 if seldom else 5 if room.logs else 2, self._stored, "stored", when=not room.bare)
        return kinds

    def _stored_ids(self) -> list[AgentId]:
        return [log.id for log in self.room.logs]

    def _holds(self, agent_id: AgentId) -> bool:
        world = self.world
        return any(agent.id == agent_id and agent.label in world.sessions for agent in world.agents.values())

    def _records(self, label: Label) -> int:
        agent = self.world.agents.get(label)
        return 0 if agent is None else agent.records

    def _resume(self, label: Label | None = None, *, inside: bool = False) -> Resume:
        made = self._create(label, inside=inside)
        loading = [agent.id for agent in self.world.agents.values() if agent.stage is Stage.LOADING]
        free = [agent_id for agent_id in self._stored_ids() if not self._holds(agent_id)]
        agent_id = made.id
        if loading and self.random.chance(1, 2):
            agent_id = self.random.choose(loading)
        elif free and not self.random.chance(1, 6):
            agent_id = self.random.choose(free)
        return Resume(made.label, agent_id, made.by, made.setup, made.cleanup, made.signal)

    def _begin_plot(self) -> None:
        """Draw a plot, if this moment has what it takes."""
        free = [agent_id for agent_id in self._stored_ids() if not self._holds(agent_id)]
        taking = [agent.label for agent in self.cast.taking]
        known = {"resume", "send", "dispose", "inject", "stored", "crash", "reload", "create"} <= self.palette.ops
        if not known or self.room.bare or len(self.cast.live) > _MOST_LIVE - 2:
            return
        plots: list[tuple[int, Callable[[], None]]] = []
        if free:
            plots.append((3, lambda: self._plot_stale(self.random.choose(free))))
            plots.append((2, lambda: self._plot_refused(self.random.choose(free))))
        if taking and "flush" in self.palette.gates:
            plots.append((3, lambda: self._plot_missed(taking[-1])))
        if taking and "model" in self.palette.gates:
            plots.append((4, lambda: self._plot_open(taking[-1])))
        if plots:
            self.random.weighted(plots)()

    def _plot_stale(self, agent_id: AgentId) -> None:
        """Let a resume wait in its setup while another one of its id logs something and ends."""
        owner = ByOwner(self.random.choose(self.spec.owners))
        stale, fresh = self._label("c"), self._label("c")
        gate = Gate(GateKind.SETUP, stale)
        self.plot.extend(
            [
                lambda: Hold(gate),
                lambda: Resume(stale, agent_id, owner, Setup.PLAIN),
                lambda: Resume(fresh, agent_id, owner),
                lambda: Inject(self._label("i"), fresh, self._text()),
                lambda: Dispose(self._label("d"), fresh),
                lambda: Release(gate, OK),
                lambda: Inject(self._label("i"), stale, self._text()),
                lambda: Stored(self._label("q"), agent_id),
            ]
        )

    def _plot_refused(self, agent_id: AgentId) -> None:
        """Let a fresh session under a stored id log something, and reload the store under it."""
        fresh = self._label("c")
        owner = ByOwner(self.random.choose(self.spec.owners))
        self.plot.extend(
            [
                lambda: Create(fresh, agent_id, owner),
                lambda: Send(self._label("s"), fresh, self._text()),
                lambda: Reload(self._label("o")),
                lambda: Stored(self._label("q"), agent_id),
                lambda: Dispose(self._label("d"), fresh),
                lambda: Stored(self._label("q"), agent_id),
            ]
        )

    def _plot_missed(self, label: Label) -> None:
        """Let a flush fail; what follows it is to make that good: a flush, the end, or a reload."""
        agent_id = self.world.agents[label].id
        gate = Gate(GateKind.FLUSH, label)
        ends: list[tuple[int, Callable[[], BurstItem]]] = [
            (3, lambda: Inject(self._label("i"), label, self._text())),
            (2, lambda: Dispose(self._label("d"), label)),
            (1, lambda: Reload(self._label("o"))),
        ]
        self.plot.extend(
            [
                lambda: Plan(gate, (FAIL,)),
                lambda: Send(self._label("s"), label, self._text()),
                lambda: Stored(self._label("q"), agent_id),
                self.random.weighted(ends),
                lambda: Stored(self._label("q"), agent_id),
            ]
        )

    def _plot_open(self, label: Label) -> None:
        """Reload the store inside a turn, and mostly crash there; look at the log and resume it."""
        agent_id = self.world.agents[label].id
        gate = Gate(self.random.choose([GateKind.MODEL, GateKind.MODEL, GateKind.TOOL, GateKind.FLUSH]), label)
        tail = self.random.choose([Tail.WRITTEN, Tail.TORN])
        owner = ByOwner(self.random.choose(self.spec.owners))
        self.plot.extend(
            [
                lambda: Hold(gate),
                lambda: Send(self._label("s"), label, self._text()),
                lambda: Reload(self._label("o")),
                lambda: Stored(self._label("q"), agent_id),
            ]
        )
        if self.random.chance(2, 3):
            self.plot.append(lambda: Crash(self._label("z"), tail))
            self.after.extend(
                [
                    lambda: Stored(self._label("q"), agent_id),
                    lambda: Resume(self._label("c"), agent_id, owner),
                    lambda: Stored(self._label("q"), agent_id),
                ]
            )
        else:
            self.plot.extend([lambda: Open(gate), lambda: Stored(self._label("q"), agent_id)])

    def _crash(self) -> Crash:
        tail = self.random.weighted([(3, Tail.LOST), (2, Tail.WRITTEN), (3, Tail.TORN)])
        restart = Restart.BARE if self.random.chance(1, 12) else Restart.HOME
        return Crash(self._label("z"), tail, restart)

    def _stored(self) -> Stored:
        seldom = [log.id for log in self.room.logs if log.note.clause in _SELDOM]
        known = seldom or self._stored_ids()
        ids = known if known and not self.random.chance(1, 6) else list(_IDS)
        return Stored(self._label("q"), self.random.choose(ids))

    def _action(self, label: Label, kind: str, only: str | None = None) -> Op:
        many = 3 if kind.endswith("disposed") else 12
        if only is None and "resume" in self.palette.ops and self.random.chance(1, many):
            return self._resume(label, inside=True)
        return Writer._action(self, label, kind, only)
