"""A peer: order, exactly one answer, and an end with a cause."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

import anyio
import pytest

from probate_reference import Call
from probate_reference.calls import returned
from probate_reference.jsonrpc import CloseCause, ConnectionClosed, Incoming, RpcError
from tests.reference.jsonrpc.wires import Near, little_time, running

pytestmark = pytest.mark.anyio


def ask(id: object, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def tell(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id: object, value: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: object, code: int) -> tuple[object, int]:
    return (id, code)


def brief(answer: Any) -> Any:
    """Take the prose out of an error."""
    return (answer["id"], answer["error"]["code"]) if "error" in answer else answer


async def echo(incoming: Incoming) -> object:
    return dict(incoming.params)


def pending(_incoming: Incoming) -> Awaitable[object]:
    return Call[object]()


@pytest.mark.parametrize("id", [0, 7, -1, "", "seven", "ü", 2**70])
async def test_a_request_is_answered_under_its_id(id: object) -> None:
    async with running() as near:
        near.handlers["echo"] = echo
        await near.far.say(ask(id, "echo", text="hä"))
        assert await near.far.hear() == result(id, {"text": "hä"})


async def test_answers_come_when_they_are_ready() -> None:
    async with running() as near:
        slow = Call[object]()
        near.handlers.update(slow=lambda _: slow, echo=echo)
        await near.far.say(ask(1, "slow"), ask(2, "echo"))
        assert (await near.far.hear())["id"] == 2
        slow._return("late")
        assert await near.far.hear() == result(1, "late")


async def test_a_request_has_begun_before_the_next_line_is_handled() -> None:
    async with running() as near:
        near.handlers["echo"] = echo
        await near.far.say(
            b"\n".join(json.dumps(message).encode() for message in (tell("a"), ask(1, "echo"), tell("b"))) + b"\n"
        )
        await near.far.hear()
        assert [method for method, _ in near.told] == ["a", "echo", "b"]


@pytest.mark.parametrize(
    ("raised", "code"),
    [(RpcError(-32002, "no"), -32002), (ValueError("secret"), -32603)],
)
@pytest.mark.parametrize("late", [False, True])
async def test_what_a_handler_raises_is_the_answer(raised: Exception, code: int, late: bool) -> None:
    async with running() as near:

        def at_once(_incoming: Incoming) -> Awaitable[object]:
            raise raised

        async def later(_incoming: Incoming) -> object:
            raise raised

        near.handlers["fails"] = later if late else at_once
        await near.far.say(ask("x", "fails"))
        answer = await near.far.hear()
        assert brief(answer) == error("x", code)
        assert "secret" not in answer["error"]["message"]
    assert len(near.reports) == (code == -32603)


async def test_a_result_that_is_no_json_is_an_internal_error() -> None:
    async with running() as near:
        near.handlers["odd"] = lambda _: returned(object())
        await near.far.say(ask(1, "odd"))
        assert brief(await near.far.hear()) == error(1, -32603)


async def test_a_handler_that_ends_as_cancelled_is_answered() -> None:
    """The fault of the package that every ACP agent in Python stands on: there, nobody is ever told."""
    async with running() as near:

        async def gives_up(incoming: Incoming) -> object:
            incoming.abandon()
            await anyio.sleep_forever()
            raise AssertionError

        near.handlers["gives-up"] = gives_up
        await near.far.say(ask(1, "gives-up"))
        assert brief(await near.far.hear()) == error(1, -32800)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_handler_that_awaits_what_somebody_else_cancelled_has_failed() -> None:
    import asyncio

    async with running() as near:

        async def awaits_it(_incoming: Incoming) -> object:
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            return await future

        near.handlers["awaits-it"] = awaits_it
        await near.far.say(ask(1, "awaits-it"))
        assert brief(await near.far.hear()) == error(1, -32603)


async def test_a_cancelled_request_is_answered_once_and_at_once() -> None:
    async with running() as near:
        order: list[str] = []

        async def work() -> object:
            try:
                await anyio.sleep_forever()
            finally:
                order.append("unwound")
            raise AssertionError

        def slow(incoming: Incoming) -> Awaitable[object]:
            def called_off() -> None:
                order.append("called off")
                incoming.succeed("what the callback says is dropped")

            incoming.on_cancel(called_off)
            return work()

        near.handlers.update(slow=slow, echo=echo)
        await near.far.say(ask("s", "slow"))
        await near.far.say(tell("$/cancel_request", requestId="s"), tell("$/cancel_request", requestId="s"))
        await near.far.say(ask("e", "echo"))
        assert brief(await near.far.hear()) == error("s", -32800)
        assert await near.far.hear() == result("e", {})
        await near.far.send.aclose()
        assert await near.far.hear_all() == []
        assert order == ["called off", "unwound"]


async def test_cancelling_what_is_answered_or_was_never_asked_does_nothing() -> None:
    async with running() as near:
        near.handlers["echo"] = echo
        await near.far.say(ask(1, "echo"))
        await near.far.hear()
        names: list[object] = [1, "1", True, None, [], {}]
        for name in names:
            await near.far.say(tell("$/cancel_request", requestId=name))
        await near.far.say(ask(2, "echo"))
        assert (await near.far.hear())["id"] == 2
    assert near.reports == []


async def test_an_id_in_use_is_refused_and_the_first_unharmed() -> None:
    async with running() as near:
        first = Call[object]()
        near.handlers["slow"] = lambda _: first
        await near.far.say(ask(1, "slow"), ask(1, "slow"))
        assert brief(await near.far.hear()) == error(None, -32600)
        first._return("done")
        assert await near.far.hear() == result(1, "done")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":NaN}}', -32700),
        (b"1" * 10_000, -32700),
        (b"7", -32600),
        (b"null", -32600),
        (b'"x"', -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"id":1,"method":"echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"echo"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}', -32600),
        (b"x" * 5_000, -32700),
    ],
)
async def test_what_is_no_message_is_answered_without_an_id_and_harms_nobody(line: bytes, code: int) -> None:
    limit = 4_000 if line.startswith(b"x") else 1_000_000
    async with running(max_line=limit) as near:
        near.handlers["echo"] = echo
        await near.far.say(line + b"\n", ask(1, "echo"))
        assert brief(await near.far.hear()) == error(None, code)
        assert await near.far.hear() == result(1, {})


async def test_a_batch_is_answered_as_one_and_its_notifications_are_heard() -> None:
    async with running() as near:
        near.handlers.update(echo=echo)
        await near.far.say([ask(1, "echo"), tell("a"), 7, ask("2", "echo", x=1)], [tell("b")])
        answers = await near.far.hear()
        assert sorted(map(str, map(brief, answers))) == sorted(
            map(str, [result(1, {}), error(None, -32600), result("2", {"x": 1})])
        )
        await near.far.say(ask(3, "echo"))
        assert await near.far.hear() == result(3, {})
        assert [method for method, _ in near.told] == ["echo", "a", "echo", "b", "echo"]


async def test_a_torn_last_line_is_answered() -> None:
    async with running() as near:
        await near.far.say(b'{"jsonrpc":"2.0","id":1,"meth')
        await near.far.send.aclose()
        assert [brief(answer) for answer in await near.far.hear_all()] == [error(None, -32700)]


async def test_our_requests_settle_by_their_answers() -> None:
    async with running() as near:
        one, two = near.peer.request("one", {}), near.peer.request("two", {"x": 1})
        assert [(await near.far.hear())["id"] for _ in range(2)] == [one.id, two.id]
        await near.far.say({"jsonrpc": "2.0", "id": two.id, "error": {"code": -1, "message": "no"}})
        await near.far.say({"jsonrpc": "2.0", "id": two.id, "result": "a second answer"})
        await near.far.say({"jsonrpc": "2.0", "id": 99, "result": None}, {"jsonrpc": "2.0", "id": None, "error": {}})
        await near.far.say({"jsonrpc": "2.0", "id": one.id, "result": {"y": 2}})
        assert await one == {"y": 2}
        with pytest.raises(RpcError, match="no"):
            await two
        assert len(near.reports) == 3


@pytest.mark.parametrize(
    "answer",
    [{"result": 1, "error": {"code": 1, "message": ""}}, {"error": None}, {"error": {"code": "x"}}, {"error": 7}],
)
async def test_a_malformed_answer_is_an_error(answer: dict[str, object]) -> None:
    async with running() as near:
        asked = near.peer.request("ask", {})
        await near.far.say({"jsonrpc": "2.0", "id": asked.id, **answer})
        with pytest.raises(RpcError, match="malformed"):
            await asked


async def test_what_was_said_before_an_answer_is_handled_before_it() -> None:
    async with running() as near:
        asked = near.peer.request("ask", {})
        await near.far.say(tell("update", n=1), tell("update", n=2), {"jsonrpc": "2.0", "id": asked.id, "result": 0})
        await asked
        assert [params["n"] for _, params in near.told] == [1, 2]


async def test_calling_our_request_off_tells_the_other_side_once() -> None:
    async with running() as near:
        asked = near.peer.request("ask", {})
        asked.cancel()
        asked.cancel()
        near.peer.notify("last", {})
        heard = [await near.far.hear() for _ in range(3)]
        assert heard[1] == tell("$/cancel_request", requestId=asked.id)
        assert heard[2]["method"] == "last"


async def test_a_notification_whose_handler_fails_is_reported_and_not_answered() -> None:
    async with running() as near:
        near.handlers["echo"] = echo
        await near.far.say(tell("fails"), ask(1, "echo"))
        assert await near.far.hear() == result(1, {})
    assert [f"{place}: {failure}" for place, failure in near.reports] == ["notification fails: fails"]


async def test_the_end_of_input_fails_our_requests_and_lets_the_last_answers_out() -> None:
    async with running() as near:
        near.closing = Call[None]()
        slow, asked = Call[object](), near.peer.request("ask", {})
        near.handlers["slow"] = lambda _: slow
        await near.far.say(ask(1, "slow"))
        await near.far.send.aclose()
        with pytest.raises(ConnectionClosed):
            await asked
        assert await near.peer.closed == CloseCause.ENDED
        slow._return("last words")
        near.closing._return(None)
        heard = await near.far.hear_all()
        assert heard[-1] == result(1, "last words")
    assert near.causes == [CloseCause.ENDED]
    with pytest.raises(ConnectionClosed):
        await near.peer.request("late", {})


async def test_what_came_just_before_the_end_is_answered() -> None:
    async with running() as near:
        near.handlers["echo"] = echo
        await near.far.say(ask(1, "echo"))
        await near.far.send.aclose()
        assert await near.far.hear_all() == [result(1, {})]


async def test_what_is_still_worked_on_when_its_time_is_up_is_called_off() -> None:
    async with running(sleep=little_time) as near:
        near.handlers["slow"] = pending
        await near.far.say(ask(1, "slow"))
        await near.far.send.aclose()
        assert [brief(answer) for answer in await near.far.hear_all()] == [error(1, -32800)]
    assert near.peer.open_requests == 0


async def test_a_broken_pipe_closes_the_connection() -> None:
    async with running() as near:
        await near.far.receive.aclose()
        near.peer.notify("hello", {})
        assert await near.peer.closed == CloseCause.BROKEN


async def test_a_side_that_is_heard_out_may_still_answer_what_it_was_asked() -> None:
    async with running(hears_out=True) as near:
        asked = near.peer.request("hello", {})
        question = await near.far.hear()
        await near.far.receive.aclose()
        near.peer.notify("bye", {})
        unheard = near.peer.request("again", {})
        with pytest.raises(ConnectionClosed, match="broken"):
            await unheard
        with pytest.raises(ConnectionClosed, match="broken"):
            await near.peer.request("once more", {})
        assert not near.peer.closed.done
        await near.far.say(result(question["id"], "hi"))
        assert await asked == "hi"
        await near.far.send.aclose()
        assert await near.peer.closed == CloseCause.ENDED


async def test_a_side_that_does_not_read_is_left() -> None:
    async with running(max_waiting=10_000, capacity=0) as near:
        while not near.peer.closed.done:
            near.peer.notify("flood", {"text": "x" * 1_000})
            await anyio.lowlevel.checkpoint()
        assert await near.peer.closed == CloseCause.DEAF


async def test_last_words_have_a_bounded_time() -> None:
    gave_up = anyio.Event()

    async def clock(_seconds: float) -> None:
        gave_up.set()

    async with running(capacity=0, sleep=clock) as near:
        near.peer.notify("nobody reads this", {})
    assert gave_up.is_set()


async def test_a_peer_that_is_cancelled_closes_and_cancels_what_runs() -> None:
    near = Near()
    ended: list[str] = []

    async def slow(_incoming: Incoming) -> object:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("slow")
        raise AssertionError

    near.handlers["slow"] = slow
    async with near.far, anyio.create_task_group() as tasks:
        tasks.start_soon(near.peer.run)
        near.handlers["mark"] = echo
        await near.far.say(ask(1, "slow"), ask(2, "mark"))
        await near.far.hear()
        tasks.cancel_scope.cancel()
    assert ended == ["slow"]
    assert near.causes == [CloseCause.LOCAL]
    with pytest.raises(RuntimeError):
        await near.peer.run()


async def test_writing_can_be_waited_for() -> None:
    async with running(capacity=0) as near:
        near.peer.notify("one", {})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(near.far.hear)
            await near.peer.drained()


async def test_a_holder_that_fails_at_the_end_is_reported() -> None:
    async with running() as near:

        def fails(cause: CloseCause) -> None:
            raise ValueError(cause)

        near.peer._on_closed = fails
        await near.far.send.aclose()
        assert await near.peer.closed == CloseCause.ENDED
    assert [place for place, _ in near.reports] == ["closing"]


async def test_a_reader_that_breaks_closes_the_connection() -> None:
    async with running() as near:
        await near.peer._receive.aclose()
        assert await near.peer.closed == CloseCause.BROKEN
