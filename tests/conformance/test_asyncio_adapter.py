"""The base of adapters in Python: the reference, connected by it, passes all that is claimed; and what goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

import pytest

import probate_reference as reference
from probate_conformance.adapter import AsyncioBackend, Void, World
from probate_conformance.backends.reference.translation import cause_of, code_of, event_of
from probate_conformance.errors import BackendBroke
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Verdict
from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.plan import Plan
from probate_conformance.running import check_backend
from probate_conformance.wire import Burst, Close, Opened, Quiet
from probate_conformance.wire import Open as Asked
from probate_model.alphabet.events import (
    Listed,
    ScopeCleanup,
    SessionCreated,
    SessionDisposed,
    Signalled,
    Snapshot,
    Status,
)
from probate_model.alphabet.gates import ERROR, FAIL, THROW, GateKind, GateOutcome, hits_max_tokens, tool_count
from probate_model.alphabet.items import BurstItem, Reject
from probate_model.alphabet.names import BAD_TEXT, THIS, AgentId, AgentRef, Label, Tag, Text, agent_ref
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByOwner,
    Cancel,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from tests.conformance.backends.children import talk
from tests.conformance.backends.shorthand import WORLD, create, dispose, react, send, told

UNCLAIMED = Unclaimed(ops=("resume",), gates=("load",), features=("reject",))
MANIFEST = Manifest(name="adapted", version="1", language="python", unclaimed=UNCLAIMED)


class Scripted(Exception):
    def __init__(self, tag: str) -> None:
        self.code = f"thrown:{tag}"


class ReferenceWorld(World):
    """All of profile ``core`` on the reference."""

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.runtime = reference.Runtime(
            self.model,
            tools=[reference.FunctionTool("scripted", self.tool)],
            prepare=self.prepare,
            flush=[self.flush],
            report=lambda *_: None,
        )
        self.runtime.events.on(self.hear)
        self.creations: dict[Label, reference.Creation] = {}
        self.signals: dict[Label, reference.CreationSignal] = {}
        self.agents: dict[Label, reference.Agent] = {}
        self.handles: dict[Label, reference.Handle] = {}
        self.labels: dict[reference.Agent, Label] = {}
        self.refs: dict[reference.Agent, AgentRef] = {}
        self.answers: dict[Label, int] = {}
        await self.stack.enter_async_context(self.runtime)
        for name in self.asked.world.owners:
            self.runtime.owner(name)
        if not self.asked.world.provider:
            await self.runtime.provider.unload()

    async def close(self) -> None:
        await self.stack.aclose()

    def code_of(self, error: BaseException) -> str | None:
        return error.code if isinstance(error, Scripted) else str(code_of(error))

    def snapshot(self) -> Snapshot:
        agents = self.runtime.agents
        owners = {agent: agents.owner_of(agent.id) for agent in agents.list()}
        return Snapshot(
            tuple(
                Listed(self.refs[one], Status(one.status.value), None if owner is None else self.refs[owner])
                for one, owner in owners.items()
            ),
            tuple(self.refs[one] for one in agents.roots()),
            tuple(
                self.refs[agent] for one in self.runtime.sessions.list() for agent in self.refs if agent.session is one
            ),
        )

    def hear(self, event: reference.Event) -> None:
        if isinstance(event, reference.SessionCreated):
            self.refs[event.agent] = self.name(self.labels[event.agent], event.agent.id)
        self.tell(event_of(self.refs[event.agent], event))

    async def create(self, op: Create) -> AgentRef:
        by = self.runtime.owner(op.by.owner) if isinstance(op.by, ByOwner) else self.agents[op.by.agent]
        signal = None if op.signal is CreationSignal.NONE else reference.CreationSignal()
        if signal is not None and op.signal is CreationSignal.PRE_ABORTED:
            signal.abort()
        elif signal is not None:
            self.signals[op.label] = signal
        creation = self.creations[op.label] = by.create(
            op.id,
            setup=self.scripted(GateKind.SETUP, op.label, THROW) if op.setup is Setup.PLAIN else None,
            signal=signal,
            cleanups=(self.cleanup(op.label),) if op.cleanup else (),
        )
        if creation.agent is not None:
            self.labels[creation.agent], self.agents[op.label] = op.label, creation.agent
        self.handles[op.label] = handle = await creation
        return self.refs[handle.agent]

    def abort(self, op: Abort) -> None:
        if op.creation not in self.signals or op.creation not in self.agents:
            raise Void
        self.signals[op.creation].abort()

    def withdraw(self, op: Withdraw) -> None:
        if op.creation not in self.agents:
            raise Void
        _ = self.creations[op.creation].withdraw()

    def send(self, op: Send) -> None:
        self.agents[op.agent].send(text_of(op.text))

    def steer(self, op: Steer) -> None:
        self.agents[op.agent].steer(text_of(op.text))

    def inject(self, op: Inject) -> None:
        self.agents[op.agent].inject(text_of(op.text))

    def cancel(self, op: Cancel) -> None:
        self.agents[op.agent].cancel(reference.CancelCause(op.cause.value))

    def await_idle(self, op: AwaitIdle) -> Awaitable[None]:
        return self.agents[op.agent].idle()

    def dispose(self, op: Dispose) -> Awaitable[None]:
        return self.handles[op.agent].dispose()

    def unload_owner(self, op: UnloadOwner) -> Awaitable[None]:
        return self.runtime.owner(op.owner).unload()

    def unload_provider(self, op: UnloadProvider) -> Awaitable[None]:
        return self.runtime.provider.unload()

    def load_owner(self, op: LoadOwner) -> None:
        if self.runtime.owner(op.owner).active:
            raise Void
        self.runtime.owner(op.owner).load()

    def load_provider(self, op: LoadProvider) -> None:
        if self.runtime.provider.active:
            raise Void
        self.runtime.provider.load()

    # The scripted bodies.

    def scripted(self, kind: GateKind, label: Label, failing: GateOutcome) -> Callable[..., Awaitable[None]]:
        async def body(*_: object) -> None:
            if await self.gates.arrive(kind, label) == failing:
                raise Scripted(kind.value)

        return body

    def cleanup(self, label: Label) -> Callable[[], Awaitable[None]]:
        async def body() -> None:
            self.tell(ScopeCleanup(label))
            await self.scripted(GateKind.CLEANUP, label, FAIL)()

        return body

    def heard(self, agent: reference.Agent, turn: int) -> Callable[[reference.AbortCause], None]:
        return lambda cause: self.tell(Signalled(self.refs[agent], turn, cause_of(cause)))

    async def flush(self, request: reference.FlushRequest) -> None:
        await self.scripted(GateKind.FLUSH, self.labels[request.agent], FAIL)()

    async def prepare(self, request: reference.ModelRequest, signal: reference.Signal) -> None:
        if await self.gates.arrive(GateKind.PREPARE, self.labels[request.agent], signal.subscribe) == THROW:
            raise Scripted("prepare")

    async def model(self, request: reference.ModelRequest, signal: reference.Signal) -> reference.Reply:
        label = self.labels[request.agent]
        self.answers[label] = answer = self.answers.get(label, 0) + 1
        outcome = await self.gates.arrive(
            GateKind.MODEL, label, signal.subscribe, self.heard(request.agent, request.turn)
        )
        if outcome is None:
            return reference.Reply()
        if outcome == ERROR:
            raise Scripted("model")
        return reference.Reply(
            f"{label}:{answer}",
            tuple(reference.ToolCall("scripted") for _ in range(tool_count(outcome))),
            reference.StopReason.MAX_TOKENS if hits_max_tokens(outcome) else reference.StopReason.END,
        )

    async def tool(self, _: Mapping[str, object], context: reference.ToolContext) -> str:
        assert context.agent is not None
        assert context.signal is not None
        heard = self.heard(context.agent, context.turn)
        outcome = await self.gates.arrive(GateKind.TOOL, self.labels[context.agent], context.signal.subscribe, heard)
        if outcome in (None, ERROR):
            raise Scripted("tool")
        return "ok"


def text_of(text: Text) -> str:
    """A text that can't be stored without loss stands for the bad one."""
    return "\ud800" if text == BAD_TEXT else text


