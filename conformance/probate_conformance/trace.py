"""Traces: what is run, as a value and as a file.

A trace is complete before any backend sees it. As a file it is one JSON document that says all that is needed to run
it again: the edition, the profile, the world it starts in, the items, the schedule, and, if it is a failure, the
divergence that it is expected to show. A file that we read is data: it is validated whole before anything of it is
used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final, Literal, Self, cast, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from probate_conformance.codec import AnyItem, said_of
from probate_conformance.errors import TraceError
from probate_conformance.manifest import ChoiceName, EditionName, Profile
from probate_model.alphabet.bridge import (
    BridgeOp,
    CallOff,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
)
from probate_model.alphabet.editions import EDITIONS, CancelCause, Edition
from probate_model.alphabet.events import EVENT_KINDS, HeardEvent, Record
from probate_model.alphabet.fibers import (
    ROOT,
    AddEffect,
    EndEffect,
    Plug,
    Provide,
    Restart,
    Unplug,
    Use,
    body_effect,
)
from probate_model.alphabet.gates import GateKind, knows
from probate_model.alphabet.items import (
    BurstItem,
    Hold,
    Item,
    Open,
    Plan,
    React,
    Reject,
    Release,
    Settle,
    Throw,
    WorldSpec,
)
from probate_model.alphabet.names import BAD_TEXT, THIS, Label, OwnerName
from probate_model.alphabet.ops import (
    Abort,
    AwaitIdle,
    ByAgent,
    ByOwner,
    Cancel,
    Cause,
    Create,
    Dispose,
    Inject,
    LoadOwner,
    Op,
    Resume,
    Send,
    Steer,
    UnloadOwner,
    UnloadProvider,
    Withdraw,
)
from probate_model.alphabet.sessions import Crash, Reload, Stored
from probate_model.alphabet.subagents import (
    IN_PROCESS,
    RUN_OWNER,
    AbortRun,
    CancelRun,
    ChildAsks,
    Delegate,
    OnRun,
    StartRun,
    SubagentOp,
)
from probate_model.alphabet.tasks import (
    EMPTY_TASK,
    UNKNOWN_TASK,
    DisposeExecutor,
    KillTask,
    LaunchTask,
    OnTask,
    ReadTask,
    StartTask,
    TaskSays,
)
from probate_model.rooms import owners_in

MODELLED_PROFILES: Final = ("core", "sessions", "fibers", "tasks", "bridge", "subagents")
"""The profiles whose rules the model has."""

EVENT_CLASSES: Final = {cls.__dataclass_fields__["event"].default: cls for cls in get_args(HeardEvent)}
"""The events that a listener can hear, by kind."""

_EVENT_FIELDS: Final = {kind: {field.name for field in fields(cls)} - {"event"} for kind, cls in EVENT_CLASSES.items()}
_RECORD_FIELDS: Final = {field.name for cls in get_args(Record) for field in fields(cls)}
_PROFILES: Final[dict[type[Op], str]] = {
    **dict.fromkeys((Resume, Crash, Reload, Stored), "sessions"),
    **dict.fromkeys(get_args(BridgeOp), "bridge"),
    **dict.fromkeys(get_args(SubagentOp), "subagents"),
}
"""The ops of later profiles."""
_GATE_PROFILES: Final = {
    GateKind.LOAD: ("sessions", "bridge"),
    GateKind.PERMISSION: ("bridge",),
    **dict.fromkeys((GateKind.INITIALIZE, GateKind.NEW_SESSION, GateKind.ANSWER, GateKind.LEAVE), ("subagents",)),
}
"""The gates of later profiles."""
_ON_AGENT: Final = (Send, Steer, Inject, Cancel, AwaitIdle, Dispose)
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")


class ExpectedDivergence(BaseModel):
    """What a failing trace is expected to show."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clause: str
    backend: str
    seen: str
    """The observation that no run of the model explains, as the story tells it."""


def _check_items(items: tuple[Item, ...]) -> tuple[Item, ...]:
    for place, fault in faults(items):
        raise ValueError(f"item {place}: {fault}")
    return items


