"""Ops of profile ``sessions``: what a caller asks of the stored logs, and what befalls the process.

``resume`` and the gate ``load`` are words of this profile too; they stand with the other ops and gates because they
are a creation's. A crash ends the process there and then: nothing of it runs any more, and its calls settle for
nobody. It is down until the next settle, so what stands behind a crash in the same burst is void; then it is started
again, with its owners and its provider active.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

from probate_model.alphabet.names import AgentId, Label
from probate_model.alphabet.values import value


class Tail(StrEnum):
    """How much a crash leaves of what live sessions had logged and no flush had made safe. All three are possible."""

    LOST = "lost"
    """Nothing of it was written."""

    WRITTEN = "written"
    """All of it was written, and nobody was told."""

    TORN = "torn"
    """All but the last record, of which half is there. A log that did not exist yet is not made by halves."""


class Restart(StrEnum):
    """How the process is started again."""

    HOME = "home"
    """With the same durable store."""

    BARE = "bare"
    """With none."""


@value(frozen=True, slots=True)
class Crash:
    """End the process, and start it again at the next settle."""

    label: Label
    tail: Tail = Tail.LOST
    restart: Restart = Restart.HOME
    item: Literal["crash"] = "crash"


@value(frozen=True, slots=True)
class Reload:
    """Close the durable store and open it again while sessions live. Void without one."""

    label: Label
    item: Literal["reload"] = "reload"


@value(frozen=True, slots=True)
class Stored:
    """Look at the stored log of an id, and change nothing. Void without a durable store."""

    label: Label
    id: AgentId
    item: Literal["stored"] = "stored"


SessionsOp: TypeAlias = Crash | Reload | Stored


@value(frozen=True, slots=True)
class StoredLog:
    """What a stored log shows: how many records were committed, and whether they end inside a turn."""

    stored: int
    open: bool
