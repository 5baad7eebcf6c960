"""Traces as values and as files: what is written is read back, and each fault of a file is told in one message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probate_conformance.errors import Exit, TraceError
from probate_conformance.generation import generate
from probate_conformance.manifest import PROFILES
from probate_conformance.trace import ExpectedDivergence, Trace, dangling, dump, faults, load, ops_of
from probate_model.alphabet.events import EVENT_KINDS
from probate_model.alphabet.items import WorldSpec
from probate_model.alphabet.names import OwnerName
from tests.model.helpers import burst, items

WHOLE = """
    create c a by=host setup cleanup signal
    react log record=turn/start turn=1 nth=2 do send this R; reject late; throw V
    plan model c tools:2 max-tokens+tools:1 error
    hold flush c deaf
    settle
    send c A
    cancel c parent
    settle
    create d b by=agent:c
    unload side
    release flush c fail
    open flush c
    look
"""

HEARD = ", ".join(kind for kind in EVENT_KINDS if kind not in ("scope/cleanup", "settled") and "child/" not in kind)


def trace(text: str, **changes: object) -> Trace:
    """Give a trace of these items, validated."""
    return Trace.model_validate({"items": items(text), **changes})


def written(path: Path, document: object) -> Path:
    """Write a document as a trace file."""
    file = path / "trace.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return file


def document(text: str = "create c a", **changes: object) -> dict[str, object]:
    """Give a trace as a document, with changes."""
    made: dict[str, object] = json.loads(dump(trace(text)))
    made.update(changes)
    return made


def refusal(path: Path, what: object) -> str:
    """Give the message by which a file is refused, without the file's name."""
    file = written(path, what)
    with pytest.raises(TraceError) as raised:
        load(file)
    assert raised.value.exit is Exit.USAGE
    message = str(raised.value)
    assert message.startswith(f"{file}: ")
    return message.removeprefix(f"{file}: ").splitlines()[0]


# What is written is read back.


def test_a_trace_is_read_back(tmp_path: Path) -> None:
    made = trace(
        WHOLE,
        world=WorldSpec((OwnerName("host"), OwnerName("side")), provider=False),
        schedule=7,
        expected=ExpectedDivergence(clause="CANCEL-02", backend="reference", seen="nothing more"),
    )
    assert load(written(tmp_path, dump(made))) == made


def test_generated_traces_are_read_back_and_are_valid(tmp_path: Path) -> None:
    for number in range(60):
        made = generate(1, number)
        assert list(faults(made.items)) == []
        read = Trace.model_validate_json(dump(made))
        assert (read.items, read.world) == (made.items, made.world)
        if not list(dangling(made)):
            assert load(written(tmp_path, dump(made))) == read


def test_a_file_says_all_that_is_needed_to_run_it_again() -> None:
    assert document() == {
        "format": "probate-trace",
        "version": 1,
        "edition": "2026-06",
        "profile": "core",
        "world": {"owners": ["host"], "provider": True},
        "items": [
            {
                "label": "c",
                "id": "a",
                "by": {"owner": "host"},
                "setup": "none",
                "cleanup": False,
                "signal": "none",
                "item": "create",
            }
        ],
        "schedule": "fifo",
        "expected": None,
    }


# Bursts and the epilogue.


def test_bursts_are_what_stands_between_two_settles() -> None:
    made = trace("settle\ncreate c a\nsettle\nsettle\nsend c A\nlook")
    assert made.bursts()[:-1] == [burst("create c a"), burst("send c A\nlook")]


def test_the_epilogue_opens_the_held_gates_once_and_unloads_owners_in_order_and_then_the_provider() -> None:
    world = WorldSpec((OwnerName("host"), OwnerName("side")))
    made = trace("hold model c\nhold flush c\nhold model c deaf\nplan tool c ok\ncreate c a", world=world)
    assert made.bursts()[-1] == burst("""
        open model c
        open flush c
        unload host -> end:host
        unload side -> end:side
        unload provider -> end
    """)
    assert made.epilogue() == made.bursts()[-1]


def test_other_items_make_another_trace_in_the_same_world() -> None:
    made = trace(WHOLE, world=WorldSpec((OwnerName("host"), OwnerName("side"))), schedule=3)
    other = made.with_items(items("look"))
    assert (other.items, other.world, other.schedule) == (items("look"), made.world, 3)


def test_the_ops_of_an_item_are_its_own_or_those_of_its_reaction() -> None:
    assert [op.label for item in items(WHOLE) for op in ops_of(item)] == [
        "c", "r1.0", "A", "cancel", "d", "unload", "look",
    ]  # fmt: skip


# What is no trace.


FIELDS_OF_A_LOG_EVENT = "agent, cause, count, n, outcome, queue, record, seq, step, text, trigger, turn"

