"""A client that knows only the protocol, and has everything that it hears judged by an independent model of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import acp.schema as schema
import anyio

from probate_reference.acp import Bridge, Connection
from tests.reference.jsonrpc.wires import Far, little_time, wire
from tests.reference.kit import World

RESULTS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/prompt": schema.PromptResponse,
}
ASKED: dict[str, Any] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
}


def brief(update: dict[str, Any]) -> str:
    """Write an update as a line."""
    kind = update["sessionUpdate"]
    match kind:
        case "tool_call":
            return f"{kind} {update['title']} {update['status']}"
        case "tool_call_update":
            return f"{kind} {update['status']}"
        case _:
            return f"{kind} {update['content']['text']}"


class Client:
    """Asks, and keeps what it hears in order: lines such as ``1 cancelled`` and ``update SESSION ...``."""

    def __init__(self, far: Far) -> None:
        self.far = far
        self.lines: list[str] = []
        self.answers: dict[object, Any] = {}
        self.ended = False
        self.questions: list[dict[str, Any]] = []
        self.permission: Callable[[dict[str, Any]], Any] | None = None
        self._methods: dict[object, str] = {}
        self._open: dict[object, object] = {}
        self._last = 0
        self._changed = anyio.Event()

    async def begin(self, method: str, **params: object) -> int:
        """Send a request and return its id."""
        self._last += 1
        self._methods[self._last] = method
        if method in ("session/prompt", "session/load"):
            self._open[self._last] = params.get("sessionId")
        await self.far.say({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    async def ask(self, method: str, **params: object) -> Any:
        """Send a request and wait for its answer."""
        return await self.answer(await self.begin(method, **params))

    async def tell(self, method: str, **params: object) -> None:
        """Send a notification."""
        await self.far.say({"jsonrpc": "2.0", "method": method, "params": params})

    async def answer(self, id: int) -> Any:
        """Wait for the answer to a request: its result, or its error."""
        await self.until(lambda: id in self.answers)
        return self.answers[id]

    async def new(self, cwd: str = "/work") -> str:
        """Make a session."""
        return str((await self.ask("session/new", cwd=cwd, mcpServers=[]))["sessionId"])

    async def prompt(self, session: str, text: str) -> int:
        """Send a prompt and return its id."""
        return await self.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    async def until(self, wanted: Callable[[], bool]) -> None:
        """Wait until something is so; there is an end to that when there is nothing more to hear."""
        while not wanted():
            if self.ended:
                raise anyio.EndOfStream
            self._changed = anyio.Event()
            await self._changed.wait()

    async def until_line(self, wanted: str) -> None:
        """Wait until a line was heard."""
        await self.until(lambda: wanted in self.lines)

    async def listen(self) -> None:
        """Take in all that comes, until the end."""
        while True:
            try:
                message = await self.far.hear()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                break
            await self._take(message)
            self._changed.set()
        self.ended = True
        self._changed.set()

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            name = message["id"]
            assert name is None or name not in self.answers, message
            self._open.pop(name, None)
            if "error" in message:
                schema.Error.model_validate(message["error"])
                self.answers[name] = message["error"]
                self.lines.append(f"{name} error {message['error']['code']}")
                return
            method = self._methods[name]
            if method in RESULTS:
                RESULTS[method].model_validate(message["result"])
            assert isinstance(message["result"], dict)
            self.answers[name] = message["result"]
            self.lines.append(f"{name} {message['result'].get('stopReason', 'ok')}")
            return
        if message["method"] == "$/cancel_request":
            self.lines.append(f"call off {message['params']['requestId']}")
            return
        ASKED[message["method"]].model_validate(message["params"])
        if message["method"] == "session/update":
            # Nothing is told of a session but what belongs to a request that is open.
            assert message["params"]["sessionId"] in self._open.values(), message
            self.lines.append(f"update {brief(message['params']['update'])}")
            return
        self.lines.append(f"question {message['params']['toolCall']['title']}")
        self.questions.append(message)
        if self.permission is not None:
            await self.far.say({"jsonrpc": "2.0", "id": message["id"], **self.permission(message["params"])})


class Bridged:
    """A recording world with a bridge."""

    def __init__(self, world: World) -> None:
        self.world = world
        numbers = iter(range(1, 100))
        self.bridge = Bridge(
            world.runtime,
            mint=lambda: f"s{next(numbers)}",
            report=lambda place, failure: world.note(f"report {place}"),
            sleep=little_time,
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[tuple[Client, Connection]]:
        """Connect a client; when the block ends it goes away, and its connection has to end."""
        to_agent, agent_receives = wire()
        agent_sends, from_agent = wire()
        far = Far(to_agent, from_agent)
        connection = self.bridge.connect(agent_receives, agent_sends)
        client = Client(far)
        async with far, anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            tasks.start_soon(client.listen)
            yield client, connection
            await far.send.aclose()
