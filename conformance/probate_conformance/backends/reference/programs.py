"""Programs in memory, for profile ``subagents``: they speak the protocol as a trace has them do.

A program hears what is written to it in the order in which it was written, waits at its gates before it answers, and
goes when it is told to, at its gate or at a signal that it heeds. Its clock is the trace's: time passes only when the
trace says so, or when the world is closed.
"""

from __future__ import annotations

import json
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import anyio
from anyio import BrokenResourceError, ClosedResourceError
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.lowlevel import checkpoint

from probate_conformance.backends.gates import Gates
from probate_conformance.backends.reference.pipe import Pipe
from probate_model.alphabet.events import Raised, Returned, Settlement
from probate_model.alphabet.gates import (
    CANCELLED,
    DIES,
    END_TURN,
    ERROR,
    MAX_REQUESTS,
    MAX_TOKENS,
    REFUSAL,
    GateKind,
    GateOutcome,
)
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.refusals import Refusal, code
from probate_model.alphabet.subagents import NOT_SELECTED, Option, Saying
from probate_reference import AbortCause, Call, Signal

_SESSION: Final = "the session"
_GATES: Final = {
    "initialize": GateKind.INITIALIZE,
    "session/new": GateKind.NEW_SESSION,
    "session/prompt": GateKind.ANSWER,
}
_REASONS: Final = {
    END_TURN: "end_turn",
    MAX_TOKENS: "max_tokens",
    REFUSAL: "refusal",
    CANCELLED: "cancelled",
    MAX_REQUESTS: "max_turn_requests",
}
_KINDS: Final = {
    Saying.MESSAGE: ("agent_message_chunk", "text"),
    Saying.THOUGHT: ("agent_thought_chunk", "text"),
    Saying.TOOL_CALL: ("tool_call_update", "text"),
    Saying.IMAGE: ("agent_message_chunk", "image"),
}
_SIGNALS: Final = {signal.SIGTERM: "term", signal.SIGKILL: "kill"}


class _Input(ByteSendStream):
    """What is written to a program in memory, which hears each line when it is written."""

    def __init__(self, program: MemoryProgram) -> None:
        self._program = program
        self._closed = False

    async def send(self, item: bytes) -> None:
        """Write."""
        await checkpoint()
        for line in item.splitlines():
            if self._closed:
                raise ClosedResourceError
            if self._program.gone:
                raise BrokenResourceError
            self._program.hear(json.loads(line))

    async def aclose(self) -> None:
        """Write no more: the program hears the end of its input."""
        if not self._closed:
            self._closed = True
            self._program.hear_end()


class Role(NamedTuple):
    """What a program is in a world.

    :ivar tell: records what it hears, ``gone`` when it has gone
    :ivar settle: settles what it has asked
    :ivar begin: runs something beside it; tells whether it will, which it won't when the world is being closed
    """

    label: Label
    gates: Gates
    tell: Callable[[str], object]
    settle: Callable[[Label, Settlement], object]
    begin: Callable[..., bool]


