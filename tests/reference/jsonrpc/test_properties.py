"""Whatever comes in: every request gets one answer, nothing else does, and the peer ends."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NoReturn

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probate_reference.jsonrpc import Incoming, Lines, TooLong, encode, read
from tests.reference.jsonrpc.wires import Near, little_time

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=4), st.just([]))
METHODS = st.sampled_from(["now", "never", "fails", "$/cancel_request", "update", ""])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
        "id": SCALARS,
        "method": st.one_of(METHODS, SCALARS),
        "params": st.one_of(st.fixed_dictionaries({"requestId": SCALARS}), SCALARS),
        "result": SCALARS,
        "error": st.one_of(SCALARS, st.fixed_dictionaries({"code": SCALARS, "message": SCALARS})),
    },
)
GOOD = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": METHODS, "params": st.fixed_dictionaries({"requestId": st.integers(-3, 3)})},
    optional={"id": st.one_of(st.integers(-3, 3), st.text(max_size=2))},
)
LINES = st.one_of(
    st.binary(max_size=40),
    st.one_of(GOOD, GOOD, MESSAGES, st.lists(st.one_of(GOOD, MESSAGES), max_size=4)).map(
        lambda value: json.dumps(value).encode()
    ),
    st.just(b"y" * 3_000),
)


def refuse(name: str) -> NoReturn:
    raise ValueError(name)


def demands(line: bytes) -> list[Any]:
    """List the ids that a line's messages must be answered under, by plain reading of the protocol."""
    if len(line) > 2_000:
        return [None]
    if not line.strip():
        return []
    try:
        value = json.loads(line.decode(), parse_constant=refuse)
    except (ValueError, RecursionError):
        return [None]
    if isinstance(value, list) and value:
        return [name for member in value for name in demand(member)]
    return demand(value)


def demand(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return [None]
    if "method" not in value:
        if not ("result" in value or "error" in value):
            return [None]
        return []
    wrong = value.get("jsonrpc") != "2.0" or not isinstance(value["method"], str)
    wrong = wrong or not isinstance(value.get("params") or {}, dict) or value.get("params") in (False, 0, "", [], 0.0)
    if wrong:
        return [None]
    if "id" not in value:
        return []
    return [value["id"]] if type(value["id"]) in (int, str) else [None]


def key(id: Any) -> str:
    return f"{type(id).__name__} {id!r}"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(lines=st.lists(LINES, max_size=12), cuts=st.lists(st.integers(1, 30), max_size=8))
@settings(max_examples=60, derandomize=True)
def test_every_request_gets_one_answer_and_nothing_else_does(backend: str, lines: list[bytes], cuts: list[int]) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]

    async def work(incoming: Incoming) -> object:
        if incoming.method == "never":
            await anyio.sleep_forever()
        if incoming.method == "fails":
            raise ValueError("fails")
        return None

    async def main() -> list[Any]:
        near = Near(max_line=2_000, sleep=little_time)
        for method in ("now", "never", "fails", "$/cancel_request", "update", ""):
            near.handlers[method] = work
        data = b"\n".join(lines)
        for cut in cuts:  # torn anywhere
            await near.far.say(data[:cut])
            data = data[cut:]
        await near.far.say(data)
        async with near.far:
            await near.far.send.aclose()
            await near.peer.run()
            return await near.far.hear_all()

    answers: list[Any] = []
    for heard in anyio.run(main, backend=backend):
        answers += heard if isinstance(heard, list) else [heard]
    wanted = [name for line in lines for name in demands(line)]
    # An id that is in use is answered without it.
    assert len(answers) == len(wanted)
    got = sorted(key(answer["id"]) for answer in answers if answer["id"] is not None)
    assert set(got) == {key(name) for name in wanted if name is not None}
    assert all(got.count(one) <= sum(key(name) == one for name in wanted) for one in got)


@settings(derandomize=True)
@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=6), limit=st.integers(0, 40))
def test_lines_do_not_depend_on_how_they_come(data: bytes, cuts: list[int], limit: int) -> None:
    lines, given_lines = Lines(limit), []
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for begin, end in pairwise(places):
        given_lines += list(lines.feed(data[begin:end]))
    *whole, rest = data.split(b"\n")
    wanted: list[bytes | TooLong] = [line if len(line) <= limit else TooLong(limit) for line in whole]
    if len(rest) > limit:
        wanted.append(TooLong(limit))
        rest = b""
    assert given_lines == wanted
    assert lines.finish() == rest


@settings(derandomize=True)
@given(st.binary(max_size=80))
def test_reading_never_raises(line: bytes) -> None:
    read(line)


@settings(derandomize=True)
@given(st.text(max_size=20))
def test_any_text_survives_the_wire(text: str) -> None:
    line = encode({"text": text})
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert json.loads(line)["text"] == text