def _is_empty(names: tuple[str, ...]) -> bool:
    return not names


def _profiles_of(item: Item) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give what of an item belongs to later profiles, and to which."""
    yield from ((op.item, (_PROFILES[type(op)],)) for op in ops_of(item) if type(op) in _PROFILES)
    if isinstance(item, Plan | Hold | Release | Open) and item.gate.kind in _GATE_PROFILES:
        yield f"gate {item.gate.kind}", _GATE_PROFILES[item.gate.kind]


class Trace(BaseModel):
    """One run, complete before it starts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["probate-trace"] = "probate-trace"
    version: Literal[1] = 1
    edition: EditionName = "2026-06"
    profile: Profile = "core"
    world: WorldSpec = WorldSpec()
    items: Annotated[tuple[AnyItem, ...], AfterValidator(_check_items)]
    schedule: Annotated[Literal["fifo"] | Annotated[int, Field(ge=0)], Field(union_mode="left_to_right")] = "fifo"
    flipped: Annotated[tuple[ChoiceName, ...], Field(exclude_if=_is_empty)] = ()
    """The choices of the edition that are made the other way."""
    expected: ExpectedDivergence | None = None

    @property
    def reading(self) -> Edition:
        """The edition with its flipped choices."""
        return EDITIONS[self.edition].flipped(self.flipped)

    @property
    def length(self) -> int:
        """How many items it has, as a story numbers them: a settle only parts one burst from the next."""
        return sum(not isinstance(item, Settle) for item in self.items)

    @model_validator(mode="after")
    def _check_causes(self) -> Self:
        if self.reading.cancel_cause is CancelCause.OPTIONAL:
            for item in self.items:
                if any(isinstance(op, Cancel) and op.cause is Cause.HOOK for op in ops_of(item)):
                    raise ValueError(f"edition {self.edition} has no cancel by 'hook'")
        return self

    @model_validator(mode="after")
    def _check_profile(self) -> Self:
        for number, item in enumerate(self.items, start=1):
            for what, profiles in _profiles_of(item):
                if self.profile not in profiles:
                    known = " and ".join(map(repr, profiles))
                    raise ValueError(f"item {number}: {what} belongs to profile {known}, not {self.profile!r}")
        return self

    def bursts(self) -> list[tuple[BurstItem, ...]]:
        """Give the items between settles, and the epilogue as the last burst."""
        items = self.items
        settles = [place for place, item in enumerate(items) if isinstance(item, Settle)]
        begins = [0, *(place + 1 for place in settles)]
        bursts = [items[begin:end] for begin, end in zip(begins, [*settles, len(items)], strict=True) if begin < end]
        return [*cast(list[tuple[BurstItem, ...]], bursts), self.epilogue()]

    def epilogue(self) -> tuple[BurstItem, ...]:
        """Give what ends every trace: open all gates, unplug the root, end bridge, owners, provider, executor."""
        gates = dict.fromkeys(item.gate for item in self.items if isinstance(item, Hold))
        items = self.items if self.profile == "fibers" else ()
        plugged = (op for item in items for op in ops_of(item) if isinstance(op, Plug) and op.parent == ROOT)
        fibers = (Unplug(Label(f"end:{op.label}"), op.label) for op in plugged)
        names = self.world.owners
        if self.profile == "subagents":
            names = (*(name for name in names if name != RUN_OWNER), RUN_OWNER)
        owners = (UnloadOwner(Label(f"end:{owner}"), owner) for owner in names)
        executor = (DisposeExecutor(Label("end:executor")),) if self.profile == "tasks" else ()
        bridge = (CloseBridge(Label("end:bridge")),) if self.profile == "bridge" else ()
        ends = (*fibers, *bridge, *owners)
        return (*(Open(gate) for gate in gates), *ends, UnloadProvider(Label("end")), *executor)

    def with_items(self, items: Sequence[Item]) -> Trace:
        """Give the same trace with other items, which are known to be valid."""
        return self.model_copy(update={"items": tuple(items)})


