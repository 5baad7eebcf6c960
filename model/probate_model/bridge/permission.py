"""Permission: a tool of a session is called only when its client says so.

The client is asked when the call is in the log, and the body has not begun. It may take its time, and be told meanwhile
that the turn is over. Only one of all answers is a yes; and where nobody holds the session there is nobody to ask.
"""

from __future__ import annotations

from probate_model.alphabet.gates import ERROR, GateKind
from probate_model.alphabet.names import Label
from probate_model.bridge.access import find_session
from probate_model.bridge.state import Holding
from probate_model.clauses import demand
from probate_model.run import Run
from probate_model.world import Wait

REFUSED = demand("BRIDGE-23", edge="TOOL-02", n="TOOL-02", outcome="BRIDGE-23", seq="TURN-13")
"""Why the result of a call is an error that nobody has allowed."""


def ask(run: Run, label: Label) -> Wait | None:
    """Ask the client of an agent whether its tool may be called; none if the agent is no session's."""
    session = find_session(run, label)
    if session is None:
        return None
    if session.holding is not Holding.HELD:
        return Wait(ERROR, asks=True)
    return run.arrive(GateKind.PERMISSION, label)._replace(asks=True)
