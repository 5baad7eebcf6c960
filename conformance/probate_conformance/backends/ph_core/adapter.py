"""Runs ph-core for the kit: line-delimited JSON on stdio (see ``docs/protocol.md``), in a Python of its own.

Only what ph-core exports is used, and each trace gets a root context of its own with the six rows that make an agent.
ph-core leaves to its host what the contract expects of a runtime: who runs the loop, and that an agent and its session
are two things to end. Here the adapter is that host, and does what a host would: it runs an agent when that says it
was woken and has something pending, and ends first the agent and then its session. It puts nothing right.

The first argument is the folder that holds ph-core. The program imports nothing of the kit.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from importlib.metadata import version
from typing import Any

sys.path.insert(0, sys.argv[1])

from ph.agent import registry as agent_row
from ph.agent.types import AgentCancelCause, AgentOptions
from ph.agent_loop import apply as loop_row
from ph.cordis import Context
from ph.keys import AGENTS, LLM, SESSIONS, TOOLS
from ph.llm import adapter as llm_row
from ph.llm.types import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    LlmFailure,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    create_user_message,
)
from ph.session import store as session_row
from ph.system_prompt import assembly as prompt_row
from ph.tools import registry as tools_row
from ph.tools.definition import ToolOutput, define_tool, text_content

ROWS = (session_row.apply, llm_row.apply, prompt_row.apply, tools_row.apply, agent_row.apply, loop_row)

BAD, UNKEPT = "!bad", "\ud800"
"""The contract's one bad text, and what it stands for: no text can be kept that has half a letter."""

CALM_TURNS = 12
MOST_TURNS = 10_000

NOTES = (
    (
        "ph-core has no owners, and its agents outlive the row that made them: owners and provider are not claimed. "
        "At the end of each trace the host ends what is left, newest first."
    ),
    (
        "The loop runs when the host runs it. The host does so in a step of its own, when an agent was woken and has "
        "something pending. It ends an agent by stopping it at once, and ends it and its session when its run is over."
    ),
    (
        "Creating is synchronous and has no setup and no signal. The host looks whether the id is free when it is "
        "asked, and creates in a step of its own."
    ),
    (
        "An agent's scope is there only once it is created, so nothing can be registered in that of a refused one: no "
        "cleanups."
    ),
    "A child ends with its parent, but its session does not; only the host could know of it: no children.",
    "A turn's signal is a token to poll or to await; nobody hears it inside the call that fires it.",
    "A session is announced before its agent exists, so a listener may have no agent to speak to: no reactions.",
    "The loop never flushes: rows of their own decide when, and are not mounted.",
    "Input is announced for both lists of the inbox alike; whether it steers is not told.",
)

MANIFEST = {
    "name": "ph-core",
    "version": version("ph-core"),
    "language": "python",
    "edition": "2026-08",
    "unclaimed": {
        "events": ["signal", "session/flush", "scope/cleanup", "agent/cancel-requested"],
        "ops": [
            "resume", "abort", "withdraw", "unload_owner", "load_owner", "unload_provider", "load_provider",
        ],
        "gates": ["setup", "prepare", "flush", "cleanup", "load"],
        "codes": [
            "owner-inactive", "provider-inactive", "aborted", "owner-disposed", "lifecycle-disposed", "no-persistence",
            "not-found",
        ],
        "features": ["setup", "cleanup", "signal", "by-agent", "react", "throw", "reject"],
        "fields": ["agent/queued:steering"],
    },
    "notes": NOTES,
}  # fmt: skip


class Gate:
    """Where a scripted body waits while it is held."""

    def __init__(self) -> None:
        self.held = False
        self.honours = True
        self.planned: deque[str] = deque()
        self.waiting: deque[asyncio.Future[str]] = deque()

    def release(self, outcome: str) -> None:
        """Let the oldest that waits go on."""
        if self.waiting:
            self.waiting.popleft().set_result(outcome)


