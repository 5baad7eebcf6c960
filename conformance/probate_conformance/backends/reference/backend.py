"""The reference as a backend: one event loop for a whole conversation, a fresh runtime for each world.

The conversation is carried out from inside the loop. A burst begins its items in one tick, because all begins of the
reference are synchronous; then the driver waits until nothing else in the loop can run, and answers. Nothing here
waits for time to pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Final, Literal, Self, TypeVar

from anyio import CancelScope, create_task_group
from anyio.abc import TaskGroup

from probate_conformance.backends.base import converse_in_loop
from probate_conformance.backends.reference.bridge import BridgeSubject
from probate_conformance.backends.reference.fibers import FiberSubject
from probate_conformance.backends.reference.puppets import ProcessSubject
from probate_conformance.backends.reference.sessions import SessionsSubject
from probate_conformance.backends.reference.subagents import SubagentSubject
from probate_conformance.backends.reference.subject import Subject
from probate_conformance.backends.reference.tasks import TaskSubject
from probate_conformance.errors import BackendBroke
from probate_conformance.loops import HOSTS
from probate_conformance.loops.base import Host
from probate_conformance.manifest import Manifest
from probate_conformance.wire import Burst, Close, Closed, Command, Conversation, Open, Opened, Quiet, Reply

T = TypeVar("T")

SUBJECTS: Final[Mapping[str, type[Subject]]] = MappingProxyType(
    {
        "core": Subject,
        "sessions": SessionsSubject,
        "fibers": FiberSubject,
        "tasks": TaskSubject,
        "bridge": BridgeSubject,
        "subagents": SubagentSubject,
    }
)
"""By profile, what carries out its items."""


PROCESSES: Final[Mapping[str, type[Subject]]] = MappingProxyType({"subagents": ProcessSubject})
"""The same where somebody's programs are processes and not in memory, which takes ten times as long."""


class ReferenceBackend:
    """The reference on one of the two loops.

    :param processes: whether somebody's programs are to be processes; then only where there are any
    """

    def __init__(self, loop: Literal["asyncio", "trio"] = "asyncio", *, processes: bool = False) -> None:
        name = "-".join(["reference", *["processes"] * processes, *["trio"] * (loop == "trio")])
        self._subjects = PROCESSES if processes else SUBJECTS
        self.manifest = Manifest(name=name, version="1", language="python", profiles=tuple(self._subjects))
        self._loop = loop

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply."""
        results: list[T] = []

        async def main(host: Host) -> None:
            async with create_task_group() as group:
                results.append(await _Conversing(host, group, self._subjects).converse(conversation))

        HOSTS[self._loop]().run(main)
        return results[0]


class _World:
    """One open world, living in a task of its own: a process, and after a crash the next one."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.scope = CancelScope()
        self.broke: BaseException | None = None
        self.ended = False

    async def live(self) -> None:
        try:
            with self.scope:
                while True:
                    subject = self.subject
                    async with subject.running(), create_task_group() as calls:
                        subject.start(calls)
                        await subject.ended.wait()
                        subject.stop()
                        calls.cancel_scope.cancel()
                    successor = subject.successor()
                    if successor is None:
                        break
                    self.subject = successor
        except Exception as error:
            self.broke = error
        finally:
            self.subject.clear()
            self.ended = True


class _Conversing:
    """The driver: it lives in the loop and is the only task that the kit itself runs there."""

    def __init__(self, host: Host, group: TaskGroup, subjects: Mapping[str, type[Subject]]) -> None:
        self._host = host
        self._group = group
        self._subjects = subjects
        self._world: _World | None = None

    async def converse(self, conversation: Conversation[T]) -> T:
        result = await converse_in_loop(conversation, self._answer)
        await self._close()
        return result

    async def _answer(self, command: Command) -> Reply:
        match command:
            case Open():
                await self._close()
                self._host.schedule(command.schedule)
                self._world = world = _World(self._subjects[command.profile](command.world))
                self._group.start_soon(world.live)
                await self._quiet(world)
                return Opened()
            case Burst():
                if self._world is None:
                    raise BackendBroke("a burst came before any world was opened", mend="open a world first")
                return await self._burst(self._world, command)
            case Close():
                await self._close()
                return Closed()

    async def _burst(self, world: _World, command: Burst) -> Quiet:
        for item in command.items:
            world.subject.begin(item)
        quiet = await self._quiet(world)
        subject = world.subject
        subject.bind()
        events, subject.events = subject.events, []
        return Quiet.model_construct(events=tuple(events), snapshot=subject.look(), never=not quiet, unknown=())

    async def _quiet(self, world: _World) -> bool:
        quiet = await self._rest(world)
        if world.broke is not None:
            raise BackendBroke(f"the runtime raised {world.broke!r}") from world.broke
        return quiet

    async def _rest(self, world: _World) -> bool:
        """Wait until nothing can run, in the loop or outside of it."""
        while True:
            quiet = await self._host.quiet()
            if not quiet or not world.subject.wait_outside():
                return quiet

    async def _close(self) -> None:
        """End the world, whatever is left in it."""
        world, self._world = self._world, None
        if world is None or world.ended:
            return
        world.subject.gates.open_all()
        world.subject.ended.set()
        await self._rest(world)
        if not world.ended:
            world.scope.cancel()
            await self._rest(world)
        if not world.ended:
            raise BackendBroke("the runtime did not end when it was cancelled")
