"""The adapter: carries out for Probate what it asks of the toy, and tells it what happened.

The conversation is one line of JSON for each message (docs/protocol.md of Probate tells it all). Standard output is
for that and nothing else. Only ``World`` knows the runtime; the rest stays when you put your own in the toy's place.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import defaultdict, deque
from collections.abc import Awaitable
from typing import Any

from toy import Agent, Refused, Runtime, Signal

MANIFEST = {
    "name": "toy",
    "version": "1",
    "language": "python",
    "unclaimed": {
        "events": ["session/flush", "scope/cleanup"],
        "ops": ["resume", "abort", "withdraw", "steer", "inject"],
        "gates": ["setup", "prepare", "tool", "flush", "cleanup", "load"],
        "features": ["setup", "cleanup", "signal", "by-agent", "react", "throw", "reject"],
    },
    "notes": ["The toy has no tools, no steering, no children, and nobody can answer its events."],
}

CALM_TURNS = 10
MOST_TURNS = 10_000
"""So many turns of the event loop in which nothing happened are quiet; so many in all, and it never will be."""


class Gate:
    """Where the model waits if Probate holds it; what goes through an open one takes the next planned outcome."""

    def __init__(self) -> None:
        self.held = False
        self.honours = True
        self.planned: deque[str] = deque()
        self.waiting: deque[asyncio.Future[str | None]] = deque()

    def release(self, outcome: str | None) -> None:
        """Let the oldest that waits go on; none tells it that its turn was stopped."""
        if self.waiting:
            self.waiting.popleft().set_result(outcome)

    def open(self) -> None:
        """Hold nothing any more, and let all that wait go on."""
        self.held = False
        while self.waiting:
            self.release("text")


class World:
    """One runtime, and all that was asked of it."""

    def __init__(self, owners: list[str], provider: bool) -> None:
        self.runtime = Runtime(self.model)
        self.runtime.listeners.append(self.hear)
        for owner in owners:
            self.runtime.load_owner(owner)
        if provider:
            self.runtime.load_provider()
        self.events: list[dict[str, Any]] = []
        self.gates: defaultdict[str, Gate] = defaultdict(Gate)
        self.returned: dict[str, Agent] = {}
        self.labels: dict[Agent, str] = {}
        self.refs: dict[Agent, str] = {}
        self.numbers: dict[str, int] = {}
        self.answers: dict[Agent, int] = {}
        self.calls: set[asyncio.Task[None]] = set()

    # What happens becomes events.

    def hear(self, name: str, agent: Agent, fields: dict[str, Any]) -> None:
        """Put what the runtime says into the words of the contract."""
        if name == "session/created":
            number = self.numbers[agent.id] = self.numbers.get(agent.id, 0) + 1
            self.refs[agent] = f"{agent.id}#{number}"  # the n-th session of this id
        event = {"event": name, "agent": self.refs[agent], **fields}
        if name == "log":
            event = {
                "event": name,
                "agent": self.refs[agent],
                "seq": fields["seq"],
                "record": self.record(agent, fields),
            }
        elif name == "agent/session-start":
            event["source"] = "startup"
        elif name == "agent/queued":
            event["steering"] = False
        elif name == "agent/error":
            event |= {"step": 1, "source": "model"}
        self.events.append(event)

    def record(self, agent: Agent, fields: dict[str, Any]) -> dict[str, Any]:
        """Put a record of the log into the words of the contract. Every turn of the toy has one step."""
        record = {name: value for name, value in fields.items() if name != "seq"}
        if record["record"] == "turn/start":
            record["trigger"] = "message"
        elif record["record"] in ("step/start", "step/end"):
            record["step"] = 1
        elif record["record"] == "assistant/message":
            record["text"] = f"{self.labels[agent]}:{self.answers[agent]}"
        return record

    def settled(self, call: str, outcome: dict[str, Any]) -> None:
        """Note that a call came to its end: every call does, once."""
        self.events.append({"event": "settled", "call": call, "outcome": outcome})

    def returns(self, call: str, value: Any = None) -> None:
        """Note that a call returned."""
        self.settled(call, {"settlement": "returned", "value": value})

    def raises(self, call: str, code: str) -> None:
        """Note that a call raised."""
        self.settled(call, {"settlement": "raised", "code": code})

    def look(self) -> dict[str, Any]:
        """Show what the registries hold, in the order of their entries."""
        entries = [{"agent": self.refs[agent], "status": agent.status, "owner": None} for agent in self.runtime.agents]
        return {
            "agents": entries,
            "roots": [entry["agent"] for entry in entries],
            "sessions": [self.refs[agent] for agent in self.runtime.sessions],
        }

    # What is asked is done. Nothing here waits: all items of a burst begin in one go.

    def begin(self, item: dict[str, Any]) -> None:
        """Begin one item."""
        label = item.get("label", "")
        match item["item"]:
            case "create":
                self.follow(label, self.create(label, item))
            case "send":
                text = item["text"] if item["text"] != "!bad" else "\x00"
                self.at_once(label, lambda: self.returned[item["agent"]].send(text))
            case "cancel":
                self.at_once(label, lambda: self.returned[item["agent"]].cancel(item["cause"]))
            case "await_idle":
                self.follow(label, self.returned[item["agent"]].idle())
            case "dispose":
                self.follow(label, self.returned[item["agent"]].dispose())
            case "unload_owner":
                self.follow(label, self.runtime.owners[item["owner"]].unload())
            case "unload_provider":
                provider = self.runtime.provider
                self.follow(label, provider.unload() if provider else asyncio.sleep(0))
            case "load_owner":
                self.at_once(label, lambda: self.runtime.load_owner(item["owner"]))
            case "load_provider":
                self.at_once(label, self.runtime.load_provider)
            case "look":
                self.returns(label, self.look())
            case "plan":
                self.gates[item["gate"]["creation"]].planned.extend(item["outcomes"])
            case "hold":
                gate = self.gates[item["gate"]["creation"]]
                gate.held, gate.honours = True, item["temper"] == "honours"
            case "release":
                self.gates[item["gate"]["creation"]].release(item["outcome"])
            case "open":
                self.gates[item["gate"]["creation"]].open()
            case other:
                raise NotImplementedError(f"the manifest does not claim {other!r}")

    def create(self, label: str, item: dict[str, Any]) -> Awaitable[Any]:
        """Begin to create an agent, which this label names from now on."""
        making = self.runtime.create(item["by"]["owner"], item["id"])

        async def made() -> str:
            agent = await making
            self.returned[label], self.labels[agent] = agent, label
            return self.refs[agent]

        return made()

    def at_once(self, call: str, do: Any) -> None:
        """Carry out a call that comes to its end at once."""
        try:
            do()
        except Refused as refused:
            self.raises(call, refused.code)
        else:
            self.returns(call)

    def follow(self, call: str, waited_for: Awaitable[Any]) -> None:
        """Note when a call that has begun comes to its end."""

        async def settle() -> None:
            try:
                value = await waited_for
            except Refused as refused:
                self.raises(call, refused.code)
            else:
                self.returns(call, value)

        task = asyncio.create_task(settle())
        self.calls.add(task)  # the loop itself does not keep tasks
        task.add_done_callback(self.calls.discard)

    async def model(self, agent: Agent, signal: Signal) -> str:
        """Stand in for the model: go through the gate, or wait there until Probate says how to go on."""
        label = self.labels[agent]
        self.answers[agent] = self.answers.get(agent, 0) + 1
        gate = self.gates[label]
        outcome: str | None
        if not gate.held:
            outcome = gate.planned.popleft() if gate.planned else "text"
        else:
            arrival: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
            gate.waiting.append(arrival)
            turn, honours = agent.turn, gate.honours

            def hear(cause: str) -> None:
                self.events.append({"event": "signal", "agent": self.refs[agent], "turn": turn, "cause": cause})
                if honours and not arrival.done():
                    gate.waiting.remove(arrival)
                    arrival.set_result(None)

            signal.hear = hear
            outcome = await arrival
        if outcome == "error":
            raise RuntimeError("the model failed, as it was told to")
        return outcome or "stopped"


async def quiet(world: World) -> bool:
    """Let everything run until nothing more happens. With nothing outside to wait for, that needs no clock."""
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
            spec = message["world"]
            return {"message": "opened"}, World(spec["owners"], spec["provider"])
        case "burst" if world is not None:
            for item in message["items"]:
                world.begin(item)
            calm = await quiet(world)
            events, world.events = world.events, []
            return {"message": "quiet", "events": events, "snapshot": world.look(), "never": not calm}, world
        case "close":
            if world is not None:  # whatever is left in it
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
            return {"message": "closed"}, None
        case other:
            raise ValueError(f"{other!r} can't be answered now")


def main() -> None:
    """Answer one line after the other, until the input ends."""
    # From here on, what anybody prints goes to standard error.
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
