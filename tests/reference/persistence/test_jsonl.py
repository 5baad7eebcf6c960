"""A log is a file that only grows: what a crash may leave in it, and what a crash cannot have done."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from probate_reference import (
    AssistantMessage,
    ContextMessage,
    JsonlStore,
    LogDamaged,
    LogTooNew,
    Record,
    StepEnd,
    StepStart,
    ToolCalled,
    ToolOutcome,
    ToolResult,
    TurnEnd,
    TurnReason,
    TurnStart,
    TurnTrigger,
    UserMessage,
)
from probate_reference.persistence import Header
from probate_reference.persistence.repair import INTERRUPTED, closers

FIRST: tuple[Record, ...] = (
    TurnStart(1, TurnTrigger.INJECTION),
    ContextMessage("x"),
    TurnEnd(1, TurnReason.COMPLETED),
)
SECOND: tuple[Record, ...] = (
    TurnStart(2, TurnTrigger.MESSAGE),
    UserMessage("y"),
    StepStart(2, 1),
    AssistantMessage("tools"),
    ToolCalled(1, "tool", ""),
    ToolResult(1, ToolOutcome.OK, "done"),
    ToolCalled(2, "tool", ""),
    ToolResult(2, ToolOutcome.OK, "done"),
    StepEnd(2, 1),
    TurnEnd(2, TurnReason.COMPLETED),
)
LOG = (*FIRST, *SECOND)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give a home in which session ``a`` has two turns."""
    store = JsonlStore(tmp_path)
    store.open()
    store.create(Header("a", {"cwd": "/"}), FIRST)
    store.append("a", 3, SECOND)
    store.close()
    return tmp_path


@pytest.fixture
def store(home: Path) -> Iterator[JsonlStore]:
    """Give an open store on it."""
    made = JsonlStore(home)
    made.open()
    yield made
    made.close()


def log_of(home: Path) -> Path:
    return home / "sessions" / "a.jsonl"


def test_a_log_is_one_json_object_per_line_for_its_user_only(home: Path) -> None:
    header, *lines = [json.loads(line) for line in log_of(home).read_text().splitlines()]
    assert header == {"format": "probate-session", "version": 1, "id": "a", "metadata": {"cwd": "/"}}
    assert [line["seq"] for line in lines] == list(range(13))
    assert lines[4] == {"seq": 4, "kind": "user/message", "text": "y"}
    assert stat.S_IMODE(log_of(home).stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "sessions").stat().st_mode) == 0o700


def test_a_log_cut_at_any_byte_of_its_last_records_loads_and_goes_on(home: Path, store: JsonlStore) -> None:
    path = log_of(home)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole) - sum(map(len, lines[-3:])), len(whole) + 1):
        path.write_bytes(whole[:cut])
        store.forget("a")
        stored = store.read("a")
        assert path.read_bytes() == whole[:cut], "a read changes nothing"
        committed = whole[:cut].count(b"\n") - 1
        assert stored.records == LOG[:committed]
        assert stored.torn == (not whole[:cut].endswith(b"\n"))
        ends = closers(stored.records)
        store.append("a", committed, ends)
        repaired = path.read_bytes()
        assert repaired.startswith(b"".join(lines[: committed + 1])), "what was before is kept byte for byte"
        again = store.read("a")
        assert again.records == LOG[:committed] + ends
        assert not again.torn
        assert closers(again.records) == ()
        assert path.read_bytes() == repaired


@pytest.mark.parametrize("count", range(len(LOG) + 1))
def test_what_a_crash_left_open_is_closed(count: int) -> None:
    records = LOG[:count]
    ends = closers(records)
    calls = [record.number for record in records if isinstance(record, ToolCalled)]
    answered = [record.number for record in records if isinstance(record, ToolResult)]
    expected: list[Record] = []
    if 6 <= count <= 11:
        expected += [ToolResult(number, ToolOutcome.ERROR, INTERRUPTED) for number in calls if number not in answered]
        expected.append(StepEnd(2, 1))
    if 4 <= count <= 12:
        expected.append(TurnEnd(2, TurnReason.INTERRUPTED))
    if 1 <= count <= 2:
        expected.append(TurnEnd(1, TurnReason.INTERRUPTED))
    assert list(ends) == expected
    assert closers((*records, *ends)) == ()


def test_calls_without_a_result_are_answered_in_their_order() -> None:
    records = (*SECOND[:4], ToolCalled(1, "tool", ""), ToolCalled(2, "tool", ""), ToolResult(1, ToolOutcome.OK, ""))
    first, *_ = closers(records)
    assert first == ToolResult(2, ToolOutcome.ERROR, INTERRUPTED)
    ends = closers(records[:-1])
    assert [end.number for end in ends if isinstance(end, ToolResult)] == [1, 2]


