"""Windows: the races that the contract is about, by name.

A window is a moment in which an op does something other than what it does a moment before or after. The rules mark it
when an op falls into one, so that a run can say which of them it reached; a run that reached none of them has shown
little.
"""

from __future__ import annotations

from enum import StrEnum

from probate_model.alphabet.members import plain


@plain
class Window(StrEnum):
    """The windows of profile ``core``."""

    CANCEL_BEFORE_CLAIM = "cancel before the claim"
    """A prompt was sent, and the driver has not woken yet."""

    CANCEL_BETWEEN_TURNS = "cancel between turns"
    """A turn is over and the next prompt is not claimed."""

    CANCEL_IN_CLOSING_FLUSH = "cancel in the closing flush"
    """The turn's end is logged and its flush has not ended."""

    CANCEL_IN_CREATION = "cancel in a creation's dispatch"
    """The agent is being announced."""

    DISPOSE_WHILE_ANNOUNCED = "dispose against a creation being announced"
    """The publication is on the stack."""

    DISPOSE_IN_HELD_FLUSH = "dispose against a held flush"
    """A flush waits at its gate."""

    DISPOSE_IN_UNLOAD = "dispose against an owner's unload"
    """One of the two began the teardown, and the other one joins it."""

    DISPOSE_IN_TURN = "dispose inside a turn"
    """A turn is open."""

    SEND_AFTER_ABORT = "send after the abort and before idle"
    """The turn's signal has fired and the turn is not over."""

    STEER_INTO_FAILING_STEP = "steer into a failing step"
    """Steering waits in a step that fails."""

    TWO_CREATIONS_AT_GATE = "two creations of one id at the gate"
    """Both prepare privately; one of them will find the id taken."""

    REUSE_BETWEEN_DETACHES = "reuse of an id between the two detaches"
    """The agent's entry is gone and the session's is not."""
