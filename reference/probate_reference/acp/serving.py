"""Serve a runtime over standard input and output, as ``probate acp`` does, and be gone when the client is.

**The streams.** The two descriptors are taken away from the rest of the program: whatever prints to standard
output prints to standard error from then on. Nothing but protocol reaches the client.

**The end** is the same for every cause: the input ends, the pipe breaks, TERM or INT comes. The connection is
closed, every turn is stopped, prompts that are open are answered while somebody may still read that, the logs
get their closing records on the disk, the commands that tools have started are told to end and then made to.
All of it is awaited, and all of it is bounded but for a disk that does not answer. So there is a last resort, which
:mod:`probate_reference.last_resort` describes.
"""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import anyio
from anyio import create_task_group, open_signal_receiver

from probate_reference.events import AgentError
from probate_reference.jsonrpc import DescriptorReceiveStream, DescriptorSendStream
from probate_reference.last_resort import limit_end
from probate_reference.live import Live
from probate_reference.models import EchoModel, ScriptedModel
from probate_reference.permissions import Permissions
from probate_reference.persistence import StorageError
from probate_reference.runtime import Runtime
from probate_reference.standard_output import OutputError, require_written
from probate_reference.tasks import Executor
from probate_reference.tasks.executor import DISPLAY

from .bridge import Bridge
from .config import Config, ConfigError, Echo, OpenAICompatible, PermissionPolicy, Scripted
from .library import FOLDER
from .tooling import give_tools

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, ByteSendStream

    from probate_reference.events import Event
    from probate_reference.seams import Model, ModelRequest

    from .connection import Connection

__all__ = ("make_model", "overlay", "serve", "serve_standard_streams")


def make_model(config: Config, live: Live, environment: Mapping[str, str]) -> Model:
    """Make the model that a configuration names.

    :param environment: where the key is
    :raises ConfigError: if the key is not there, or what it takes is not installed
    """
    match config.model:
        case Echo():
            return EchoModel(live)
        case Scripted(replies):
            return ScriptedModel(replies, live)
        case OpenAICompatible() as wanted:
            try:
                from probate_reference.models.openai import OpenAIModel  # noqa: PLC0415
            except ModuleNotFoundError:
                raise ConfigError(
                    "an openai-compatible model needs httpx, which is not installed; "
                    "install it with: pip install 'httpx<1'"
                ) from None
            key = None if wanted.key_variable is None else environment.get(wanted.key_variable)
            if wanted.key_variable is not None and not key:
                raise ConfigError(f"model.key-variable: {wanted.key_variable} is not set; set that variable to the key")
            system = wanted.system

            def tell(request: ModelRequest) -> str:
                folder = request.session.metadata.get(FOLDER)
                where = f"You work in the folder {folder}." if folder is not None else ""
                return "\n".join(part for part in (system, where) if part)

            return OpenAIModel(wanted.base_url, wanted.name, key, system=tell, live=live)


async def serve(
    config: Config,
    receive: ByteReceiveStream,
    send: ByteSendStream,
    *,
    environment: Mapping[str, str],
    say: Callable[[str], object],
    beside: Callable[[Connection], Coroutine[Any, Any, object]] | None = None,
    mark: str = "",
) -> None:
    """Serve one client until it has gone, and leave nothing.

    :param environment: where the key of the model is
    :param say: takes what there is to say to whoever runs the server
    :param beside: runs beside the connection, and is cancelled when that has ended; it may close it
    :param mark: by what the commands of this server can be told
    :raises ConfigError: if the model cannot be made
    :raises StorageError: if the home cannot be used, or records could not be written at the end
    """
    live = Live()
    permissions = Permissions()
    model = make_model(config, live, environment)

    def report(place: str, failure: BaseException) -> None:
        say(f"{place}: {str(failure) or type(failure).__name__}")

    def hear(event: Event) -> None:
        if isinstance(event, AgentError):
            report(f"session {event.agent.id}", event.error)

    runtime = Runtime(model, home=config.home, report=report)
    runtime.events.on(hear, AgentError.kind)
    async with runtime, AsyncExitStack() as stack:
        if config.tools:
            executor = await stack.enter_async_context(
                Executor(overlay=overlay(config), mark=mark, grace=config.grace, report=report)
            )
            give_tools(runtime, executor, permissions, config.permission)
        asks = config.permission is PermissionPolicy.ASK
        bridge = Bridge(runtime, live=live, permissions=permissions if asks else None, report=report)
        connection = bridge.connect(receive, send)
        async with create_task_group() as tasks:
            if beside is not None:
                tasks.start_soon(beside, connection)
            await connection.run()
            await bridge.close()
            tasks.cancel_scope.cancel()


def overlay(config: Config) -> dict[str, str | None]:
    """Say what commands find in their environment besides what they inherit: never the key, whatever its name is."""
    laid = dict(DISPLAY)
    if isinstance(config.model, OpenAICompatible) and config.model.key_variable is not None:
        laid[config.model.key_variable] = None
    return laid


def serve_standard_streams(config: Config, loop: str) -> int:
    """Serve over standard input and output until the client has gone or a signal comes.

    :param loop: ``asyncio`` or ``trio``
    :return: the exit code: 0 when the client has gone, 128 and the number of the signal when one came
    :raises ConfigError: if the model cannot be made, or there is no standard input or output
    :raises StorageError: if the home cannot be used, or records could not be written at the end
    :raises OutputError: if standard output cannot be written to
    """
    if sys.stdin is not None and sys.stdin.isatty():
        _say("speaking the Agent Client Protocol on standard input and output; an editor is to start this")
    mark = uuid.uuid4().hex
    taken: list[signal.Signals] = []
    failures: list[Exception] = []

    async def take(signals: AsyncIterator[signal.Signals], stop: anyio.Event) -> None:
        async for number in signals:
            taken.append(number)
            stop.set()

    # Before there is a loop, which would take the number of a descriptor that is closed for one of its own.
    incoming, outgoing = _claim_standard_streams()

    async def main() -> None:
        stop = anyio.Event()

        async def beside(connection: Connection) -> None:
            async with create_task_group() as tasks:
                tasks.start_soon(_limit_end, connection, mark)
                await stop.wait()
                connection.close()

        # From before the first client to after the last record: a signal never finds us without a handler.
        with open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with create_task_group() as tasks:
                tasks.start_soon(take, signals, stop)
                send = DescriptorSendStream(outgoing)
                try:
                    await serve(
                        config,
                        DescriptorReceiveStream(incoming),
                        send,
                        environment=os.environ,
                        say=_say,
                        beside=beside,
                        mark=mark,
                    )
                    require_written(send)
                except (ConfigError, StorageError, OutputError) as failure:
                    failures.append(failure)
                tasks.cancel_scope.cancel()

    anyio.run(main, backend=loop)
    if failures:
        raise failures[0]
    return 128 + taken[0] if taken else 0


async def _limit_end(connection: Connection, mark: str) -> None:
    """Start the last resort at the moment when the end begins."""
    await connection.closed
    limit_end(mark, _say)


def _claim_standard_streams() -> tuple[int, int]:
    """Take standard input and output for the protocol, and give the rest of the program others."""
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        for descriptor in (0, 1):  # both, before a copy takes the number of one that is closed
            os.fstat(descriptor)
    except OSError:
        raise ConfigError("standard input or output is closed; the protocol needs both") from None
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return incoming, outgoing


def _say(text: str) -> None:
    sys.stderr.write(f"probate acp: {text}\n")
    sys.stderr.flush()
