"""The peer: the check of the reference that an experienced user of Hypothesis would write without our kit.

A rule for each op, a model in lockstep, one event loop per example. It is given all that is not the kit's own: the
model, and the subject that drives the reference, which is the same code as the kit's backend and so costs the same on
both sides. What is compared here is therefore the rest: who makes the ops, who drives the loop, who compares.

It is written to be fast, within what it is:

* What begins in one tick is sent in one call, since a portal lets the loop run between two calls. So a rule adds its op
  to the burst and, now and then, sends the burst, waits for quiet and compares. Without this no race would
  be found, and with one call for each op the peer would be slower. It is no rule of its own, because Hypothesis leaves
  some rules out of each example, and an example without this one would compare nothing.
* Quiet is the empty queue of the loop, not ``anyio.wait_all_tasks_blocked``, which sleeps for 100 ms on asyncio.
* The model runs once: the same world that the comparison uses tells the rules what they can speak of.
* Arguments are drawn as small numbers that choose among what there is, which is the cheapest draw there is.

Rules are as likely as in our generator: each stands in the machine as often as a third of its weight there says.

The loop runs in a thread of its own behind an anyio portal, which is the way that the documentation shows. The same
machine with a loop that is run by hand, in the thread of the rules, is what one writes after having profiled the first.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, ClassVar, NoReturn, Protocol, TypeVar

from anyio import create_task_group
from anyio.from_thread import start_blocking_portal
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from probate_conformance.backends.reference.subject import Subject
from probate_model.alphabet.events import Event, Snapshot, Status
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, Temper, default_outcome, fixed_outcomes
from probate_model.alphabet.items import (
    Action,
    BurstItem,
    Hold,
    Open,
    Pattern,
    Plan,
    React,
    Reject,
    Release,
    Scalar,
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
from probate_model.following import follow
from probate_model.machine import apply, bind, settle
from probate_model.registry import snapshot
from probate_model.run import Expected
from probate_model.world import Agent, Returned, Stage, Teardown, World, new_world
from probate_model.worlds import Divergence, Worlds

T = TypeVar("T")

Seen = tuple[list[Event], Snapshot]


# The subject in its loop.


@asynccontextmanager
async def _living(spec: WorldSpec) -> AsyncIterator[Subject]:
    subject = Subject(spec)
    async with subject.runtime, create_task_group() as calls:
        subject.start(calls)
        yield subject
        subject.gates.open_all()
        await _quiet()
        calls.cancel_scope.cancel()


async def _quiet() -> None:
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    while ready:  # noqa: ASYNC110 - nobody sets an event when a loop has nothing to do
        await asyncio.sleep(0)


async def _burst(subject: Subject, items: Iterable[BurstItem]) -> Seen:
    for item in items:
        subject.begin(item)
    await _quiet()
    subject.bind()
    events, subject.events = subject.events, []
    return events, subject.look()


class Driven(Protocol):
    """A loop with a subject in it."""

    def burst(self, items: list[BurstItem]) -> Seen:
        """Begin the items in one tick, and give what was seen until quiet."""
        ...

    def close(self) -> None:
        """End the subject and the loop."""
        ...


class Portal:
    """A loop in a thread of its own, reached by a portal."""

    def __init__(self, spec: WorldSpec) -> None:
        self._opening = start_blocking_portal()
        self._portal = self._opening.__enter__()
        self._living: AbstractContextManager[Subject] = self._portal.wrap_async_context_manager(_living(spec))
        self._subject = self._living.__enter__()

    def burst(self, items: list[BurstItem]) -> Seen:
        """Begin the items in one tick, and give what was seen until quiet."""
        return self._portal.call(_burst, self._subject, items)

    def close(self) -> None:
        """End the subject and the loop."""
        try:
            self._living.__exit__(None, None, None)
        finally:
            self._opening.__exit__(None, None, None)


class ByHand:
    """A loop that runs in the thread of the rules, and only while they ask for something."""

    def __init__(self, spec: WorldSpec) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._opened: asyncio.Future[Subject] = self._loop.create_future()
        self._task = self._loop.create_task(self._live(spec))
        self._subject = self._loop.run_until_complete(self._opened)

    async def _live(self, spec: WorldSpec) -> None:
        async with _living(spec) as subject:
            self._opened.set_result(subject)
            await self._closing.wait()

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(what)

    def burst(self, items: list[BurstItem]) -> Seen:
        """Begin the items in one tick, and give what was seen until quiet."""
        return self._run(_burst(self._subject, items))

    def close(self) -> None:
        """End the subject and the loop."""
        self._closing.set()
        try:
            self._loop.run_until_complete(self._task)
        finally:
            self._loop.close()


# What is drawn.

_GO = st.integers(0, 11)
_PICK = st.integers(0, 3)
_TEXTS = st.integers(0, 19)
_IDS = (AgentId("a"), AgentId("b"), AgentId("c"))
_OWNERS = (OwnerName("host"), OwnerName("side"))
_MOST_LIVE = 5

_GATES = st.sampled_from(
    [GateKind.MODEL] * 8
    + [GateKind.FLUSH] * 4
    + [GateKind.SETUP] * 4
    + [GateKind.CLEANUP] * 2
    + [GateKind.TOOL] * 5
    + [GateKind.PREPARE] * 2
)
_RECORDS = ("turn/start", "user/message", "step/start", "assistant/message", "tool/call", "step/end", "turn/end")
_STATUSES = ("running", "idle", "disposed")
_HEARD: list[tuple[str, tuple[tuple[str, Scalar], ...]]] = [
    *[("session/created", ())] * 3,
    *[("agent/created", ())] * 3,
    *[("agent/session-start", ())] * 3,
    *[("agent/status", (("status", status),)) for status in (*_STATUSES, "running", "idle")],
    *[("agent/queued", ())] * 2,
    *[("agent/cancel-requested", ())] * 2,
    ("agent/error", ()),
    *[("signal", ())] * 3,
    *[("log", (("record", record),)) for record in _RECORDS],
    *[("session/flush", ())] * 2,
    *[("agent/disposed", ())] * 2,
    *[("session/disposed", ())] * 2,
]
_SIGNALS = st.sampled_from([CreationSignal.NONE] * 12 + [CreationSignal.ARMED] * 5 + [CreationSignal.PRE_ABORTED])
_CAUSES = st.sampled_from([Cause.USER, Cause.USER, Cause.PARENT])
_TEMPERS = st.sampled_from([Temper.HONOURS, Temper.HONOURS, Temper.DEAF])
_SOMETIMES = st.integers(0, 4)
_ACTIONS = st.sampled_from(
    ["send"] * 6
    + ["steer"] * 3
    + ["inject"] * 2
    + ["cancel"] * 6
    + ["await_idle"] * 3
    + ["dispose"] * 3
    + ["withdraw"] * 3
    + ["abort"] * 2
    + ["unload_owner", "unload_provider", "create", "look", "look"]
)


def _outcomes(kind: GateKind) -> st.SearchStrategy[GateOutcome]:
    fixed = fixed_outcomes(kind)
    options = [fixed[0]] * 8 + [outcome for outcome in fixed[1:] for _ in range(2)]
    if kind is GateKind.MODEL:
        options += [GateOutcome(f"tools:{count}") for count in (1, 2, 3) for _ in range(5)]
        options.append(GateOutcome("max-tokens+tools:1"))
    return st.sampled_from(options)


_OUTCOMES: dict[GateKind, st.SearchStrategy[GateOutcome]] = {
    kind: _outcomes(kind) for kind in GateKind if kind is not GateKind.LOAD
}
_PLANS = _GATES.flatmap(lambda kind: st.tuples(st.just(kind), st.lists(_OUTCOMES[kind], min_size=1, max_size=3)))


def _waits(world: World, gate: Gate) -> bool:
    return not apply(world, Release(gate, default_outcome(gate.kind))).void


F = TypeVar("F", bound=Callable[..., Any])


def weight(times: int) -> Callable[[F], F]:
    """Let a rule stand in the machine as often as this: see ``weighted``."""

    def mark(function: F) -> F:
        function.peer_weight = times  # type: ignore[attr-defined]
        return function

    return mark


M = TypeVar("M", bound=type[RuleBasedStateMachine])


def weighted(machine: M) -> M:
    """Put each rule under as many names as it has weight: Hypothesis draws each name as likely as another."""
    for name, function in list(vars(machine).items()):
        for number in range(2, getattr(function, "peer_weight", 1) + 1):
            setattr(machine, f"{name}_{number}", function)
    return machine


class TimeUp(BaseException):
    """Ends a run: Hypothesis lets through what is no ``Exception``."""


@weighted
class Peer(RuleBasedStateMachine):
    """The reference against the model, a rule for each op."""

    driven: ClassVar[type[Portal] | type[ByHand]] = Portal
    """How the loop is driven."""
    applied: ClassVar[int] = 0
    """How many ops were carried out and compared, in all examples together."""
    compared: ClassVar[int] = 0
    """How many bursts were compared."""
    examples: ClassVar[int] = 0
    failure: ClassVar[type[BaseException]] = AssertionError
    """What a divergence raises."""
    give_up_at: ClassVar[float] = math.inf
    """The reading of the clock from which on no example is begun."""
    ended: ClassVar[BaseException | None] = None
    """What ended the run, whatever Hypothesis then makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World = new_world()
        self.start = self.world
        self.burst: list[BurstItem] = []
        self.begun: list[Expected] = []
        self.burst_start = self.world
        self.history: list[tuple[list[BurstItem], Seen]] = []
        self.count = 0
        self.subject: Driven | None = None
        if time.perf_counter() > type(self).give_up_at:
            type(self).ended = ended = TimeUp()
            raise ended
        type(self).examples += 1

    @initialize(owners=st.integers(1, 2), cleanup=st.booleans())
    def open(self, owners: int, cleanup: bool) -> None:
        """Make the world, with an agent in it: without one an example would show little."""
        spec = WorldSpec(_OWNERS[:owners])
        self.owners = spec.owners
        self.world = self.start = self.burst_start = new_world(spec)
        self.subject = type(self).driven(spec)
        self.add(Create(self.label("c"), _IDS[0], ByOwner(_OWNERS[0]), cleanup=cleanup), 0)

    def teardown(self) -> None:
        """Compare what is left, and end the world."""
        if self.subject is None:
            return
        try:
            if self.burst:
                self._settle()
        finally:
            self.subject.close()

    # The lockstep.

    def add(self, item: BurstItem, go: int) -> None:
        """Add an op to the burst, and carry it out on the model; sometimes run the burst."""
        outcome = apply(self.world, item)
        if not outcome.void:
            self.world = outcome.world
            self.burst.append(item)
            self.begun += outcome.expected
        if go < 2 and self.burst:
            self._settle()

    def _settle(self) -> None:
        assert self.subject is not None
        burst, begun, before = self.burst, self.begun, self.world
        self.burst, self.begun = [], []
        seen = self.subject.burst(burst)
        settled = settle(before)
        expected = [*begun, *settled.expected]
        self.history.append((burst, seen))
        if [entry.event for entry in expected] == seen[0] and snapshot(settled.world) == seen[1]:
            self.world = settled.world
        else:
            self.world = self._otherwise(before, begun, seen)
        type(self).applied += len(burst)
        type(self).compared += 1

    def _otherwise(self, before: World, begun: list[Expected], seen: Seen) -> World:
        """Look for another order that the contract allows and that explains what was seen."""
        followed = follow(before, begun, seen[0], lambda shown: shown)
        if followed is not None and snapshot(bind(followed.world)) == seen[1]:
            return bind(followed.world)
        worlds = Worlds.of(self.start)
        for items, (events, look) in self.history:
            worlds = worlds.begin(items)
            for event in events:
                observed = worlds.observe(event)
                if isinstance(observed, Divergence):
                    self._fail(observed)
                worlds = observed[0]
            rested = worlds.rest(look)
            if isinstance(rested, Divergence):
                self._fail(rested)
            worlds = rested
        return worlds.first

    def _fail(self, divergence: Divergence) -> NoReturn:
        said = f"{divergence.clause}: saw {divergence.seen}, allowed was {divergence.allowed}"
        type(self).ended = ended = type(self).failure(said)
        raise ended

    # What the rules can speak of.

    def label(self, prefix: str) -> Label:
        """Give a new label."""
        self.count += 1
        return Label(f"{prefix}{self.count}")

    def text(self, draw: int) -> Text:
        """Give a new text, or the bad one."""
        self.count += 1
        return Text(f"t{self.count}") if draw else BAD_TEXT

    def bound(self) -> list[Agent]:
        """Give the agents that can be named."""
        return [agent for agent in self.world.agents if agent.returned is Returned.BOUND]

    def taking(self) -> list[Agent]:
        """Give those that take input."""
        return [agent for agent in self.bound() if agent.status is not Status.DISPOSED]

    def live(self) -> list[Agent]:
        """Give those that have not ended."""
        return [agent for agent in self.world.agents if agent.teardown is not Teardown.DONE]

    def pending(self) -> list[Agent]:
        """Give the creations that have not returned."""
        return [agent for agent in self.world.agents if agent.stage < Stage.LIVE]

    def armed(self) -> list[Agent]:
        """Give the creations with a signal that can fire."""
        return [agent for agent in self.world.agents if agent.signal is CreationSignal.ARMED]

    def held(self) -> list[Gate]:
        """Give the gates that hold."""
        return [state.gate for state in self.world.gates if state.held]

    def waiting(self) -> list[Gate]:
        """Give those of them at which something waits."""
        return [gate for gate in self.held() if _waits(self.world, gate)]

    def pick(self, pick: int) -> Label:
        """Choose an agent: mostly a young one that takes input."""
        options = self.taking() or self.bound()
        return options[-1 - pick % len(options)].label

    def gate(self, kind: GateKind, pick: int) -> Gate:
        """Choose whose gate: that of a live creation, or of the next one."""
        live = self.live()
        if pick < len(live):
            return Gate(kind, live[-1 - pick].label)
        return Gate(kind, Label(f"c{self.count + 1}"))

    # The rules.

    @weight(2)
    @precondition(lambda self: len(self.live()) < _MOST_LIVE)
    @rule(go=_GO, id=st.sampled_from(_IDS), by=_TEXTS, setup=_SOMETIMES, cleanup=_SOMETIMES, signal=_SIGNALS)
    def create(self, go: int, id: AgentId, by: int, setup: int, cleanup: int, signal: CreationSignal) -> None:
        """Create an agent."""
        bound = self.bound()
        owner: By = ByOwner(self.owners[by % len(self.owners)])
        if bound and by < 3:
            owner = ByAgent(self.pick(by))
        plain = Setup.PLAIN if setup < 2 else Setup.NONE
        self.add(Create(self.label("c"), id, owner, plain, cleanup < 2, signal), go)

    @weight(3)
    @precondition(lambda self: len(self.taking()) + len(self.pending()) < 2 and len(self.live()) < _MOST_LIVE)
    @rule(go=_GO, id=st.sampled_from(_IDS), by=_PICK, setup=_SOMETIMES, cleanup=_SOMETIMES, signal=_SIGNALS)
    def create_first(self, go: int, id: AgentId, by: int, setup: int, cleanup: int, signal: CreationSignal) -> None:
        """Create an agent where there are few."""
        owner = ByOwner(self.owners[by % len(self.owners)])
        plain = Setup.PLAIN if setup < 2 else Setup.NONE
        self.add(Create(self.label("c"), id, owner, plain, cleanup < 2, signal), go)

    @weight(4)
    @precondition(lambda self: self.bound())
    @rule(go=_GO, pick=_PICK, text=_TEXTS)
    def send(self, go: int, pick: int, text: int) -> None:
        """Send."""
        self.add(Send(self.label("s"), self.pick(pick), self.text(text)), go)

    @weight(3)
    @precondition(lambda self: self.bound())
    @rule(go=_GO, pick=_PICK, text=_TEXTS)
    def steer(self, go: int, pick: int, text: int) -> None:
        """Steer."""
        self.add(Steer(self.label("s"), self.pick(pick), self.text(text)), go)

    @weight(2)
    @precondition(lambda self: self.bound())
    @rule(go=_GO, pick=_PICK, text=_TEXTS)
    def inject(self, go: int, pick: int, text: int) -> None:
        """Inject."""
        self.add(Inject(self.label("i"), self.pick(pick), self.text(text)), go)

    @weight(3)
    @precondition(lambda self: self.bound())
    @rule(go=_GO, pick=_PICK, cause=_CAUSES)
    def cancel(self, go: int, pick: int, cause: Cause) -> None:
        """Cancel."""
        self.add(Cancel(self.label("x"), self.pick(pick), cause), go)

    @weight(2)
    @precondition(lambda self: self.bound())
    @rule(go=_GO, pick=_PICK)
    def await_idle(self, go: int, pick: int) -> None:
        """Wait for idle."""
        self.add(AwaitIdle(self.label("w"), self.pick(pick)), go)

    @precondition(lambda self: self.bound())
    @rule(go=_GO, pick=_PICK)
    def dispose(self, go: int, pick: int) -> None:
        """Dispose by the handle."""
        self.add(Dispose(self.label("d"), self.pick(pick)), go)

    @precondition(lambda self: self.armed())
    @rule(go=_GO, pick=_PICK)
    def abort(self, go: int, pick: int) -> None:
        """Fire the signal of a creation."""
        armed = self.armed()
        self.add(Abort(self.label("a"), armed[pick % len(armed)].label), go)

    @precondition(lambda self: self.world.agents)
    @rule(go=_GO, pick=_PICK)
    def withdraw(self, go: int, pick: int) -> None:
        """End one lifecycle as its owner."""
        agents = self.pending() or self.world.agents
        self.add(Withdraw(self.label("v"), agents[pick % len(agents)].label), go)

    @precondition(lambda self: self.world.agents)
    @rule(go=_GO, what=st.integers(0, 2))
    def unload(self, go: int, what: int) -> None:
        """Unload an owner or the provider."""
        if what < len(self.owners):
            self.add(UnloadOwner(self.label("u"), self.owners[what]), go)
        else:
            self.add(UnloadProvider(self.label("u")), go)

    @weight(3)
    @precondition(lambda self: any(not owner.active and owner.name for owner in self.world.owners))
    @rule(go=_GO)
    def load_owner(self, go: int) -> None:
        """Load an owner again."""
        ended = [owner.name for owner in self.world.owners if not owner.active and owner.name]
        self.add(LoadOwner(self.label("l"), ended[0]), go)

    @weight(3)
    @precondition(lambda self: not self.world.provider.active)
    @rule(go=_GO)
    def load_provider(self, go: int) -> None:
        """Load the provider again."""
        self.add(LoadProvider(self.label("l")), go)

    @rule(go=_GO)
    def look(self, go: int) -> None:
        """Look at the registries in the middle of a burst."""
        self.add(Look(self.label("k")), go)

    @weight(3)
    @rule(go=_GO, kind=_GATES, pick=_PICK, temper=_TEMPERS)
    def hold(self, go: int, kind: GateKind, pick: int, temper: Temper) -> None:
        """Hold a gate."""
        self.add(Hold(self.gate(kind, pick), temper), go)

    @weight(4)
    @precondition(lambda self: self.waiting())
    @rule(go=_GO, data=st.data(), pick=_PICK)
    def release(self, go: int, data: st.DataObject, pick: int) -> None:
        """Let go on what waits at a gate."""
        waiting = self.waiting()
        gate = waiting[pick % len(waiting)]
        self.add(Release(gate, data.draw(_OUTCOMES[gate.kind])), go)

    @precondition(lambda self: self.held())
    @rule(go=_GO, pick=_PICK)
    def unhold(self, go: int, pick: int) -> None:
        """Open a gate."""
        held = self.held()
        self.add(Open(held[pick % len(held)]), go)

    @weight(3)
    @rule(go=_GO, plan=_PLANS, pick=_PICK)
    def plan(self, go: int, plan: tuple[GateKind, list[GateOutcome]], pick: int) -> None:
        """Say how the next arrivals at a gate go on."""
        kind, outcomes = plan
        self.add(Plan(self.gate(kind, pick), tuple(outcomes)), go)

    @weight(3)
    @precondition(lambda self: self.live())
    @rule(
        go=_GO,
        heard=st.sampled_from(_HEARD),
        names=st.lists(_ACTIONS, min_size=1, max_size=2),
        pick=_PICK,
        nth=st.sampled_from([1, 1, 1, 2]),
        end=st.integers(0, 19),
    )
    def react(
        self,
        go: int,
        heard: tuple[str, tuple[tuple[str, Scalar], ...]],
        names: list[str],
        pick: int,
        nth: int,
        end: int,
    ) -> None:
        """Install a listener that acts once."""
        label = self.label("r")
        kind, where = heard
        actions: list[Action] = [
            self._action(name, Label(f"{label}.{place}"), pick) for place, name in enumerate(names)
        ]
        if end < 4:
            actions.append(Reject(Tag(f"{label}-late")))
        elif end < (11 if kind in ("session/created", "agent/created") else 6):
            actions.append(Throw(Tag(str(label))))
        self.add(React(label, Pattern(kind, where), tuple(actions), nth), go)

    def _action(self, name: str, label: Label, pick: int) -> Op:
        this = self.pick(0) if pick == 3 and self.bound() else THIS
        make: dict[str, Callable[[], Op]] = {
            "send": lambda: Send(label, this, self.text(1)),
            "steer": lambda: Steer(label, this, self.text(1)),
            "inject": lambda: Inject(label, this, self.text(1)),
            "cancel": lambda: Cancel(label, this, Cause.PARENT if pick == 1 else Cause.USER),
            "await_idle": lambda: AwaitIdle(label, this),
            "dispose": lambda: Dispose(label, this),
            "withdraw": lambda: Withdraw(label, this),
            "abort": lambda: Abort(label, this),
            "unload_owner": lambda: UnloadOwner(label, self.owners[pick % len(self.owners)]),
            "unload_provider": lambda: UnloadProvider(label),
            "create": lambda: Create(label, _IDS[pick % 3], ByOwner(self.owners[0])),
            "look": lambda: Look(label),
        }
        return make[name]()


class PeerByHand(Peer):
    """The same machine, with the loop run by hand."""

    driven = ByHand
    applied = 0
    compared = 0
    examples = 0
