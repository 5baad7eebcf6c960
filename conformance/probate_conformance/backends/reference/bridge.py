"""One world on the reference in profile ``bridge``: the real bridge, and clients that know only the protocol.

A client writes lines of JSON-RPC into a stream in memory and reads what comes back. What it writes is there for the
bridge to read when its reader runs next, and not before. Ids of sessions are minted in the order in which a connection
asks, so the label of a request is the id of its session; which connection asks, its task knows.

A client answers a question for permission as the trace says. Logs are kept in a home on disk, as in profile
``sessions``, and what is loaded comes from there. Which request a load is made for, its task knows.

Nothing here waits for time to pass: the clock that bounds the last words to a client stands still.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Final, TypeAlias

import anyio
from anyio import EndOfStream
from anyio.abc import TaskGroup

import probate_reference as reference
from probate_conformance.backends.gates import Visit
from probate_conformance.backends.reference.pipe import Pipe
from probate_conformance.backends.reference.sessions import SessionsSubject
from probate_conformance.backends.reference.subject import ignore
from probate_model.alphabet.bridge import (
    BRIDGE_OWNER,
    BridgeOp,
    CallOff,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    Folder,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
)
from probate_model.alphabet.events import Raised, Returned, Settlement
from probate_model.alphabet.gates import ALLOW, CANCELLED, ERROR, REJECT, UNKNOWN, GateKind, GateOutcome
from probate_model.alphabet.items import WorldSpec
from probate_model.alphabet.names import BAD_TEXT, Code, Label
from probate_model.alphabet.ops import Op
from probate_model.alphabet.refusals import Refusal, code
from probate_reference.acp import Bridge, Connection
from probate_reference.jsonrpc import ErrorCode, Incoming
from probate_reference.permissions import GuardedTool, Permissions

_FOLDERS: Final[Mapping[Folder, str]] = {Folder.SAME: "/", Folder.OTHER: "/other", Folder.RELATIVE: "here"}
"""Where sessions work, and where they do not; nothing is ever read there."""

_ANSWERS: Final[Mapping[GateOutcome, Mapping[str, object]]] = {
    ALLOW: {"outcome": {"outcome": "selected", "optionId": "allow-once"}},
    REJECT: {"outcome": {"outcome": "selected", "optionId": "reject-once"}},
    CANCELLED: {"outcome": {"outcome": "cancelled"}},
    UNKNOWN: {"outcome": {"outcome": "selected", "optionId": "allow-for-ever"}},
}
"""How a client answers a question for permission."""

_SAYS: Final[Mapping[str, Refusal]] = {
    "a prompt is already in flight": Refusal.IN_FLIGHT,
    "unknown session": Refusal.UNKNOWN_SESSION,
    "turn failed": Refusal.TURN_FAILED,
    "empty prompt": Refusal.INVALID_CONTENT,
    "internal error": Refusal.INTERNAL_ERROR,
    "cancelled": Refusal.REQUEST_CANCELLED,
}
"""What the bridge says, and what that is in the alphabet. A code of the runtime comes with the error."""

_Said: TypeAlias = (
    NewSession | LoadSession | ResumeSession | Disconnect | Prompt | CancelSession | CloseSession | CallOff
)

_asking: ContextVar[Label] = ContextVar("probate_conformance_asking")
"""The connection whose task this is."""

_loading: ContextVar[Label] = ContextVar("probate_conformance_loading")
"""The request for a stored session whose task this is."""


class _Client:
    """One client, by the label of its connection."""

    def __init__(self, label: Label) -> None:
        self.label = label
        self.writes = Pipe()
        self.reads = Pipe()
        self.waiting: dict[int, Op] = {}
        """The requests that are not answered."""
        self.asked: deque[Label] = deque()
        """The sessions that were asked for and whose id is not minted."""
        self.gone = False
        """Whether it has ended its output, or has seen the end of the bridge's."""
        self.held: dict[str, Label] = {}
        """The sessions by their ids, each by the label of what asked for it last."""
        self.questions: dict[object, Visit] = {}
        """The questions for permission that are not answered."""
        self.numbers: dict[Label, int] = {}
        """The ids of requests."""
        self._last = 0

    def request(self, op: Op, method: str, params: Mapping[str, object]) -> None:
        self._last += 1
        self.waiting[self._last] = op
        self.numbers[op.label] = self._last
        self.writes.write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        self.writes.write({"jsonrpc": "2.0", "method": method, "params": params})


