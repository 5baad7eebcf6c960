"""Programs in processes of their own, for profile ``subagents``: real pipes, real signals, real ends.

What a program does is decided here, as for those in memory; what it hears and says goes through a process that does as
it is told, see :mod:`.puppet`. The reference starts it, writes to it, ends its input, signals it and sees it go as it
would with anybody's program.

Nothing waits for time to pass. Whoever writes to a process, ends its input or asks it to end goes on when the process
has heard of it; what it was told to say is there to be read when it has acknowledged that; and when it was told to go,
nobody goes on before it is gone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from tempfile import TemporaryDirectory

from anyio import ClosedResourceError
from anyio.abc import ByteReceiveStream, ByteSendStream

from probate_conformance.backends.reference.processes import opened, readable
from probate_conformance.backends.reference.programs import Program, Role
from probate_conformance.backends.reference.subagents import SubagentSubject
from probate_conformance.errors import BackendBroke
from probate_model.alphabet.items import WorldSpec
from probate_model.alphabet.subagents import AMBIENT
from probate_reference import Call
from probate_reference.subagents.transport import Command, ProcessChild, spawn_process

_PUPPET = Path(__file__).with_name("puppet.py")


class ProcessProgram(Program):
    """One program in a process of its own; see :class:`Program`.

    :param command: what the reference would start
    :param folder: where its pipes are, which no other program may share
    """

    def __init__(self, role: Role, command: Command, folder: Path) -> None:
        super().__init__(role)
        folder.mkdir()
        paths = [folder / name for name in ("told", "heard", "said")]
        self._told, self._heard, self._said = self._descriptors = [opened(path) for path in paths]
        arguments = (sys.executable, "-I", "-S", str(_PUPPET), *map(str, paths))
        # Runs are named alike in many worlds, and by its mark a program is killed wherever it is.
        mark = f"{folder.parent.name}-{folder.name}"
        command = replace(command, arguments=arguments, folder=str(folder), mark=mark)
        self._child: ProcessChild = spawn_process(command, dict(AMBIENT))
        self._process = os.pidfd_open(self._child.pid)
        self._rest = b""
        self._input = _Input(self._child.send, self)
        self.environment = tuple(json.loads(self._line()))
        """What it has found in its environment."""

    # As the reference sees it.

    @property
    def receive(self) -> ByteReceiveStream:
        """What it says."""
        return self._child.receive

    @property
    def send(self) -> ByteSendStream:
        """What it hears."""
        return self._input

    @property
    def exited(self) -> Call[None]:
        """A call that returns when its process has ended."""
        return self._child.exited

    async def watch(self) -> None:
        """See when its process ends."""
        await self._child.watch()

    def signal(self, number: Signals) -> None:
        """Hear a signal: TERM from its process, and of KILL there is nothing to hear."""
        if self.gone:
            return
        self._child.signal(number)
        if number is SIGKILL:
            super().signal(number)
        else:
            self.pass_on(1)

    def clear(self) -> str:
        """Leave nothing behind."""
        return self._child.clear()

    # The process.

    def close(self) -> None:
        """Let go of it, and see to it that it goes."""
        self._child.signal(SIGKILL)
        for descriptor in (*self._descriptors, self._process):
            os.close(descriptor)

    def pass_on(self, count: int) -> None:
        """Wait until its process has heard so many things, and hear them.

        :raises BackendBroke: if it does not hear them
        """
        for _ in range(count):
            word, _, words = self._line().partition(b" ")
            match word:
                case b"line":
                    self.hear(json.loads(words))
                case b"eof":
                    self.hear_end()
                case _:
                    super().signal(SIGTERM)

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            if not readable(self._heard):
                raise BackendBroke("the process of a program does not hear what is said to it")
            self._rest += os.read(self._heard, 65536)
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _write(self, message: object) -> None:
        os.write(self._told, b"say " + json.dumps(message).encode() + b"\n")
        if not readable(self._said):
            raise BackendBroke("the process of a program does not say what it is told to")
        os.read(self._said, 1)

    def _leave(self) -> None:
        os.write(self._told, b"exit\n")
        if not readable(self._process):
            raise BackendBroke("the process of a program that is to go does not go")


class ProcessSubject(SubagentSubject):
    """A world of the reference in profile ``subagents`` whose programs are processes."""

    def __init__(self, spec: WorldSpec) -> None:
        super().__init__(spec)
        self._processes: list[ProcessProgram] = []
        self._folder = Path()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what the world consists of."""
        with TemporaryDirectory(prefix="probate-") as folder:
            self._folder = Path(folder)
            try:
                async with super().running():
                    yield
            finally:
                for program in self._processes:
                    program.close()

    def _started(self, role: Role, command: Command) -> tuple[Program, Iterable[str]]:
        folder = self._folder / str(len(self._processes))
        program = ProcessProgram(role, command, folder)
        self._processes.append(program)
        return program, program.environment


class _Input(ByteSendStream):
    """The input of a process, which has heard what was written when that is over."""

    def __init__(self, stream: ByteSendStream, program: ProcessProgram) -> None:
        self._stream = stream
        self._program = program
        self._sending = False
        self._ended = False

    async def send(self, item: bytes) -> None:
        """Write."""
        self._sending = True
        try:
            await self._stream.send(item)
        except ClosedResourceError:
            self._end()
            raise
        finally:
            self._sending = False
        if not self._program.gone:
            self._program.pass_on(item.count(b"\n"))

    async def aclose(self) -> None:
        """Write no more. It is closed when nobody is writing; then who was writing is the first to know."""
        await self._stream.aclose()
        if not self._sending:
            self._end()

    def _end(self) -> None:
        """Let the process hear of the end, whoever sees first that it has come."""
        if not self._ended and not self._program.gone:
            self._ended = True
            self._program.pass_on(1)
