"""Editions: named sets of choices where the contract has two readings.

An edition is a record of choices, nothing more. Rules read the choice; nobody forks the model. ``2026-06`` is the
contract of the seeds and the default; ``2026-08`` is what upstream drifted to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final


class Wake(StrEnum):
    """When a waking send opens its turn."""

    DEFERRED = "deferred"
    WITHIN_SEND = "within-send"


class PreRunCancel(StrEnum):
    """What becomes of a prompt that is cancelled before it was claimed."""

    VANISHES = "vanishes"
    EMPTY_TURN = "empty-turn"


class QueueEvents(StrEnum):
    """How accepted input is announced."""

    QUEUED = "queued"
    INBOX_RECORDS = "inbox-records"


class CancelRequest(StrEnum):
    """Whether an effective cancel is announced before it acts."""

    ANNOUNCED = "announced"
    SILENT = "silent"


class CancelCause(StrEnum):
    """Whether a cancel names its cause, and where the cause is kept."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class IdleCancel(StrEnum):
    """What a cancel of an idle agent does."""

    SILENT = "silent"
    MAY_DISCARD = "may-discard"


class Precedence(StrEnum):
    """Which cause ends a turn that was both cancelled and disposed."""

    DISPOSAL_WINS = "disposal-wins"
    FIRST_WINS = "first-wins"


class ErrorEnds(StrEnum):
    """What an error in a turn ends."""

    TURN = "turn"
    DRIVER = "driver"


class ClosingFlush(StrEnum):
    """Whether a turn ends with a flush of its own."""

    IN_TURN = "in-turn"
    NONE = "none"


class UserMessagePlace(StrEnum):
    """Where the prompt is logged."""

    BEFORE_STEP = "before-step"
    AFTER_STEP = "after-step"


class TeardownOrder(StrEnum):
    """In which order a teardown ends its parts."""

    SCOPE_LAST = "scope-last"
    SCOPE_FIRST = "scope-first"


class IdFree(StrEnum):
    """When an id can be used again."""

    AT_DETACH = "at-detach"
    AFTER_SCOPE = "after-scope"


class DisposedStatus(StrEnum):
    """Whether disposal is a status, and input to a disposed agent raises."""

    YES = "yes"
    NO = "no"


class PartialText(StrEnum):
    """Whether an aborted model step logs what had arrived."""

    NO = "no"
    YES = "yes"


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

    def choices(self) -> dict[str, str]:
        """Give the choices by name."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self) if field.name != "name"}


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
)

EDITIONS: Final[dict[str, Edition]] = {edition.name: edition for edition in (EDITION_2026_06, EDITION_2026_08)}
