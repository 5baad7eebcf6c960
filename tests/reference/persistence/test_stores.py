"""Both stores keep the same promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from probate_reference import (
    AssistantMessage,
    ContextMessage,
    HomeLocked,
    LogExists,
    NotFound,
    Record,
    StorageError,
    Store,
    TurnEnd,
    TurnReason,
    TurnStart,
    TurnTrigger,
    UserMessage,
)
from probate_reference.persistence import Header, SeqMismatch
from probate_reference.records import StepEnd, StepStart, ToolCalled, ToolOutcome, ToolResult

START = TurnStart(1, TurnTrigger.INJECTION)
END = TurnEnd(1, TurnReason.COMPLETED)
TURN = (START, ContextMessage("x"), END)

EVERY_KIND: tuple[Record, ...] = (
    TurnStart(1, TurnTrigger.MESSAGE),
    UserMessage("line\nbreak \ud800 \U0001f600 \u2028"),
    ContextMessage(""),
    StepStart(1, 1),
    AssistantMessage("x" * 100_000),
    ToolCalled(1, "name", '{"a": "b"}'),
    ToolResult(1, ToolOutcome.ERROR, "failed"),
    StepEnd(1, 1),
    TurnEnd(1, TurnReason.INTERRUPTED),
)


def test_every_kind_of_record_is_tried() -> None:
    assert {type(record) for record in EVERY_KIND} == set(get_args(Record))


def test_what_was_written_is_read(store: Store, make: Callable[[], Store]) -> None:
    metadata = {"cwd": "/tmp/ä", "": "\n"}
    store.create(Header("a", metadata), EVERY_KIND[:2])
    store.append("a", 2, EVERY_KIND[2:])
    for _ in range(2):
        stored = store.read("a")
        assert stored.header == Header("a", metadata)
        assert stored.records == EVERY_KIND
        assert not stored.torn
        store.close()
        store = make()
        store.open()
    store.close()


def test_create_refuses_an_id_that_has_a_log_and_leaves_it(store: Store) -> None:
    store.create(Header("a"), TURN)
    for records in (TURN, ()):
        with pytest.raises(LogExists, match="'a' has a log already"):
            store.create(Header("a", {"other": "cwd"}), records)
    assert store.read("a").records == TURN
    assert store.read("a").header == Header("a")


def test_append_is_refused_anywhere_but_at_the_end(store: Store) -> None:
    store.create(Header("a"), TURN)
    for seq in (0, 2, 4):
        with pytest.raises(SeqMismatch, match=f"{seq} was offered, 3 is next"):
            store.append("a", seq, TURN)
    store.forget("a")
    with pytest.raises(SeqMismatch):
        store.append("a", 2, TURN)
    assert store.read("a").records == TURN


def test_what_is_not_there(store: Store) -> None:
    assert not store.exists("a")
    assert store.list() == ()
    for ask in (store.read, store.delete, lambda name: store.append(name, 0, TURN)):
        with pytest.raises(NotFound):
            ask("a")


def test_delete_frees_the_id(store: Store) -> None:
    store.create(Header("a"), TURN)
    store.create(Header("b"), TURN)
    store.delete("a")
    assert [stored.id for stored in store.list()] == ["b"]
    store.create(Header("a"), TURN[:1])
    assert store.read("a").records == TURN[:1]


def test_list_is_by_id_with_metadata(store: Store) -> None:
    names = ["b", "A", "a", "", "../x", "a/b", ".", "CON", "ä", "\ud800", "x" * 300, "x" * 299 + "y", "a%2f", "a~"]
    for name in names:
        store.create(Header(name, {"name": repr(name)}), TURN)
    listed = store.list()
    assert [stored.id for stored in listed] == sorted(names)
    assert all(stored.metadata == {"name": repr(stored.id)} for stored in listed)
    assert all(stored.modified > 0 for stored in listed)
    assert all(store.read(name).header.id == name for name in names)


def test_nobody_else_may_open_the_home(store: Store, make: Callable[[], Store]) -> None:
    with pytest.raises(HomeLocked, match=r"in use by .*process.*another home"):
        make().open()
    store.close()
    second = make()
    second.open()
    second.close()


def test_a_store_that_is_not_open_says_so(make: Callable[[], Store]) -> None:
    for ask in (make().list, lambda: make().read("a"), lambda: make().create(Header("a"), TURN)):
        with pytest.raises(StorageError, match="not open"):
            ask()
