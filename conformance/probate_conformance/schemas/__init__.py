"""What files and messages look like, as JSON Schema, for those who write them in other languages.

They are made from the types that validate, so they can't disagree with them. The files beside this module are the same
schemas, for who has no Python at hand; ``probate schema NAME`` prints what they must hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from probate_conformance.manifest import Manifest
from probate_conformance.render.ndjson import PART
from probate_conformance.trace import Trace
from probate_conformance.wire import FROM_BACKEND, FROM_KIT, PROTOCOL

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

Schema: TypeAlias = dict[str, Any]


def _trace() -> Schema:
    return Trace.model_json_schema()


def _manifest() -> Schema:
    return Manifest.model_json_schema()


def _report() -> Schema:
    return {"title": "One line of a report", **PART.json_schema(mode="serialization")}


def _wire() -> Schema:
    sides: list[tuple[str, Any, TypeAdapter[Any]]] = [
        ("kit", "validation", FROM_KIT),
        ("backend", "validation", FROM_BACKEND),
    ]
    schemas, rest = TypeAdapter.json_schemas(sides, title=f"A message of the line protocol, version {PROTOCOL}")
    return {
        **rest,
        "anyOf": [{"title": f"From the {side}", **schemas[side, "validation"]} for side in ("kit", "backend")],
    }


SCHEMAS: Final[Mapping[str, Callable[[], Schema]]] = MappingProxyType(
    {"trace": _trace, "wire": _wire, "manifest": _manifest, "report": _report}
)
"""Makes each schema, by name."""


def schema_text(name: str) -> str:
    """Give a schema as the text of a file."""
    return json.dumps({"$schema": DIALECT, **SCHEMAS[name]()}, indent=1, ensure_ascii=False) + "\n"
