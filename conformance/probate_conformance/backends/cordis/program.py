"""Runs a plug-in runtime for the kit, in profile ``fibers``: line-delimited JSON on stdio (see ``docs/protocol.md``).

The runtime is driven through a shim, which says in the runtime's words what to call: ``shims/NAME_shim.py`` has a class
``Shim``. Everything else is here: the scripted bodies and disposers, the gates, the listeners, and when nothing more
will happen. What is asynchronous is begun at once, as if its caller awaited it, and its end is noted in a later step.

The arguments are the folder that holds the runtime and the name of the shim. The program imports nothing of the kit.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import os
import sys
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

CALM_TURNS = 12
MOST_TURNS = 5_000

OF_AGENTS = (
    "create", "resume", "abort", "withdraw", "send", "steer", "inject", "cancel", "await_idle", "dispose",
    "unload_owner", "load_owner", "unload_provider", "load_provider", "look",
)  # fmt: skip
AGENT_GATES = ("setup", "prepare", "model", "tool", "flush", "cleanup", "load")
CODES = ("inactive", "service-exists", "not-injected")
"""Refusals are exceptions of any class, told apart by their texts: which is which is not claimed."""
AGENT_FEATURES = ("setup", "cleanup", "signal", "by-agent", "deaf", "reject")


class Gate:
    """Where a scripted body waits while it is held."""

    def __init__(self) -> None:
        self.held = False
        self.planned: deque[str] = deque()
        self.waiting: deque[asyncio.Future[str]] = deque()

    def release(self, outcome: str) -> None:
        """Let the oldest that waits go on."""
        while self.waiting:
            arrival = self.waiting.popleft()
            if not arrival.done():
                arrival.set_result(outcome)
                return


class AsTold(Exception):
    """What a scripted body raises."""


class World:
    """A root of the runtime, and all that was asked of it."""

    def __init__(self, shim: type[Any]) -> None:
        self.events: list[dict[str, Any]] = []
        self.gates: defaultdict[tuple[str, str], Gate] = defaultdict(Gate)
        self.fibers: dict[str, Any] = {}
        self.effects: dict[str, Any] = {}
        self.reactions: list[dict[str, Any]] = []
        self.tasks: set[asyncio.Task[Any]] = set()
        self.fault: BaseException | None = None
        self.plugging = ""
        self.shim = shim(self)

    # What is seen.

    def tell(self, event: str, **fields: Any) -> None:
        """Note an event, and let the listeners react to it."""
        seen = {"event": event, **fields}
        self.events.append(seen)
        for reaction in list(self.reactions):
            on = reaction["on"]
            if on["event"] == event and all(seen.get(name) == value for name, value in on["where"]):
                reaction["nth"] -= 1
                if not reaction["nth"]:
                    self.reactions.remove(reaction)
                    for action in reaction["do"]:
                        if action["item"] not in ("throw", "reject"):
                            self.begin(action)

    def state(self, fiber: Any, state: str) -> None:
        """Note that a fiber has changed; one that is not known yet is the one that is being plugged in."""
        label = next((label for label, known in self.fibers.items() if known is fiber), self.plugging)
        if label:
            self.fibers.setdefault(label, fiber)
            self.tell("fiber/state", fiber=label, state=state)

    def settled(self, call: str, outcome: dict[str, Any]) -> None:
        """Note that a call came to its end."""
        self.events.append({"event": "settled", "call": call, "outcome": outcome})

    # What is done.

    def begin(self, item: dict[str, Any]) -> None:
        """Begin one item."""
        label, kind = item.get("label", ""), item["item"]
        fiber = self.fibers.get(item.get("fiber", ""))
        match kind:
            case "react":
                self.reactions.append(item)
            case "plug" if item["parent"] == "root" or item["parent"] in self.fibers:
                self.at_once(label, lambda: self.plug(label, item))
            case "unplug" if fiber is not None:
                self.follow(label, lambda: self.shim.dispose(fiber))
            case "restart" if fiber is not None:
                self.follow(label, lambda: self.shim.restart(fiber))
            case "effect" if fiber is not None and item["setup"] == "plain":
                self.slow_effect(label, fiber, item["members"])
            case "effect" if fiber is not None:
                self.at_once(label, lambda: self.effect(label, fiber, item["members"]))
            case "provide" if fiber is not None:
                self.at_once(label, lambda: self.provide(label, fiber, item["service"], item["fiber"]))
            case "end_effect" if item["effect"] in self.effects:
                self.follow(label, lambda: self.shim.end(self.effects[item["effect"]]))
            case "use" if fiber is not None:
                ask = self.shim.use if item["by"] == "declared" else self.shim.find
                self.at_once(label, lambda: ask(fiber, item["service"]))
            case "unload_owner" | "unload_provider":
                self.follow(label, lambda: None)
            case "plan":
                self.gate(item).planned.extend(item["outcomes"])
            case "hold":
                self.gate(item).held = True
            case "release":
                self.gate(item).release(item["outcome"])
            case "open":
                gate = self.gate(item)
                gate.held = False
                while gate.waiting:
                    gate.release("ok")
            case _:
                pass  # a reaction's op on what is not there

    def gate(self, item: dict[str, Any]) -> Gate:
        """Give the gate that an item speaks of."""
        return self.gates[item["gate"]["kind"], item["gate"]["creation"]]

    def plug(self, label: str, item: dict[str, Any]) -> None:
        """Plug a scripted plug-in in."""
        parent = None if item["parent"] == "root" else self.fibers[item["parent"]]

        async def body(context: Any) -> None:
            self.tell("fiber/body", fiber=label)
            for place, members in enumerate(item["effects"]):
                self.shim.effect(context, self.disposers(f"{label}.{place}", members))
            for service in item["provides"]:
                self.shim.provide(context, service, label)
            await self.arrive("body", label, "throw")

        outer, self.plugging = self.plugging, label
        try:
            self.fibers[label] = self.shim.plug(label, parent, body, item["inject"])
        finally:
            self.plugging = outer

    def effect(self, label: str, fiber: Any, members: int) -> None:
        """Register an effect from outside."""
        self.effects[label] = self.shim.effect(self.shim.context(fiber), self.disposers(label, members))

    def slow_effect(self, label: str, fiber: Any, members: int) -> None:
        """Register an effect whose setup takes time."""
        try:
            effect, ready = self.shim.slow_effect(
                self.shim.context(fiber), self.disposers(label, members), lambda: self.arrive("effect", label, "throw")
            )
        except Exception as error:
            self.settled(label, {"settlement": "raised", "code": self.code(error)})
            return
        self.effects[label] = effect
        self.follow(label, lambda: ready)

    def provide(self, label: str, fiber: Any, service: str, value: str) -> None:
        """Provide a service from outside."""
        self.effects[label] = self.shim.provide(self.shim.context(fiber), service, value)

    def disposers(self, label: str, members: int) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """Give the scripted disposers of an effect."""

        def disposer(member: int) -> Callable[[], Coroutine[Any, Any, None]]:
            async def ending(arrival: asyncio.Future[str]) -> None:
                await asyncio.sleep(0)  # it takes a step at the least, so who starts others meanwhile can
                outcome = await arrival
                self.tell("effect/disposed", effect=label, member=member, outcome=outcome)
                if outcome == "fail":
                    raise AsTold("disposer")

            def dispose(*_: Any) -> Coroutine[Any, Any, None]:
                self.tell("effect/dispose", effect=label, member=member)
                return ending(self.come("disposer", label))

            return dispose

        return [disposer(member) for member in range(1, members + 1)]

    async def arrive(self, kind: str, label: str, failing: str) -> None:
        """Go through a gate, and fail if that is the outcome."""
        if await self.come(kind, label) == failing:
            raise AsTold(kind)

    def come(self, kind: str, label: str) -> asyncio.Future[str]:
        """Arrive at a gate, and give what to await: it is done already, unless the gate is held."""
        gate = self.gates[kind, label]
        arrival: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if gate.held:
            gate.waiting.append(arrival)
        else:
            arrival.set_result(gate.planned.popleft() if gate.planned else "ok")
        return arrival

    def at_once(self, call: str, act: Callable[[], Any]) -> None:
        """Carry out a call that comes to its end at once."""
        try:
            value = act()
        except Exception as error:
            self.settled(call, {"settlement": "raised", "code": self.code(error)})
        else:
            self.settled(call, {"settlement": "returned", "value": value})

    def follow(self, call: str, start: Callable[[], Any]) -> None:
        """Begin a call at once, and note its end in a later step."""

        async def begun() -> None:
            answer = start()
            if isinstance(answer, Awaitable):
                await answer

        loop = asyncio.get_running_loop()
        task = self.keep(asyncio.Task(begun(), loop=loop, eager_start=True))  # type: ignore[call-arg] # new in 3.12

        async def settle() -> None:
            try:
                await asyncio.shield(task)
            except Exception as error:
                self.settled(call, {"settlement": "raised", "code": self.code(error)})
            else:
                self.settled(call, {"settlement": "returned", "value": None})

        _ = self.keep(asyncio.get_running_loop().create_task(settle()))

    def follow_quietly(self, work: Coroutine[Any, Any, Any]) -> None:
        """Carry out what the runtime leaves to its host, and see to no end of it."""

        async def contained() -> None:
            with contextlib.suppress(Exception):
                await work

        _ = self.keep(asyncio.get_running_loop().create_task(contained()))

    def keep(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        """See that a task is kept until it has ended."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def code(self, error: Exception) -> str:
        """Say in the words of the contract why a call was refused or failed."""
        return f"thrown:{error}" if isinstance(error, AsTold) else "unspecified"