def test_the_reference_connected_by_it_passes_all_of_the_core() -> None:
    plan = Plan(seed=0, cases=150, schedules=2)
    report = check_backend("adapted", AsyncioBackend(MANIFEST, ReferenceWorld), plan, Interrupt(), lambda *_: None)
    assert report.failures == ()
    assert report.troubles == ()
    verdicts = Counter(result.verdict for result in report.clauses)
    assert verdicts.total() == 85
    assert verdicts[Verdict.PASS] >= 80


def conversed(world: Callable[[], World], *items: BurstItem) -> Quiet | BackendBroke:
    answer = AsyncioBackend(MANIFEST, world).converse(talk(Asked(world=WORLD), Burst(items=items)))[1]
    assert isinstance(answer, Quiet | BackendBroke)
    return answer


class Noting(World):
    """No runtime at all: it tells what it is asked."""

    async def create(self, op: Create) -> AgentRef:
        ref = self.name(op.label, op.id)
        self.tell(SessionCreated(ref))
        async with asyncio.timeout(60):  # of the task that makes this step, or it would end another
            await asyncio.sleep(0)
        return ref

    def dispose(self, op: Dispose) -> None:
        self.tell(SessionDisposed(agent_ref(AgentId("x"), 1)))


def test_a_call_begins_where_it_stands_and_settles_later() -> None:
    answer = conversed(Noting, create("c"), dispose("d", "c"))
    assert isinstance(answer, Quiet)
    assert [told(event) for event in answer.events] == [
        "session/created x#1",
        "session/disposed x#1",
        "d returned",
        "c returned x#1",
    ]


