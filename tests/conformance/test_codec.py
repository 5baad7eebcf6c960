"""The alphabet as JSON: what is dumped is read back, and what is not of the alphabet is refused."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from probate_conformance.codec import EVENT, ITEM, SNAPSHOT, first_error
from probate_conformance.generation import generate
from probate_model.alphabet.events import EVENT_KINDS
from tests.model.helpers import event, items
from tests.model.running import play_trace

EVENTS = """
    session/created a#1
    agent/created a#1
    agent/session-start a#1 startup
    agent/status a#1 running
    agent/queued a#1 A
    agent/queued a#1 S steering
    agent/cancel-requested a#1 parent
    agent/error a#1 step=1 model
    signal a#1 turn=1 disposed
    session/flush a#1 upto=3
    agent/disposed a#1
    session/disposed a#1
    fiber/state f loading
    fiber/body f
    effect/dispose e 2
    effect/disposed e 2 fail
    task/done bash-1 killed signal:15
    subagent/start r fork parent=a#1 seeded=6
    subagent/end r max-tokens T
    child/spawned r in=/a HOME=/h PATH=/p
    child/hears r session/new
    child/gone r
    settled d returned aborted T
    scope/cleanup c
    log a#1 0 turn/start turn=1 trigger=injection
    log a#1 1 user/message A
    log a#1 1 context/message X
    log a#1 2 step/start turn=1 step=1
    log a#1 3 assistant/message c:1
    log a#1 4 tool/call n=1
    log a#1 5 tool/result n=1 aborted
    log a#1 6 step/end turn=1 step=1
    log a#1 7 turn/end turn=1 max-tokens
    settled c returned
    settled c returned a#1
    settled c returned agents=a#1:idle,b#1:running:a#1 roots=a#1 sessions=a#1,b#1
    settled c raised thrown:V
"""

ITEMS = """
    create c a by=host setup cleanup signal
    create d b by=agent:c pre-aborted
    abort c
    withdraw c
    send c A
    steer c S
    inject c X
    cancel c parent
    idle c
    dispose c
    unload host
    load host
    unload provider
    load provider
    look
    react log record=turn/start turn=1 nth=2 do send this R; reject late; throw V
    react agent/queued steering=true do look
    plan model c text tools:3 max-tokens+tools:1
    hold model c deaf
    release model c error
    open model c
    plug f in=g inject=s provides=t effects=1,2
    unplug f
    restart f
    effect e on=f members=2 slow
    provide p f s
    end e
    use f s name
    start t by=c turn
    launch u owner=a armed broken
    say t word
    fire u
    read t by=c
    read t directly
    kill t by=c turn
    owner t
    tasks
    await t
    untool
    retool
    stop_executor
    new_executor
    registry broken
    connect k
    new n k
    prompt n P
    stop n
    close n
    leave k
    end_bridge
    run r fork T by=c signal=armed depth=2 needs=tool-filter
    delegate q acp U by=c signal=pre-aborted
    cancel_run r
    abort_run r
    await_run r
    dispose_run r
    add missing
    remove trusting
    says r tool-call w
    asks r reject-once allow-always
    grace r
    hold new-session r deaf
    release answer r max-turn-requests
    settle
"""


@pytest.mark.parametrize("shown", [one.strip() for one in EVENTS.strip().splitlines()])
def test_an_event_is_read_back(shown: str) -> None:
    made = event(shown)
    assert EVENT.validate_json(EVENT.dump_json(made)) == made
    assert EVENT.validate_json(EVENT.dump_json(made)) != event("agent/status z#9 idle")


def test_every_kind_of_event_is_typed_here() -> None:
    assert {event(one.strip()).event for one in EVENTS.strip().splitlines()} == set(EVENT_KINDS)


@pytest.mark.parametrize("place", range(64))
def test_an_item_is_read_back(place: int) -> None:
    item = items(ITEMS)[place]
    assert ITEM.validate_json(ITEM.dump_json(item)) == item


def test_everything_that_generated_traces_show_is_read_back() -> None:
    for number in range(20):
        for part in play_trace(generate(1, number)).bursts:
            for one in part.events:
                assert EVENT.validate_json(EVENT.dump_json(one)) == one
            for item in part.sent:
                assert ITEM.validate_json(ITEM.dump_json(item)) == item
            assert SNAPSHOT.validate_json(SNAPSHOT.dump_json(part.seen)) == part.seen


@pytest.mark.parametrize(
    ("document", "place", "fault"),
    [
        ({"event": "agent/ready", "agent": "a#1"}, "", "unknown event 'agent/ready'; did you mean 'agent/created'?"),
        ({"agent": "a#1"}, "", "has no field 'event'"),
        ({"event": "agent/created"}, "agent/created.agent", "is missing"),
        ({"event": "agent/created", "agent": 1}, "agent/created.agent", "valid string"),
        ({"event": "agent/created", "agent": "a#1", "x": 1}, "agent/created.x", "is a field that does not belong here"),
        ({"event": "agent/status", "agent": "a#1", "status": "busy"}, "agent/status.status", "'idle', 'running'"),
        ({"event": "session/flush", "agent": "a#1", "upto": "3"}, "session/flush.upto", "valid integer"),
        ({"event": "session/flush", "agent": "a#1", "upto": 3.5}, "session/flush.upto", "valid integer"),
        (
            {"event": "agent/queued", "agent": "a#1", "text": "A", "steering": 0},
            "agent/queued.steering",
            "valid boolean",
        ),
    ],
)
def test_what_is_no_event_is_refused_in_one_line(document: object, place: str, fault: str) -> None:
    with pytest.raises(ValidationError) as raised:
        EVENT.validate_json(json.dumps(document))
    where, what = first_error(raised.value)
    assert where == place
    assert fault in what
    assert "\n" not in what


def test_the_first_fault_names_its_place_in_a_list() -> None:
    document = {"item": "react", "label": "r", "on": {"event": "log"}, "do": [{"item": "look", "label": 3}]}
    with pytest.raises(ValidationError) as raised:
        ITEM.validate_json(json.dumps(document))
    where, _ = first_error(raised.value)
    assert where.startswith("react.do[0]")
