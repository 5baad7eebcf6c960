"""Traces, events and divergences in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.codec import EVENT, ITEM
from probate_conformance.lockstep import Examined, examine
from probate_conformance.story import _REASONS, event_line, item_line, seen_line, snapshot_line, story
from probate_conformance.trace import Trace
from probate_conformance.wire import Command, Quiet, Reply
from probate_model.alphabet.events import AgentDisposed, Event, Listed, Logged, Snapshot, Status, UserMessage
from probate_model.alphabet.events import AgentDisposed as Disposed
from probate_model.alphabet.items import BurstItem
from probate_model.alphabet.names import AgentId, AgentRef, Text
from probate_model.worlds import EVERYTHING, Divergence, Reason

CREATE = {"item": "create", "label": "c", "id": "a", "by": {"owner": "host"}}
GATE = {"kind": "model", "creation": "c"}


ITEMS: list[tuple[dict[str, Any], str]] = [
    (CREATE, "create c: id 'a' by host"),
    (
        {**CREATE, "by": {"agent": "p"}, "setup": "plain", "cleanup": True, "signal": "armed"},
        "create c: id 'a' by agent p setup=plain cleanup signal=armed",
    ),
    ({"item": "resume", "label": "c", "id": "a", "by": {"owner": "host"}}, "resume c: id 'a' by host"),
    ({"item": "abort", "label": "x", "creation": "c"}, "abort c -> x"),
    ({"item": "withdraw", "label": "x", "creation": "c"}, "withdraw c -> x"),
    ({"item": "send", "label": "s", "agent": "c", "text": "t"}, "send c 't' -> s"),
    ({"item": "steer", "label": "s", "agent": "c", "text": "t"}, "steer c 't' -> s"),
    ({"item": "inject", "label": "s", "agent": "c", "text": "t\n"}, "inject c 't\\n' -> s"),
    ({"item": "cancel", "label": "x", "agent": "c"}, "cancel c by user -> x"),
    ({"item": "await_idle", "label": "w", "agent": "c"}, "await idle c -> w"),
    ({"item": "dispose", "label": "d", "agent": "c"}, "dispose c -> d"),
    ({"item": "unload_owner", "label": "u", "owner": "host"}, "unload owner host -> u"),
    ({"item": "load_owner", "label": "u", "owner": "host"}, "load owner host -> u"),
    ({"item": "unload_provider", "label": "u"}, "unload provider -> u"),
    ({"item": "load_provider", "label": "u"}, "load provider -> u"),
    ({"item": "look", "label": "l"}, "look -> l"),
    ({"item": "settle"}, "settle"),
    (
        {"item": "plug", "label": "f", "inject": ["s"], "provides": ["t"], "effects": [1, 2]},
        "plug f into root inject s provides t effects of 1, 2",
    ),
    ({"item": "unplug", "label": "u", "fiber": "f"}, "unplug f -> u"),
    ({"item": "restart", "label": "r", "fiber": "f"}, "restart f -> r"),
    ({"item": "effect", "label": "e", "fiber": "f", "setup": "plain"}, "effect e of 1 on f slowly"),
    ({"item": "provide", "label": "p", "fiber": "f", "service": "s"}, "provide s on f -> p"),
    ({"item": "end_effect", "label": "x", "effect": "e"}, "end e -> x"),
    ({"item": "use", "label": "u", "fiber": "f", "service": "s"}, "use s on f declared -> u"),
    ({"item": "plan", "gate": GATE, "outcomes": ["text", "error"]}, "plan model of c: text, error"),
    ({"item": "hold", "gate": GATE, "temper": "deaf"}, "hold model of c (deaf)"),
    ({"item": "release", "gate": GATE, "outcome": "error"}, "release model of c: error"),
    ({"item": "open", "gate": GATE}, "open model of c"),
    ({"item": "start_task", "label": "t", "by": "c", "turn": True}, "start task by c in a turn -> t"),
    ({"item": "launch_task", "label": "t"}, "launch task nobody's -> t"),
    (
        {"item": "launch_task", "label": "t", "owner": "", "signal": "armed", "runs": False},
        "launch task owned by '' signal armed that can't be run -> t",
    ),
    ({"item": "abort_task", "label": "a", "task": "t"}, "abort t -> a"),
    ({"item": "read_task", "label": "r", "task": "t"}, "read t by nobody -> r"),
    ({"item": "kill_task", "label": "x", "task": "t", "via": "executor"}, "kill t at the executor -> x"),
    ({"item": "task_says", "label": "s", "task": "t", "text": "word"}, "t says 'word' -> s"),
    ({"item": "owner_of_task", "label": "o", "task": "t"}, "owner of t -> o"),
    ({"item": "list_tasks", "label": "k"}, "list tasks -> k"),
    ({"item": "await_task", "label": "w", "task": "t"}, "await t -> w"),
    ({"item": "unload_tool", "label": "u"}, "unload tool -> u"),
    ({"item": "load_tool", "label": "l"}, "load tool -> l"),
    ({"item": "dispose_executor", "label": "d"}, "dispose executor -> d"),
    ({"item": "load_executor", "label": "l"}, "load executor -> l"),
    ({"item": "set_registry", "label": "g", "registry": "broken"}, "registry broken -> g"),
    ({"item": "reload", "label": "l"}, "reload -> l"),
    ({"item": "stored", "label": "s", "id": "a"}, "stored 'a' -> s"),
    ({"item": "crash", "label": "x", "tail": "torn", "restart": "home"}, "crash, tail torn, restart home -> x"),
    ({"item": "connect", "label": "k"}, "client k connects"),
    ({"item": "new_session", "label": "n", "connection": "k"}, "client k asks for session n"),
    ({"item": "prompt", "label": "p", "session": "n", "text": "A"}, "prompt n 'A' -> p"),
    ({"item": "cancel_session", "label": "x", "session": "n"}, "cancel session n -> x"),
    ({"item": "close_session", "label": "q", "session": "n"}, "close session n -> q"),
    (
        {"item": "load_session", "label": "l", "connection": "k", "id": "n", "folder": "other"},
        "client k asks to load n in other folder -> l",
    ),
    (
        {"item": "resume_session", "label": "l", "connection": "k", "id": "n"},
        "client k asks to resume n -> l",
    ),
    ({"item": "call_off", "label": "o", "connection": "k", "call": "p"}, "client k calls off p -> o"),
    ({"item": "disconnect", "label": "d", "connection": "k"}, "client k disconnects -> d"),
    ({"item": "close_bridge", "label": "z"}, "close bridge -> z"),
    ({"item": "start_run", "label": "r", "provider": "acp", "text": "T"}, "start run 'T' with acp -> r"),
    (
        {
            "item": "start_run",
            "label": "r",
            "provider": "fork",
            "text": "T",
            "parent": "c",
            "signal": "armed",
            "depth": 1,
            "needs": "tool-filter",
        },
        "start run 'T' with fork by c signal armed depth 1 needs tool-filter -> r",
    ),
    ({"item": "delegate", "label": "r", "provider": "acp", "text": "T", "by": "c"}, "delegate 'T' with acp by c -> r"),
    ({"item": "cancel_run", "label": "x", "run": "r"}, "cancel run r -> x"),
    ({"item": "abort_run", "label": "a", "run": "r"}, "abort run r -> a"),
    ({"item": "await_run", "label": "w", "run": "r"}, "await run r -> w"),
    ({"item": "dispose_run", "label": "d", "run": "r"}, "dispose run r -> d"),
    ({"item": "add_provider", "label": "l", "provider": "acp"}, "add provider acp -> l"),
    ({"item": "remove_provider", "label": "u", "provider": "acp"}, "remove provider acp -> u"),
    (
        {"item": "child_says", "label": "m", "run": "r", "says": "thought", "text": "w"},
        "child of r says thought 'w' -> m",
    ),
    ({"item": "child_asks", "label": "q", "run": "r", "options": ["allow-once"]}, "child of r asks allow-once -> q"),
    ({"item": "pass_grace", "label": "g", "run": "r"}, "grace of r passes -> g"),
    (
        {
            "item": "react",
            "label": "r",
            "on": {"event": "agent/status", "where": [["status", "idle"]]},
            "do": [
                {"item": "dispose", "label": "r.0", "agent": "this"},
                {"item": "reject", "tag": "late"},
                {"item": "throw", "tag": "no"},
            ],
            "nth": 2,
        },
        "react r to agent/status[status=idle] at match 2: dispose this -> r.0; reject late later; throw no",
    ),
]


@pytest.mark.parametrize(("item", "line"), ITEMS)
def test_an_item_in_one_line(item: dict[str, Any], line: str) -> None:
    assert item_line(ITEM.validate_json(ITEM.dump_json(ITEM.validate_python(item, strict=False)))) == line


def test_every_item_has_a_line() -> None:
    """The list above is whole."""
    told = {item["item"] for item, _ in ITEMS}
    assert told == {cls.__dataclass_fields__["item"].default for cls in get_args(BurstItem)} | {"settle"}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"event": "agent/created", "agent": "a#1"}, "agent/created a#1"),
        ({"event": "agent/status", "agent": "a#1", "status": "idle"}, "agent/status a#1 status=idle"),
        ({"event": "scope/cleanup", "creation": "c"}, "scope/cleanup of c"),
        (
            {
                "event": "log",
                "agent": "a#1",
                "seq": 3,
                "record": {"record": "turn/end", "turn": 1, "outcome": "completed"},
            },
            "log a#1 3 turn/end turn=1 outcome=completed",
        ),
        ({"event": "settled", "call": "c", "outcome": {"value": None}}, "c returned"),
        ({"event": "settled", "call": "c", "outcome": {"value": "a#1"}}, "c returned a#1"),
        ({"event": "settled", "call": "c", "outcome": {"code": "aborted"}}, "c raised aborted"),
    ],
)
def test_an_event_in_one_line(event: dict[str, Any], line: str) -> None:
    assert event_line(EVENT.validate_python(event, strict=False)) == line


def test_nothing_in_a_line_is_obeyed_by_a_terminal() -> None:
    assert event_line(Disposed(AgentRef("a\x1b[2J\n#1"))) == "agent/disposed a\\x1b[2J\\n#1"


def test_a_snapshot_in_one_line() -> None:
    listed = (
        Listed(AgentRef("a#1"), Status.IDLE, None),
        Listed(AgentRef("b#1"), Status.RUNNING, AgentRef("a#1")),
    )
    line = snapshot_line(Snapshot(listed, (AgentRef("a#1"),), (AgentRef("a#1"), AgentRef("b#1"))))
    assert line == "agents [a#1 idle, b#1 running of a#1] roots [a#1] sessions [a#1, b#1]"


def test_every_reason_has_words() -> None:
    assert set(_REASONS) == set(Reason)
    assert len(set(_REASONS.values())) == len(Reason)


def test_an_event_that_should_have_been_silent_is_told_as_a_fault() -> None:
    """Given the second of two prompts logged first, Then nobody reads that the contract has nothing to say of it."""
    sends = [{"item": "send", "label": text, "agent": "c", "text": text} for text in ("t1", "t2")]
    told = trace(CREATE, {"item": "settle"}, *sends)
    shown = examined(Swapping(), told)
    assert shown.divergence is not None
    assert (shown.divergence.clause, shown.divergence.reason) == ("INBOX-06", Reason.SILENCE)
    assert story(told, shown).splitlines()[-3:] == [
        "       allowed  log a#1 1 user/message text=t1",
        "       seen     log a#1 1 user/message text=t2",
        "       because  nothing of the kind may come here",
    ]


class Forgetful(ModelBackend):
    def answer(self, command: Command) -> Reply:
        reply = super().answer(command)
        if isinstance(reply, Quiet):
            kept = tuple(event for event in reply.events if not isinstance(event, AgentDisposed))
            return Quiet(events=kept, snapshot=reply.snapshot)
        return reply


class Swapping(ModelBackend):
    """Logs the second prompt first."""

    def answer(self, command: Command) -> Reply:
        reply = super().answer(command)
        if not isinstance(reply, Quiet):
            return reply
        events = tuple(
            replace(event, record=replace(event.record, text=Text("t2")))
            if isinstance(event, Logged) and isinstance(event.record, UserMessage) and event.record.text == "t1"
            else event
            for event in reply.events
        )
        return Quiet(events=events, snapshot=reply.snapshot)


def examined(backend: ModelBackend, trace: Trace) -> Examined:
    return backend.converse(examine(trace, EVERYTHING))


def trace(*items: dict[str, Any], **changes: Any) -> Trace:
    return Trace.model_validate_json(
        Trace.model_construct(items=(), **changes).model_dump_json().replace('"items":[]', f'"items":{_json(items)}')
    )


def _json(items: tuple[dict[str, Any], ...]) -> str:
    return "[" + ",".join(ITEM.dump_json(ITEM.validate_python(item, strict=False)).decode() for item in items) + "]"


def test_the_story_of_a_trace_that_holds() -> None:
    told = trace(CREATE, {"item": "settle"}, {"item": "release", "gate": GATE, "outcome": "text"}, schedule=7)
    *lines, last, very_last = story(told, examined(ModelBackend(), told)).splitlines()
    assert lines == [
        "edition 2026-06, owners host, schedule seed 7",
        "    1  create c: id 'a' by host",
        "         . session/created a#1",
        "         . agent/created a#1",
        "         . agent/session-start a#1 source=startup",
        "         . c returned a#1",
        "    2  release model of c: text   (void)",
        "  epilogue",
        "    3  unload owner host -> end:host",
        "    4  unload provider -> end",
        "         . agent/status a#1 status=disposed",
        "         . agent/disposed a#1",
        "         . session/disposed a#1",
    ]
    assert {last, very_last} == {"         . end:host returned", "         . end returned"}


def test_a_burst_of_which_nothing_came_is_parted_from_the_next() -> None:
    """Given items in three bursts, Then their borders are seen, and they are counted as they are numbered."""
    hold, settle = {"item": "hold", "gate": GATE}, {"item": "settle"}
    told = trace(hold, {**hold, "gate": {**GATE, "kind": "flush"}}, settle, CREATE, settle, settle, {**hold}, settle)
    lines = story(told, examined(ModelBackend(), told)).splitlines()
    assert lines[1:5] == [
        "    1  hold model of c (honours)",
        "    2  hold flush of c (honours)",
        "         . nothing",
        "    3  create c: id 'a' by host",
    ]
    place = lines.index("    4  hold model of c (honours)")
    assert (lines[place + 1], lines.count("         . nothing")) == ("  epilogue", 1)
    assert told.length == 4


def test_the_story_of_a_trace_that_fails() -> None:
    told = trace(CREATE)
    shown = examined(Forgetful(), told)
    assert shown.divergence is not None
    assert seen_line(shown.divergence) == "session/disposed a#1"
    assert story(told, shown).splitlines()[-4:] == [
        "         . agent/status a#1 status=disposed",
        "       allowed  agent/disposed a#1",
        "       seen     session/disposed a#1",
        "       because  it came before what it has to wait for",
    ]


def test_many_that_were_allowed_are_cut() -> None:
    told = trace(CREATE)
    shown = examined(Forgetful(), told)
    events: tuple[Event, ...] = tuple(AgentDisposed(AgentRef(f"a#{number}")) for number in range(9))
    many = Divergence("CALL-01", Reason.FIELD, None, events, field="outcome")
    assert shown.divergence is not None
    shown.divergence = replace(many, position=0)
    assert story(told, shown).splitlines()[-9:] == [
        "       allowed  agent/disposed a#0",
        *(f"            or  agent/disposed a#{number}" for number in range(1, 6)),
        "            or  one of 3 more",
        "       seen     nothing more",
        "       because  another value was due (outcome)",
    ]


def test_a_world_without_a_provider() -> None:
    told = trace({"item": "create", "label": "c", "id": AgentId("a"), "by": {"owner": "host"}})
    told = told.model_copy(update={"world": replace(told.world, provider=False)})
    first = story(told, examined(ModelBackend(), told)).splitlines()[0]
    assert first == "edition 2026-06, owners host, provider not loaded, schedule first in, first out"