FAULTS = {
    "create c a\ncreate c b": [(2, "the label 'c' is already taken")],
    "react log do look -> r\nlook -> r.0": [(2, "the label 'r.0' is already taken")],
    "look -> this": [(1, "'this' can't be a label; it has a meaning of its own")],
    "look -> end:host": [(1, "'end:host' can't be a label; it has a meaning of its own")],
    "send this A": [(1, "'this' means something only in a reaction")],
    "create c a by=agent:this": [(1, "'this' means something only in a reaction")],
    "send c A -> s\nsteer c A -> t": [(2, "the text 'A' is already used; texts are unique in a trace")],
    "send c !bad -> s\nsteer c !bad -> t": [],
    "react agent/queued nth=0 do look": [(1, "nth counts from 1")],
    "react agent/queued colour=red do look": [(1, "agent/queued has no field 'colour'; it has agent, steering, text")],
    "react log upto=3 do look": [(1, f"log has no field 'upto'; it has {FIELDS_OF_A_LOG_EVENT}")],
    "react log record=turn/end outcome=aborted do look": [],
    "react agent/queued do throw V; look": [(1, "a throw can only be the last action")],
    "react scope/cleanup do look": [
        (
            1,
            f"no listener hears 'scope/cleanup'; known are {HEARD}",
        )
    ],
    "plan model c later": [(1, "the gate 'model' has no outcome 'later'")],
    "plan model c tools:0": [(1, "the gate 'model' has no outcome 'tools:0'")],
    "plan model c tools:9": [(1, "the gate 'model' has no outcome 'tools:9'")],
    "release flush c throw": [(1, "the gate 'flush' has no outcome 'throw'")],
    "hold load c": [],
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_of_a_list_of_items(text: str) -> None:
    assert list(faults(items(text))) == FAULTS[text]


def without(made: dict[str, object], name: str) -> dict[str, object]:
    del made[name]
    return made


REACTION = {"item": "react", "label": "r", "on": {"event": "agent/queued", "where": []}, "nth": 1}

REFUSED: dict[str, tuple[object, str]] = {
    "not JSON": ("{", "not a trace: is no JSON: EOF while parsing an object at line 1 column 1"),
    "a list": ([], "not a trace: must be an object"),
    "another format": (
        document(format="har"),
        "not a trace: format: must be 'probate-trace'",
    ),
    "another version": (document(version=2), "not a trace: version: must be 1"),
    "an unknown edition": (
        document(edition="1999"),
        "not a trace: edition: unknown edition '1999'; known are 2026-06, 2026-08",
    ),
    "an unknown profile": (
        document(profile="game"),
        f"not a trace: profile: unknown profile 'game'; known are {', '.join(PROFILES)}",
    ),
    "no items": (without(document(), "items"), "not a trace: items: is missing"),
    "a field too many": (document(colour="red"), "not a trace: colour: is a field that does not belong here"),
    "a wrong schedule": (
        document(schedule=-1),
        "not a trace: schedule.literal['fifo']: must be 'fifo'",
    ),
    "an item that lacks something": (
        document(items=[{"item": "send", "label": "s", "agent": "c"}]),
        "not a trace: items[0].send.text: is missing",
    ),
    "an item with something too much": (
        document(items=[{"item": "look", "label": "k", "deep": True}]),
        "not a trace: items[0].look.deep: is a field that does not belong here",
    ),
    "an item of another type": (
        document(items=[{"item": "look", "label": 3}]),
        "not a trace: items[0].look.label: must be a valid string",
    ),
    "a reaction that does nothing": (
        document(items=[{**REACTION, "do": []}]),
        "not a trace: items: item 1: a reaction needs something to do",
    ),
    "a reaction with a wrong label": (
        document(items=[{**REACTION, "do": [{"item": "look", "label": "k"}]}]),
        "not a trace: items: item 1: action 0 must have the label 'r.0', not 'k'",
    ),
    "a resume": (
        document(items=[{"item": "resume", "label": "c", "id": "a", "by": {"owner": "host"}}]),
        "not a trace: item 1: resume belongs to profile 'sessions', not 'core'",
    ),
    "a gate of a load": (
        document(items=[{"item": "hold", "gate": {"kind": "load", "creation": "c"}}]),
        "not a trace: item 1: gate load belongs to profile 'sessions' and 'bridge', not 'core'",
    ),
    "a crash in a reaction": (
        document(profile="sessions", items=[{**REACTION, "do": [{"item": "crash", "label": "r.0"}]}]),
        "not a trace: items: item 1: a crash can't be in a reaction: nobody would go on with the dispatch",
    ),
    "a label that is taken": (
        document(items=document()["items"] * 2),  # type: ignore[operator]
        "not a trace: items: item 2: the label 'c' is already taken",
    ),
    "a reference to nothing": (document("send c A"), "not a trace: item 1: no item creates 'c'"),
    "a gate of nothing": (document("hold model c"), "not a trace: item 1: no item creates 'c'"),
    "an owner that is not there": (
        document("create c a by=side"),
        "not a trace: item 1: the world has no owner 'side'; it has host",
    ),
    "an unload of nobody": (
        document("look\nunload side"),
        "not a trace: item 2: the world has no owner 'side'; it has host",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_trace_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    what, message = REFUSED[name]
    assert refusal(tmp_path, what) == message


def test_an_unknown_op_is_refused_with_what_was_probably_meant(tmp_path: Path) -> None:
    message = refusal(tmp_path, document(items=[{"item": "sned", "label": "s"}]))
    assert message == "not a trace: items[0]: unknown item 'sned'; did you mean 'send'?"


def test_a_message_says_how_a_trace_file_looks(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as raised:
        load(written(tmp_path, "{"))
    assert str(raised.value).splitlines()[1] == "  'probate schema trace' prints what a trace file looks like"


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    with pytest.raises(TraceError) as raised:
        load(missing)
    assert str(raised.value) == f"{missing}: can't read the trace: No such file or directory"
    with pytest.raises(TraceError, match="can't read the trace: Is a directory"):
        load(tmp_path)
    latin = tmp_path / "latin.json"
    latin.write_bytes(b"\xff\xfe")
    with pytest.raises(TraceError, match="can't read the trace: it is not UTF-8 text"):
        load(latin)


def test_a_shrunk_trace_may_refer_to_nothing_and_a_file_may_not() -> None:
    made = trace("send c A\nreact agent/queued do cancel d; cancel this\ncreate k b by=agent:p")
    assert [number for number, _ in dangling(made)] == [1, 2, 3]
    assert made.bursts()
