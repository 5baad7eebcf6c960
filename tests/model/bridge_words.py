"""The words of profile ``bridge``, as typed cases write them."""

from __future__ import annotations

from collections.abc import Sequence

from probate_model.alphabet.bridge import (
    BridgeOp,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    NewSession,
    Prompt,
)
from probate_model.alphabet.names import Label, Text

CLIENT_VERBS = ("connect", "new", "prompt", "stop", "close", "leave", "end_bridge")
"""All verbs of the profile."""


def client_op(verb: str, words: Sequence[str], label: str) -> BridgeOp:
    """Read an op from its words. A connection and a session are labelled by their first word, a prompt by its text."""
    match verb, words:
        case "connect", [name]:
            return Connect(Label(label or name))
        case "new", [name, connection]:
            return NewSession(Label(label or name), Label(connection))
        case "prompt", [session, text]:
            return Prompt(Label(label or text), Label(session), Text(text))
        case "stop", [session]:
            return CancelSession(Label(label or f"stop-{session}"), Label(session))
        case "close", [session]:
            return CloseSession(Label(label or f"close-{session}"), Label(session))
        case "leave", [connection]:
            return Disconnect(Label(label or f"leave-{connection}"), Label(connection))
        case "end_bridge", []:
            return CloseBridge(Label(label or "bridge"))
        case _:
            raise ValueError(f"no item: {verb} {' '.join(words)}")
