"""The alphabet as JSON, and back.

The model's own dataclasses are what is validated and dumped, so that the alphabet is written once. Nothing is
coerced, and an unknown field is an error; the model itself knows nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from probate_conformance.errors import unknown_name
from probate_model.alphabet import bridge, events, fibers, gates, items, ops, subagents, tasks
from probate_model.alphabet.events import Event, Snapshot
from probate_model.alphabet.items import BurstItem, Item

_STRICT: Final = ConfigDict(strict=True, extra="forbid")


def _be_strict(module: ModuleType) -> None:
    """Have pydantic validate the dataclasses of a module strictly."""
    for member in vars(module).values():
        if isinstance(member, type) and hasattr(member, "__dataclass_fields__"):
            member.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]


for _module in (ops, gates, items, events, fibers, tasks, bridge, subagents):
    _be_strict(_module)

AnyItem: TypeAlias = Annotated[Item, Field(discriminator="item")]
AnyBurstItem: TypeAlias = Annotated[BurstItem, Field(discriminator="item")]
AnyEvent: TypeAlias = Annotated[Event, Field(discriminator="event")]

ITEM: Final[TypeAdapter[Item]] = TypeAdapter(AnyItem)
EVENT: Final[TypeAdapter[Event]] = TypeAdapter(AnyEvent)
SNAPSHOT: Final[TypeAdapter[Snapshot]] = TypeAdapter(Snapshot)


def first_error(error: ValidationError) -> tuple[str, str]:
    """Give where the first fault of a validation is, and what it is, in words that fit one line."""
    fault = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    return place, _said({**fault})


def said_of(error: ValidationError) -> str:
    """Say the first fault of a validation, and where it is if that can be told."""
    place, fault = first_error(error)
    return f"{place}: {fault}" if place else fault


def _said(fault: Mapping[str, Any]) -> str:
    """Say a fault in our own words: pydantic speaks of its types, and not of what to do."""
    context = fault.get("ctx", {})
    match fault["type"]:
        case "value_error":
            return str(context["error"])
        case "missing":
            return "is missing"
        case "extra_forbidden" | "unexpected_keyword_argument":
            return "is a field that does not belong here"
        case "union_tag_invalid":
            kind = context["discriminator"].strip("'")
            unknown = unknown_name(kind, context["tag"], re.findall("'([^']+)'", context["expected_tags"]))
            return "; ".join(part for part in (unknown.what, unknown.mend) if part)
        case "union_tag_not_found":
            return f"has no field {context['discriminator']}"
        case "json_invalid" if "recursion" in context["error"]:
            return "is nested too deeply to be read"
        case "json_invalid":
            return f"is no JSON: {context['error']}"
        case _:
            return re.sub(r"^(\w+) should (be|have|match)", r"must \2", str(fault["msg"]))