class Program(ABC):
    """One program; a child of :class:`~probate_reference.subagents.AcpProvider`, wherever it runs."""

    def __init__(self, role: Role) -> None:
        self.label, self._gates, self._tell, self._settle, self._begin = role
        self.gone = False
        """Whether it has ended."""
        self.works = False
        """Whether it is about to answer its prompt."""
        self._cancel = Signal(_ignore)
        self._term = Signal(_ignore)
        self._questions: dict[str, tuple[Label, Sequence[Option]]] = {}
        self._over: anyio.Event | None = None

    # As the reference sees it.

    @property
    @abstractmethod
    def receive(self) -> ByteReceiveStream:
        """What it says."""

    @property
    @abstractmethod
    def send(self) -> ByteSendStream:
        """What it hears."""

    @property
    @abstractmethod
    def exited(self) -> Call[None]:
        """A call that returns when it has gone."""

    @abstractmethod
    async def watch(self) -> None:
        """See when it goes."""

    @abstractmethod
    def clear(self) -> str:
        """Leave nothing behind."""

    def signal(self, number: signal.Signals) -> None:
        """Hear a signal; TERM is heeded as the gate says, KILL always."""
        if self.gone:
            return
        self._tell(_SIGNALS[number])
        if number is signal.SIGKILL:
            self.go()
        else:
            self._term._fire(AbortCause.DISPOSED)

    async def sleep(self) -> None:
        """Let the time pass that it has to go, when the trace says so."""
        self._over = anyio.Event()
        try:
            await self._over.wait()
        finally:
            self._over = None

    # As the trace has it.

    def pass_grace(self) -> bool:
        """Let the time be over; tells whether somebody waits for that."""
        if self._over is None or self._over.is_set():
            return False
        self._over.set()
        return True

    def say(self, says: Saying, text: Text) -> None:
        """Say something, of whichever kind."""
        kind, of = _KINDS[says]
        content = {"type": of, "text": text, "data": "", "mimeType": "image/png"}
        update = {"sessionUpdate": kind, "content": content, "toolCallId": "t"}
        params = {"sessionId": _SESSION, "update": update}
        self._write({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def ask(self, label: Label, options: Sequence[Option]) -> None:
        """Ask for permission."""
        self._questions[label] = label, options
        offered = [{"optionId": f"o{n}", "name": o, "kind": o.replace("-", "_")} for n, o in enumerate(options)]
        params = {"sessionId": _SESSION, "toolCall": {"toolCallId": "t"}, "options": offered}
        message = {"jsonrpc": "2.0", "id": label, "method": "session/request_permission", "params": params}
        self._write(message)

    # What it hears.

    def hear(self, message: Mapping[str, Any]) -> None:
        """Hear one line."""
        method = message.get("method")
        if method is None:
            self._answered(message)
            return
        self._tell(method)
        if method in _GATES:
            self.works = method == "session/prompt"
            self._begin(self._reply, message["id"], _GATES[method], method)
        elif method == "session/cancel":
            self._cancel._fire(AbortCause.PARENT)

    def _answered(self, message: Mapping[str, Any]) -> None:
        label, options = self._questions.pop(message["id"])
        outcome = message["result"]["outcome"]
        if outcome["outcome"] == "selected":
            self._settle(label, Returned(Label(options[int(outcome["optionId"][1:])])))
        else:
            self._settle(label, Returned(NOT_SELECTED))

    async def _reply(self, id: object, gate: GateKind, method: str) -> None:
        subscribe = self._cancel.subscribe if gate is GateKind.ANSWER else None
        outcome = await self._gates.arrive(gate, self.label, subscribe) or CANCELLED
        if self.gone:
            return
        if gate is GateKind.ANSWER:
            self.works = False
        if outcome == DIES:
            self.go()
        elif outcome == ERROR:
            self._write({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "scripted"}})
        else:
            self._write({"jsonrpc": "2.0", "id": id, "result": _result(method, outcome)})

    def hear_end(self) -> None:
        """Hear the end of its input: it goes, at its gate."""
        if not self.gone:
            self._tell("eof")
            if not self._begin(self._take_leave):
                self.go()

    async def _take_leave(self) -> None:
        await self._gates.arrive(GateKind.LEAVE, self.label, self._term.subscribe)
        self.go()

    def go(self) -> None:
        """End."""
        if self.gone:
            return
        self.gone = True
        self.works = False
        self._tell("gone")
        self._leave()
        for label, _ in self._questions.values():
            self._settle(label, Raised(code(Refusal.CONNECTION_CLOSED)))
        self._questions.clear()

    # Where it runs.

    @abstractmethod
    def _write(self, message: object) -> None:
        """Say something, which is there to be read when this returns."""

    @abstractmethod
    def _leave(self) -> None:
        """Be gone, as far as the reference can see."""


class MemoryProgram(Program):
    """One program in memory, which hears what is written to it at once."""

    def __init__(self, role: Role) -> None:
        super().__init__(role)
        self._output = Pipe()
        self._input = _Input(self)
        self._exited: Call[None] = Call()

    @property
    def receive(self) -> Pipe:
        """What it says."""
        return self._output

    @property
    def send(self) -> ByteSendStream:
        """What it hears."""
        return self._input

    @property
    def exited(self) -> Call[None]:
        """A call that returns when it has gone."""
        return self._exited

    async def watch(self) -> None:
        """See when it goes: that is seen by itself."""
        await anyio.sleep_forever()

    def clear(self) -> str:
        """Leave nothing behind: it has started nothing."""
        return "gone"

    def _write(self, message: object) -> None:
        self._output.write(message)

    def _leave(self) -> None:
        self._output.end()
        self._exited._return(None)


def _result(method: str, outcome: GateOutcome) -> Mapping[str, object]:
    match method:
        case "initialize":
            return {"protocolVersion": 1}
        case "session/new":
            return {"sessionId": _SESSION}
        case _:
            return {"stopReason": _REASONS.get(outcome, "something_new")}


def _ignore(place: str, failure: BaseException) -> None:
    """Nothing fails in the signals of a program."""
