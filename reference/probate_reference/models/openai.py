"""Ask any endpoint that speaks like OpenAI's chat completions, and listen while it answers.

**The key** goes to the endpoint that was configured and nowhere else: redirects are not followed, and neither
proxies nor anything else is taken from the environment. It is in no text that this module makes, also where
an endpoint sends it back.

**The end.** A turn that is stopped cancels the request, which closes the stream: an endpoint that is stuck
holds nobody. One that falls silent for too long, breaks off, or says something else than what was agreed, is a
failure of the model, and the turn ends with that. What had been said by then was told as it came and is in no
log.

What an endpoint sends is foreign. Nothing of it is believed before it was looked at, and no line and no answer
may grow without a limit.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx
from anyio import CancelScope

from probate_reference.jsonrpc import Lines, TooLong
from probate_reference.live import Piece
from probate_reference.seams import Reply, StopReason, ToolCall

from .conversation import conversation
from .failures import ModelFailed

if TYPE_CHECKING:
    from probate_reference.live import Live
    from probate_reference.seams import ModelRequest, Tool
    from probate_reference.signals import Signal

__all__ = ("OpenAIModel",)

MAX_LINE: Final = 4 * 1024 * 1024
MAX_ANSWER: Final = 16 * 1024 * 1024
MAX_EXCERPT: Final = 500
CONNECT_SECONDS: Final = 30.0
SILENT_SECONDS: Final = 300.0
"""How long an endpoint may say nothing: models that think say something meanwhile, or they are stuck."""


class OpenAIModel:
    """A model behind an endpoint.

    :param base_url: where it is, up to and without ``/chat/completions``
    :param name: which model the endpoint is to use
    :param key: the secret that it wants, or ``None``
    :param system: makes what the model is told before everything else
    :param live: is told each piece as it comes
    :param silent_seconds: how long the endpoint may say nothing
    """

    def __init__(
        self,
        base_url: str,
        name: str,
        key: str | None = None,
        *,
        system: Callable[[ModelRequest], str] = lambda _request: "",
        live: Live | None = None,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        self._url = httpx.URL(base_url.rstrip("/") + "/chat/completions")
        self._name = name
        self._key = key
        self._system = system
        self._live = live
        self._timeout = httpx.Timeout(silent_seconds, connect=CONNECT_SECONDS)
        self._verify: ssl.SSLContext | bool = ssl.create_default_context() if self._url.scheme == "https" else False

    async def __call__(self, request: ModelRequest, signal: Signal) -> Reply:
        """Ask, and return what was answered; when the turn is stopped, close the stream and return nothing.

        :raises ModelFailed: if there is no answer that can be used
        """
        answered: list[Reply] = []
        with signal.scope():
            answered.append(await self._ask(request))
        return answered[0] if answered else Reply()

    async def _ask(self, request: ModelRequest) -> Reply:
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            async with (
                httpx.AsyncClient(
                    timeout=self._timeout, verify=self._verify, trust_env=False, follow_redirects=False
                ) as client,
                client.stream("POST", self._url, headers=headers, content=self._body(request)) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    raise ModelFailed(f"the endpoint answered {response.status_code}: {await _excerpt(response)}")
                return await self._listen(request, response)
        except ModelFailed as failure:
            raise ModelFailed(self._without_key(str(failure))) from None
        except httpx.HTTPError as failure:
            says = self._without_key(str(failure)) or type(failure).__name__
            raise ModelFailed(f"the endpoint at {self._url.host} failed: {says}") from None

    def _body(self, request: ModelRequest) -> bytes:
        body: dict[str, Any] = {
            "model": self._name,
            "stream": True,
            "messages": conversation(request.session.records, self._system(request)),
        }
        if request.tools:
            body["tools"] = [_face(tool) for tool in request.tools]
        # In ASCII: what an endpoint once said may hold half a character, and must be said to it again.
        return json.dumps(body).encode("ascii")

    async def _listen(self, request: ModelRequest, response: httpx.Response) -> Reply:
        answer = _Answer()
        lines = Lines(MAX_LINE)

        def take(data: bytes) -> bool:
            for event in _events(lines, data):
                if event == "[DONE]":
                    return False
                for text, thought in answer.take(event):
                    if self._live is not None:
                        self._live.say(Piece(request.agent, request.turn, request.step, text, thought))
            return True

        await _read(response, take)
        return answer.reply()

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _face(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


async def _read(response: httpx.Response, take: Callable[[bytes], bool]) -> None:
    """Give a body to a function until it wants no more.

    Only what is cancelled unwinds: the generators that httpx reads with would be left to the garbage collector if we
    left the loop, on trio with a warning.

    :raises ModelFailed: what the function raises
    """
    failure: ModelFailed | None = None
    with CancelScope() as enough:
        async for data in response.aiter_bytes():
            if enough.cancel_called:
                continue
            try:
                more = take(data)
            except ModelFailed as raised:
                failure, more = raised, False
            if not more:
                enough.cancel()
    if failure is not None:
        raise failure


async def _excerpt(response: httpx.Response) -> str:
    """Read the begin of what an endpoint says about its failure."""
    said = bytearray()

    def take(data: bytes) -> bool:
        said.extend(data)
        return len(said) < MAX_EXCERPT

    await _read(response, take)
    return " ".join(said[:MAX_EXCERPT].decode(errors="replace").split()) or "nothing more"


def _events(lines: Lines, data: bytes) -> Iterator[str]:
    """Yield the data of each server-sent event; those of chat endpoints have one line."""
    for line in lines.feed(data):
        if isinstance(line, TooLong):
            raise ModelFailed(f"the endpoint sent a line of more than {line.limit} bytes")
        text = line.decode(errors="replace").strip()
        if text.startswith("data:"):
            yield text.removeprefix("data:").strip()


@dataclass(slots=True)
class _Call:
    """A tool call that comes in pieces."""

    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Answer:
    """An answer that comes in pieces."""

    text: str = ""
    calls: dict[int, _Call] = field(default_factory=dict)
    finished: str | None = None
    size: int = 0

    def take(self, data: str) -> list[tuple[str, bool]]:
        """Take a piece, and return what is said in it and whether that is only thought.

        :raises ModelFailed: if it is no piece of an answer
        """
        self.size += len(data)
        if self.size > MAX_ANSWER:
            raise ModelFailed(f"the endpoint sent an answer of more than {MAX_ANSWER} bytes")
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise ModelFailed(f"the endpoint sent what is no JSON: {data[:200]!r}") from None
        if not isinstance(chunk, dict):
            raise ModelFailed(f"the endpoint sent what is no object: {data[:200]!r}")
        if chunk.get("error") is not None:
            raise ModelFailed(f"the endpoint failed while it answered: {json.dumps(chunk['error'])[:500]}")
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return []  # some tell what was used, in a piece of its own
        choice: dict[str, Any] = choices[0]
        if isinstance(reason := choice.get("finish_reason"), str):
            self.finished = reason
        delta = choice.get("delta")
        return self._said(delta) if isinstance(delta, dict) else []

    def _said(self, delta: Mapping[str, Any]) -> list[tuple[str, bool]]:
        said = []
        for name, thought in (("reasoning_content", True), ("content", False)):
            piece = delta.get(name)
            if isinstance(piece, str) and piece:
                said.append((piece, thought))
                if not thought:
                    self.text += piece
        calls = delta.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else ()):
            self._take_call(place, call)
        return said

    def _take_call(self, place: int, call: object) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise ModelFailed(f"the endpoint sent a tool call that is none: {json.dumps(call)[:200]}")
        index = call.get("index")
        part = self.calls.setdefault(index if isinstance(index, int) else place, _Call())
        for name in ("name", "arguments"):
            piece = function.get(name)
            if isinstance(piece, str):
                setattr(part, name, getattr(part, name) + piece)

    def reply(self) -> Reply:
        """Give the whole answer.

        :raises ModelFailed: if it is not whole
        """
        if self.finished is None:
            raise ModelFailed("the endpoint broke off in the middle of its answer")
        calls = tuple(ToolCall(call.name, call.arguments) for _, call in sorted(self.calls.items()))
        return Reply(self.text, calls, StopReason.MAX_TOKENS if self.finished == "length" else StopReason.END)