def test_what_a_runtime_returns_where_nothing_is_to_be_said_is_dropped() -> None:
    class Talkative(Noting):
        async def dispose(self, op: Dispose) -> bool:  # type: ignore[override]
            return True

        def send(self, op: Send) -> int:
            return 1

    answer = conversed(Talkative, create("c"), send("s", "c", "hello"), dispose("d", "c"))
    assert isinstance(answer, Quiet)
    assert [told(event) for event in answer.events][1:] == ["s returned", "d returned", "c returned x#1"]


def test_a_refusal_without_waiting_settles_in_a_step_of_its_own() -> None:
    class Refusing(Noting):
        async def create(self, op: Create) -> AgentRef:
            raise LookupError

        def code_of(self, error: BaseException) -> str | None:
            return "id-exists"

    answer = conversed(Refusing, create("c"), dispose("d", "c"))
    assert isinstance(answer, Quiet)
    assert [told(event) for event in answer.events][1:] == ["d returned", "c raised id-exists"]


def test_a_call_that_is_cancelled_from_inside_has_raised_something() -> None:
    class Leaking(Noting):
        async def create(self, op: Create) -> AgentRef:
            work = asyncio.create_task(asyncio.sleep(60))
            work.cancel()
            await work
            raise AssertionError

    answer = conversed(Leaking, create("c"))
    assert isinstance(answer, Quiet)
    assert [told(event) for event in answer.events] == ["c raised unspecified"]


def test_who_never_rests_is_told_so_and_ends_with_its_world() -> None:
    class Restless(Noting):
        async def create(self, op: Create) -> AgentRef:
            while True:  # noqa: ASYNC110
                await asyncio.sleep(0)

    answer = conversed(Restless, create("c"))
    assert isinstance(answer, Quiet)
    assert answer.never