def test_a_call_of_a_closed_step_is_left_alone() -> None:
    records = (*SECOND[:4], ToolCalled(1, "tool", ""), StepEnd(2, 1))
    assert closers(records) == (TurnEnd(2, TurnReason.INTERRUPTED),)


def damaged(line: bytes) -> list[bytes]:
    """Give ways in which a line can be wrong."""
    value = json.loads(line)
    return [
        b"\n",
        b"\0" * (len(line) - 1) + b"\n",
        line[:-2] + b"\n",
        line[1:],
        b"[]\n",
        b"[" * 100_000 + b"\n",
        b"\xff" + line,
        json.dumps({**value, "seq": value["seq"] + 1}).encode() + b"\n",
        json.dumps({**value, "seq": True}).encode() + b"\n",
        json.dumps({**value, "kind": "no/such"}).encode() + b"\n",
        json.dumps({**value, "kind": ["turn/end"]}).encode() + b"\n",
        json.dumps({**value, "more": 1}).encode() + b"\n",
        json.dumps({"seq": value["seq"], "kind": value["kind"]}).encode() + b"\n",
        json.dumps({**value, **{key: [] for key in value if key not in ("seq", "kind")}}).encode() + b"\n",
    ]


def test_damage_before_a_committed_turn_end_is_refused_and_left(home: Path, store: JsonlStore) -> None:
    path = log_of(home)
    lines = path.read_bytes().splitlines(keepends=True)
    for number in (1, 4, 12):
        for wrong in damaged(lines[number]):
            path.write_bytes(b"".join([*lines[:number], wrong, *lines[number + 1 :]]))
            before = path.read_bytes()
            store.forget("a")
            with pytest.raises(LogDamaged, match=rf"'a' is damaged at .*a\.jsonl, line {number + 1}: .*left as it is"):
                store.read("a")
            with pytest.raises(LogDamaged):
                store.append("a", number - 1, FIRST)
            assert path.read_bytes() == before


def test_damage_after_the_last_committed_turn_is_dropped(home: Path, store: JsonlStore) -> None:
    path = log_of(home)
    lines = path.read_bytes().splitlines(keepends=True)[:-1]
    for number in (4, 8, 12):
        for wrong in damaged(lines[number]):
            path.write_bytes(b"".join([*lines[:number], wrong, *lines[number + 1 :]]))
            store.forget("a")
            stored = store.read("a")
            assert stored.records == LOG[: number - 1]
            assert stored.torn
            store.append("a", number - 1, ())
            assert path.read_bytes() == b"".join(lines[:number])


def test_a_log_of_a_later_version_is_not_touched(home: Path, store: JsonlStore) -> None:
    path = log_of(home)
    text = path.read_bytes().replace(b'"version":1', b'"version":2').replace(b'"metadata"', b'"something-else"')
    path.write_bytes(text)
    for ask in (lambda: store.read("a"), lambda: store.append("a", 13, FIRST)):
        with pytest.raises(LogTooNew, match=r"a\.jsonl has format version 2; read it with the version that wrote it"):
            ask()
    assert store.list() == ()
    assert store.exists("a")
    assert path.read_bytes() == text


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{}",
        b'{"format":"other","version":1,"id":"a","metadata":{}}',
        b'{"format":"probate-session","version":"1","id":"a","metadata":{}}',
        b'{"format":"probate-session","version":1,"id":"b","metadata":{}}',
        b'{"format":"probate-session","version":1,"id":"a"}',
        b'{"format":"probate-session","version":1,"id":"a","metadata":{"cwd":1}}',
    ],
)
def test_a_header_that_is_none_is_refused(home: Path, store: JsonlStore, header: bytes) -> None:
    path = log_of(home)
    path.write_bytes(header + b"\n")
    with pytest.raises(LogDamaged, match="line 1"):
        store.read("a")
    path.write_bytes(header)
    with pytest.raises(LogDamaged, match="no whole header"):
        store.read("a")


def test_a_log_that_shrank_is_not_grown(home: Path, store: JsonlStore) -> None:
    store.append("a", 13, ())
    path = log_of(home)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(LogDamaged, match="10 bytes that were safe are missing"):
        store.append("a", 13, FIRST)


def test_what_a_crash_left_half_made_is_removed(home: Path) -> None:
    half = home / "sessions" / "b.jsonl.new"
    half.write_bytes(b"{")
    store = JsonlStore(home)
    store.open()
    assert not half.exists()
    assert not store.exists("b")
    store.create(Header("b"), FIRST)
    store.close()
