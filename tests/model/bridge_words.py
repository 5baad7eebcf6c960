"""The words of profile ``bridge``, as typed cases write them."""

from __future__ import annotations

from collections.abc import Sequence

from probate_model.alphabet.bridge import (
    BridgeOp,
    CallOff,
    CancelSession,
    CloseBridge,
    CloseSession,
    Connect,
    Disconnect,
    Folder,
    LoadSession,
    NewSession,
    Prompt,
    ResumeSession,
)
from probate_model.alphabet.names import AgentId, Label, Text

CLIENT_VERBS = (
    "connect",
    "new",
    "load_session",
    "resume_session",
    "prompt",
    "stop",
    "close",
    "off",
    "leave",
    "end_bridge",
)
"""All verbs of the profile."""


def client_op(verb: str, words: Sequence[str], label: str) -> BridgeOp:
    """Read an op from its words. A connection and a session are labelled by their first word, a prompt by its text."""
    match verb, words:
        case "connect", [name]:
            return Connect(Label(label or name))
        case "new", [name, connection]:
            return NewSession(Label(label or name), Label(connection))
        case "load_session", [name, connection, stored, *folder]:
            return LoadSession(Label(label or name), Label(connection), AgentId(stored), Folder(*folder or ["same"]))
        case "resume_session", [name, connection, stored]:
            return ResumeSession(Label(label or name), Label(connection), AgentId(stored))
        case "off", [connection, call]:
            return CallOff(Label(label or f"off-{call}"), Label(connection), Label(call))
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
