"""The two models that need nothing."""

from __future__ import annotations

import pytest

from probate_reference import AgentError, AssistantMessage, ContextMessage, Reply, Runtime, UserMessage
from probate_reference.live import Live, Piece
from probate_reference.models import EchoModel, ScriptedModel, ScriptedReply, conversation

pytestmark = pytest.mark.anyio


async def test_the_echo_says_what_it_was_told() -> None:
    live, said = Live(), list[str]()
    live.on(lambda piece: said.append(piece.text))
    async with Runtime(EchoModel(live)) as runtime:
        handle = await runtime.owner("me").create("a")
        handle.agent.send("to be or")
        await handle.agent.idle()
        assert AssistantMessage("to be or") in handle.agent.session.records
    assert said == ["to ", "be ", "or "]


async def test_a_script_is_played_step_by_step() -> None:
    script = [ScriptedReply(Reply("one")), ScriptedReply(Reply("never"), hangs=True), ScriptedReply(fails="as planned")]
    live, said, failures = Live(), list[str](), list[str]()
    live.on(lambda piece: said.append(piece.text))
    async with Runtime(ScriptedModel(script, live)) as runtime:
        runtime.events.on(lambda event: failures.append(str(event.error)) if isinstance(event, AgentError) else None)
        handle = await runtime.owner("me").create("a")
        live.on(lambda piece: handle.agent.cancel() if piece.text == "never" else None)
        for text in ("a", "b", "c", "d"):
            handle.agent.send(text)
            await handle.agent.idle()
        answers = [record.text for record in handle.agent.session if isinstance(record, AssistantMessage)]
    assert answers == ["one", "The script has ended."]
    assert said == ["one", "never"]
    assert failures == ["as planned"]


async def test_live_text_reaches_all_who_listen_and_fails_nobody() -> None:
    reports: list[str] = []
    live = Live(report=lambda place, failure: reports.append(place))
    said: list[str] = []

    def fails(piece: Piece) -> None:
        raise ValueError

    live.on(fails)
    remove = live.on(lambda piece: said.append(piece.text))
    async with Runtime(EchoModel()) as runtime:
        handle = await runtime.owner("me").create("a")
        live.say(Piece(handle.agent, 1, 1, "x"))
        remove()
        live.say(Piece(handle.agent, 1, 1, "y"))
    assert (said, reports) == (["x"], ["live text", "live text"])


def test_what_was_put_in_is_told_as_context() -> None:
    assert conversation([UserMessage("a"), ContextMessage("b")]) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]
