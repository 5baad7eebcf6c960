"""What a backend says of itself: its name, what it supports, and what it does not claim.

What is not claimed is erased from both sides before they are compared, and every clause that needs it is reported as
not claimed. It is never reported as passed.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from probate_conformance.errors import MOST_LISTED, unknown_name
from probate_model.alphabet.editions import CHOICES, EDITIONS, VARIATIONS
from probate_model.alphabet.events import EVENT_KINDS
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.refusals import Refusal, is_code

PROFILES = ("core", "sessions", "fibers", "tasks", "bridge", "subagents", "acp")
"""The parts of the contract. The last one is named for later."""

OP_NAMES = (
    "create", "resume", "abort", "withdraw", "send", "steer", "inject", "cancel", "await_idle", "dispose",
    "unload_owner", "load_owner", "unload_provider", "load_provider", "look", "crash", "reload", "stored",
    "plug", "unplug", "restart", "effect", "provide", "end_effect", "use",
    "start_task", "launch_task", "abort_task", "read_task", "kill_task", "task_says", "owner_of_task", "list_tasks",
    "await_task", "unload_tool", "load_tool", "dispose_executor", "load_executor", "set_registry",
    "connect", "new_session", "load_session", "resume_session", "prompt", "cancel_session", "close_session", "call_off",
    "disconnect", "close_bridge",
    "start_run", "delegate", "cancel_run", "abort_run", "await_run", "dispose_run", "add_provider", "remove_provider",
    "child_says", "child_asks", "pass_grace",
)  # fmt: skip
"""All ops by the name that items carry."""

FEATURES = ("setup", "cleanup", "signal", "by-agent", "react", "throw", "reject", "deaf", "services", "children")
"""Parts of ops and reactions that a backend may be unable to carry out."""


FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "agent/queued:steering": ("INBOX-04", "INBOX-05"),
    "agent/cancel-requested:cause": ("CANCEL-11",),
    "agent/error:step": ("TURN-10", "FLUSH-02"),
    "agent/error:source": ("TURN-10", "FLUSH-02"),
    "agent/session-start:source": ("PUBLISH-03",),
    "signal:cause": ("CANCEL-06",),
    "signal:turn": ("CANCEL-05", "DISPOSE-02"),
    "session/flush:upto": ("FLUSH-04",),
    "log:seq": ("TURN-13",),
    "snapshot:status": ("REGISTRY-01",),
    "snapshot:owner": ("REGISTRY-01",),
}
"""The fields that a backend may be unable to show, and the clauses that can't be claimed without each."""

THROWN: Final = "thrown:*"
"""Stands, among the unclaimed codes, for every code of something thrown."""


_ALL: Final = "`probate schema manifest` tells all"


def _known(kind: str, names: tuple[str, ...]) -> AfterValidator:
    def check(value: str) -> str:
        if value not in names:
            error = unknown_name(kind, value, names, also=None if len(names) <= MOST_LISTED else _ALL)
            raise ValueError(f"{error.what}; {error.mend}")
        return value

    return AfterValidator(check)


def _check_code(value: str) -> str:
    if not is_code(value):
        error = unknown_name(
            "code", value, [*map(str, Refusal), THROWN], also="`probate schema wire` tells all, and there is thrown:TAG"
        )
        raise ValueError(f"{error.what}; {error.mend}")
    return value


EventKind = Annotated[str, _known("event", EVENT_KINDS)]
OpName = Annotated[str, _known("op", OP_NAMES)]
GateName = Annotated[str, _known("gate", tuple(map(str, GateKind)))]
Feature = Annotated[str, _known("feature", FEATURES)]
FieldName = Annotated[str, _known("field", tuple(FIELDS))]
CodeName = Annotated[str, AfterValidator(_check_code)]
Profile = Annotated[str, _known("profile", PROFILES)]
EditionName = Annotated[str, _known("edition", tuple(EDITIONS))]
VariationName = Annotated[str, _known("variation", VARIATIONS)]
ChoiceName = Annotated[str, _known("choice", CHOICES)]


class Unclaimed(BaseModel):
    """What a backend does not claim to do or to show."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: tuple[EventKind, ...] = ()
    """Kinds of event that it does not show."""
    ops: tuple[OpName, ...] = ()
    """Ops that it can't carry out."""
    gates: tuple[GateName, ...] = ()
    """Gates that it can't hold."""
    codes: tuple[CodeName, ...] = ()
    """Codes that it never reports."""
    features: tuple[Feature, ...] = ()
    """Parts of ops that it can't carry out."""
    fields: tuple[FieldName, ...] = ()
    """Fields of events and of the snapshot that it does not show, as ``session/flush:upto``."""


class Manifest(BaseModel):
    """What a backend says of itself when it is greeted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    version: str = Field(min_length=1)
    language: str = Field(min_length=1)
    profiles: tuple[Profile, ...] = ("core",)
    edition: EditionName = "2026-06"
    variations: tuple[VariationName, ...] = ()
    """The choices in which it varies from any edition; it is held to what it declares."""
    bursts: Literal["yes", "no"] = "yes"
    """Whether the items of a burst begin in one tick."""
    unclaimed: Unclaimed = Unclaimed()
    notes: tuple[str, ...] = ()
    """What a reader of a report should know, such as a declared variation."""

    @model_validator(mode="after")
    def _check_first_op(self) -> Self:
        for profile, op in (("core", "create"), ("fibers", "plug"), ("bridge", "connect")):
            if profile in self.profiles and op in self.unclaimed.ops:
                raise ValueError(
                    f"unclaimed.ops: {op!r} can't be unclaimed in profile {profile!r}, since without it nothing can be "
                    f"asked; carry it out, or leave {profile!r} out of the profiles"
                )
        return self
