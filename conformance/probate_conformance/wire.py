"""The conversation between the kit and a backend.

It is the same for every backend: the kit greets it, and for each trace opens a world, sends bursts, and closes. A
burst is answered once, when nothing more will happen: with all events in order and the registries at that moment. In
process the messages are passed as they are; out of process each is one line of JSON (``PROTOCOL`` names the version
of that).

    kit      hello            open {world}     burst {items}               close
    backend  hello {manifest} opened           quiet {events, snapshot}    closed

A backend that can't go on answers ``broke`` with the reason, to any message.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from probate_conformance.codec import AnyBurstItem, AnyEvent
from probate_conformance.manifest import Manifest
from probate_model.alphabet.events import Snapshot
from probate_model.alphabet.items import WorldSpec

PROTOCOL: Final = 1
"""The version of the line protocol."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hello(_Message):
    """Greet the backend."""

    message: Literal["hello"] = "hello"
    protocol: int = PROTOCOL


class Open(_Message):
    """Make a fresh world. ``schedule`` seeds the order in which a backend that can choose runs its tasks."""

    message: Literal["open"] = "open"
    world: WorldSpec
    edition: str = "2026-06"
    profile: str = "core"
    schedule: int | None = None
    """None is first in, first out."""


class Burst(_Message):
    """Begin these items in order, in one tick; then run until nothing more will happen."""

    message: Literal["burst"] = "burst"
    items: tuple[AnyBurstItem, ...]


class Close(_Message):
    """End the world, whatever is left in it."""

    message: Literal["close"] = "close"


class HelloReply(_Message):
    """Say what the backend is."""

    message: Literal["hello"] = "hello"
    protocol: int = PROTOCOL
    manifest: Manifest


class Opened(_Message):
    """The world is there."""

    message: Literal["opened"] = "opened"


class Quiet(_Message):
    """Nothing more will happen before the next burst."""

    message: Literal["quiet"] = "quiet"
    events: tuple[AnyEvent, ...]
    snapshot: Snapshot | None = None
    never: bool = False
    """The backend gave up: it would have gone on for ever."""
    unknown: tuple[str, ...] = ()
    """Names of events that are not of the alphabet, as the subject spells them."""


class Closed(_Message):
    """The world is gone."""

    message: Literal["closed"] = "closed"


class Broke(_Message):
    """The backend can't go on."""

    message: Literal["broke"] = "broke"
    reason: str = Field(min_length=1)


Command: TypeAlias = Open | Burst | Close
Reply: TypeAlias = Opened | Quiet | Closed
FromKit: TypeAlias = Annotated[Hello | Open | Burst | Close, Field(discriminator="message")]
FromBackend: TypeAlias = Annotated[HelloReply | Opened | Quiet | Closed | Broke, Field(discriminator="message")]

FROM_KIT: Final[TypeAdapter[Hello | Command]] = TypeAdapter(FromKit)
FROM_BACKEND: Final[TypeAdapter[HelloReply | Reply | Broke]] = TypeAdapter(FromBackend)

T = TypeVar("T")

Conversation: TypeAlias = Generator[Command, Reply, T]
"""What the kit wants of a backend, written as a generator: it yields commands and is sent the replies.

So the comparison is written once, without waiting for anything, and a backend carries it out wherever its subject
lives: in an event loop, in another process, or here.
"""
