"""Editions: named sets of choices where the contract has two readings.

An edition is a record of choices, nothing more. Rules read the choice where they need it; nobody forks the model.
``2026-06`` is the contract of the seeds and the default; ``2026-08`` is what upstream drifted to.

Every choice has two values, so that it can be *flipped*, one at a time: a runtime that follows neither edition as a
whole can still be followed, choice by choice, and what it is said to do is the list of choices in which it differs.
All combinations are editions. In some of them a choice has nothing left to decide: what a cancel before the claim
leaves behind if the claim is within the send, and when an id comes free if the entries go last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache
from typing import Final

from probate_model.alphabet.members import plain


@plain
class Wake(StrEnum):
    """When input that wakes an idle agent opens its turn."""

    DEFERRED = "deferred"
    """In a later step: between the send and the claim lies a window."""
    WITHIN_SEND = "within-send"
    """Within the call: running is announced, the turn opens and its prompt is claimed before the send returns."""


@plain
class PreRunCancel(StrEnum):
    """What becomes of a prompt that is cancelled before it was claimed, where there is such a window."""

    VANISHES = "vanishes"
    """It leaves no trace in the log."""
    EMPTY_TURN = "empty-turn"
    """It leaves a turn without a step, aborted."""


@plain
class QueueEvents(StrEnum):
    """How accepted input is announced, and with that what the inbox is."""

    QUEUED = "queued"
    """By ``agent/queued``. Prompts wait in a queue, one turn each; context is logged where the log says."""
    INBOX_RECORDS = "inbox-records"
    """By a record of the log, as every change of the inbox is. It is two lists, one for turns and one for steps. A step
    takes in all of the second, and the first step of a turn one prompt before that. Injected context waits there."""


@plain
class CancelRequest(StrEnum):
    """Whether an effective cancel is announced before it acts."""

    ANNOUNCED = "announced"
    """By ``agent/cancel-requested``."""
    SILENT = "silent"
    """Only what it does is seen."""


@plain
class CancelCause(StrEnum):
    """Whether a cancel names its cause, and where the cause is kept."""

    OPTIONAL = "optional"
    """User or parent, by default the user; the log keeps none."""
    REQUIRED = "required"
    """User, parent or hook; what aborted a turn, disposal included, is kept in its end."""


@plain
class IdleCancel(StrEnum):
    """What a cancel does to input that is parked: that nothing is to run and nothing was to wake for."""

    SILENT = "silent"
    """Nothing."""
    MAY_DISCARD = "may-discard"
    """It drops it."""


@plain
class Precedence(StrEnum):
    """Which cause ends a turn that has several."""

    DISPOSAL_WINS = "disposal-wins"
    """Disposal wins over a cancel, and a cancel over an error, whenever they came."""
    FIRST_WINS = "first-wins"
    """The one that came first."""


@plain
class ErrorEnds(StrEnum):
    """What an error in a turn ends, or an abort of it."""

    TURN = "turn"
    """The turn: what is pending runs next."""
    DRIVER = "driver"
    """The driver: the agent goes idle, and what is pending is parked until something wakes it. What came in after the
    abort has woken it."""


@plain
class ClosingFlush(StrEnum):
    """Whether a turn ends with a flush of its own."""

    IN_TURN = "in-turn"
    """It is part of the turn, and a teardown waits for it."""
    NONE = "none"
    """The agent flushes nothing."""


@plain
class UserMessagePlace(StrEnum):
    """Where that which a step takes in is logged."""

    BEFORE_STEP = "before-step"
    """Before the step opens, and steering that has come by its end in the step itself."""
    AFTER_STEP = "after-step"
    """Once the step is open; and the step is not one stretch where it is with the other."""


@plain
class TeardownOrder(StrEnum):
    """In which order a teardown ends its parts."""

    SCOPE_LAST = "scope-last"
    """The driver, the agent's entry, the session's, the scope."""
    SCOPE_FIRST = "scope-first"
    """The driver, the scope, the agent's entry, the session's; also when a creation is vetoed."""


@plain
class IdFree(StrEnum):
    """When an id can be used again."""

    AT_DETACH = "at-detach"
    """As soon as the entries are gone."""
    AFTER_SCOPE = "after-scope"
    """When the scope has unwound."""


@plain
class DisposedStatus(StrEnum):
    """Whether disposal is a status."""

    YES = "yes"
    """It is announced, and input raises from then on; a turn ends as disposed."""
    NO = "no"
    """It is a cancel by the cause disposed: what is pending is dropped, a turn ends as aborted, and the agent is idle.
    Input is taken as ever; the teardown waits until the agent is idle once."""


@plain
class PartialText(StrEnum):
    """Whether a model step that was stopped logs what had arrived."""

    NO = "no"
    YES = "yes"


@plain
class FailingMember(StrEnum):
    """What a failing member of an effect does to the members that come after it (profile ``fibers``)."""

    SKIPS_REST = "skips-rest"
    ISOLATED = "isolated"


@plain
class EffectDispose(StrEnum):
    """What another disposal of an effect that ends already does (profile ``fibers``)."""

    JOINED = "joined"
    SINGLE_SHOT = "single-shot"


@plain
class Siblings(StrEnum):
    """How the effects of a fiber end that unloads (profile ``fibers``)."""

    TOGETHER = "together"
    ONE_BY_ONE = "one-by-one"


@plain
class Fence(StrEnum):
    """What makes a background task somebody's."""

    TOKEN = "token"  # noqa: S105 - the name of a choice
    """The id of who started it: an agent that has the id later has the task."""
    EXACT_OWNER = "exact-owner"
    """The very agent that started it, and nobody after it."""


