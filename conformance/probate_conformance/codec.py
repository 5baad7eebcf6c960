"""The alphabet as JSON, and back.

The model's own dataclasses are what is validated and dumped, so that the alphabet is written once. Nothing is
coerced, and an unknown field is an error; the model itself knows nothing of it.
"""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, Final, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

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
    return place, str(fault["msg"])
