"""``probate replay``: files that are no traces, and what is told of those that are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from probate_conformance.cli.casefiles import write_case
from probate_conformance.trace import Trace, dangling, load
from probate_model.alphabet.items import React

from .conftest import ODD, Probate

LOOK = {"item": "look", "label": "l"}
CREATE = {"item": "create", "label": "c", "id": "a", "by": {"owner": "host"}}


def trace(*items: Any, **changes: Any) -> bytes:
    return json.dumps({"format": "probate-trace", "version": 1, "items": items, **changes}).encode()


DEEP = b'{"items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a trace: is no JSON: "),
        (b"items: []", "not a trace: is no JSON: "),
        (b"\x7fELF\x02\x01\xff\xfe", "can't read the trace: it is not UTF-8 text"),
        (b"[]", "not a trace: must be an object"),
        (DEEP, "not a trace: is nested too deeply to be read"),
        (trace(version=2), "not a trace: version: must be 1"),
        (trace(format="other"), "not a trace: format: must be 'probate-trace'"),
        (trace({"item": "dance"}), "not a trace: items[0]: unknown item 'dance'"),
        (trace({**LOOK, "mood": 1}), "not a trace: items[0].look.mood: is a field that does not belong here"),
        (trace(LOOK, mood=1), "not a trace: mood: is a field that does not belong here"),
        (trace({"item": "send", "label": "s", "agent": "c", "text": "t"}), "not a trace: item 1: no item creates 'c'"),
        (trace(LOOK, LOOK), "not a trace: items: item 2: the label 'l' is already taken"),
        (
            trace({"item": "cancel", "label": "x", "agent": "c", "cause": "hook"}),
            "not a trace: edition 2026-06 has no cancel by 'hook'",
        ),
        (trace(LOOK, edition="2027"), "not a trace: edition: unknown edition '2027'"),
    ],
    ids=range(14),
)
def test_a_file_that_is_no_trace(here: Probate, tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(content)
    ran = here("replay", file)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"probate: {file}: {says}")


@pytest.mark.parametrize(("content", "says"), [(b"no JSON", "is no JSON: "), (DEEP, "is nested too deeply to be read")])
def test_it_is_so_in_a_process_of_its_own(probate: Probate, tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "t.json").write_bytes(content)
    ran = probate("replay", "t.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"probate: t.json: not a trace: {says}")


@pytest.mark.parametrize(("name", "says"), [("none.json", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read(here: Probate, name: str, says: str) -> None:
    ran = here("replay", name)
    assert ran.code == 2
    assert ran.err == f"probate: {name}: can't read the trace: {says}\n"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"profile": "acp"}, "profile 'acp' is known, but its rules are not modelled yet"),
        (
            {"expected": {"clause": "CALL-01", "backend": "lost", "seen": "x"}},
            "unknown backend 'lost'",
        ),
    ],
)
def test_a_trace_that_cannot_be_run(here: Probate, tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    (tmp_path / "t.json").write_bytes(trace(LOOK, **changes))
    ran = here("replay", "t.json")
    assert ran.code == 2
    assert ran.err.startswith(f"probate: {says}")


def test_a_trace_that_holds(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(trace(CREATE, {"item": "settle"}, LOOK))
    ran = here("replay", "t.json")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "reference"
    assert "      1  create c: id 'a' by host" in lines
    assert "           . session/created a#1" in lines
    assert lines[-1] == "✓ holds (exit code 0)"


def test_a_trace_of_which_nothing_was_carried_out(here: Probate, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(trace())
    ran = here("replay", "t.json")
    assert ran.code == 5
    assert "no item of the trace was carried out" in ran.out


def test_another_divergence_than_the_expected_one(here: Probate, tmp_path: Path) -> None:
    expected = {"clause": "CALL-01", "backend": f"{ODD}:Forgetful", "seen": "nothing more"}
    (tmp_path / "t.json").write_bytes(trace(CREATE, expected=expected))
    ran = here("replay", "t.json")
    assert ran.code == 1
    assert "DISPOSE-07: The session is detached after the agent" in ran.out
    assert ran.out.endswith("✗ fails: but this is not the divergence that the case expects (exit code 1)\n")


@pytest.mark.parametrize("factory", ["Raising", "Confused"])
def test_a_backend_that_breaks(here: Probate, tmp_path: Path, factory: str) -> None:
    (tmp_path / "t.json").write_bytes(trace(LOOK))
    ran = here("replay", "t.json", "--backend", f"{ODD}:{factory}")
    assert ran.code == 4


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "pipe"])
def test_a_file_that_never_ends(here: Probate, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    ran = here("replay", name)
    assert ran.code == 2
    assert ran.err == f"probate: {name}: can't read the trace: it is no regular file\n"


def test_a_file_that_is_too_large(here: Probate, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.touch()
    os.truncate(file, 1 << 33)
    ran = here("replay", file)
    assert ran.code == 2
    assert ran.err.startswith(f"probate: {file}: can't read the trace: it has 8,589,934,592 bytes")


def test_a_case_can_be_read_again_wherever_shrinking_stopped(tmp_path: Path) -> None:
    """What refers to nothing is left out of the file: items, gates, and what a reaction would do."""
    whole = Trace.model_validate_json(
        trace(
            LOOK,
            {"item": "hold", "gate": {"kind": "model", "creation": "c9"}},
            {"item": "send", "label": "s", "agent": "c9", "text": "t"},
            {"item": "load_owner", "label": "o", "owner": "nobody"},
            {
                "item": "react",
                "label": "r",
                "on": {"event": "agent/created"},
                "do": [
                    {"item": "cancel", "label": "r.0", "agent": "c9"},
                    {"item": "look", "label": "r.1"},
                    {"item": "await_idle", "label": "r.2", "agent": "c9"},
                    {"item": "throw", "tag": "t"},
                ],
            },
            {
                "item": "react",
                "label": "q",
                "on": {"event": "agent/created"},
                "do": [{"item": "cancel", "label": "q.0", "agent": "c9"}],
            },
            CREATE,
        )
    )
    assert list(dangling(whole))
    read = load(write_case(tmp_path, "case", whole))
    assert [item.item for item in read.items] == ["look", "react", "create"]
    reaction = read.items[1]
    assert isinstance(reaction, React)
    assert [getattr(action, "label", "-") for action in reaction.do] == ["r.0", "-"]


def test_a_case_of_a_clause_that_there_is_not(here: Probate, tmp_path: Path) -> None:
    def expecting(clause: str) -> Path:
        file = tmp_path / "case.json"
        expected = {"clause": clause, "backend": "model", "seen": "nothing more"}
        file.write_bytes(trace(LOOK, expected=expected))
        return file

    ran = here("replay", expecting("CANCEL-99"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        f"probate: {tmp_path / 'case.json'}: is expected to fail by the unknown clause 'CANCEL-99'\n  did you mean "
    )
    assert here("replay", expecting("CANCEL-02")).code == 0
    assert here("replay", expecting("UNEXPLAINED")).code == 0
