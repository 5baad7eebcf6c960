"""The words of profile ``bridge``: what clients of the Agent Client Protocol do, and what the bridge answers.

A client is connected by one line of messages in each direction. What it asks is written at once and read in a later
step, in order; an op that is a request settles with the answer. The id of a new session is the label of the request
that made it. A session that a client holds is named by the label of the request by which it came to hold it, and can
be named when that is answered. So nothing here is an event of its own: what a bridge
does is to answer, and what it does to agents is seen of them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentId, Label, OwnerName, Text
from probate_model.alphabet.values import value

BRIDGE_OWNER: Final = OwnerName("acp")
"""The owner of all agents that the bridge creates. A world of the profile has it."""


@plain
class StopReason(StrEnum):
    """What a prompt is answered with, if not with an error."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    CANCELLED = "cancelled"


@value(frozen=True, slots=True)
class Connect:
    """Let a client connect. Bound from here on."""

    label: Label
    item: Literal["connect"] = "connect"


@value(frozen=True, slots=True)
class NewSession:
    """Ask for a new session, whose agent has a setup. Returns the agent."""

    label: Label
    connection: Label
    item: Literal["new_session"] = "new_session"


@plain
class Folder(StrEnum):
    """Where a client says that a stored session works."""

    SAME = "same"
    OTHER = "other"
    """Where it does not."""
    RELATIVE = "relative"
    """Nowhere: it is no absolute path."""


@value(frozen=True, slots=True)
class LoadSession:
    """Ask for a stored session, with all that was said in it. Returns the agent."""

    label: Label
    connection: Label
    id: AgentId
    folder: Folder = Folder.SAME
    item: Literal["load_session"] = "load_session"


@value(frozen=True, slots=True)
class ResumeSession:
    """Ask for a stored session, and not for what was said in it. Returns the agent."""

    label: Label
    connection: Label
    id: AgentId
    folder: Folder = Folder.SAME
    item: Literal["resume_session"] = "resume_session"


@value(frozen=True, slots=True)
class Prompt:
    """Prompt a session. Returns the stop reason."""

    label: Label
    session: Label
    text: Text
    item: Literal["prompt"] = "prompt"


@value(frozen=True, slots=True)
class CancelSession:
    """Cancel what a session does: a notification, so that it returns when it is written."""

    label: Label
    session: Label
    item: Literal["cancel_session"] = "cancel_session"


@value(frozen=True, slots=True)
class CloseSession:
    """Close a session. Returns when its agent has ended."""

    label: Label
    session: Label
    item: Literal["close_session"] = "close_session"


@value(frozen=True, slots=True)
class CallOff:
    """Call off a request by its label, whatever became of it: a notification, as a cancel of a session is."""

    label: Label
    connection: Label
    call: Label
    item: Literal["call_off"] = "call_off"


@value(frozen=True, slots=True)
class Disconnect:
    """Let a client end its output, and no more. Returns when all that it held has ended."""

    label: Label
    connection: Label
    item: Literal["disconnect"] = "disconnect"


@value(frozen=True, slots=True)
class CloseBridge:
    """Close the bridge, as the unload of its plug-in does. Returns when all that it made has ended."""

    label: Label
    item: Literal["close_bridge"] = "close_bridge"


BridgeOp: TypeAlias = (
    Connect
    | NewSession
    | LoadSession
    | ResumeSession
    | Prompt
    | CancelSession
    | CloseSession
    | CallOff
    | Disconnect
    | CloseBridge
)
"""All ops of the profile."""
