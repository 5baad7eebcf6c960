"""A backend around an asyncio runtime of one's own: write one method for each op that it can carry out.

``docs/python.md`` goes from nothing to an adapter that passes; in short:

    class MyWorld(World):                               # one trace: a fresh runtime, and all that is asked of it
        async def open(self) -> None: ...               # start the runtime, and listen to it
        async def create(self, op: Create) -> AgentRef: ...
        def send(self, op: Send) -> None: ...           # and so on: each op has a method of its name
        def snapshot(self) -> Snapshot: ...

    def backend() -> AsyncioBackend:
        return AsyncioBackend(Manifest(name="mine", version="1", language="python", unclaimed=...), MyWorld)

What is here is what each adapter would have to do over again, and what is easy to get wrong.

*A call is begun where it stands in its burst.* An ``async def`` runs up to where it first waits, at once, as it does
for a caller who awaits it; if it were left to a task, the items behind it would overtake it.

*A call settles where somebody sees it.* A plain method has settled when it comes back. What can be awaited settles
when a waiting task would go on, which is a step of its own even if it was refused without waiting.

*Quiet is seen, not guessed.* Runtime and adapter live in an event loop of the kit, which knows when it has nothing to
do. That loop can also run tasks in another order, by a seed (``--schedules``).

*Nothing is left to the next trace.* A world that is closed has its gates opened, is told to close, and what is left in
the loop is cancelled.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

from pydantic import ValidationError

from probate_conformance.backends.base import converse_in_loop
from probate_conformance.backends.gates import Gates
from probate_conformance.codec import said_of
from probate_conformance.errors import DEBUG, BackendBroke
from probate_conformance.loops import AsyncioHost, Host
from probate_conformance.loops.asyncio_host import start_now
from probate_conformance.manifest import Manifest
from probate_conformance.wire import Burst, Close, Closed, Command, Conversation, Opened, Quiet, Reply
from probate_conformance.wire import Open as Asked
from probate_model.alphabet.events import (
    VETOABLE,
    Event,
    HeardEvent,
    Raised,
    Returned,
    Settled,
    Settlement,
    Signalled,
    Snapshot,
    subject_of,
)
from probate_model.alphabet.items import BurstItem, Hold, Open, Plan, React, Reject, Release, Throw
from probate_model.alphabet.names import THIS, AgentId, AgentRef, Code, Label, Tag, agent_ref
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    Cancel,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    LoadProvider,
    Look,
    Op,
    Send,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.alphabet.refusals import Refusal, is_code
from probate_model.alphabet.refusals import code as code_for
from probate_model.run import matches

__all__ = ["AsyncioBackend", "Gates", "Void", "World"]

T = TypeVar("T")


_SAYS_NOTHING: Final = (
    Abort, Withdraw, Send, Steer, Inject, Cancel, AwaitIdle, Dispose, UnloadOwner, LoadOwner, UnloadProvider,
    LoadProvider,
)  # fmt: skip
"""The ops that return nothing, whatever the runtime's own call returns."""


class Void(Exception):
    """Raise it from a method whose op can't apply now: then it did nothing, and does not settle."""


class Thrown(Exception):
    """What a scripted listener throws. ``World.code_of`` knows it."""

    def __init__(self, tag: Tag) -> None:
        super().__init__(f"thrown by the scripted listener {tag}")
        self.code = f"thrown:{tag}"


