"""Generation: random traces, weighted toward races.

A trace is a pure function of a seed, a number, the edition, and what the backend can carry out. The generator looks at
one thing only: the model's canonical run of what it has generated so far. That tells it what is live, what waits at a
gate and what has returned, so that most items mean something when they are carried out; it never looks at a backend.
The order of its draws *is* the algorithm: ``randomness`` says how a draw is made, and here each draw is one call, top
to bottom.

    1. the world: one owner or two, the provider loaded
    2. the length: 20 to 60 items; every eighth trace is one of the shorter ones, 20 to 35
    3. until the length is reached: a settle, with a chance of 2 in 7; else an item, drawn by its weight from those that
       can be made now; then what that item needs (whose agent, which gate, which text), each drawn in order
    4. the schedule: first in, first out

A tenth of the references go to agents that have ended, so that what is refused is reached too. Ids come from a pool
of three, so that creations meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

from probate_conformance.manifest import FEATURES, OP_NAMES, Unclaimed
from probate_conformance.randomness import SplitMix64
from probate_conformance.trace import Trace
from probate_model.alphabet.editions import EDITION_2026_06, CancelCause, CancelRequest, Edition, QueueEvents
from probate_model.alphabet.events import EVENT_KINDS
from probate_model.alphabet.gates import ERROR, Gate, GateKind, GateOutcome, Temper, fixed_outcomes
from probate_model.alphabet.items import (
    Action,
    BurstItem,
    Hold,
    Item,
    Open,
    Pattern,
    Plan,
    React,
    Reject,
    Release,
    Scalar,
    Settle,
    Throw,
    WorldSpec,
)
from probate_model.alphabet.names import BAD_TEXT, THIS, AgentId, Label, OwnerName, Tag, Text
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    By,
    ByAgent,
    ByOwner,
    Cancel,
    Cause,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Look,
    Op,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.machine import somebody_waits
from probate_model.rehearsal import Rehearsal, Rehearsing
from probate_model.run import Run
from probate_model.world import Agent, Driver, Returned, Stage, Teardown, new_world

_OWNERS: Final = (OwnerName("host"), OwnerName("side"))
_IDS: Final = (AgentId("a"), AgentId("b"), AgentId("c"))
_MOST_LIVE: Final = 5
_GATES: Final = (
    (8, GateKind.MODEL),
    (4, GateKind.FLUSH),
    (4, GateKind.SETUP),
    (2, GateKind.CLEANUP),
    (5, GateKind.TOOL),
    (2, GateKind.PREPARE),
)
_HEARD: Final = (
    (3, "session/created"),
    (3, "agent/created"),
    (3, "agent/session-start"),
    (5, "agent/status"),
    (2, "agent/queued"),
    (2, "agent/cancel-requested"),
    (1, "agent/error"),
    (3, "signal"),
    (6, "log"),
    (2, "session/flush"),
    (2, "agent/disposed"),
    (2, "session/disposed"),
)
_CHANGES_NO_AGENT: Final = frozenset({Plan, Hold, React})
_ENDING: Final = (Teardown.STOPPED, Teardown.SCOPE)
_IN_TURN: Final = frozenset({Driver.PREPARING, Driver.MODEL, Driver.TOOL, Driver.FLUSHING})
_IDIOMS: Final = (
    ("send", "await_idle", "cancel"),
    ("await_idle", "cancel", "send"),
    ("cancel", "send"),
    ("steer", "cancel"),
)
"""What a listener does in a row where much can go wrong: replace, wait for, and call off the work of its agent."""
_ACTIONS: Final = (
    (6, "send"),
    (3, "steer"),
    (2, "inject"),
    (6, "cancel"),
    (3, "await_idle"),
    (3, "dispose"),
    (3, "withdraw"),
    (2, "abort"),
    (1, "unload_owner"),
    (1, "unload_provider"),
    (1, "create"),
    (2, "look"),
)
"""What a listener does, and how likely that is."""
_ACTIONS_AT_THE_END: Final = tuple((8 if name == "create" else weight, name) for weight, name in _ACTIONS)
"""The same where an entry goes: mostly somebody tries to take its place."""
_RECORDS: Final = (
    "turn/start",
    "user/message",
    "context/message",
    "step/start",
    "assistant/message",
    "tool/call",
    "tool/result",
    "step/end",
    "turn/end",
)
_INBOX_RECORDS: Final = ("inbox/inserted", "inbox/claimed", "inbox/discarded")


@dataclass(frozen=True, slots=True)
class Palette:
    """What traces are made of: all that a backend does not leave unclaimed."""

    ops: frozenset[str] = frozenset(OP_NAMES)
    gates: frozenset[str] = frozenset(GateKind)
    events: frozenset[str] = frozenset(EVENT_KINDS)
    features: frozenset[str] = frozenset(FEATURES)

    @classmethod
    def of(cls, unclaimed: Unclaimed) -> Palette:
        """Give what a manifest leaves."""
        whole = cls()
        return cls(
            whole.ops - set(unclaimed.ops),
            # A setup and a cleanup come to their gates only where a creation can have them.
            whole.gates - set(unclaimed.gates) - set(unclaimed.features),
            whole.events - set(unclaimed.events),
            whole.features - set(unclaimed.features),
        )

    @property
    def words(self) -> frozenset[str]:
        """All that traces may be made of, in one set."""
        return self.ops | self.gates | self.events | self.features


EVERYTHING: Final = Palette()


_made = tuple.__new__
"""Makes a named tuple of values in their order, without the call in between."""


class Cast(NamedTuple):
    """The agents of a moment, by what an item can do with them; in order of creation."""

    live: list[Agent]
    """Not gone yet."""
    bound: list[Agent]
    """Those that can be named."""
    taking: list[Agent]
    """Of these, those that take input."""
    busy: list[Agent]
    """Of these, those in a turn."""
    pending: list[Agent]
    """The creations that are under way."""
    armed: list[Agent]
    """Made with a signal that can fire."""

    @classmethod
    def of(cls, agents: Iterable[Agent]) -> Cast:
        """Sort the agents."""
        live, bound, taking, busy, pending, armed = cast = _made(cls, ([], [], [], [], [], []))
        for agent in agents:
            ending = agent.teardown is not Teardown.NONE
            if not ending or agent.teardown is not Teardown.DONE:
                live.append(agent)
            if agent.returned is Returned.BOUND:
                bound.append(agent)
                if not ending:
                    taking.append(agent)
                    if agent.driver in _IN_TURN:
                        busy.append(agent)
            if agent.stage < Stage.LIVE:
                pending.append(agent)
            if agent.signal is CreationSignal.ARMED:
                armed.append(agent)
        return cast


@lru_cache(maxsize=64)
def _heard(edition: Edition, events: frozenset[str]) -> tuple[tuple[int, str], ...]:
    """Give the kinds of event that there are in an edition, of those that may be used; each as likely as its weight."""
    queued = edition.queue_events is QueueEvents.QUEUED
    announced = edition.cancel_requested is CancelRequest.ANNOUNCED
    absent = {"agent/queued": not queued, "agent/cancel-requested": not announced}
    return tuple((weight, kind) for weight, kind in _HEARD if kind in events and not absent.get(kind, False))


@dataclass(slots=True)
class Writer:
    """Writes one trace of profile ``core``, item by item. The writers of later profiles are made from it."""

    profile: ClassVar[str] = "core"
    gates: ClassVar[tuple[tuple[int, GateKind], ...]] = _GATES

    random: SplitMix64
    palette: Palette
    edition: Edition = EDITION_2026_06
    items: list[Item] = field(default_factory=list)
    spec: WorldSpec = field(default_factory=WorldSpec)
    rehearsing: Rehearsing = field(default_factory=lambda: Rehearsing(new_world()))
    count: int = 0
    promised: GateKind | None = None
    """The gate of the creation to come that was spoken of: that creation is the next item."""
    _cast: Cast | None = field(default=None, init=False)

    def trace(self) -> Trace:
        """Write a whole trace, of 20 to 60 items; one in eight is among the shorter ones."""
        self.begin()
        short = self.random.chance(1, 8)
        length = 20 + self.random.below(16 if short else 41)
        while len(self.items) < length:
            self.go_on()
        return self.written()

    def begin(self) -> None:
        """Decide what exists before the first item."""
        self.spec = WorldSpec(_OWNERS[: 1 + self.random.below(2)])
        self.rehearsing = Rehearsing(new_world(self.spec, self.edition, self.profile))

    def go_on(self) -> None:
        """Write one more item; or none, if it would be a settle and nothing happened since the last."""
        if self.random.chance(2, 7):
            self._settle()
        else:
            self._add(self.random.weighted(self._kinds())())

    def written(self) -> Trace:
        """Give what is written so far."""
        return Trace.model_construct(
            edition=self.edition.name, profile=self.profile, world=self.spec, items=tuple(self.items)
        )

    def rehearsed(self, trace: Trace) -> list[Rehearsal]:
        """Give the canonical run of what was written, which ``trace`` is."""
        if self.rehearsing.pending:
            self.rehearsing.settle()
        for item in trace.epilogue():
            self.rehearsing.add(item)
        self.rehearsing.settle()
        return self.rehearsing.done

    # The world as it would be now.

    @property
    def world(self) -> Run:
        """The world after what is written so far."""
        return self.rehearsing.run

    @property
    def cast(self) -> Cast:
        """The agents after what is written so far."""
        if self._cast is None:
            self._cast = Cast.of(self.world.agents.values())
        return self._cast

    def _settle(self) -> None:
        if self.items and not isinstance(self.items[-1], Settle):
            self.items.append(Settle())
            self.rehearsing.settle()
            self._cast = None

    def _add(self, item: BurstItem) -> None:
        self.items.append(item)
        self.rehearsing.add(item)
        if type(item) not in _CHANGES_NO_AGENT:
            self._cast = None

    def _label(self, prefix: str) -> Label:
        self.count += 1
        return Label(f"{prefix}{self.count}")

    def _text(self) -> Text:
        if self.random.chance(1, 20):
            return BAD_TEXT
        self.count += 1
        return Text(f"t{self.count}")

    def _waited_for(self) -> Label:
        """Draw an agent that somebody waits for: often one that is ending and has not ended."""
        ending = [agent for agent in self.cast.bound if agent.teardown in _ENDING]
        if ending and self.random.chance(1, 2):
            return self.random.choose(ending).label
        return self._agent()

    def _agent(self) -> Label:
        """Draw an agent that can be named: mostly one that takes input, and of those one that is in a turn."""
        cast = self.cast
        if cast.busy and self.random.below(2):
            return self.random.choose(cast.busy).label
        if cast.taking and not self.random.chance(1, 10):
            return self._young(cast.taking).label
        return self.random.choose(cast.bound).label

    def _young(self, agents: list[Agent]) -> Agent:
        """Draw one of the youngest, which is the one whose story is not told yet, most often."""
        return agents[-1 - min(self.random.below(3), self.random.below(len(agents)), len(agents) - 1)]

    # Which items can be made now, and how likely each is.

    def _kinds(self) -> list[tuple[int, Callable[[], BurstItem]]]:
        world, cast, palette, ops = self.world, self.cast, self.palette, self.palette.ops
        if self.promised is not None and "create" in ops:
            return [(1, self._create)]
        named, taking, busy, pending = cast.bound, cast.taking, cast.busy, cast.pending
        few = len(taking) + len(pending) < 2
        armed = cast.armed and ([agent for agent in pending if agent.signal is CreationSignal.ARMED] or cast.armed)
        active: list[OwnerName] = []
        ended: list[OwnerName] = []
        for owner in world.owners:
            if owner.name:
                (active if owner.active else ended).append(owner.name)
        held = [state.gate for state in world.gates if state.held]
        waiting = [gate for gate in held if somebody_waits(world, gate)]
        # what it needs, how likely it is, what makes it
        offers: list[tuple[str, int, Callable[[], BurstItem]]] = []
        if len(cast.live) < _MOST_LIVE:
            offers.append(("create", 12 if few else 3, self._create))
        if named:
            offers += (
                ("send", 12 if taking else 1, self._send),
                ("steer", 10 if busy else 2, self._steer),
                ("inject", 6 if busy else 2, self._inject),
                ("cancel", 8 if taking else 1, self._cancel),
                ("await_idle", 5 if taking else 2, self._await_idle),
                ("dispose", 3 if taking else 2, self._dispose),
            )
        if armed:
            offers.append(("abort", 2, lambda: Abort(self._label("a"), self.random.choose(armed).label)))
        if world.agents:
            offers.append(("withdraw", 3 if pending else 1, self._withdraw))
        if active:
            offers.append(("unload_owner", 1, self._unload_owner))
        if world.agents:
            offers.append(("unload_provider", 1, self._unload_provider))
        if ended:
            offers.append(("load_owner", 8, lambda: LoadOwner(self._label("l"), self.random.choose(ended))))
        if not world.provider.active:
            offers.append(("load_provider", 8, lambda: LoadProvider(self._label("l"))))
        offers.append(("look", 2, self._look))
        kinds = [(weight, make) for op, weight, make in offers if op in ops]
        gates = any(kind in palette.gates for _, kind in self.gates)
        if gates:
            kinds.append((9 if taking else 5, self._hold))
        if waiting:
            kinds.append((12, lambda: self._release(waiting)))
        if held:
            kinds.append((2, lambda: Open(self.random.choose(held))))
        if gates:
            kinds.append((10 if taking else 3, self._plan))
        if cast.live and "react" in palette.features:
            kinds.append((8, self._react))
        return kinds or [(1, self._create)]  # what is claimed of the least

    def _owner_names(self) -> tuple[OwnerName, ...]:
        """Give the owners that an agent can be created by."""
        return self.spec.owners

    # The items.

    def _create(self, label: Label | None = None, *, inside: bool = False) -> Create:
        label = label or self._label("c")
        promised, self.promised = self.promised, None if not inside else self.promised
        features = self.palette.features
        setup = Setup.PLAIN if "setup" in features and self.random.chance(2, 5) else Setup.NONE
        cleanup = "cleanup" in features and self.random.chance(2, 5)
        if not inside:
            # What was said of its gate would be in vain otherwise.
            setup = Setup.PLAIN if promised is GateKind.SETUP else setup
            cleanup = cleanup or promised is GateKind.CLEANUP
        signal = CreationSignal.NONE
        if "signal" in features:
            signal = self.random.weighted(
                [(12, CreationSignal.NONE), (5, CreationSignal.ARMED), (1, CreationSignal.PRE_ABORTED)]
            )
        by: By = ByOwner(self.random.choose(self._owner_names()))
        if "by-agent" in features and self.random.chance(1, 6):
            if inside and self.random.below(2):
                by = ByAgent(THIS)
            elif self.cast.bound:
                by = ByAgent(self._agent())
        # From inside a dispatch, an id that is just being let go is the one to try.
        taken = [agent.id for agent in self.cast.live] if inside and self.random.chance(1, 2) else []
        return Create(label, self.random.choose(taken or _IDS), by, setup, cleanup, signal)

    def _cancel(self, label: Label | None = None, agent: Label | None = None) -> Cancel:
        cause = Cause.PARENT if self.random.chance(1, 3) else Cause.USER
        if self.edition.cancel_cause is CancelCause.REQUIRED and self.random.chance(1, 4):
            cause = Cause.HOOK
        return Cancel(label or self._label("x"), agent or self._agent(), cause)

    def _send(self) -> Send:
        return Send(self._label("s"), self._agent(), self._text())

    def _steer(self) -> Steer:
        return Steer(self._label("s"), self._agent(), self._text())

    def _inject(self) -> Inject:
        return Inject(self._label("i"), self._agent(), self._text())

    def _await_idle(self) -> AwaitIdle:
        return AwaitIdle(self._label("w"), self._waited_for())

    def _dispose(self) -> Dispose:
        return Dispose(self._label("d"), self._waited_for())

    def _withdraw(self) -> Withdraw:
        return Withdraw(self._label("v"), self.random.choose(self.cast.pending or [*self.world.agents.values()]).label)

    def _unload_owner(self) -> UnloadOwner:
        return UnloadOwner(self._label("u"), self.random.choose(self.spec.owners))

    def _unload_provider(self) -> UnloadProvider:
        return UnloadProvider(self._label("u"))

    def _look(self) -> Look:
        return Look(self._label("k"))

    def _gate(self) -> Gate:
        """Draw a gate that something may come to: of what is live, or of the creation that is then promised next."""
        kind = self.random.weighted([(weight, kind) for weight, kind in self.gates if kind in self.palette.gates])
        passing: list[Agent]
        match kind:
            case GateKind.SETUP:
                passing = [agent for agent in self.world.agents.values() if agent.stage is Stage.BEGUN]
            case GateKind.LOAD:
                passing = [agent for agent in self.world.agents.values() if agent.stage is Stage.LOADING]
            case GateKind.CLEANUP:
                passing = [agent for agent in self.cast.live if agent.cleanup]
            case _:
                passing = self.cast.taking
        room = len(self.cast.live) < _MOST_LIVE
        if passing and (not room or self.random.below(6)):
            return Gate(kind, passing[-1 - min(self.random.below(3), len(passing) - 1)].label)
        if room:
            self.promised = kind
            return Gate(kind, Label(f"c{self.count + 1}"))
        return Gate(kind, self.random.choose(self.cast.live).label)

    def _hold(self) -> Hold:
        deaf = "deaf" in self.palette.features and self.random.chance(1, 3)
        return Hold(self._gate(), Temper.DEAF if deaf else Temper.HONOURS)

    def _outcome(self, kind: GateKind) -> GateOutcome:
        outcomes = [(8 if place == 0 else 2, outcome) for place, outcome in enumerate(fixed_outcomes(kind))]
        if kind is GateKind.MODEL and "tool" in self.palette.gates:
            outcomes.append((14, GateOutcome(f"tools:{1 + self.random.below(3)}")))
            outcomes.append((1, GateOutcome("max-tokens+tools:1")))
        return self.random.weighted(outcomes)

    def _release(self, waiting: list[Gate]) -> Release:
        gate = self.random.choose(waiting)
        steered = any(agent.label == gate.creation and agent.steering for agent in self.world.agents.values())
        if gate.kind is GateKind.MODEL and steered and self.random.chance(1, 3):
            return Release(gate, ERROR)
        return Release(gate, self._outcome(gate.kind))

    def _plan(self) -> Plan:
        gate = self._gate()
        return Plan(gate, tuple(self._outcome(gate.kind) for _ in range(1 + self.random.below(3))))

    def _react(self) -> React:
        label = self._label("r")
        kind = self.random.weighted(_heard(self.edition, self.palette.events))
        where: list[tuple[str, Scalar]] = []
        if kind == "log":
            records = self.edition.queue_events is QueueEvents.INBOX_RECORDS
            where.append(("record", self.random.choose((*_RECORDS, *_INBOX_RECORDS) if records else _RECORDS)))
        elif kind == "agent/status":
            statuses = ("running", "running", "idle", "idle", "disposed")
            where.append(("status", self.random.choose(statuses)))
        if self.random.chance(1, 3):
            where.append(("agent", self.random.choose(self.cast.live).ref))
        nth = 2 if self.random.chance(1, 4) else 1
        actions: list[Action]
        idioms = [idiom for idiom in _IDIOMS if self.palette.ops.issuperset(idiom)]
        if idioms and self.random.chance(1, 5):
            idiom = self.random.choose(idioms)
            actions = [self._action(Label(f"{label}.{place}"), kind, name) for place, name in enumerate(idiom)]
        else:
            many = 1 + self.random.chance(1, 3) + self.random.chance(1, 6)
            actions = [self._action(Label(f"{label}.{place}"), kind) for place in range(many)]
        if self.random.chance(1, 5) and "reject" in self.palette.features:
            actions.append(Reject(Tag(f"{label}-late")))
        throws = self.random.chance(1, 3 if kind in ("session/created", "agent/created") else 8)
        if throws and "throw" in self.palette.features:
            actions.append(Throw(Tag(str(label))))
        return React(label, Pattern(kind, tuple(where)), tuple(actions), nth)

    def _action(self, label: Label, kind: str, only: str | None = None) -> Op:
        bound, ops = self.cast.bound, self.palette.ops if only is None else {only}
        # An idiom is about the one agent whose event it answers.
        this = THIS if only or not bound or not self.random.chance(1, 4) else self._agent()
        options = _ACTIONS_AT_THE_END if kind.endswith("disposed") else _ACTIONS
        match self.random.weighted([(weight, name) for weight, name in options if name in ops]):
            case "send":
                return Send(label, this, self._text())
            case "steer":
                return Steer(label, this, self._text())
            case "inject":
                return Inject(label, this, self._text())
            case "cancel":
                return self._cancel(label, this)
            case "await_idle":
                return AwaitIdle(label, this)
            case "dispose":
                return Dispose(label, this)
            case "withdraw":
                return Withdraw(label, this)
            case "abort":
                return Abort(label, this)
            case "unload_owner":
                return UnloadOwner(label, self.random.choose(self.spec.owners))
            case "unload_provider":
                return UnloadProvider(label)
            case "create":
                return self._create(label, inside=True)
            case _:
                return Look(label)
