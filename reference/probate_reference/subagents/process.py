"""Have work done by any program that speaks ACP, as its client.

Each run is a process of its own with one session. It is started when the run is, so that everything there is to
end is there from the begin. What follows is one line: initialize, a session, the prompt, and the child's own reason
for stopping, which is believed also after we have asked it to stop. Whatever breaks that line, a program that does
not exist, a torn pipe, an answer that is none, a child that says more than can be kept, settles the result as an
error, or as aborted if we had asked it to stop; what the child has said by then is kept.

A cancel that comes before there is a session is only remembered: the session is still made, and then no prompt is
sent. Afterwards it is told to the child, which may ignore it. Then the result waits until somebody disposes the run.

We offer the child nothing: no files, no terminals. It may ask for permission, and is answered by a policy and
never by a person: by default that the question was cancelled, else with the first option that allows. It knows
nothing of the parent but the folder.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

import anyio
from anyio import CancelScope, Event, create_task_group

from probate_reference.calls import returned
from probate_reference.jsonrpc import ConnectionClosed, ErrorCode, Incoming, Peer, RpcError
from probate_reference.reports import log_report

from .runs import Capability, Run, RunRequest, RunResult, RunStop
from .transport import Child, Command, Spawner, end, spawn_process, watch_and_end

if TYPE_CHECKING:
    from probate_reference.jsonrpc import Outgoing
    from probate_reference.reports import Report

    from .runs import Start

__all__ = ("AcpProvider", "AcpRun")

PROTOCOL_VERSION: Final = 1
GRACE_SECONDS: Final = 5.0
MAX_OUTPUT: Final = 16 * 1024 * 1024
"""How many characters of what a child says are kept."""

STOPS: Final[Mapping[object, RunStop]] = {
    "end_turn": RunStop.COMPLETED,
    "max_tokens": RunStop.MAX_TOKENS,
    "refusal": RunStop.REFUSAL,
    "cancelled": RunStop.ABORTED,
}
"""What the reasons of the protocol mean; any other is an error."""


class AcpProvider:
    """Starts a program for each run.

    :param command: the program and its arguments
    :param environment: what the program finds in its environment besides what it inherits; this is how it gets a key
    :param folder: where it works; the folder of the parent's session if ``None``, or that of this process
    :param allow: whether the child is given the permissions that it asks for
    :param grace: seconds between the steps by which a child is ended
    :param spawn: starts the program
    :param sleep: the clock that measures the grace
    :param mint: makes the id of a run
    :param report: called with what was contained
    """

    def __init__(
        self,
        *command: str,
        environment: Mapping[str, str | None] | None = None,
        folder: str | None = None,
        allow: bool = False,
        grace: float = GRACE_SECONDS,
        spawn: Spawner = spawn_process,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
        mint: Callable[[], str] = lambda: str(uuid.uuid4()),
        report: Report = log_report,
    ) -> None:
        self.command = command
        self.environment = dict(environment or {})
        self.folder = folder
        self.allow = allow
        self.grace = grace
        self.spawn = spawn
        self.sleep = sleep
        self.mint = mint
        self.report = report

    @property
    def capabilities(self) -> frozenset[Capability]:
        """None: what a program in another process does cannot be held to anything."""
        return frozenset()

    def start(self, request: RunRequest, tasks: Start) -> Run:
        """Start the program, and ask it to initialize."""
        return AcpRun(self, request, tasks)

    def folder_for(self, request: RunRequest) -> str:
        """Say where the child of a request works."""
        if self.folder is not None:
            return os.path.abspath(self.folder)
        inherited = None if request.parent is None else request.parent.session.metadata.get("cwd")
        return inherited if inherited is not None and os.path.isabs(inherited) else os.getcwd()


class AcpRun(Run):
    """A run in another process; made by :class:`AcpProvider`."""

    def __init__(self, provider: AcpProvider, request: RunRequest, tasks: Start) -> None:
        super().__init__(provider.mint())
        self._provider = provider
        self._request = request
        self._folder = provider.folder_for(request)
        self._said: list[str] = []
        self._size = 0
        self._prompted = False
        self._reported = False
        self._session: str | None = None
        self._failure: str | None = None
        self._child: Child | None = None
        self._peer: Peer | None = None
        self._initialize: Outgoing | None = None
        self._dispose = Event()
        self._aborted_before = self._cancelled = request.signal is not None and request.signal.aborted
        self._spawn()
        if request.signal is not None and not self._aborted_before:
            self._heed(request.signal)
        tasks(self._live)

    def cancel(self) -> None:
        """Ask the child to stop, or remember it until there is a session."""
        if self._cancelled:
            return
        self._cancelled = True
        if self._prompted and not self.result.done:
            assert self._peer is not None
            self._peer.notify("session/cancel", {"sessionId": self._session})

    def _begin_end(self) -> None:
        self._dispose.set()

    # Begin

    def _spawn(self) -> None:
        provider = self._provider
        command = Command(provider.command, self._folder, provider.environment, self.id)
        try:
            child = provider.spawn(command)
        except (OSError, ValueError) as failure:
            self._failure = f"cannot start {' '.join(provider.command)!r}: {failure}"
            return
        self._child = child
        self._peer = Peer(
            child.receive,
            child.send,
            on_request=self._answer,
            on_notification=self._hear,
            report=self._contain,
            hears_out=True,
            sleep=provider.sleep,
        )
        if not self._aborted_before:
            self._initialize = self._peer.request(
                "initialize",
                {
                    "protocolVersion": PROTOCOL_VERSION,
                    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
                    "clientInfo": {"name": "probate-reference", "version": "1"},
                },
            )

    def _contain(self, place: str, failure: BaseException) -> None:
        """Report what was contained, the first time: a child that says nothing but garbage must not fill a log."""
        if not self._reported:
            self._reported = True
            self._provider.report(f"subagent {self.id}, {place}", failure)

    # Life

    async def _live(self) -> None:
        child, peer = self._child, self._peer
        if child is None or peer is None:
            self._settle(self._broken(self._failure or "the child was not started"))
            self._end()
            return
        provider = self._provider
        went = ""
        try:
            async with create_task_group() as tasks:
                tasks.start_soon(child.watch)
                tasks.start_soon(peer.run)
                tasks.start_soon(self._work, peer)
                await self._dispose.wait()
                # We listen until it has gone: what it says last may be the answer.
                went = await end(child, provider.grace, provider.sleep)
                await self.result
                tasks.cancel_scope.cancel()
        finally:
            with CancelScope(shield=True):
                if not went:
                    went = await watch_and_end(child, provider.grace, provider.sleep)
                self._settle(self._broken(f"the run was broken off; {went}"))
                self._end()

    async def _work(self, peer: Peer) -> None:
        self._settle(await self._talk(peer))

    async def _talk(self, peer: Peer) -> RunResult:
        """Do the one line of work, and say what became of it. Never raises a failure of the child."""
        if self._initialize is None:
            return RunResult(RunStop.ABORTED)
        try:
            version = _field(await self._initialize, "protocolVersion")
            if version != PROTOCOL_VERSION:
                return self._broken(f"the child speaks version {version!r:.40} of the protocol")
            session = _field(await peer.request("session/new", {"cwd": self._folder, "mcpServers": []}), "sessionId")
            if not isinstance(session, str):
                return self._broken("the child gave no id for its session")
            self._session = session
            if self._cancelled:
                return self._outcome(RunStop.ABORTED)
            self._prompted = True
            text = {"type": "text", "text": self._request.prompt}
            reason = _field(
                await peer.request("session/prompt", {"sessionId": session, "prompt": [text]}), "stopReason"
            )
        except RpcError as error:
            return self._broken(f"the child answered with an error: {error.message:.500}")
        except ConnectionClosed:
            return self._broken(self._failure or "the child went away before it had answered")
        stop = STOPS.get(reason, RunStop.ERROR) if isinstance(reason, str) else RunStop.ERROR
        self._failure = f"the child stopped: {reason!r:.100}" if stop is RunStop.ERROR else None
        return self._outcome(stop)

    def _broken(self, why: str) -> RunResult:
        self._failure = None if self._cancelled else why
        return self._outcome(RunStop.ABORTED if self._cancelled else RunStop.ERROR)

    def _outcome(self, stop: RunStop) -> RunResult:
        text = "".join(self._said)
        return RunResult(stop, (text,) if text else (), self._failure)

    # What the child says and asks

    def _hear(self, method: str, params: Mapping[str, object]) -> None:
        update = params.get("update")
        if method != "session/update" or not isinstance(update, dict) or self.result.done:
            return
        if not self._prompted or params.get("sessionId") != self._session:
            return  # no part of the answer
        content = update.get("content")
        if update.get("sessionUpdate") != "agent_message_chunk" or not isinstance(content, dict):
            return
        text = content.get("text")
        if content.get("type") != "text" or not isinstance(text, str):
            return
        self._size += len(text)
        if self._size > MAX_OUTPUT:
            assert self._peer is not None
            self._failure = f"the child said more than {MAX_OUTPUT} characters"
            self._peer.close()
            return
        self._said.append(text)

    def _answer(self, incoming: Incoming) -> Awaitable[object]:
        if incoming.method != "session/request_permission":
            raise RpcError(ErrorCode.METHOD_NOT_FOUND, f"method not found: {incoming.method:.100}")
        option = _allowing(incoming.params.get("options")) if self._provider.allow and not self._cancelled else None
        if option is None:
            return returned({"outcome": {"outcome": "cancelled"}})
        return returned({"outcome": {"outcome": "selected", "optionId": option}})


def _field(answer: object, name: str) -> object:
    return answer.get(name) if isinstance(answer, dict) else None


def _allowing(options: object) -> str | None:
    """Return the id of the first option that allows, and never of one that rejects."""
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and option.get("kind") in ("allow_once", "allow_always"):
            name = option.get("optionId")
            if isinstance(name, str):
                return name
    return None


def _say_nothing(_place: str, _failure: BaseException) -> None:
    """Report nothing more."""
