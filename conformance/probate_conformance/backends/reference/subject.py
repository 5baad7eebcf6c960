"""One world on the reference: its runtime, the scripted bodies, the listeners, and the record of what happened.

The runtime is used as anybody would use it, through its public interface. The recorder is the first listener on its
bus; each reaction is an ordinary listener after it. An asynchronous call is begun by calling it, and a task that
awaits it records how it settled.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

import probate_reference as reference
from probate_conformance.backends.gates import Gates
from probate_conformance.backends.reference.translation import Thrown, cause_of, code_of, event_of
from probate_model.alphabet.events import (
    AgentEvent,
    Event,
    HeardEvent,
    Listed,
    Raised,
    Returned,
    ScopeCleanup,
    Settled,
    Settlement,
    Signalled,
    Snapshot,
    Status,
)
from probate_model.alphabet.gates import (
    ERROR,
    FAIL,
    THROW,
    GateKind,
    GateOutcome,
    hits_max_tokens,
    tool_count,
)
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Reject, Release, Throw, WorldSpec
from probate_model.alphabet.names import BAD_TEXT, THIS, AgentId, AgentRef, Label, OwnerName, Tag, agent_ref
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    ByOwner,
    Cancel,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Look,
    Op,
    Resume,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.alphabet.refusals import Refusal, code
from probate_model.run import matches
from probate_reference.calls import close_unawaited

Listener: TypeAlias = Callable[[HeardEvent, reference.Agent | None], object]
"""A reaction at work: it is told what happened, and to whom; what it gives is awaited, if it is anything."""

_UNSTORABLE = "\ud800"
"""A text that can't be stored without loss: what the alphabet's one bad text stands for."""


class Subject:
    """A world of the reference, driven by items of profile ``core``. Those of later profiles are made from it."""

    def __init__(self, spec: WorldSpec) -> None:
        self.gates = Gates()
        self.ended = anyio.Event()
        """Set when the process is to end."""
        self.runtime = self.make_runtime()
        self.events: list[Event] = []
        self._spec = spec
        self._calls: TaskGroup | None = None
        self._creations: dict[Label, reference.Creation] = {}
        self._signals: dict[Label, reference.CreationSignal] = {}
        self._handles: dict[Label, reference.Handle] = {}
        self._bound: set[Label] = set()
        self._labels: dict[reference.Agent, Label] = {}
        self._refs: dict[reference.Agent, AgentRef] = {}
        self._session_refs: dict[reference.Session, AgentRef] = {}
        self._numbers: dict[str, int] = {}
        self._answers: dict[Label, int] = {}
        self._hearing: list[Listener] = []
        self._cut_off = False
        self._left: list[Event] = []

    def make_runtime(self) -> reference.Runtime:
        """Make the runtime, with the scripted bodies in it."""
        return self.plain_runtime(flush=[self._flush])

    def plain_runtime(
        self, *, flush: Sequence[reference.Flush] = (), persistence: reference.Persistence | None = None
    ) -> reference.Runtime:
        """Make a runtime with the scripted bodies that all profiles have."""
        return reference.Runtime(
            self._model,
            tools=[reference.FunctionTool("scripted", self._tool)],
            prepare=self._prepare,
            persistence=persistence,
            flush=flush,
            report=ignore,
        )

    def crash(self) -> None:
        """Be cut off: nothing is recorded any more, no reaction acts, and what waits goes on to its end."""
        self._cut_off = True
        self._left, self.events = self.events, []
        self._hearing.clear()
        self.gates.open_all()
        self.ended.set()

    def successor(self) -> Subject | None:
        """Give the process that is started next; none if there is none."""
        return None

    def inherit(self, dead: Subject) -> None:
        """Go on with the record of a process that has crashed."""
        self.events = dead._left
        self._numbers = dict(dead._numbers)

    def clear(self) -> None:
        """Remove what the world has left outside of the process."""

    def start(self, calls: TaskGroup) -> None:
        """Begin: the runtime is running, and ``calls`` is where pending calls are awaited."""
        self._calls = calls
        self.runtime.events.on(self._record)
        for name in self._spec.owners:
            self.runtime.owner(name)
        if not self._spec.provider:
            _ = self.runtime.provider.unload()

    def stop(self) -> None:
        """End: no call is followed any more."""
        self._calls = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the world consists of."""
        async with self.runtime:
            yield

    def wait_outside(self) -> bool:
        """Wait for what happens outside of the event loop and is certain to; tell whether there was any of it."""
        return False

    def begin(self, item: BurstItem) -> None:
        """Carry out the synchronous part of an item."""
        match item:
            case React():
                self._install(item)
            case Plan() | Hold() | Release() | Open():
                self.gates.apply(item)
            case _:
                self._op(item, None)

    def bind(self) -> None:
        """Let what has returned be named from here on."""
        self._bound.update(self._handles)

    def look(self) -> Snapshot:
        """Take a snapshot of the registries."""
        agents = self.runtime.agents
        listed = []
        for agent in agents.list():
            owner = agents.owner_of(agent.id)
            listed.append(
                Listed(self._ref(agent), Status(agent.status.value), None if owner is None else self._ref(owner))
            )
        return Snapshot(
            tuple(listed),
            tuple(self._ref(agent) for agent in agents.roots()),
            tuple(self._session_ref(session) for session in self.runtime.sessions.list()),
        )

    # Events.

    def _ref(self, agent: reference.Agent) -> AgentRef:
        return self._refs.get(agent) or AgentRef(f"{agent.id}#0")

    def _session_ref(self, session: reference.Session) -> AgentRef:
        return self._session_refs.get(session) or AgentRef(f"{session.id}#0")

    def _record(self, event: reference.Event) -> None:
        if self._cut_off:
            return
        agent = event.agent
        if isinstance(event, reference.SessionCreated):
            self._numbers[agent.id] = number = self._numbers.get(agent.id, 0) + 1
            self._refs[agent] = self._session_refs[agent.session] = agent_ref(AgentId(agent.id), number)
        self.events.append(self.told(event))

    def told(self, event: reference.Event) -> AgentEvent:
        """Give an event as one of the alphabet."""
        return event_of(self._ref(event.agent), event)

    def _install(self, item: React) -> None:
        hear = self._listener(item)
        if item.on.event == "signal":
            self._hearing.append(hear)
        else:
            self.runtime.events.on(lambda event: hear(self.told(event), event.agent), item.on.event)

    def _listener(self, item: React) -> Listener:
        """Give the listener that a reaction is: it acts once, at its match."""
        skip = item.nth - 1
        done = False

        def hear(event: HeardEvent, agent: reference.Agent | None) -> object:
            nonlocal skip, done
            if done or self._cut_off or event.event != item.on.event or not matches(item.on, event):
                return None
            if skip:
                skip -= 1
                return None
            done = True
            return self._act(item, agent)

        return hear

    def _act(self, item: React, this: reference.Agent | None) -> Awaitable[None] | None:
        rejected: Tag | None = None
        for action in item.do:
            match action:
                case Throw(tag):
                    raise Thrown(tag)
                case Reject(tag):
                    rejected = rejected or tag
                case _:
                    self._op(action, this)
        return None if rejected is None else _reject(rejected)

    def _heard(self, agent: reference.Agent, turn: int) -> Callable[[reference.AbortCause], None]:
        def heard(cause: reference.AbortCause) -> None:
            event = Signalled(self._ref(agent), turn, cause_of(cause))
            self.events.append(event)
            self._hear_all(self._hearing, event, agent)

        return heard

    def _hear_all(
        self, listeners: Sequence[Listener], event: HeardEvent, agent: reference.Agent | None = None
    ) -> Thrown | None:
        """Let each listener hear an event, whatever the others do; gives what was thrown first."""
        first: Thrown | None = None
        for hear in tuple(listeners):
            try:
                answer = hear(event, agent)
            except Thrown as thrown:
                first = first or thrown
            else:
                if answer is not None:
                    self._await(answer)
        return first

    def _await(self, answer: Any) -> None:
        async def contained() -> None:
            try:
                await answer
            except Thrown:
                return

        if self._calls is not None:
            self._calls.start_soon(contained)
        else:
            answer.close()

    # Ops.

    def _settled(self, call: Label, outcome: Settlement | None = None) -> None:
        self.events.append(Settled(call, outcome or Returned()))

    def _follow(self, label: Label, call: Awaitable[Any]) -> None:
        # A world that is being closed is of no interest any more.
        if self._calls is not None:
            self._calls.start_soon(self._settle, label, call)
        else:
            close_unawaited(call)

    async def _settle(self, label: Label, call: Awaitable[Any]) -> None:
        try:
            value = await call
        except Exception as failure:
            self._settled(label, Raised(code_of(failure)))
            return
        if isinstance(value, reference.Handle):
            self._handles[label] = value
            self._settled(label, Returned(self._ref(value.agent)))
        elif isinstance(value, Returned):
            self._settled(label, value)
        else:
            self._settled(label)

    def _named(self, name: Label, this: reference.Agent | None) -> reference.Agent | None:
        """Give the agent that an op speaks to; none if the reference is not bound."""
        if name == THIS:
            return this
        return self._handles[name].agent if name in self._bound else None

    def _handle(self, name: Label, this: reference.Agent | None) -> reference.Handle | None:
        """Give the handle of an agent whose creation had returned at the last settle."""
        label = self._labels.get(this) if name == THIS and this is not None else name
        return self._handles[label] if label in self._bound else None

    def _creation(self, name: Label, this: reference.Agent | None) -> tuple[Label, reference.Creation] | None:
        label = self._labels.get(this) if name == THIS and this is not None else name
        creation = self._creations.get(label) if label is not None else None
        if label is None or creation is None or creation.agent is None:
            return None
        return label, creation

    def _op(self, op: Op, this: reference.Agent | None) -> None:
        match op:
            case Create() | Resume():
                self._create(op, this)
            case Abort():
                found = self._creation(op.creation, this)
                if found is not None and found[0] in self._signals:
                    self._signals[found[0]].abort()
                    self._settled(op.label)
            case Withdraw():
                found = self._creation(op.creation, this)
                if found is not None:
                    _ = found[1].withdraw()
                    self._settled(op.label)
            case Send() | Steer() | Inject() | Cancel() | AwaitIdle():
                agent = self._named(op.agent, this)
                if agent is not None:
                    self._on_agent(op, agent)
            case Dispose():
                handle = self._handle(op.agent, this)
                if handle is not None:
                    self._follow(op.label, handle.dispose())
            case UnloadOwner():
                self._follow(op.label, self.runtime.owner(op.owner).unload())
            case UnloadProvider():
                self._follow(op.label, self.runtime.provider.unload())
            case LoadOwner():
                if not self.runtime.owner(op.owner).active:
                    self.runtime.owner(op.owner).load()
                    self._settled(op.label)
            case LoadProvider():
                if not self.runtime.provider.active:
                    self.runtime.provider.load()
                    self._settled(op.label)
            case Look():
                self._settled(op.label, Returned(self.look()))
            case _:
                raise NotImplementedError(f"{op.item} belongs to a later profile")

    def _on_agent(self, op: Send | Steer | Inject | Cancel | AwaitIdle, agent: reference.Agent) -> None:
        try:
            match op:
                case Send():
                    agent.send(_text(op.text))
                case Steer():
                    agent.steer(_text(op.text))
                case Inject():
                    agent.inject(_text(op.text))
                case Cancel():
                    self._cancel(op, agent)
                    return
                case AwaitIdle():
                    self._follow(op.label, agent.idle())
                    return
        except reference.Refusal as refusal:
            self._settled(op.label, Raised(code_of(refusal)))
        else:
            self._settled(op.label)

    def _cancel(self, op: Cancel, agent: reference.Agent) -> None:
        try:
            cause = reference.CancelCause(op.cause.value)
        except ValueError:  # another edition has causes of its own
            self._settled(op.label, Raised(code(Refusal.UNSPECIFIED)))
        else:
            agent.cancel(cause)
            self._settled(op.label)

    def _owner(self, name: OwnerName) -> reference.Owner | reference.Fiber:
        """Give the owner that a creation is made through."""
        return self.runtime.owner(name)

    def _create(self, op: Create | Resume, this: reference.Agent | None) -> None:
        owner: reference.Owner | reference.Fiber | reference.Agent | None
        match op.by:
            case ByOwner(name):
                owner = self._owner(name)
            case ByAgent(label):
                handle = self._handle(label, this)
                owner = None if handle is None else handle.agent
        if owner is None:
            return
        signal = None
        if op.signal is not CreationSignal.NONE:
            signal = reference.CreationSignal()
            if op.signal is CreationSignal.PRE_ABORTED:
                signal.abort()
            else:
                self._signals[op.label] = signal
        begin = owner.create if isinstance(op, Create) else owner.resume
        creation = begin(
            op.id,
            setup=self._setup(op.label) if op.setup is Setup.PLAIN else None,
            signal=signal,
            cleanups=(self._cleanup(op.label),) if op.cleanup else (),
        )
        self._creations[op.label] = creation
        if creation.agent is not None:
            self._labels[creation.agent] = op.label
        self._follow(op.label, creation)

    # The scripted bodies.

    async def arrive(self, kind: GateKind, agent: reference.Agent) -> GateOutcome | None:
        """Come to a gate of an agent, where no signal is heard."""
        return await self.gates.arrive(kind, self._labels[agent])

    def _setup(self, label: Label) -> reference.Setup:
        async def setup(_: reference.AgentScope) -> None:
            fail_on(THROW, await self.gates.arrive(GateKind.SETUP, label), "setup")

        return setup

    def _cleanup(self, label: Label) -> reference.Cleanup:
        async def cleanup() -> None:
            self.events.append(ScopeCleanup(label))
            fail_on(FAIL, await self.gates.arrive(GateKind.CLEANUP, label), "cleanup")

        return cleanup

    async def _flush(self, request: reference.FlushRequest) -> None:
        outcome = await self.arrive(GateKind.FLUSH, request.agent)
        fail_on(FAIL, outcome, "flush")

    async def _prepare(self, request: reference.ModelRequest, signal: reference.Signal) -> None:
        outcome = await self.gates.arrive(GateKind.PREPARE, self._labels[request.agent], signal.subscribe)
        fail_on(THROW, outcome, "prepare")

    async def _model(self, request: reference.ModelRequest, signal: reference.Signal) -> reference.Reply:
        label = self._labels[request.agent]
        self._answers[label] = answer = self._answers.get(label, 0) + 1
        heard = self._heard(request.agent, request.turn)
        outcome = await self.gates.arrive(GateKind.MODEL, label, signal.subscribe, heard)
        if outcome is None:
            return reference.Reply()
        fail_on(ERROR, outcome, "model")
        return reference.Reply(
            f"{label}:{answer}",
            tuple(reference.ToolCall("scripted") for _ in range(tool_count(outcome))),
            reference.StopReason.MAX_TOKENS if hits_max_tokens(outcome) else reference.StopReason.END,
        )

    async def _tool(self, _: Mapping[str, object], context: reference.ToolContext) -> str:
        assert context.agent is not None
        assert context.signal is not None
        label, heard = self._labels[context.agent], self._heard(context.agent, context.turn)
        outcome = await self.gates.arrive(GateKind.TOOL, label, context.signal.subscribe, heard)
        if outcome is None:
            raise Thrown(Tag("aborted"))
        fail_on(ERROR, outcome, "tool")
        return "ok"


def fail_on(failing: GateOutcome, outcome: GateOutcome | None, tag: str) -> None:
    """Raise if that is the outcome."""
    if outcome == failing:
        raise Thrown(Tag(tag))


def _text(text: str) -> str:
    return _UNSTORABLE if text == BAD_TEXT else text


async def _reject(tag: Tag) -> None:
    raise Thrown(tag)


def ignore(place: str, failure: BaseException) -> None:
    """Contained failures are outside the comparison."""