def test_a_failure_that_nobody_awaits_is_said_once_and_not_in_each_trace(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise LookupError("lost")

    class Losing(Noting):
        async def create(self, op: Create) -> AgentRef:
            self.lost = asyncio.create_task(fail())
            return await super().create(op)

    burst = Burst(items=(create("c"),))
    AsyncioBackend(MANIFEST, Losing).converse(talk(Asked(world=WORLD), burst, Asked(world=WORLD), burst))
    gc.collect()
    assert [record.message.splitlines()[0] for record in caplog.records] == ["Task exception was never retrieved"]


class Opening(Noting):
    async def open(self) -> None:
        raise OSError("no room")


class Waiting(Noting):
    async def open(self) -> None:
        await asyncio.Event().wait()


class Unmade(Noting):
    def __init__(self) -> None:
        raise OSError("no room")


class Misnaming(Noting):
    def code_of(self, error: BaseException) -> str | None:
        return "id-exist"

    def dispose(self, op: Dispose) -> None:
        raise LookupError


class Telling(Noting):
    def dispose(self, op: Dispose) -> None:
        self._events.append("disposed")  # type: ignore[arg-type]


class Blind(Noting):
    def snapshot(self) -> Snapshot | None:
        raise LookupError("nothing there")


class Contained(Noting):
    """A fault of the adapter that its runtime swallows, as it does what any listener throws."""

    def dispose(self, op: Dispose) -> None:
        with contextlib.suppress(Exception):
            self.tell(SessionDisposed(agent_ref(AgentId("x"), 1)))


class Failing(Noting):
    def dispose(self, op: Dispose) -> None:
        raise LookupError("d")


class TestFaultsOfAnAdapter:
    @pytest.mark.parametrize(
        ("world", "said"),
        [
            (Opening, r"test_asyncio_adapter.py:\d+: `open` raised OSError: no room\n  PROBATE_DEBUG=1 shows"),
            (Waiting, r"Waiting: `open` waits for something that never comes"),
            (Unmade, r"test_asyncio_adapter.py:\d+: making the world raised OSError: no room"),
            (Misnaming, r"`code_of` gave 'id-exist' for LookupError, and that is no code of the contract\n  'unspec"),
            (Telling, r"told what is not of the alphabet: "),
            (Blind, r"test_asyncio_adapter.py:\d+: `snapshot` raised LookupError: nothing there"),
            (Failing, r"test_asyncio_adapter.py:\d+: the method 'dispose' raised LookupError: d\n  give it a code in"),
        ],
    )
    def test_each_is_told_with_its_place(self, world: type[World], said: str) -> None:
        answer = AsyncioBackend(MANIFEST, world).converse(
            talk(Asked(world=WORLD), Burst(items=(create("c"),)), Burst(items=(dispose("d", "c"),)))
        )
        broke = [str(one) for one in answer if isinstance(one, BackendBroke)]
        assert re.match(said, broke[0])

    def test_an_op_without_a_method(self) -> None:
        answer = conversed(Noting, create("c"), send("s", "c", "hello"))
        assert str(answer) == (
            "Noting has no method 'send', and its manifest claims the op\n"
            "  write the method, or put 'send' among the unclaimed ops"
        )

    def test_a_fault_inside_of_a_reaction_is_told_though_the_runtime_contains_it(self) -> None:
        reaction = react("r", "session/disposed", Send(Label("r.0"), THIS, Text("hello")))
        answer = conversed(Contained, create("c"), reaction, dispose("d", "c"))
        assert "has no method 'send'" in str(answer)

    def test_a_listener_that_is_to_reject(self) -> None:
        answer = conversed(Contained, create("c"), react("r", "session/disposed", Reject(Tag("r"))), dispose("d", "c"))
        assert str(answer).startswith("a listener was asked to reject, and here none can\n  put 'reject' among")

    def test_a_burst_before_any_world(self) -> None:
        (answer,) = AsyncioBackend(MANIFEST, Noting).converse(talk(Burst(items=())))
        assert "before any world was opened" in str(answer)

    def test_a_task_that_does_not_end(self) -> None:
        class Deaf(Noting):
            async def create(self, op: Create) -> AgentRef:
                for _ in range(2):  # it ends with the loop
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.Event().wait()
                raise LookupError

        answers = AsyncioBackend(MANIFEST, Deaf).converse(
            talk(Asked(world=WORLD), Burst(items=(create("c"),)), Close(), Asked(world=WORLD))
        )
        assert "did not end when they were cancelled: Task-" in str(answers[2])
        assert isinstance(answers[3], Opened)

    def test_a_close_that_raises(self) -> None:
        class Closing(Noting):
            async def close(self) -> None:
                raise OSError("busy")

        answers = AsyncioBackend(MANIFEST, Closing).converse(
            talk(Asked(world=WORLD), Close(), Asked(world=WORLD), Close())
        )
        assert "`close` raised OSError: busy" in str(answers[1])
        assert isinstance(answers[2], Opened)
