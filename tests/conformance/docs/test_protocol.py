"""The page about the protocol: each example is what it says, and every name of the alphabet is there."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from probate_conformance import cli, shrinking, tally
from probate_conformance.backends import process
from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.serve import serve
from probate_conformance.codec import EVENT, ITEM
from probate_conformance.manifest import FEATURES, FIELDS, OP_NAMES, Manifest
from probate_conformance.templates import TEMPLATES
from probate_conformance.wire import FROM_BACKEND, FROM_KIT, HelloReply
from probate_model.alphabet import events, gates
from probate_model.alphabet.refusals import Refusal

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"
TEXT = PAGE.read_text()


def blocks(kind: str) -> Iterator[str]:
    """Give the fenced blocks of a kind."""
    yield from re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def examples() -> list[str]:
    return [line for block in blocks("json") for line in block.splitlines()]


def transcript() -> list[tuple[str, str]]:
    (block,) = blocks("transcript")
    return [(line[0], line[2:]) for line in block.splitlines()]


@pytest.mark.parametrize("example", examples())
def test_every_example_is_what_it_says(example: str) -> None:
    parsed: dict[str, Any] = json.loads(example)
    if "event" in parsed:
        EVENT.validate_json(example)
    elif "item" in parsed:
        ITEM.validate_json(example)
    else:
        Manifest.model_validate_json(example)


def test_the_transcript_is_what_the_model_answers() -> None:
    asked = "".join(f"{line}\n" for side, line in transcript() if side == ">").encode()
    heard = io.BytesIO()
    serve(ModelBackend(), io.BytesIO(asked), heard)
    told = [FROM_BACKEND.validate_json(line) for side, line in transcript() if side == "<"]
    answered = [FROM_BACKEND.validate_json(line) for line in heard.getvalue().splitlines()]
    assert told == answered
    assert isinstance(told[0], HelloReply)
    assert [side for side, _ in transcript()] == [">", "<"] * len(told)


def test_what_the_kit_says_in_the_transcript_is_complete() -> None:
    for side, line in transcript():
        if side == ">":
            assert json.loads(FROM_KIT.validate_json(line).model_dump_json()) == json.loads(line)


def names() -> set[str]:
    records = {cls.__dataclass_fields__["record"].default for cls in events.Record.__args__}
    outcomes = {str(outcome) for kind in gates.GateKind for outcome in gates.fixed_outcomes(kind)}
    words = {str(word) for kind in (events.TurnOutcome, events.ToolOutcome, events.StopCause) for word in kind}
    more = {"react", "plan", "hold", "release", "open", "throw", "reject", "tools:K", "thrown:*", "hello", "broke"}
    alphabet = {*OP_NAMES, *FEATURES, *FIELDS, *events.EVENT_KINDS, *gates.GateKind, *Refusal}
    return alphabet | records | outcomes | words | more


@pytest.mark.parametrize("name", sorted(names()))
def test_every_name_of_the_alphabet_is_there(name: str) -> None:
    assert f"`{name}`" in TEXT


def test_the_commands_and_the_numbers_are_current() -> None:
    for template in TEMPLATES.values():
        assert template.language in TEXT
        assert template.command.rpartition(" ")[2] in TEXT
    for verb in set(re.findall(r"probate ([a-z]+(?:-[a-z]+)?)", TEXT)):
        assert verb in {one.NAME for one in cli.VERBS}, verb
    assert f"{process.DEADLINE:g} seconds, unless" in TEXT
    assert shrinking.BROKEN_IN_A_ROW == 3
    assert f"or {tally.BROKEN_IN_ALL} in all" in TEXT