class _Watched(reference.Owner):
    """The owner of the bridge's agents, which tells of each creation."""

    def __init__(self, owner: reference.Owner, made: Callable[[Label, reference.Creation], None]) -> None:
        self._owner = owner
        self._made = made

    def create(
        self,
        id: str,
        *,
        setup: reference.Setup | None = None,
        signal: reference.CreationSignal | None = None,
        cleanups: tuple[reference.Cleanup, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> reference.Creation:
        """Begin to create an agent, and tell of it."""
        creation = self._owner.create(id, setup=setup, signal=signal, cleanups=cleanups, metadata=metadata)
        self._made(Label(id), creation)
        return creation

    def resume(
        self,
        id: str,
        *,
        setup: reference.Setup | None = None,
        signal: reference.CreationSignal | None = None,
        cleanups: tuple[reference.Cleanup, ...] = (),
    ) -> reference.Creation:
        """Begin to resume an agent, and tell of it."""
        creation = self._owner.resume(id, setup=setup, signal=signal, cleanups=cleanups)
        self._made(_loading.get(), creation)
        return creation

    @property
    def active(self) -> bool:
        """Whether the owner may own something new."""
        return self._owner.active

    def load(self) -> None:
        """Load the owner."""
        self._owner.load()

    def unload(self) -> reference.Call[None]:
        """Unload the owner."""
        return self._owner.unload()


class BridgeSubject(SessionsSubject):
    """A world of the reference, driven by items of profile ``bridge``."""

    def __init__(self, spec: WorldSpec) -> None:
        super().__init__(spec)
        self._bridge: Bridge | None = None
        self._clients: dict[Label, _Client] = {}
        self._connections: dict[Label, Connection] = {}
        self._made: dict[Label, _Client] = {}
        self._known: dict[Label, _Client] = {}
        self._ids: dict[Label, str] = {}
        self._sessions: dict[str, Label] = {}
        self._permissions = Permissions(ignore)

    def start(self, calls: TaskGroup) -> None:
        """Begin: the bridge hears after the recorder and before all reactions."""
        super().start(calls)
        self._bridge = Bridge(
            self.runtime,
            owner=_Watched(self.runtime.owner(BRIDGE_OWNER), self._created),
            permissions=self._permissions,
            setup=self._set_up,
            mint=self._mint,
            report=ignore,
            sleep=_stand_still,
        )

    def bind(self) -> None:
        """Let what has returned be named from here on."""
        super().bind()
        self._known.update(self._made)

    # The bridge's seams.

    def _mint(self) -> str:
        return self._clients[_asking.get()].asked.popleft()

    async def _set_up(self, scope: reference.AgentScope) -> None:
        await self._setup(self._sessions[scope.id])(scope)

    def _created(self, label: Label, creation: reference.Creation) -> None:
        self._creations[label] = creation
        if creation.agent is not None:
            self._labels[creation.agent] = label
            self._sessions[creation.agent.id] = label
        if self._calls is not None:
            self._calls.start_soon(self._keep, label, creation)

    async def _keep(self, label: Label, creation: reference.Creation) -> None:
        try:
            self._handles[label] = await creation
        except Exception:
            return

    # Ops.

    def _op(self, op: Op, this: reference.Agent | None) -> None:
        if isinstance(op, BridgeOp):
            self._on_bridge(op)
        else:
            super()._op(op, this)

    def _on_bridge(self, op: BridgeOp) -> None:
        match op:
            case Connect():
                self._connect(op)
            case CloseBridge():
                assert self._bridge is not None
                self._follow(op.label, self._bridge.close())
            case NewSession() | LoadSession() | ResumeSession() | CallOff() | Disconnect():
                client = self._clients.get(op.connection)
                if client is not None and not client.gone:
                    self._say(client, op)
            case Prompt() | CancelSession() | CloseSession():
                client = self._known.get(op.session)
                if client is not None and not client.gone:
                    self._say(client, op)

    def _say(self, client: _Client, op: _Said) -> None:
        match op:
            case NewSession():
                client.asked.append(op.label)
                client.request(op, "session/new", {"cwd": _FOLDERS[Folder.SAME], "mcpServers": []})
            case LoadSession() | ResumeSession():
                method = "session/load" if isinstance(op, LoadSession) else "session/resume"
                client.request(op, method, {"sessionId": op.id, "cwd": _FOLDERS[op.folder], "mcpServers": []})
            case CallOff():
                client.notify("$/cancel_request", {"requestId": client.numbers.get(op.call, 0)})
                self._settled(op.label)
            case Prompt():
                text = "" if op.text == BAD_TEXT else op.text
                prompt = [{"type": "text", "text": text}]
                client.request(op, "session/prompt", {"sessionId": self._ids[op.session], "prompt": prompt})
            case CloseSession():
                client.request(op, "session/close", {"sessionId": self._ids[op.session]})
            case CancelSession():
                client.notify("session/cancel", {"sessionId": self._ids[op.session]})
                self._settled(op.label)
            case Disconnect():
                client.gone = True
                client.writes.end()
                if self._calls is not None:
                    self._calls.start_soon(self._gone, op.label, self._connections[op.connection])

    def _connect(self, op: Connect) -> None:
        assert self._bridge is not None
        assert self._calls is not None
        client = self._clients[op.label] = _Client(op.label)
        connection = self._connections[op.label] = self._bridge.connect(client.writes, client.reads)
        for method in ("session/load", "session/resume"):
            connection._verbs[method] = partial(self._known_load, client, connection._verbs[method])
        self._calls.start_soon(self._serve, client, connection)
        self._calls.start_soon(self._listen, client)
        self._settled(op.label)

    async def _serve(self, client: _Client, connection: Connection) -> None:
        _asking.set(client.label)
        await connection.run()

    def _known_load(
        self, client: _Client, verb: Callable[[Incoming], Awaitable[object]], incoming: Incoming
    ) -> Awaitable[object]:
        """Let the task that works on a load know which one it is."""
        assert isinstance(incoming.id, int)
        label, work = client.waiting[incoming.id].label, verb(incoming)

        async def working() -> object:
            _loading.set(label)
            return await work

        return working()

    async def _gone(self, label: Label, connection: Connection) -> None:
        await connection.closed
        await connection.teardown()
        self._settled(label)

    async def _listen(self, client: _Client) -> None:
        """Read what the bridge says, to the end of it; what it has not answered by then it never will."""
        rest = b""
        while True:
            try:
                *lines, rest = (rest + await client.reads.receive()).split(b"\n")
            except EndOfStream:
                break
            for line in lines:
                message = json.loads(line)
                if "method" in message:
                    self._hear(client, message)
                    continue
                op = client.waiting.pop(message["id"], None) if "id" in message else None
                if op is not None:
                    self._settled(op.label, self._answer(client, op, message))
        client.gone = True
        for visit in client.questions.values():
            visit.leave()
        for op in client.waiting.values():
            self._settled(op.label, Raised(code(Refusal.CONNECTION_CLOSED)))
        client.waiting.clear()

    def _hear(self, client: _Client, message: Mapping[str, object]) -> None:
        """Take what the bridge asks, or calls off."""
        params = message["params"]
        assert isinstance(params, dict)
        if message["method"] == "session/request_permission":
            visit = self.gates.visit(GateKind.PERMISSION, client.held[params["sessionId"]])
            client.questions[message["id"]] = visit
            if self._calls is not None:
                self._calls.start_soon(self._permit, client, message["id"], visit)
        elif message["method"] == "$/cancel_request":
            number = params["requestId"]
            if number in client.questions:
                client.questions.pop(number).leave()

    async def _permit(self, client: _Client, number: object, visit: Visit) -> None:
        outcome = await visit.wait()
        if client.questions.pop(number, None) is None or client.writes.ended:
            return
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": number}
        if outcome == ERROR:
            answer["error"] = {"code": -32603, "message": "there is no window to ask in"}
        else:
            answer["result"] = _ANSWERS[outcome]
        client.writes.write(answer)

    async def _tool(self, arguments: Mapping[str, object], context: reference.ToolContext) -> str:
        """Call the tool: for an agent of a session, with permission."""
        tool = reference.FunctionTool("scripted", super()._tool)
        if context.agent is not None and context.agent.id in self._sessions:
            return await GuardedTool(tool, self._permissions).call(arguments, context)
        return await tool.call(arguments, context)

    def _answer(self, client: _Client, op: Op, message: Mapping[str, object]) -> Settlement:
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict):
            return Raised(_code_of(error))
        assert isinstance(result, dict)
        match op:
            case NewSession() | LoadSession() | ResumeSession():
                name = op.id if isinstance(op, LoadSession | ResumeSession) else str(result["sessionId"])
                self._made[op.label], self._ids[op.label], client.held[name] = client, name, op.label
                agent = self._creations[op.label].agent
                return Returned(None if agent is None else self._ref(agent))
            case Prompt():
                return Returned(Label(str(result["stopReason"])))
            case _:
                return Returned()


def _code_of(error: Mapping[str, object]) -> Code:
    data, says = error.get("data"), str(error.get("message"))
    if isinstance(data, dict) and "code" in data:
        return Code(str(data["code"]))
    if says.startswith("already loaded"):
        return code(Refusal.ID_EXISTS)
    if says in _SAYS:
        return code(_SAYS[says])
    if says.startswith(("disposed:", "connection closed during")):
        return code(Refusal.CONNECTION_CLOSED)
    if error.get("code") == ErrorCode.INVALID_PARAMS:
        return code(Refusal.INVALID_PARAMS)
    return code(Refusal.UNSPECIFIED)


async def _stand_still(_seconds: float) -> None:
    await anyio.sleep_forever()
