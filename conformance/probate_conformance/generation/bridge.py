"""Traces of profile ``bridge``: a client or two, a few sessions, and prompts that are cancelled, cut off, or go well.

Two items in three are what clients say; the others are those of ``core``, so that others prompt, inject into, cancel
and end the same agents. Most model calls of a session are held for a while, since a prompt that is answered at once is
of little interest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from probate_conformance.generation.core import Writer
from probate_model.alphabet.bridge import (
    BRIDGE_OWNER,
    CallOff,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    Folder,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
)
from probate_model.alphabet.gates import THROW, Gate, GateKind, GateOutcome
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, WorldSpec
from probate_model.alphabet.names import AgentId, Label, OwnerName
from probate_model.alphabet.ops import Inject, Op
from probate_model.bridge.state import BridgeRoom, Closing, Connection, Holding, Link, Session
from probate_model.machine import somebody_waits
from probate_model.rehearsal import Rehearsing
from probate_model.world import new_world

_HOST: Final = OwnerName("host")
_MOST_SESSIONS: Final = 4
_MOST_CONNECTIONS: Final = 2
_STORY_OPS: Final = frozenset(
    {"connect", "new_session", "prompt", "cancel_session", "close_session", "disconnect", "close_bridge"}
)
_LOAD_OPS: Final = frozenset({"load_session", "resume_session", "call_off"})
_NO_SUCH: Final = AgentId("nobody")
"""An id under which nothing is ever stored."""


class BridgeWriter(Writer):
    """Writes one trace of profile ``bridge``."""

    profile: ClassVar[str] = "bridge"

    def begin(self) -> None:
        """Decide what exists before the first item: an owner, and that of the bridge."""
        self.spec = WorldSpec((_HOST, BRIDGE_OWNER))
        self.rehearsing = Rehearsing(new_world(self.spec, self.edition, self.profile))

    # The bridge as it would be now.

    @property
    def _room(self) -> BridgeRoom:
        room = self.world.rooms.bridge
        assert room is not None
        return room

    def _connections(self) -> list[Connection]:
        """Give those that something can be said on."""
        return [one for one in self._room.connections if not one.ended and one.link is not Link.GONE]

    def _connection(self) -> Label:
        return self.random.choose(self._connections()).label

    def _known(self) -> list[Session]:
        """Give the sessions that somebody can still speak of."""
        able = {one.label for one in self._connections()}
        return [one for one in self._room.sessions if one.known and one.connection in able]

    def _session(self) -> Label:
        """Draw a session: mostly one that is held, and of those often one with a prompt in flight."""
        known = self._known()
        held = [one for one in known if one.holding is Holding.HELD]
        busy = [one for one in held if one.slot is not None]
        if busy and self.random.chance(1, 2):
            return self.random.choose(busy).label
        if held and not self.random.chance(1, 12):
            return self.random.choose(held).label
        return self.random.choose(known).label

    # What seldom comes about by chance.

    def go_on(self) -> None:
        """Write one more item, or now and then a few in a row that belong together."""
        if self.promised is None and self.palette.ops >= _STORY_OPS and self.random.chance(1, 9):
            stories = [self._called_off, self._replaced, self._lost, self._ended_twice, self._permitted, self._injected]
            if self.palette.ops >= _LOAD_OPS and self._room.sessions:
                stories += [self._loaded_twice, self._loaded_again]
            self.random.choose(stories)()
        else:
            super().go_on()

    def _called_off(self) -> None:
        """Prompt and cancel in one breath."""
        if self._known():
            session = self._session()
            self._add(Prompt(self._label("p"), session, self._text()))
            self._add(CancelSession(self._label("x"), session))
            if self.random.chance(1, 2):
                self._add(Prompt(self._label("p"), session, self._text()))

    def _replaced(self) -> None:
        """Cancel a prompt whose turn runs, and prompt again before that has unwound."""
        if self._known() and "model" in self.palette.gates:
            session = self._session()
            self._add(Hold(Gate(GateKind.MODEL, session)))
            self._add(Prompt(self._label("p"), session, self._text()))
            self._settle()
            self._add(CancelSession(self._label("x"), session))
            self._add(Prompt(self._label("p"), session, self._text()))

    def _injected(self) -> None:
        """Inject into a session, and prompt it before that has had its turn."""
        if self._known() and "inject" in self.palette.ops:
            session = self._session()
            self._add(Inject(self._label("i"), session, self._text()))
            self._add(Prompt(self._label("p"), session, self._text()))

    def _lost(self) -> None:
        """Close a connection while a session of it is created."""
        if self._connections() and {"setup"} <= self.palette.gates and self._room.closing is Closing.NO:
            connection = self._connection()
            new = NewSession(self._label("n"), connection)
            self._add(Hold(Gate(GateKind.SETUP, new.label)))
            self._add(new)
            if self.random.chance(3, 4):
                self._settle()
            self._add(self._close_bridge() if self.random.chance(1, 5) else self._disconnect(connection))

    def _ended_twice(self) -> None:
        """Let a client go, or close the bridge, and then the other way round, while an agent takes its time to end."""
        held = [one for one in self._known() if one.holding is Holding.HELD]
        if held and "flush" in self.palette.gates and self._room.closing is Closing.NO:
            session = self.random.choose(held)
            self._add(Hold(Gate(GateKind.FLUSH, session.label)))
            self._add(Prompt(self._label("p"), session.label, self._text()))
            self._settle()
            ends: list[Op] = [self._disconnect(session.connection), self._close_bridge()]
            if self.random.chance(1, 2):
                ends.reverse()
            self._add(ends[0])
            if self.random.chance(1, 2):
                self._settle()
            self._add(ends[1])

    def _permitted(self) -> None:
        """Let a tool wait for its permission, and then mostly for a cancel or the end."""
        if self._known() and {"permission", "model", "tool"} <= self.palette.gates:
            session = self._session()
            if self.random.chance(2, 3):
                self._add(Hold(Gate(GateKind.PERMISSION, session)))
            else:
                self._add(Plan(Gate(GateKind.PERMISSION, session), (self._outcome(GateKind.PERMISSION),)))
            self._add(Plan(Gate(GateKind.MODEL, session), (GateOutcome("tools:2"),)))
            self._add(Prompt(self._label("p"), session, self._text()))
            self._settle()
            if self.random.chance(1, 2):
                self._add(CancelSession(self._label("x"), session))

    def _loaded_twice(self) -> None:
        """Ask for a stored session twice, or call it off or close the connection while it is loaded."""
        if self._connections() and {"load", "setup"} <= self.palette.gates:
            free = self._free()
            if not free:
                return
            connection, stored = self._connection(), self.random.choose(free)
            load = LoadSession(self._label("l"), connection, stored)
            self._add(Hold(Gate(self.random.choose((GateKind.LOAD, GateKind.SETUP)), load.label)))
            self._add(load)
            if self.random.chance(3, 4):
                self._settle()
            last = self.random.below(3)
            if connection not in [one.label for one in self._connections()]:
                return
            if last == 0:
                self._add(LoadSession(self._label("l"), self._connection(), stored))
            elif last == 1:
                self._add(CallOff(self._label("o"), connection, load.label))
            else:
                self._add(self._disconnect(connection))

    def _loaded_again(self) -> None:
        """Let a load fail, and ask for the same session again."""
        if self._connections() and "load" in self.palette.gates:
            free = self._free()
            if not free:
                return
            connection, stored = self._connection(), self.random.choose(free)
            label = self._label("l")
            folder = Folder.OTHER if self.random.chance(1, 3) else Folder.SAME
            if folder is Folder.SAME:
                self._add(Plan(Gate(GateKind.LOAD, label), (THROW,)))
            self._add(LoadSession(label, connection, stored, folder))
            self._settle()
            if connection in [one.label for one in self._connections()]:
                self._add(LoadSession(self._label("l"), connection, stored))

    # The items.

    def _kinds(self) -> list[tuple[int, Callable[[], BurstItem]]]:
        agents = self.promised is not None or self.random.chance(1, 3)
        if agents and "create" in self.palette.ops:
            return super()._kinds()
        ops, world = self.palette.ops, self.world
        connections, known = self._connections(), self._known()
        held = [one for one in known if one.holding is Holding.HELD]
        kinds: list[tuple[int, Callable[[], BurstItem]]] = []

        def offer(weight: int, make: Callable[[], BurstItem], *names: str, when: object = True) -> None:
            if when and all(name in ops for name in names):
                kinds.append((weight, make))

        open_ones = [one for one in connections if one.link is Link.OPEN]
        late = self._room.closing is not Closing.NO
        few = len(open_ones) < _MOST_CONNECTIONS
        offer(1 if late else 12 if not open_ones else 3, lambda: Connect(self._label("k")), "connect", when=few)
        room = len(held) < _MOST_SESSIONS and connections
        offer(
            12 if len(held) < 2 else 4,
            lambda: NewSession(self._label("n"), self._connection()),
            "new_session",
            when=room,
        )
        offer(16, lambda: Prompt(self._label("p"), self._session(), self._text()), "prompt", when=known)
        offer(8, lambda: CancelSession(self._label("x"), self._session()), "cancel_session", when=known)
        free = self._free()
        goes_on = len(held) < _MOST_SESSIONS and connections
        offer(6 if free else 1, self._load, "load_session", "resume_session", when=goes_on)
        calls = self._calls()
        offer(2, lambda: self._call_off(calls), "call_off", when=connections and calls)
        offer(
            4 if len(held) > 1 else 2,
            lambda: CloseSession(self._label("q"), self._session()),
            "close_session",
            when=known,
        )
        offer(3, lambda: self._disconnect(self._connection()), "disconnect", when=connections)
        offer(1, self._close_bridge, "close_bridge", when=self._room.connections)
        held_gates = [state.gate for state in world.gates if state.held]
        waiting = [gate for gate in held_gates if somebody_waits(world, gate)]
        gates = any(gate in self.palette.gates for gate in ("model", "flush", "setup"))
        offer(10, lambda: Hold(self._session_gate()), when=gates and held)
        offer(14, lambda: self._release(waiting), when=waiting)
        offer(2, lambda: Open(self.random.choose(held_gates)), when=held_gates)
        offer(5, self._session_plan, when=gates and held)
        return kinds or super()._kinds()

    def _free(self) -> list[AgentId]:
        """Give the ids of sessions that are stored, of no live agent, and not being loaded."""
        world, stored = self.world, self.world.rooms.sessions
        assert stored is not None
        live = {agent.id for agent in world.agents.values() if agent.label in world.sessions}
        free = [log.id for log in stored.logs if log.id not in live and log.id not in self._room.loading]
        known = {one.id for one in self._room.sessions}
        return [one for one in free if one in known or not self.random.chance(3, 4)]

    def _load(self) -> LoadSession | ResumeSession:
        """Ask for a stored session: mostly for one that can be loaded."""
        free, known = self._free(), [one.id for one in self._room.sessions]
        stored = _NO_SUCH
        if free and not self.random.chance(1, 8):
            stored = self.random.choose(free)
        elif known:
            stored = self.random.choose(known)
        folder = self.random.weighted([(12, Folder.SAME), (1, Folder.OTHER), (1, Folder.RELATIVE)])
        make = ResumeSession if self.random.chance(1, 3) else LoadSession
        return make(self._label("l"), self._connection(), stored, folder)

    def _calls(self) -> list[tuple[Label, Label]]:
        """Give the requests that are worked on, each with its connection."""
        able = {one.label for one in self._connections()}
        calls: list[tuple[Label, Label]] = []
        for one in self._room.sessions:
            if one.connection in able:
                slot = () if one.slot is None else (one.slot.call,)
                own = () if one.answered else (one.label,)
                closer = () if one.closer is None or one.holding is not Holding.CLOSING else (one.closer,)
                calls += [(one.connection, call) for call in (*slot, *own, *closer)]
        return calls

    def _call_off(self, calls: list[tuple[Label, Label]]) -> CallOff:
        connection, call = self.random.choose(calls)
        return CallOff(self._label("o"), connection, call)

    def _disconnect(self, connection: Label) -> Disconnect:
        return Disconnect(self._label("d"), connection)

    def _close_bridge(self) -> CloseBridge:
        return CloseBridge(self._label("z"))

    def _session_gate(self) -> Gate:
        """Draw a gate that the agent of a session may come to."""
        kinds = [(8, GateKind.MODEL), (4, GateKind.FLUSH), (2, GateKind.TOOL), (2, GateKind.PERMISSION)]
        kind = self.random.weighted([(weight, kind) for weight, kind in kinds if kind in self.palette.gates])
        return Gate(kind, self._session())

    def _session_plan(self) -> Plan:
        gate = self._session_gate()
        return Plan(gate, tuple(self._outcome(gate.kind) for _ in range(1 + self.random.below(3))))