class World:
    """One trace: a runtime, and all that is asked of it. Make a subclass, with a method for each op.

    A method is given its op, and what it returns or raises is how the call settles. It may be an ``async def`` or
    return something to await; then the call has begun when the method returned, and settles later.
    """

    asked: Asked
    """What is to be opened: ``asked.world`` names the owners, and says whether there is a provider."""

    def __init__(self) -> None:
        self.gates = Gates()
        """Where scripted bodies wait; ``hold``, ``release`` and the like are seen to."""
        self._events: list[Event] = []
        self._numbers: Counter[str] = Counter()
        self._labels: dict[str, Label] = {}
        self._creations: dict[Label, Create] = {}
        self._returned: set[Label] = set()
        self._bound: set[Label] = set()
        self._hearing: list[Callable[[Event], None]] = []
        self._calls: set[asyncio.Task[Any]] = set()
        self._fault: BackendBroke | None = None

    # What a subclass says.

    async def open(self) -> None:
        """Start the runtime, with the owners and the provider that ``self.asked.world`` names."""

    async def close(self) -> None:
        """Stop the runtime. What is left of it afterwards is cancelled."""

    def snapshot(self) -> Snapshot | None:
        """Give what the registries hold now; none if that can't be told."""
        return None

    def code_of(self, error: BaseException) -> str | None:
        """Give the code of the contract for what a call raised; none if it never should have.

        ``unspecified`` says that it refused, and nothing about why.
        """
        del error
        return None

    # What a subclass uses.

    def name(self, label: Label, id: str) -> AgentRef:
        """Name an agent whose session is just being announced, ``id#n``, and note whose creation made it."""
        self._numbers[id] += 1
        ref = agent_ref(AgentId(id), self._numbers[id])
        self._labels[ref] = label
        return ref

    def tell(self, event: Event) -> None:
        """Note an event, at the moment at which the runtime tells it.

        The listeners that a trace has scripted hear it in here. What they throw comes out of here, as it comes out of
        any listener; who tells a signal is no listener, and is spared.
        """
        self._events.append(event)
        first: Thrown | None = None
        for hear in tuple(self._hearing):
            try:
                hear(event)
            except Thrown as thrown:
                first = first or thrown
                if event.event in VETOABLE:  # it ends the dispatch
                    break
        if first is not None and not isinstance(event, Signalled):
            raise first

    # What the backend does with it.

    def _begin(self, item: BurstItem) -> None:
        match item:
            case Plan() | Hold() | Release() | Open():
                self.gates.apply(item)
            case React():
                self._hearing.append(self._listener(item))
            case _:
                self._call(item)

    def _call(self, op: Op) -> None:
        """Begin a call. A plain method has come to its end when it comes back."""
        if isinstance(op, Look):
            self._settled(op, Returned(self._look()))
            return
        if isinstance(op, Create):
            self._creations[op.label] = op
        method = getattr(self, op.item, None)
        if method is None:
            self._break(
                BackendBroke(
                    f"{type(self).__name__} has no method {op.item!r}, and its manifest claims the op",
                    mend=f"write the method, or put {op.item!r} among the unclaimed ops",
                )
            )
            return
        try:
            value = method(op)
        except Void:
            return
        except Exception as error:
            self._raised(op, error)
            return
        if not isawaitable(value):
            self._settled(op, _returned(op, value))
            return
        call = start_now(_wait_for(value))
        self._calls.add(call)  # the loop itself does not keep tasks
        call.add_done_callback(lambda _: self._ended(op, call))

    def _ended(self, op: Op, call: asyncio.Task[Any]) -> None:
        """Note how a call that could be awaited has ended."""
        self._calls.discard(call)
        error = asyncio.CancelledError() if call.cancelled() else call.exception()
        if isinstance(error, asyncio.CancelledError):  # of the runtime, which let it get out
            self._settled(op, Raised(code_for(Refusal.UNSPECIFIED)))
        elif error is not None:
            self._raised(op, error)
        else:
            self._settled(op, _returned(op, call.result()))

    def _raised(self, op: Op, error: BaseException) -> None:
        code = error.code if isinstance(error, Thrown) else self.code_of(error)
        if code is None:
            mend = "give it a code in `code_of`: 'unspecified' will do, if it is the runtime that refuses by it"
            self._break(_broke_by(f"the method {op.item!r}", error, mend))
        elif not is_code(code):
            self._break(
                BackendBroke(
                    f"`code_of` gave {code!r} for {type(error).__name__}, and that is no code of the contract",
                    mend="'unspecified' says that it refused, and nothing about why; `probate schema wire` tells all",
                )
            )
        else:
            self._settled(op, Raised(Code(code)))

    def _break(self, error: BackendBroke) -> None:
        """Note a fault of the adapter, to be told when the burst is over: a runtime may contain what is raised here."""
        self._fault = self._fault or error

    def _settled(self, op: Op, outcome: Settlement) -> None:
        if isinstance(op, Create) and isinstance(outcome, Returned):
            self._returned.add(op.label)
        self._events.append(Settled(op.label, outcome))

    def _quiet(self, calm: bool) -> Quiet:
        """Give what has happened since the last time."""
        look = self._look()
        if self._fault is not None:
            raise self._fault
        self._bound |= self._returned
        events, self._events = tuple(self._events), []
        try:
            return Quiet(events=events, snapshot=look, never=not calm)
        except ValidationError as error:
            raise BackendBroke(f"told what is not of the alphabet: {said_of(error)}") from error

    def _look(self) -> Snapshot | None:
        try:
            return self.snapshot()
        except Exception as error:
            self._break(_broke_by("`snapshot`", error))
            return None

    # Reactions.

    def _listener(self, item: React) -> Callable[[Event], None]:
        """Give the listener that a reaction is: it acts once, at its match."""
        left = item.nth

        def hear(event: Event) -> None:
            nonlocal left
            if left and event.event == item.on.event and matches(item.on, cast(HeardEvent, event)):
                left -= 1
                if not left:
                    self._act(item, self._labels.get(subject_of(event)))

        return hear

    def _act(self, item: React, this: Label | None) -> None:
        for action in item.do:
            match action:
                case Throw(tag):
                    raise Thrown(tag)
                case Reject():
                    mend = "put 'reject' among the unclaimed features"
                    self._break(BackendBroke("a listener was asked to reject, and here none can", mend=mend))
                case _:
                    op = self._resolved(action, this)
                    if op is not None:
                        self._call(op)

    def _resolved(self, op: Op, this: Label | None) -> Op | None:
        """Give what a scripted listener does, to the agent that it hears of if it says ``this``; none if it is void."""

        def named(label: Label) -> Label | None:
            label = this or label if label == THIS else label
            return label if label in self._bound else None

        match op:
            case Send() | Steer() | Inject() | Cancel() | AwaitIdle():
                agent = this if op.agent == THIS else named(op.agent)
                return None if agent is None else replace(op, agent=agent)
            case Dispose():
                agent = named(op.agent)
                return None if agent is None else replace(op, agent=agent)
            case Create(by=ByAgent(agent=parent)):
                agent = named(parent)
                return None if agent is None else replace(op, by=ByAgent(agent))
            case Abort() | Withdraw():
                label = this if op.creation == THIS else op.creation
                creation = self._creations.get(label) if label is not None else None
                if creation is None or (isinstance(op, Abort) and creation.signal is CreationSignal.NONE):
                    return None
                return replace(op, creation=creation.label)
            case _:
                return op


