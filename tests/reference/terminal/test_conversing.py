"""A conversation in one process: what an interrupt means, who may be asked, and every way to the end."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from probate_reference import JsonlStore, Reply, ToolCall
from probate_reference.acp.config import Config, PermissionPolicy, Scripted
from probate_reference.configured import AgentEntry
from probate_reference.models import ScriptedReply
from probate_reference.persistence import HomeLocked
from probate_reference.seams import ModelRequest
from probate_reference.signals import Signal
from probate_reference.terminal import running
from probate_reference.terminal.keyboard import MAX_LINE
from probate_reference.terminal.running import Surroundings, converse
from tests.reference.jsonrpc.wires import wire
from tests.reference.kit import Gate

pytestmark = pytest.mark.anyio

HANGS = ScriptedReply(Reply("Hm"), hangs=True)
RUNS = ScriptedReply(Reply("", (ToolCall("bash", '{"command": "echo ran"}'),)))


class Held:
    """A conversation that is held: its person, and what became of it."""

    def __init__(self) -> None:
        self.keys, self.receive = wire()
        self.send, self.eyes = wire()
        self.interrupts, self.signals = anyio.create_memory_object_stream[signal.Signals](10)
        self.shown = ""
        self.said: list[str] = []
        self.limits = 0
        self.code: int | None = None
        self.failure: Exception | None = None
        self.ended = anyio.Event()

    async def type(self, text: str) -> None:
        await self.keys.send(text.encode())

    async def see(self, wanted: str) -> None:
        while wanted not in self.shown:
            self.shown += (await self.eyes.receive()).decode()
        self.shown = self.shown[self.shown.index(wanted) + len(wanted) :]

    async def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        await self.interrupts.send(number)

    async def end(self) -> int | None:
        await self.ended.wait()
        await self.send.aclose()
        async for shown in self.eyes:
            self.shown += shown.decode()
        return self.code

    def limit(self) -> None:
        self.limits += 1


@asynccontextmanager
async def held(config: Config, **around: Any) -> AsyncIterator[Held]:
    talk = Held()
    surroundings = Surroundings({}, talk.said.append, talk.limit, **{"interactive": True, **around})

    async def run() -> None:
        try:
            talk.code = await converse(config, talk.receive, talk.send, talk.signals, surroundings)
        except Exception as failure:
            talk.failure = failure
        talk.ended.set()

    async with anyio.create_task_group() as tasks, talk.keys, talk.receive, talk.send, talk.eyes:
        with talk.interrupts, talk.signals:
            tasks.start_soon(run)
            yield talk
            await talk.keys.aclose()
            await talk.ended.wait()


def config(*replies: ScriptedReply, home: Path | None = None, **settings: Any) -> Config:
    return Config(Scripted(replies), home, agents=(AgentEntry("a", "s1"), AgentEntry("b", "s2")), **settings)


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Let the model be one that hears no cancel."""
    gate = Gate(Reply("answer"))

    async def model(request: ModelRequest, signal: Signal) -> Reply:
        reply: Reply = await gate.pass_through((request, signal))
        return reply

    monkeypatch.setattr(running, "make_model", lambda *_: model)
    return gate


async def test_a_second_interrupt_leaves_while_the_turn_still_unwinds(deaf: Gate) -> None:
    deaf.hold()
    async with held(config()) as talk:
        await talk.type("go\n")
        arrival = await deaf.arrival()
        await talk.interrupt()
        await talk.see("cancelling; once more to leave\n")
        assert arrival is not None
        assert talk.limits == 0
        await talk.interrupt()
        await anyio.wait_all_tasks_blocked()
        assert talk.limits == 1
        assert not talk.ended.is_set()
        arrival.release()
        assert await talk.end() == 130
        assert talk.shown.endswith("  [disposed]\n")
    assert talk.limits == 1


async def test_an_interrupt_cancels_on_the_user_s_behalf_and_the_next_one_is_a_first_again() -> None:
    async with held(config(HANGS, HANGS, ScriptedReply(Reply("Yes.")))) as talk:
        for _ in range(2):
            await talk.type("go\n")
            await talk.see("a: Hm")
            await talk.interrupt()
            await talk.see("  [aborted]\na> ")
        await talk.type("go\n")
        await talk.see("a: Yes.\n  [completed]\na> ")
        await talk.interrupt()
        assert await talk.end() == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_other_signals_leave_at_once(number: signal.Signals) -> None:
    async with held(config(HANGS)) as talk:
        await talk.type("go\n")
        await talk.see("a: Hm")
        await talk.interrupt(number)
        assert await talk.end() == 128 + number
        assert talk.shown == "\n  [disposed]\n"