class World:
    """A root context of ph-core, and all that was asked of it."""

    def __init__(self, edition: str) -> None:
        self.records_inbox = edition != "2026-06"
        self.root = Context()
        self.events: list[dict[str, Any]] = []
        self.unknown: set[str] = set()
        self.gates: defaultdict[tuple[str, str], Gate] = defaultdict(Gate)
        self.agents: dict[str, Any] = {}
        self.made_by: dict[str, str] = {}
        self.ends: dict[str, asyncio.Future[None]] = {}
        self.labels: dict[int, str] = {}  # by session object, as the rest
        self.refs: dict[int, str] = {}
        self.logged: Counter[int] = Counter()
        self.sessions: list[Any] = []  # keeps them, so that no number is used again
        self.numbers: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.calls_of: Counter[tuple[int, int, int]] = Counter()
        self.results_of: Counter[tuple[int, int, int]] = Counter()
        self.injected: set[str] = set()
        self.runs: dict[int, asyncio.Task[None]] = {}  # by agent, as the next
        self.again: set[int] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.fault: BaseException | None = None

    async def start(self) -> None:
        """Mount the rows, the model and the tool, and listen."""
        root = self.root
        for row in ROWS:
            root.plugin(row)
        await root.reconcile()
        root.require(LLM).register_adapter(["kit"], self)
        root.require(TOOLS).register(
            define_tool(
                "scripted",
                "waits at a gate",
                parameters={"type": "object", "properties": {}},
                output=ToolOutput(schema={"type": "string"}, render=lambda _, value: text_content(value)),
                execute=self.tool,
            )
        )
        listeners: dict[str, Callable[..., None]] = {
            "session/created": self.session_created,
            "session/disposed": lambda session: self.tell("session/disposed", session),
            "session/event": self.logs,
            "agent/created": lambda agent: self.tell("agent/created", agent.session),
            "agent/session-start": lambda agent, _: self.tell("agent/session-start", agent.session, source="startup"),
            "agent/disposed": lambda agent: self.tell("agent/disposed", agent.session),
            "agent/status": lambda agent, status: self.tell("agent/status", agent.session, status=status),
            "agent/inbox/inserted": self.queued,
            "agent/error": self.failed,
            "agent/woken": self.woken,
        }
        for name, listener in listeners.items():
            root.on(name, self.guarded(listener), global_=True)

    def guarded(self, listener: Callable[..., None]) -> Callable[..., None]:
        """Keep a fault of ours from looking like a listener that throws, which ph-core contains."""

        def listen(*arguments: Any) -> None:
            try:
                listener(*arguments)
            except Exception as error:
                self.fault = self.fault or error

        return listen

    # What is seen.

    def tell(self, event: str, session: Any, **fields: Any) -> None:
        """Note an event of a session's agent."""
        self.events.append({"event": event, "agent": self.refs[id(session)], **fields})

    def session_created(self, session: Any) -> None:
        """Give the session its number, and note it."""
        self.numbers[session.id] += 1
        self.sessions.append(session)
        self.refs[id(session)] = f"{session.id}#{self.numbers[session.id]}"
        self.tell("session/created", session)

    def queued(self, agent: Any, message: Any) -> None:
        """Note that input was accepted, where that is no record."""
        text = text_of(message.to_wire())
        if not self.records_inbox and text not in self.injected:
            self.tell("agent/queued", agent.session, text=text, steering=False)

    def failed(self, agent: Any, _turn: int, step: int, _error: BaseException) -> None:
        """Note a failure."""
        self.tell("agent/error", agent.session, step=step, source="model" if step else "internal")

    def logs(self, session: Any, event: Any) -> None:
        """Note a record of the log, if the alphabet has a word for it."""
        for record in self.records(session, event.type, event.data):
            seq = self.logged[id(session)]
            self.logged[id(session)] += 1
            self.tell("log", session, seq=seq, record=record)

    def records(self, session: Any, kind: str, data: Any) -> list[dict[str, Any]]:
        """Give the records of the alphabet that one of ph-core's stands for."""
        place = {name: data[name] for name in ("turn", "step") if name in data}
        batch = id(session), place.get("turn", 0), place.get("step", 0)
        match kind:
            case "turn/start":
                return [{"record": kind, **place, "trigger": "message"}]
            case "step/start" | "step/end":
                return [{"record": kind, **place}]
            case "user/message":
                text = text_of(data)
                is_context = text in self.injected and not self.records_inbox
                return [{"record": "context/message" if is_context else kind, "text": text}]
            case "assistant/message":
                return [{"record": kind, "text": text_of(data["message"])}]
            case "tool/call":
                self.calls_of[batch] += 1
                return [{"record": kind, "n": self.calls_of[batch]}]
            case "tool/result":
                self.results_of[batch] += 1
                failed = data["message"]["content"][0]["isError"]
                outcome = "ok" if not failed else "aborted" if data.get("failureKind") == "aborted" else "error"
                return [{"record": kind, "n": self.results_of[batch], "outcome": outcome}]
            case "turn/end":
                return [{"record": kind, **place, **self.ending(data["reason"])}]
            case "agent/inbox/spliced":
                return self.spliced(data) if self.records_inbox else []
            case "request/header" | "request/context" | "assistant/chunk":
                return []
            case _:
                self.unknown.add(kind)
                return []

    def ending(self, reason: Any) -> dict[str, Any]:
        """Say how a turn ended. The older edition has no cause there, and a word of its own for disposal."""
        cause = (reason.get("reason") or {}).get("kind")
        if self.records_inbox:
            return {"outcome": reason["kind"], "cause": cause}
        return {"outcome": "disposed" if cause == "disposed" else reason["kind"]}

    def spliced(self, data: Any) -> list[dict[str, Any]]:
        """Give the changes of the inbox that one splice makes."""
        target, removed = data["target"], data.get("removedCount") or 0
        records = []
        if removed:
            change = "inbox/discarded" if data.get("outcome") == "canceled" else "inbox/claimed"
            records.append({"record": change, "queue": target, "count": removed})
        inserted = data.get("inserted") or ()
        return records + [{"record": "inbox/inserted", "queue": target, "text": text_of(one)} for one in inserted]

    def look(self) -> dict[str, Any]:
        """Show what the registries hold. No agent is on behalf of another here."""
        agents = [
            {"agent": self.refs[id(agent.session)], "status": agent.status, "owner": None}
            for agent in self.root.require(AGENTS).list()
        ]
        sessions = [self.refs[id(session)] for session in self.root.require(SESSIONS).list()]
        return {"agents": agents, "roots": [agent["agent"] for agent in agents], "sessions": sessions}

    def settled(self, call: str, outcome: dict[str, Any]) -> None:
        """Note that a call came to its end."""
        self.events.append({"event": "settled", "call": call, "outcome": outcome})

    # What is done.

    def begin(self, item: dict[str, Any]) -> None:
        """Begin one item."""
        label = item.get("label", "")
        match item["item"]:
            case "create":
                self.made_by[label] = item["by"]["owner"]
                self.follow(label, self.create(item, free=self.root.require(SESSIONS).get(item["id"]) is None))
            case "send":
                self.at_once(label, lambda: self.agents[item["agent"]].followup(self.message(item["text"])))
            case "steer":
                self.at_once(label, lambda: self.agents[item["agent"]].steer(self.message(item["text"])))
            case "inject":
                self.injected.add(item["text"])
                self.at_once(label, lambda: self.agents[item["agent"]].inject(self.message(item["text"])))
            case "cancel":
                cause = AgentCancelCause(kind=item["cause"])
                self.at_once(label, lambda: self.agents[item["agent"]].cancel(cause))
            case "await_idle":
                self.follow(label, self.agents[item["agent"]].when_idle())
            case "dispose":
                self.follow(label, self.dispose(self.agents[item["agent"]]))
            case "unload_owner":
                made = [label for label, owner in self.made_by.items() if owner == item["owner"]]
                self.follow(label, self.end_all(made))
            case "unload_provider":
                self.follow(label, self.end_all(list(self.made_by)))
            case "look":
                self.at_once(label, self.look)
            case "plan":
                self.gate(item).planned.extend(item["outcomes"])
            case "hold":
                gate = self.gate(item)
                gate.held, gate.honours = True, item["temper"] == "honours"
            case "release":
                self.gate(item).release(item["outcome"])
            case "open":
                gate = self.gate(item)
                gate.held = False
                while gate.waiting:
                    gate.release("text" if item["gate"]["kind"] == "model" else "ok")
            case other:
                raise NotImplementedError(f"{other!r} is not claimed")

    def gate(self, item: dict[str, Any]) -> Gate:
        """Give the gate that an item speaks of."""
        return self.gates[item["gate"]["kind"], item["gate"]["creation"]]

    def message(self, text: str) -> Any:
        """Give a prompt. The one bad text can't be kept: it is no text."""
        kept = UNKEPT if text == BAD else text
        return create_user_message(content=[{"type": "text", "text": kept}], source={"kind": "user"})

    async def create(self, item: dict[str, Any], *, free: bool) -> str:
        """Create a session and its agent, in a step of its own."""
        await asyncio.sleep(0)
        if not free:
            raise Taken
        session = self.root.require(SESSIONS).create(item["id"])
        self.labels[id(session)] = item["label"]
        agent = self.root.require(AGENTS).create(session, AgentOptions(provider="kit", model="kit"))
        self.agents[item["label"]] = agent
        return self.refs[id(session)]

    def dispose(self, agent: Any) -> Coroutine[Any, Any, None]:
        """End an agent: stop it now, and end it and its session once the host's run of it is over."""
        agent.cancel(AgentCancelCause(kind="disposed"))

        async def end() -> None:
            await asyncio.sleep(0)
            if id(agent) in self.runs:
                await asyncio.wait([self.runs[id(agent)]])
            agents, sessions = self.root.require(AGENTS), self.root.require(SESSIONS)
            if agents.get(agent.id) is agent:
                await agents.dispose(agent.id)
            if sessions.get(agent.id) is agent.session:  # not another one that has the id by now
                sessions.dispose(agent.id)

        return end()

    async def end_all(self, made: list[str]) -> None:
        """End what is left of these, newest first."""
        for label in reversed(made):
            if label in self.agents and label not in self.ends:
                self.ends[label] = asyncio.ensure_future(self.dispose(self.agents[label]))
        await asyncio.gather(*(self.ends[label] for label in made if label in self.ends))

    def woken(self, agent: Any) -> None:
        """Run an agent that was woken, unless it runs and will see for itself: that is the host's part."""
        if id(agent) not in self.runs:
            self.runs[id(agent)] = self.spawn(self.run(agent))
        elif agent.signal.canceled:
            self.again.add(id(agent))

    async def run(self, agent: Any) -> None:
        """Run an agent once; and once more, if it was woken after that was stopped. What failed is not run again."""
        await asyncio.sleep(0)
        try:
            while agent.inbox.has_pending and self.root.require(AGENTS).get(agent.id) is agent:
                self.again.discard(id(agent))
                await agent.run()
                if id(agent) not in self.again:
                    break
        finally:
            del self.runs[id(agent)]

    def at_once(self, call: str, act: Callable[[], Any]) -> None:
        """Carry out a call that comes to its end at once."""
        try:
            value = act()
        except Exception as error:
            self.settled(call, {"settlement": "raised", "code": code_of(error)})
        else:
            self.settled(call, {"settlement": "returned", "value": value})

    def follow(self, call: str, waited_for: Awaitable[Any]) -> None:
        """Note when a call that has begun comes to its end."""

        async def settle() -> None:
            try:
                value = await waited_for
            except Exception as error:
                self.settled(call, {"settlement": "raised", "code": code_of(error)})
            else:
                self.settled(call, {"settlement": "returned", "value": value})

        _ = self.spawn(settle())

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task, and see that it is kept."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.ended)
        return task

    def ended(self, task: asyncio.Task[None]) -> None:
        """Note a task of ours that failed."""
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.fault = self.fault or task.exception()

    # The scripted bodies.

    async def arrive(self, kind: str, label: str, default: str, token: Any = None) -> str | None:
        """Go through a gate, or wait there; none if the body stopped because it honours its token."""
        gate = self.gates[kind, label]
        if not gate.held:
            return gate.planned.popleft() if gate.planned else default
        arrival: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        gate.waiting.append(arrival)
        if token is None or not gate.honours:
            return await arrival
        stopped = asyncio.ensure_future(token.wait())
        await asyncio.wait([arrival, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if arrival.done():
            return arrival.result()
        gate.waiting.remove(arrival)
        return None

    async def stream(self, options: Any) -> AsyncIterator[Any]:
        """Be the model: one answer, once the gate lets it."""
        session = self.root.require(SESSIONS).require(options.session_id)
        agent = self.root.require(AGENTS).get(options.session_id)
        label = self.labels[id(session)]
        self.answers[label] += 1
        text = f"{label}:{self.answers[label]}"
        shown = [BlockStart(index=0, block_type="text"), TextDelta(index=0, text=text)]
        for chunk in shown if self.records_inbox else ():  # the newer edition speaks of what was shown by then
            yield chunk
        outcome = await self.arrive("model", label, "text", agent.signal if agent else None)
        if outcome is None:
            return
        if outcome == "error":
            yield Finish(reason=FinishReason(kind="error", failure=LlmFailure(message="as told", code="SCRIPTED")))
            return
        for chunk in () if self.records_inbox else shown:
            yield chunk
        yield BlockEnd(index=0, block=TextBlock(text=text))
        tools = int(outcome.partition("tools:")[2] or 0)
        for number in range(1, tools + 1):
            yield BlockStart(index=number, block_type="tool-call")
            block = ToolCallBlock(id=f"{text}:{number}", name="scripted", arguments="{}")
            yield BlockEnd(index=number, block=block)
        kind = "max-tokens" if outcome.startswith("max-tokens") else "tool-calls" if tools else "stop"
        yield Finish(reason=FinishReason(kind=kind))

    async def tool(self, _arguments: Any, run: Any) -> str:
        """Be the tool."""
        agent = run.execution.agent
        outcome = await self.arrive("tool", self.labels[id(agent.session)], "ok", agent.signal)
        if outcome != "ok":
            raise RuntimeError("as told")
        return "ok"


def text_of(message: Any) -> str:
    """Give the text of a message."""
    content = message["content"]
    text = content if isinstance(content, str) else "".join(one.get("text", "") for one in content)
    return BAD if text == UNKEPT else text


class Taken(Exception):
    """The id was taken when the host was asked to create."""

    code = "SESSION_ALREADY_EXISTS"


def code_of(error: Exception) -> str:
    """Say in the words of the contract why a call was refused."""
    if getattr(error, "code", None) == Taken.code:
        return "id-exists"
    return "invalid-content" if isinstance(error, ValueError) else "unspecified"


async def quiet(world: World) -> bool:
    """Let everything run until nothing more happens: only the gates are waited at, and those are ours."""
    calm = 0
    for _ in range(MOST_TURNS):
        before = len(world.events)
        await asyncio.sleep(0)
        calm = calm + 1 if len(world.events) == before else 0
        if calm == CALM_TURNS:
            return True
    return False


async def answer(message: dict[str, Any], world: World | None) -> tuple[dict[str, Any], World | None]:
    """Carry out one message; give the reply, and the world that is open then."""
    match message["message"]:
        case "hello":
            return {"message": "hello", "protocol": 1, "manifest": MANIFEST}, world
        case "open":
            world = World(message["edition"])
            await world.start()
            return {"message": "opened"}, world
        case "burst" if world is not None:
            for item in message["items"]:
                world.begin(item)
            calm = await quiet(world)
            if world.fault is not None:
                raise world.fault
            events, world.events = world.events, []
            unknown, world.unknown = sorted(world.unknown), set()
            reply = {"message": "quiet", "events": events, "snapshot": world.look(), "never": not calm}
            return {**reply, "unknown": unknown}, world
        case "close":
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            return {"message": "closed"}, None
        case other:
            raise ValueError(f"{other!r} can't be answered now")


def main() -> None:
    """Answer one line after the other, until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    world: World | None = None
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            try:
                reply, world = runner.run(answer(json.loads(line), world))
            except Exception as error:
                reply = {"message": "broke", "reason": f"{type(error).__name__}: {error}"}
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