def _returned(op: Op, value: Any) -> Returned:
    return Returned() if isinstance(op, _SAYS_NOTHING) else Returned(value)


async def _wait_for(call: Awaitable[T]) -> T:
    return await call


def _broke_by(what: str, error: BaseException, mend: str | None = None) -> BackendBroke:
    """Give the failure of an adapter that raised: what it was, and where it came from."""
    said = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else None
    broke = BackendBroke(f"{what} raised {said}", where=where, mend=mend or f"{DEBUG}=1 shows the traceback")
    broke.__cause__ = error
    return broke


def _complaints() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Give a handler of what nobody handles, as a task that failed: it is said once, and not in each trace."""
    said: set[tuple[str, str]] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        complaint = context["message"], repr(context.get("exception"))
        if complaint not in said:
            said.add(complaint)
            loop.default_exception_handler(context)

    return handle


class AsyncioBackend:
    """A backend whose runtime lives in an asyncio loop of the kit.

    :param manifest: what it says of itself
    :param world: makes the world of one trace: a subclass of :class:`World`, or a callable that gives one
    """

    def __init__(self, manifest: Manifest, world: Callable[[], World]) -> None:
        self.manifest = manifest
        self._world = world

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply."""

        async def main(host: Host) -> T:
            asyncio.get_running_loop().set_exception_handler(_complaints())
            conversing = _Conversing(host, self._world)
            result = await converse_in_loop(conversation, conversing.answer)
            await conversing.close()
            return result

        return AsyncioHost().run(main)


class _Life:
    """An open world, from its opening to its end in one task: a task group that it enters is left there too."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.opened = False
        self.fault: BackendBroke | None = None
        self._ended = asyncio.Event()
        self.task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        try:
            await self.world.open()
        except Exception as error:
            self.fault = _broke_by("`open`", error)
            return
        self.opened = True
        await self._ended.wait()
        try:
            await self.world.close()
        except Exception as error:
            self.fault = _broke_by("`close`", error)

    def end(self) -> None:
        """Let it end."""
        self.world.gates.open_all()
        self._ended.set()


class _Conversing:
    """The driver: the one task of the kit in the loop."""

    def __init__(self, host: Host, world: Callable[[], World]) -> None:
        self._host = host
        self._make = world
        self._life: _Life | None = None

    async def answer(self, command: Command) -> Reply:
        match command:
            case Asked():
                await self.close()
                await self._open(command)
                return Opened()
            case Burst():
                return await self._burst(command)
            case Close():
                await self.close()
                return Closed()

    async def _open(self, command: Asked) -> None:
        self._host.schedule(command.schedule)
        try:
            world = self._make()
        except Exception as error:
            raise _broke_by("making the world", error) from error
        world.asked = command
        life = self._life = _Life(world)
        await self._host.quiet()
        if not life.opened:
            await self.close()
            if life.fault is not None:
                raise life.fault
            raise BackendBroke("`open` waits for something that never comes", where=type(world).__name__)

    async def _burst(self, command: Burst) -> Quiet:
        if self._life is None:
            raise BackendBroke("a burst came before any world was opened", mend="open a world first")
        world = self._life.world
        for item in command.items:
            world._begin(item)
        return world._quiet(await self._host.quiet())

    async def close(self) -> None:
        """End the world, whatever is left in it."""
        life, self._life = self._life, None
        if life is None:
            return
        life.end()
        await self._host.quiet()
        for task in (left := asyncio.all_tasks() - {asyncio.current_task()}):
            task.cancel()
        if left:
            await self._host.quiet()
        if still := [task for task in left if not task.done()]:
            names = ", ".join(sorted(task.get_name() for task in still))
            raise BackendBroke(f"tasks of the runtime did not end when they were cancelled: {names}")
        if life.opened and life.fault is not None:
            raise life.fault
