"""Write records as one line each, and read them back without believing them.

A line is a JSON object: the record's ``seq``, its ``kind``, and its fields. It is ASCII throughout, so that a line
which a crash has cut short is never half a character and any text, a lone surrogate included, comes back as it was. A
line ends with a newline, and before that it is not there.

What is read is data from outside: everything about it is checked, the type of each field too, and nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any, get_args, get_type_hints

from probate_reference.records import Record, TurnEnd

__all__ = ("Malformed", "decode_log", "decode_record", "encode_record", "read_object", "write_object")


class Malformed(ValueError):
    """Raised when a line is not what it should be.

    :ivar index: which line of several it was, from 0
    """

    index = 0


_CLASSES: dict[str, type[Any]] = {record.kind: record for record in get_args(Record)}
_FIELDS: dict[str, dict[str, type[Any]]] = {
    kind: {field.name: get_type_hints(record)[field.name] for field in fields(record)}
    for kind, record in _CLASSES.items()
}


def write_object(value: dict[str, object]) -> bytes:
    """Write an object as one line."""
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def read_object(line: bytes) -> dict[str, Any]:
    """Read an object from a line without its newline.

    :raises Malformed: if it is no JSON object
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as failure:
        raise Malformed("not JSON") from failure
    if not isinstance(value, dict):
        raise Malformed("not an object")
    return value


def encode_record(seq: int, record: Record) -> bytes:
    """Write a record as one line."""
    values = {name: getattr(record, name) for name in _FIELDS[record.kind]}
    return write_object({"seq": seq, "kind": record.kind, **values})


def decode_record(seq: int, line: bytes) -> Record:
    """Read the record with this seq from a line without its newline.

    :raises Malformed: if the line is anything else
    """
    value = read_object(line)
    if type(value.get("seq")) is not int or value["seq"] != seq:
        raise Malformed(f"seq {value.get('seq')!r} instead of {seq}")
    kind = value.get("kind")
    wanted = _FIELDS.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        raise Malformed(f"no record of kind {kind!r}")
    if value.keys() != wanted.keys() | {"seq", "kind"}:
        raise Malformed(f"not the fields of {value['kind']}")
    record: Record = _CLASSES[value["kind"]](**{name: _field(value[name], kind) for name, kind in wanted.items()})
    return record


def decode_log(lines: Sequence[bytes]) -> tuple[Record, ...]:
    """Read all records of a log that were committed, up to damage that a crash explains.

    :raises Malformed: if a line is damaged and a later one commits the end of a turn
    """
    records: list[Record] = []
    for seq, line in enumerate(lines):
        try:
            records.append(decode_record(seq, line))
        except Malformed as failure:
            if any(map(_ends_turn, lines[seq + 1 :])):
                failure.index = seq
                raise
            break
    return tuple(records)


def _ends_turn(line: bytes) -> bool:
    try:
        seq = read_object(line).get("seq")
        return type(seq) is int and isinstance(decode_record(seq, line), TurnEnd)
    except Malformed:
        return False


def _field(value: object, kind: type[Any]) -> object:
    if issubclass(kind, StrEnum):
        try:
            return kind(str(value))
        except ValueError as failure:
            raise Malformed(f"{value!r} is no {kind.__name__}") from failure
    if type(value) is not kind:
        raise Malformed(f"{value!r} where {kind.__name__} is needed")
    return value
