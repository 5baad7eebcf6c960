"""Say what the Agent Client Protocol (version 1) wants said.

Every message that we send is made here, as a typed mapping, and what is not here is not sent. What we
receive is read in :mod:`.parameters`.
"""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypedDict

from probate_reference.records import ToolOutcome, TurnReason

__all__ = (
    "AGENT_NAME",
    "PROTOCOL_VERSION",
    "SessionInfo",
    "StopReason",
    "Update",
    "initialized",
    "message_chunk",
    "permission_question",
    "stop_reason",
    "thought_chunk",
    "tool_call",
    "tool_call_ended",
    "user_chunk",
)

PROTOCOL_VERSION: Final = 1
AGENT_NAME: Final = "probate-reference"

StopReason = Literal["end_turn", "max_tokens", "cancelled"]
"""Why a turn stopped, as far as ours do."""


class Text(TypedDict):
    """A block of text."""

    type: Literal["text"]
    text: str


class Content(TypedDict):
    """What a tool gave."""

    type: Literal["content"]
    content: Text


class Chunk(TypedDict):
    """A piece of what somebody says."""

    sessionUpdate: Literal["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]
    content: Text


ToolKind = Literal["execute", "other"]


class ToolCallBegan(TypedDict):
    """A tool is being called."""

    sessionUpdate: Literal["tool_call"]
    toolCallId: str
    title: str
    kind: ToolKind
    status: Literal["in_progress"]
    rawInput: object


class ToolCallEnded(TypedDict):
    """The call of a tool has ended."""

    sessionUpdate: Literal["tool_call_update"]
    toolCallId: str
    status: Literal["completed", "failed"]
    content: NotRequired[list[Content]]


Update = Chunk | ToolCallBegan | ToolCallEnded
"""What a client is told of a session."""


class SessionInfo(TypedDict):
    """A stored session."""

    sessionId: str
    cwd: str
    updatedAt: NotRequired[str]


def _text(text: str) -> Text:
    return {"type": "text", "text": text}


def user_chunk(text: str) -> Update:
    """Tell what the user has said, when a conversation is replayed."""
    return {"sessionUpdate": "user_message_chunk", "content": _text(text)}


def message_chunk(text: str) -> Update:
    """Tell a piece of what the agent says."""
    return {"sessionUpdate": "agent_message_chunk", "content": _text(text)}


def thought_chunk(text: str) -> Update:
    """Tell a piece of what the agent thinks."""
    return {"sessionUpdate": "agent_thought_chunk", "content": _text(text)}


def tool_call(call: str, name: str, arguments: object) -> Update:
    """Tell that a tool is being called."""
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call,
        "title": title(name, arguments),
        "kind": kind(name),
        "status": "in_progress",
        "rawInput": arguments,
    }


def tool_call_ended(call: str, outcome: ToolOutcome, text: str) -> Update:
    """Tell that the call of a tool has ended."""
    update: ToolCallEnded = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call,
        "status": "completed" if outcome is ToolOutcome.OK else "failed",
    }
    if text:
        update["content"] = [{"type": "content", "content": _text(text)}]
    return update


def title(name: str, arguments: object) -> str:
    """Say in a line what a call does."""
    if isinstance(arguments, dict) and isinstance(command := arguments.get("command"), str) and command.strip():
        return command.strip().splitlines()[0][:200]
    return name


def kind(name: str) -> ToolKind:
    """Say of what kind a tool is."""
    return "execute" if name.startswith("bash") else "other"


ALLOW_ONCE: Final = "allow-once"
REJECT_ONCE: Final = "reject-once"


def permission_question(session: str, call: str, name: str, arguments: object) -> dict[str, object]:
    """Ask whether a tool may be called."""
    return {
        "sessionId": session,
        "toolCall": {
            "toolCallId": call,
            "title": title(name, arguments),
            "kind": kind(name),
            "status": "pending",
            "rawInput": arguments,
        },
        "options": [
            {"optionId": ALLOW_ONCE, "name": "Allow", "kind": "allow_once"},
            {"optionId": REJECT_ONCE, "name": "Reject", "kind": "reject_once"},
        ],
    }


def initialized(*, version: str, durable: bool) -> dict[str, object]:
    """Introduce ourselves.

    :param durable: whether sessions are kept, and can be listed, loaded, resumed and deleted
    """
    sessions: dict[str, object] = {"close": {}}
    if durable:
        sessions |= {"list": {}, "resume": {}, "delete": {}}
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": durable,
            "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": sessions,
        },
        "agentInfo": {"name": AGENT_NAME, "title": "Probate reference", "version": version},
        "authMethods": [],
    }


def stop_reason(reason: TurnReason) -> StopReason | None:
    """Say why a turn stopped, or ``None`` if it failed."""
    match reason:
        case TurnReason.COMPLETED:
            return "end_turn"
        case TurnReason.MAX_TOKENS:
            return "max_tokens"
        case TurnReason.ABORTED | TurnReason.DISPOSED | TurnReason.INTERRUPTED:
            return "cancelled"
        case TurnReason.ERROR:
            return None