async def test_an_end_of_the_input_is_an_end_in_order() -> None:
    async with held(config(ScriptedReply(Reply("Yes.")))) as talk:
        await talk.type("go")
        await talk.keys.aclose()
        assert await talk.end() == 0
        assert talk.shown.endswith("a: Yes.\n  [completed]\na> \n")


async def test_when_nobody_reads_it_leaves() -> None:
    async with held(config(HANGS)) as talk:
        await talk.see("a> ")
        await talk.eyes.aclose()
        await talk.type("go\n")
        await talk.ended.wait()
        assert talk.code == 141


@pytest.mark.parametrize(("answer", "result"), [("y", "ran"), ("yes", "ran"), ("n", "rejected"), ("", "rejected")])
async def test_a_person_is_asked(answer: str, result: str) -> None:
    async with held(config(RUNS, ScriptedReply(Reply("Done.")), tools=True)) as talk:
        await talk.type("go\n")
        await talk.see("allow bash command='echo ran'? [y/N] ")
        await talk.type(f"{answer}\n")
        await talk.see(result)
        await talk.see("a: Done.\n  [completed]\na> ")


async def test_a_question_can_be_cancelled_and_its_line_is_not_lost() -> None:
    async with held(config(RUNS, ScriptedReply(Reply("Done.")), tools=True)) as talk:
        await talk.type("go\n")
        await talk.see("[y/N] ")
        await talk.interrupt()
        await talk.see("  [aborted]\na> ")
        await talk.type("on\n")
        await talk.see("a: Done.\n")


async def test_the_end_of_the_input_allows_nothing() -> None:
    async with held(config(RUNS, ScriptedReply(Reply("Done.")), tools=True)) as talk:
        await talk.type("go\n")
        await talk.see("[y/N] ")
        await talk.keys.aclose()
        assert await talk.end() == 0
        assert "permission unavailable" in talk.shown


@pytest.mark.parametrize("policy", [PermissionPolicy.ALLOW, PermissionPolicy.DENY])
async def test_a_policy_asks_nobody(policy: PermissionPolicy) -> None:
    async with held(config(RUNS, tools=True, permission=policy)) as talk:
        await talk.type("go\n")
        await talk.see("  | ran" if policy is PermissionPolicy.ALLOW else "permission rejected")
        await talk.see("a> ")
    assert talk.said == []


async def test_who_is_spoken_to(tmp_path: Path) -> None:
    async with held(config(ScriptedReply(Reply("One.")), home=tmp_path / "home")) as talk:
        await talk.see("a is ready: s1, new\nb is ready: s2, new\na> ")
        await talk.type("@b\n")
        await talk.see("b> ")
        await talk.type("hello\n")
        await talk.see("b: One.\n  [completed]\nb> ")
        await talk.type("@c hello\n")
        await talk.see("b> ")
        await talk.type("@a hello\n")
        await talk.see("a: One.\n  [completed]\na> ")
        await talk.type("x" * (MAX_LINE + 1) + "\n")
        await talk.see("a> ")
    assert [said.partition(";")[0] for said in talk.said] == [
        "there is no agent @c",
        f"a prompt may have {MAX_LINE} bytes",
    ]


async def test_a_single_agent_takes_every_line() -> None:
    single = Config(Scripted((ScriptedReply(Reply("One.")),)), agents=(AgentEntry("a"),))
    async with held(single) as talk:
        await talk.type("@c hello\n")
        await talk.see("a: One.\n")
    assert talk.said == []


async def test_a_home_in_use_is_raised(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "home")
    store.open()
    async with held(config(home=tmp_path / "home")) as talk:
        await talk.ended.wait()
        assert isinstance(talk.failure, HomeLocked)
    store.close()


async def test_if_nobody_started_there_is_nobody_to_talk_to() -> None:
    nobody = Config(agents=(AgentEntry("a", resume="none"),))
    async with held(nobody) as talk:
        await talk.ended.wait()
        assert talk.code == 1
    assert talk.said == ["a could not be started as none: the runtime keeps no logs to resume from: give it a home"]
