"""What was wrong with a line: the line, the place in it, what was expected there, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from probate_conformance.codec import first_error
from probate_conformance.doctor.patient import Patient
from probate_conformance.errors import BackendBroke
from probate_conformance.lockstep import Examined
from probate_conformance.printable import printable
from probate_conformance.story import because, event_line, seen_line, snapshot_line
from probate_model.alphabet.events import Snapshot
from probate_model.clauses import CLAUSES
from probate_model.worlds import Divergence

_LONGEST: Final = 2_000
_LONGEST_PART: Final = 300
_MOST_ALLOWED: Final = 4

_WHY: Final[Mapping[str, str]] = {
    "extra_forbidden": "a name that nobody knows is mostly a name that was misspelt, so it is never passed over",
    "missing": "a message is whole: what it can leave out has a default in `probate schema wire`",
    "json_invalid": "standard output carries one JSON object on each line, and nothing else; print to standard error",
    "union_tag_not_found": "the field that tells what kind of thing it is comes with every message, item and event",
    "union_tag_invalid": "what your runtime calls otherwise is translated by the adapter; names that are not of the "
    "alphabet go into the list `unknown` of the answer",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, as rows of a name and what is said."""

    rows: tuple[tuple[str, str], ...]


def of_break(patient: Patient, broke: BackendBroke) -> Finding:
    """Tell what was wrong with a line that is no answer, or why there is none."""
    invalid = broke.__cause__ if isinstance(broke.__cause__, ValidationError) else None
    what, *words = broke.what.splitlines()
    rows = [("what", printable(what) if invalid is None else "it answered with what is no message of the protocol")]
    if patient.sent:
        rows.append(("sent", _shown(patient.sent)))
    if patient.answered is not None:
        rows.append(("answered", _shown(patient.answered)))
    if invalid is not None:
        rows += _invalid(invalid)
    elif broke.mend:
        rows.append(("mend", broke.mend))
    rows += [("its stderr" if not place else "", line.strip()) for place, line in enumerate(words[1:])]
    return Finding(tuple(rows))


def of_divergence(patient: Patient, examined: Examined) -> Finding:
    """Tell what was wrong with an answer that is well formed."""
    divergence = examined.divergence
    assert divergence is not None
    sent, answered = patient.burst
    rows = [("sent", _shown(sent)), ("answered", _shown(answered))]
    rows.append(("there", f"{_place(divergence)}: {seen_line(divergence)}"))
    rows += [("expected" if not place else "or", line) for place, line in enumerate(_allowed(divergence))]
    rows.append(("because", because(divergence)))
    clause = CLAUSES.get(divergence.clause)
    rows.append(("clause", f"{divergence.clause}: {clause.sentence}" if clause else divergence.clause))
    return Finding(tuple(rows))


def _allowed(divergence: Divergence) -> Iterator[str]:
    if not divergence.allowed:
        yield "nothing"
    for one in divergence.allowed[:_MOST_ALLOWED]:
        yield f"snapshot: {snapshot_line(one)}" if isinstance(one, Snapshot) else event_line(one)
    if len(divergence.allowed) > _MOST_ALLOWED:
        yield f"one of {len(divergence.allowed) - _MOST_ALLOWED} more"


def _place(divergence: Divergence) -> str:
    if isinstance(divergence.seen, Snapshot):
        return "snapshot"
    return "after the last event" if divergence.position is None else f"events[{divergence.position}]"


def _invalid(error: ValidationError) -> Iterator[tuple[str, str]]:
    place, _ = first_error(error)
    fault: Mapping[str, Any] = {**error.errors(include_url=False)[0]}
    if place:
        yield "there", f"{place}: {_part(fault['input'])}"
    yield "expected", _expected(fault)
    if fault["type"] in _WHY:
        yield "because", _WHY[fault["type"]]


def _expected(fault: Mapping[str, Any]) -> str:
    context = fault.get("ctx", {})
    match fault["type"]:
        case "extra_forbidden":
            return f"no field {fault['loc'][-1]!r}"
        case "missing":
            return f"a field {fault['loc'][-1]!r}"
        case "union_tag_invalid":
            return f"one of {context['expected_tags']}"
        case "union_tag_not_found":
            return f"a field {context['discriminator']}"
        case "json_invalid":
            return f"a JSON object ({context['error']})"
        case "value_error":
            return str(context["error"])
        case _:
            message = str(fault["msg"])
            return message[0].lower() + message[1:]


def _part(found: object) -> str:
    try:
        text = json.dumps(found)
    except (TypeError, ValueError):
        text = repr(found)
    return _cut(printable(text), _LONGEST_PART)


def _shown(line: bytes) -> str:
    return _cut(printable(line.decode("utf-8", "replace")), _LONGEST)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text):,} letters)"
