"""Asking CrossHair: is there any value, within the bounds that a check states, for which it fails?

A check is a function. Its first assertions say for which values it speaks, the later ones what is so. CrossHair runs
it with values that are not chosen yet, and has a solver choose them at each branch, until each way through is taken.
Only ``CONFIRMED`` says that all were. That it found nothing in the time it had says nothing, and is a failure here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from crosshair.core_and_libs import analyze_function, run_checkables
from crosshair.options import AnalysisKind, AnalysisOptionSet
from crosshair.statespace import MessageType

Check = Callable[..., str]
"""Gives the name of the branch that it came through."""

_PATIENCE = 120.0
"""After how many seconds a check is given up: it ends a hang, and decides nothing. All take a few."""


class Proof(NamedTuple):
    """What came of one check."""

    confirmed: bool
    refuted: bool
    says: str


def prove(check: Check, patience: float = _PATIENCE) -> Proof:
    """Look for values for which a check fails.

    :param patience: after how many seconds it is left undecided
    """
    options = AnalysisOptionSet(
        analysis_kind=[AnalysisKind.asserts],
        report_all=True,
        per_condition_timeout=patience,
        per_path_timeout=patience,
    )
    found: list[Any] = list(run_checkables(analyze_function(check, options)))
    states = [message.state for message in found]
    says = "; ".join(f"{message.state.name}: {message.message}" for message in found)
    refutations = (MessageType.POST_FAIL, MessageType.EXEC_ERR)
    refuted = any(message.state in refutations and message.message.startswith("AssertionError") for message in found)
    return Proof(states == [MessageType.CONFIRMED], refuted, says or "it has no assertion to begin with")
