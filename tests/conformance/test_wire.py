"""The messages between the kit and a backend: read back whole, and refused when they are not of the protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.wire import (
    FROM_BACKEND,
    FROM_KIT,
    PROTOCOL,
    Broke,
    Burst,
    Close,
    Closed,
    Hello,
    HelloReply,
    Open,
    Opened,
    Quiet,
)
from probate_model.alphabet.events import Snapshot
from probate_model.alphabet.items import WorldSpec
from probate_model.alphabet.names import OwnerName
from tests.model.helpers import burst, events

MANIFEST = Manifest(name="m", version="1", language="c", unclaimed=Unclaimed(events=("signal",)))


@pytest.mark.parametrize(
    "message",
    [
        Hello(),
        Open(world=WorldSpec((OwnerName("host"), OwnerName("side")), provider=False)),
        Open(world=WorldSpec(), edition="2026-08", schedule=7),
        Burst(items=burst("create c a\nreact log record=turn/end do cancel this; throw V\nhold model c deaf")),
        Burst(items=()),
        Close(),
    ],
)
def test_what_the_kit_says_is_read_back(message: Hello | Open | Burst | Close) -> None:
    assert FROM_KIT.validate_json(message.model_dump_json()) == message


@pytest.mark.parametrize(
    "message",
    [
        HelloReply(manifest=MANIFEST),
        Opened(),
        Quiet(events=()),
        Quiet(
            events=tuple(events("agent/status a#1 idle\nsettled c raised disposed")),
            snapshot=Snapshot(),
            never=True,
            unknown=("agent/thinking",),
        ),
        Closed(),
        Broke(reason="out of memory"),
    ],
)
def test_what_a_backend_says_is_read_back(message: HelloReply | Opened | Quiet | Closed | Broke) -> None:
    assert FROM_BACKEND.validate_json(message.model_dump_json()) == message


BAD: list[tuple[TypeAdapter[Any], object, str]] = [
    (FROM_KIT, {"message": "stop"}, "expected tags"),
    (FROM_KIT, {"message": "quiet", "events": []}, "expected tags"),
    (FROM_KIT, {"message": "open"}, "Field required"),
    (FROM_KIT, {"message": "burst", "items": [{"item": "settle"}]}, "expected tags"),
    (FROM_KIT, {"message": "close", "now": True}, "Extra inputs"),
    (FROM_BACKEND, {"message": "burst", "items": []}, "expected tags"),
    (FROM_BACKEND, {"message": "quiet"}, "Field required"),
    (FROM_BACKEND, {"message": "quiet", "events": [{"event": "agent/thinking", "agent": "a#1"}]}, "expected tags"),
    (FROM_BACKEND, {"message": "quiet", "events": [], "snapshot": []}, "Input should be"),
    (FROM_BACKEND, {"message": "broke", "reason": ""}, "at least 1 character"),
    (FROM_BACKEND, {"message": "hello", "manifest": {"name": "m"}}, "Field required"),
    (FROM_BACKEND, [], "Input should be"),
]


@pytest.mark.parametrize(("adapter", "document", "fault"), BAD)
def test_what_is_no_message_is_refused(adapter: TypeAdapter[Any], document: object, fault: str) -> None:
    with pytest.raises(ValidationError) as raised:
        adapter.validate_json(json.dumps(document))
    assert fault in str(raised.value)


def test_a_greeting_names_the_version_of_the_protocol() -> None:
    assert json.loads(Hello().model_dump_json()) == {"message": "hello", "protocol": PROTOCOL}


def test_messages_can_not_be_changed() -> None:
    message = Opened()
    with pytest.raises(ValidationError):
        message.message = "opened"
