"""Run configured agents for one person, and leave in order, as ``probate run`` does.

**The end** is the same for every cause: the input ends, an interrupt asks for it, TERM or HUP comes, or nobody reads
what is shown. The fiber of the agents is disposed, so every turn is stopped and its closing records are in the log and
on the disk; what the tools have started is ended; then the runtime is left. It is shown while it happens. All of it is
bounded by :mod:`probate_reference.last_resort`.
"""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from anyio import create_task_group, open_signal_receiver

from probate_reference.acp.config import ConfigError, PermissionPolicy
from probate_reference.acp.serving import make_model, overlay
from probate_reference.acp.tooling import give_tools
from probate_reference.configured import ConfiguredAgents, StartFailed
from probate_reference.jsonrpc import DescriptorReceiveStream, DescriptorSendStream
from probate_reference.last_resort import limit_end
from probate_reference.live import Live
from probate_reference.permissions import Permissions
from probate_reference.persistence import StorageError
from probate_reference.reports import words
from probate_reference.runtime import Runtime
from probate_reference.standard_output import require_written
from probate_reference.tasks import Executor

from .keyboard import Keyboard
from .output import Output
from .screen import Screen
from .talk import Talk

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, ByteSendStream

    from probate_reference.acp.config import Config
    from probate_reference.agent import Agent

__all__ = ("Surroundings", "converse", "run_terminal")

NONE_STARTED = 1
"""The exit code if none of the agents could be started."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a conversation is held in.

    :ivar environment: where the key of the model is
    :ivar say: takes what is wrong, beside the conversation; ``None`` if that is to be shown in it
    :ivar limit: called when the end begins
    :ivar interactive: whether a person types on the terminal on which we write
    :ivar color: whether to write in colour
    :ivar encoding: how to write
    :ivar mark: by what the commands of the tools can be told
    """

    environment: Mapping[str, str]
    say: Callable[[str], object] | None = None
    limit: Callable[[], object] = lambda: None
    interactive: bool = False
    color: bool = False
    encoding: str = "utf-8"
    mark: str = ""


async def converse(
    config: Config,
    receive: ByteReceiveStream,
    send: ByteSendStream,
    signals: AsyncIterator[signal.Signals],
    around: Surroundings,
) -> int:
    """Hold one conversation, and leave nothing.

    :param receive: what is typed
    :param send: where to show it
    :param signals: each one that comes
    :return: the exit code: 0 when the input has ended, 128 and the number of the signal that ended it, or
        :data:`NONE_STARTED`
    :raises ConfigError: if the model cannot be made
    :raises StorageError: if the home cannot be used, or records could not be written at the end
    """
    output = Output(send, around.encoding)
    screen = Screen(output.write, color=around.color, prompts=around.interactive)
    complain = around.say or (lambda text: screen.note(text, alarm=True))
    talk = Talk(Keyboard(receive), screen, complain, asks=around.interactive)
    codes: list[int] = []
    failures: list[Exception] = []

    def leave(code: int) -> None:
        codes.append(code)
        talk.leaving.set()

    async def take() -> None:
        async for number in signals:
            if number is not signal.SIGINT:
                leave(128 + number)
                continue
            talk.interrupt()
            if talk.leaving.is_set():
                leave(128 + number)

    async def write() -> None:
        await output.run()
        if output.broken.is_set():
            leave(128 + signal.SIGPIPE)

    async with create_task_group() as tasks:
        tasks.start_soon(take)
        async with create_task_group() as writing:
            writing.start_soon(write)
            try:
                await _hold(config, talk, screen, complain, around, leave)
            except (ConfigError, StorageError) as failure:
                failures.append(failure)
            screen.close()
            output.close()
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return codes[0] if codes else 0


async def _hold(
    config: Config,
    talk: Talk,
    screen: Screen,
    complain: Callable[[str], object],
    around: Surroundings,
    leave: Callable[[int], object],
) -> None:
    live, permissions = Live(), Permissions()
    model = make_model(config, live, around.environment)

    def report(place: str, failure: BaseException) -> None:
        if not place.startswith("config-start-failed"):
            complain(f"{place}: {words(failure)}")

    def failed(what: StartFailed) -> None:
        complain(f"{what.entry.label} could not be started as {what.id}: {words(what.error)}")

    runtime = Runtime(model, home=config.home, report=report)
    runtime.events.on(talk.hear)
    live.on(talk.piece)
    agents = ConfiguredAgents(config.agents, failed=failed)
    async with runtime, AsyncExitStack() as stack:
        if config.tools:
            executor = Executor(overlay=overlay(config), mark=around.mark, grace=config.grace, report=report)
            give_tools(runtime, await stack.enter_async_context(executor), permissions, config.permission)
        if config.permission is PermissionPolicy.ASK:
            permissions.add(talk.permission)
        fiber = runtime.fibers.root.plug(agents.apply, name="configured agents")
        async with create_task_group() as tasks:

            async def stop() -> None:
                await talk.leaving.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(stop)
            await fiber.rest()
            await agents.settled()
            started = {entry.label: agents.agent(entry.label) for entry in config.agents}
            there = {label: agent for label, agent in started.items() if agent is not None}
            if there:
                talk.join(there)
                for label, agent in there.items():
                    screen.note(f"{label} is ready: {_told(agent)}")
                await talk.run()
            else:
                leave(NONE_STARTED)
            tasks.cancel_scope.cancel()
        around.limit()
        await fiber.dispose()


def _told(agent: Agent) -> str:
    turns = agent.session.statistics().turns
    return f"{agent.id}, {f'resumed after turn {turns}' if turns else 'new'}"


def run_terminal(config: Config, loop: str) -> int:
    """Hold a conversation over standard input and output.

    :param loop: ``asyncio`` or ``trio``
    :return: the exit code, see :func:`converse`
    :raises ConfigError: if there are no agents to run, the model cannot be made, or a stream is closed
    :raises StorageError: if the home cannot be used, or records could not be written at the end
    :raises OutputError: if standard output cannot be written to
    """
    if not config.agents:
        raise ConfigError("the configuration names no agents; add [[agents]] with a label")
    try:
        for descriptor in (0, 1):  # both, before a copy takes the number of one that is closed
            os.fstat(descriptor)
    except OSError:
        raise ConfigError("standard input or output is closed; a conversation needs both") from None
    shown, typed = os.isatty(1), os.isatty(0)
    mark = uuid.uuid4().hex
    around = Surroundings(
        environment=os.environ,
        say=None if shown and os.isatty(2) else _say,
        limit=lambda: limit_end(mark, _say),
        interactive=shown and typed,
        color=shown and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        encoding=sys.stdout.encoding,
        mark=mark,
    )
    incoming, outgoing = os.dup(0), os.dup(1)

    async def main() -> int:
        # From before the first agent to after the last record: a signal never finds us without a handler.
        with open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            receive, send = DescriptorReceiveStream(incoming), DescriptorSendStream(outgoing)
            code = await converse(config, receive, send, signals, around)
            require_written(send)
            return code

    return anyio.run(main, backend=loop)


def _say(text: str) -> None:
    sys.stderr.write(f"probate run: {text}\n")
    sys.stderr.flush()