def manifest(name: str, shim: type[Any]) -> dict[str, Any]:
    """Say what is claimed: of the plug-in tree all but what the shim leaves out, of agents nothing."""
    left: dict[str, list[str]] = shim.UNCLAIMED
    always = {"ops": OF_AGENTS, "gates": AGENT_GATES, "features": AGENT_FEATURES, "codes": CODES, "events": ()}
    return {
        "name": name,
        "version": shim.VERSION,
        "language": "python",
        "profiles": ["fibers"],
        "variations": list(shim.VARIATIONS),
        "unclaimed": {kind: [*words, *left.get(kind, ())] for kind, words in always.items()},
        "notes": list(shim.NOTES),
    }


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


async def answer(
    message: dict[str, Any], world: World | None, name: str, shim: type[Any]
) -> tuple[dict[str, Any], World | None]:
    """Carry out one message; give the reply, and the world that is open then."""
    match message["message"]:
        case "hello":
            return {"message": "hello", "protocol": 1, "manifest": manifest(name, shim)}, world
        case "open":
            return {"message": "opened"}, World(shim)
        case "burst" if world is not None:
            for item in message["items"]:
                world.begin(item)
            calm = await quiet(world)
            events, world.events = world.events, []
            reply = {"message": "quiet", "events": events, "snapshot": None, "never": not calm, "unknown": []}
            return reply, world
        case "close":
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            return {"message": "closed"}, None
        case other:
            raise ValueError(f"{other!r} can't be answered now")


def lines() -> Iterator[dict[str, Any]]:
    """Give the messages, until the input ends."""
    for line in sys.stdin:
        yield json.loads(line)


def main() -> None:
    """Answer one message after the other."""
    folder, name = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)  # runtimes log what a scripted body raises
    sys.path[:0] = [folder, str(Path(__file__).parent / "shims")]
    module = importlib.import_module(f"{name.replace('-', '_')}_shim")
    world: World | None = None
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda _loop, _context: None)  # of tasks that the runtime lets fail
        for message in lines():
            try:
                reply, world = runner.run(answer(message, world, name, module.Shim))
            except Exception as error:
                reply = {"message": "broke", "reason": f"{type(error).__name__}: {error}"}
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