def ops_of(item: Item) -> Iterator[Op]:
    """Give the op that an item is, or the ops that a reaction does."""
    if isinstance(item, React):
        yield from (action for action in item.do if not isinstance(action, Throw | Reject))
    elif not isinstance(item, Plan | Hold | Release | Open | Settle):
        yield item


def faults(items: Sequence[Item]) -> Iterator[tuple[int, str]]:
    """Find what makes a list of items no trace: the number of the item, from 1, and what is wrong with it."""
    labels: set[str] = set()
    texts: set[str] = set()
    for number, item in enumerate(items, start=1):
        for label in _labels(item):
            if label in labels:
                yield number, f"the label {label!r} is already taken"
            if label in (THIS, ROOT, UNKNOWN_TASK, EMPTY_TASK) or not label or label.startswith("end"):
                yield number, f"{label!r} can't be a label; it has a meaning of its own"
            labels.add(label)
        for op in ops_of(item):
            if isinstance(item, React) and isinstance(op, Crash):
                yield number, "a crash can't be in a reaction: nobody would go on with the dispatch"
            if isinstance(item, React) and isinstance(op, BridgeOp):
                yield number, f"{op.item} can't be in a reaction: clients hear of nothing but answers"
            if isinstance(item, React) and isinstance(op, SubagentOp) and not _is_inside(op, items):
                yield number, f"{op.item} can't be in a reaction, but for a cancel of a child in this process"
            if not isinstance(item, React) and THIS in _names(op):
                yield number, "'this' means something only in a reaction"
            if isinstance(op, Send | Steer | Inject | Prompt | StartRun | Delegate) and op.text != BAD_TEXT:
                if op.text in texts:
                    yield number, f"the text {op.text!r} is already used; texts are unique in a trace"
                texts.add(op.text)
            if any(members < 1 for members in _members(op)):
                yield number, "an effect has at least one member"
            if isinstance(op, TaskSays) and not _WORD.fullmatch(op.text):
                yield number, f"a task says one word, not {op.text!r}"
            if isinstance(op, StartRun | Delegate) and op.text == BAD_TEXT:
                yield number, f"a subagent can't be asked {BAD_TEXT!r}"
            if isinstance(op, ChildAsks) and not op.options:
                yield number, "a question for permission has at least one option"
        if isinstance(item, React):
            yield from ((number, fault) for fault in _reaction_faults(item))
        elif isinstance(item, Plan | Hold | Release | Open):
            yield from ((number, fault) for fault in _gate_faults(item))


def _is_inside(op: SubagentOp, items: Sequence[Item]) -> bool:
    """Tell whether an op cancels a run of a child in this process, or of none."""
    started = (other for other in items if isinstance(other, StartRun | Delegate))
    return isinstance(op, CancelRun | AbortRun) and all(
        other.provider in IN_PROCESS for other in started if other.label == op.run
    )


def _members(op: Op) -> tuple[int, ...]:
    return op.effects if isinstance(op, Plug) else (op.members,) if isinstance(op, AddEffect) else ()


def _labels(item: Item) -> Iterator[Label]:
    if isinstance(item, React):
        yield item.label
    yield from (op.label for op in ops_of(item))


def _names(op: Op) -> Iterator[Label]:
    match op:
        case Abort() | Withdraw():
            yield op.creation
        case Create(by=ByAgent(label)) | Resume(by=ByAgent(label)):
            yield label
        case _ if isinstance(op, _ON_AGENT):
            yield op.agent
        case Plug(parent=fiber) if fiber != ROOT:
            yield fiber
        case Unplug() | Restart() | AddEffect() | Provide() | Use():
            yield op.fiber
        case EndEffect():
            yield op.effect
        case StartTask():
            if op.by is not None:
                yield op.by
        case ReadTask() | KillTask():
            yield op.task
            if op.by is not None:
                yield op.by
        case _ if isinstance(op, OnTask):
            yield op.task
        case NewSession() | LoadSession() | ResumeSession() | CallOff() | Disconnect():
            yield op.connection
        case Prompt() | CancelSession() | CloseSession():
            yield op.session
        case StartRun():
            if op.parent is not None:
                yield op.parent
        case Delegate():
            yield op.by
        case _ if isinstance(op, OnRun):
            yield op.run
        case _:
            pass


