"""Deactivation: the moment from which a lifecycle is not wanted any more.

It is synchronous, and nothing else happens at it: what was prepared or published is unwound later, in order. The
first cause wins; it is what a pending creation raises. What an agent had begun to create on its own behalf is not
wanted from the same moment on, and for the reason that its parent began to end.
"""

from __future__ import annotations

from probate_model.alphabet.names import Code, Label
from probate_model.alphabet.refusals import Refusal, code
from probate_model.run import Run
from probate_model.world import Stage

_PARENT_ENDED = code(Refusal.OWNER_DISPOSED)


def deactivate(run: Run, label: Label, cause: Code) -> None:
    """Let a lifecycle be unwanted, and with it the creations that are pending on its behalf."""
    if run.agents[label].failure is not None:
        return
    run.update(label, failure=cause)
    for other in run.agents.values():
        if other.origin.parent == label and other.stage < Stage.LIVE:
            deactivate(run, other.label, _PARENT_ENDED)