Choice = (
    Wake
    | PreRunCancel
    | QueueEvents
    | CancelRequest
    | CancelCause
    | IdleCancel
    | Precedence
    | ErrorEnds
    | ClosingFlush
    | UserMessagePlace
    | TeardownOrder
    | IdFree
    | DisposedStatus
    | PartialText
    | FailingMember
    | EffectDispose
    | Siblings
    | Fence
)
"""The value of a choice. Each kind belongs to one choice only, so the value tells which choice it is of."""


@dataclass(frozen=True, slots=True, eq=False)
class Edition:
    """One reading of the contract: a name and its choices (the defaults are those of ``2026-06``).

    Compared by identity: an edition is part of every world, and worlds are hashed by the million.
    """

    name: str = "2026-06"
    wake: Wake = Wake.DEFERRED
    pre_run_cancel: PreRunCancel = PreRunCancel.VANISHES
    queue_events: QueueEvents = QueueEvents.QUEUED
    cancel_requested: CancelRequest = CancelRequest.ANNOUNCED
    cancel_cause: CancelCause = CancelCause.OPTIONAL
    idle_cancel: IdleCancel = IdleCancel.SILENT
    precedence: Precedence = Precedence.DISPOSAL_WINS
    error_ends: ErrorEnds = ErrorEnds.TURN
    closing_flush: ClosingFlush = ClosingFlush.IN_TURN
    user_message: UserMessagePlace = UserMessagePlace.BEFORE_STEP
    teardown: TeardownOrder = TeardownOrder.SCOPE_LAST
    id_free: IdFree = IdFree.AT_DETACH
    disposed_status: DisposedStatus = DisposedStatus.YES
    partial_text_on_abort: PartialText = PartialText.NO
    failing_member: FailingMember = FailingMember.SKIPS_REST
    effect_dispose: EffectDispose = EffectDispose.JOINED
    siblings: Siblings = Siblings.TOGETHER
    fence: Fence = Fence.TOKEN

    def choices(self) -> dict[str, str]:
        """Give the choices by name."""
        return {name: str(getattr(self, name)) for name in CHOICES}

    def has(self, choice: Choice) -> bool:
        """Tell whether this is how the edition chooses."""
        return any(getattr(self, name) is choice for name in CHOICES)

    @property
    def latches(self) -> bool:
        """Whether it takes more than something pending to wake a driver, so that a wake has to be remembered."""
        return (
            self.error_ends is ErrorEnds.DRIVER
            or self.queue_events is QueueEvents.INBOX_RECORDS
            or self.wake is Wake.WITHIN_SEND
        )

    @property
    def pauses_in_steps(self) -> bool:
        """Whether others may come between the parts of a step that nothing is waited for.

        Those are its start and what it takes in, a tool call and the tool's body, and the last result and its end.
        """
        return self.user_message is UserMessagePlace.AFTER_STEP

    @property
    def empty_turns(self) -> bool:
        """Whether what is cancelled before it was claimed leaves a turn; that needs a window before the claim."""
        return self.pre_run_cancel is PreRunCancel.EMPTY_TURN and self.wake is Wake.DEFERRED

    def flipped(self, names: Iterable[str]) -> Edition:
        """Give the edition of the same name that differs from this one in the named choices.

        Equal flips give the same object, since editions are compared by identity.

        :raises KeyError: if there is no such choice
        """
        return _flipped(self, frozenset(names))

    def differs(self, other: Edition) -> tuple[str, ...]:
        """Give the names of the choices in which another edition differs."""
        return tuple(name for name in CHOICES if getattr(self, name) is not getattr(other, name))


VARIATIONS: Final = ("failing_member", "effect_dispose", "siblings")
"""The choices in which a runtime may vary from any edition if it declares so; it is held to what it declares."""

CHOICES: Final = tuple(field.name for field in fields(Edition) if field.name != "name")
"""The names of all choices, in order."""

_OF_ROOMS: Final = {"fibers": VARIATIONS, "tasks": ("fence",)}
"""The choices that are read in the room of one profile only."""


def choices_of(profile: str) -> tuple[str, ...]:
    """Give the names of the choices that can decide something in a profile: its own, and those about agents."""
    elsewhere = {name for other, names in _OF_ROOMS.items() if other != profile for name in names}
    return tuple(name for name in CHOICES if name not in elsewhere)


@cache
def _flipped(edition: Edition, names: frozenset[str]) -> Edition:
    if unknown := names.difference(CHOICES):
        raise KeyError(min(unknown))
    if not names:
        return edition
    changes = {name: _other(getattr(edition, name)) for name in CHOICES if name in names}
    return replace(edition, **changes)  # type: ignore[arg-type]


def _other(choice: StrEnum) -> StrEnum:
    """Give the other value of a choice."""
    return next(other for other in type(choice) if other is not choice)


EDITION_2026_06: Final = Edition()

EDITION_2026_08: Final = Edition(
    name="2026-08",
    wake=Wake.WITHIN_SEND,
    pre_run_cancel=PreRunCancel.EMPTY_TURN,
    queue_events=QueueEvents.INBOX_RECORDS,
    cancel_requested=CancelRequest.SILENT,
    cancel_cause=CancelCause.REQUIRED,
    idle_cancel=IdleCancel.MAY_DISCARD,
    precedence=Precedence.FIRST_WINS,
    error_ends=ErrorEnds.DRIVER,
    closing_flush=ClosingFlush.NONE,
    user_message=UserMessagePlace.AFTER_STEP,
    teardown=TeardownOrder.SCOPE_FIRST,
    id_free=IdFree.AFTER_SCOPE,
    disposed_status=DisposedStatus.NO,
    partial_text_on_abort=PartialText.YES,
    fence=Fence.EXACT_OWNER,
)

EDITIONS: Final[dict[str, Edition]] = {edition.name: edition for edition in (EDITION_2026_06, EDITION_2026_08)}