def _reaction_faults(item: React) -> Iterator[str]:
    if item.nth < 1:
        yield "nth counts from 1"
    if not item.do:
        yield "a reaction needs something to do"
    if item.on.event not in _EVENT_FIELDS:
        known = [kind for kind in EVENT_KINDS if kind in _EVENT_FIELDS]
        yield f"no listener hears {item.on.event!r}; known are {', '.join(known)}"
        return
    allowed = _EVENT_FIELDS[item.on.event] | (_RECORD_FIELDS if item.on.event == "log" else set())
    for name, _ in item.on.where:
        if name not in allowed:
            yield f"{item.on.event} has no field {name!r}; it has {', '.join(sorted(allowed))}"
    for place, action in enumerate(item.do):
        if isinstance(action, Throw) and place != len(item.do) - 1:
            yield "a throw can only be the last action"
        elif not isinstance(action, Throw | Reject) and action.label != f"{item.label}.{place}":
            yield f"action {place} must have the label '{item.label}.{place}', not {action.label!r}"


def _gate_faults(item: Plan | Hold | Release | Open) -> Iterator[str]:
    kind = item.gate.kind
    outcomes = item.outcomes if isinstance(item, Plan) else (item.outcome,) if isinstance(item, Release) else ()
    for outcome in outcomes:
        if not knows(kind, outcome):
            yield f"the gate {kind.value!r} has no outcome {outcome!r}"


def dangling(trace: Trace) -> Iterator[tuple[int, str]]:
    """Find references to what no item of the trace makes: in a file they are a mistake, in a shrunk trace just void."""
    ops = [op for item in trace.items for op in ops_of(item)]
    makers = Create | Resume | Plug | AddEffect | Provide | StartTask | LaunchTask | Connect
    makers |= NewSession | LoadSession | ResumeSession | StartRun | Delegate
    made = {op.label for op in ops if isinstance(op, makers)}
    made |= {body_effect(op.label, place) for op in ops if isinstance(op, Plug) for place in range(len(op.effects))}
    made |= {UNKNOWN_TASK, EMPTY_TASK}
    owners = {*owners_in(trace.profile, trace.world), *(op.label for op in ops if isinstance(op, Plug))}
    for number, item in enumerate(trace.items, start=1):
        if isinstance(item, Plan | Hold | Release | Open) and item.gate.creation not in made:
            yield number, f"no item creates {item.gate.creation!r}"
        for op in ops_of(item):
            for name in _names(op):
                if name != THIS and name not in made:
                    yield number, f"no item creates {name!r}"
            owner = _owner(op)
            if owner is not None and owner not in owners:
                yield number, f"the world has no owner {owner!r}; it has {', '.join(sorted(owners))}"


def _owner(op: Op) -> OwnerName | None:
    match op:
        case Create(by=ByOwner(owner)) | Resume(by=ByOwner(owner)):
            return owner
        case UnloadOwner() | LoadOwner():
            return op.owner
        case _:
            return None


def load(path: Path) -> Trace:
    """Read a trace file.

    :raises TraceError: if it can't be read, is not JSON, is of another format or version, or is no valid trace
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TraceError(f"can't read the trace: {reason}", where=str(path)) from None
    try:
        trace = Trace.model_validate_json(text)
    except ValidationError as error:
        raise TraceError(
            f"not a trace: {said_of(error)}",
            where=str(path),
            mend="'probate schema trace' prints what a trace file looks like",
        ) from None
    for number, fault in dangling(trace):
        raise TraceError(f"not a trace: item {number}: {fault}", where=str(path))
    return trace


def dump(trace: Trace) -> str:
    """Give a trace as the text of a file."""
    return trace.model_dump_json(indent=1) + "\n"
