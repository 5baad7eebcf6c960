"""Why a call is refused or fails: each member is one sentence of promise.

An adapter that can't tell codes apart reports ``unspecified``, which matches every code; the clauses that speak of the
code are then not claimed.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Final

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Code, Tag


@plain
class Refusal(StrEnum):
    """The codes that a settlement can carry, apart from ``thrown:TAG``."""

    OWNER_INACTIVE = "owner-inactive"
    """The owner, or the agent that acts as one, had begun to end before the call."""

    PROVIDER_INACTIVE = "provider-inactive"
    """The agent provider had begun to end, before the call or while the creation was pending."""

    ABORTED = "aborted"
    """The creation's own signal fired."""

    ID_EXISTS = "id-exists"
    """The session store holds the id."""

    OWNER_DISPOSED = "owner-disposed"
    """The owner, or the parent agent, began to end while the creation was pending."""

    LIFECYCLE_DISPOSED = "lifecycle-disposed"
    """This one lifecycle was ended while its creation was pending."""

    DISPOSED = "disposed"
    """The agent no longer takes input: its status is disposed."""

    INVALID_CONTENT = "invalid-content"
    """The content can't be kept losslessly; nothing was queued or announced."""

    REENTRANT = "reentrant"
    """It would have to be logged from inside of the announcement of a record of the same log."""

    NO_PERSISTENCE = "no-persistence"
    """There is no durable store to resume from."""

    NOT_FOUND = "not-found"
    """The durable store has no log of that id."""

    INACTIVE = "inactive"
    """The fiber is failed, unloading or disposed: it takes nothing on, and what is not loaded has no service."""

    SERVICE_EXISTS = "service-exists"
    """Another fiber provides a service of that name."""

    NOT_INJECTED = "not-injected"
    """Neither the fiber nor an ancestor declares or provides the service."""

    ACCESS_DENIED = "access-denied"
    """The task belongs to somebody else."""

    UNKNOWN_TASK = "unknown-task"
    """There is no such task: there never was, or its executor has ended."""

    INVALID_TASK_ID = "invalid-task-id"
    """The name of the task is empty."""

    UNKNOWN_TOOL = "unknown-tool"
    """There is no such tool at this moment."""

    EXECUTOR_INACTIVE = "executor-inactive"
    """The executor has ended."""

    IN_FLIGHT = "in-flight"
    """A prompt of the session is being worked on."""

    UNKNOWN_SESSION = "unknown-session"
    """The client holds no such session."""

    INVALID_PARAMS = "invalid-params"
    """What is asked with does not fit what is asked for."""

    REQUEST_CANCELLED = "request-cancelled"
    """The client has called its request off."""

    TURN_FAILED = "turn-failed"
    """The turn of the prompt ended in an error."""

    CONNECTION_CLOSED = "connection-closed"
    """The connection was closed before the request was carried out."""

    INTERNAL_ERROR = "internal-error"
    """Something failed inside, and the client is not told what."""

    NO_PROVIDER = "no-provider"
    """There is no provider of subagents of that name."""

    DUPLICATE_PROVIDER = "duplicate-provider"
    """There is a provider of subagents of that name."""

    UNSUPPORTED_CAPABILITY = "unsupported-capability"
    """The provider of subagents can't do what the request needs."""

    DEPTH_EXCEEDED = "depth-exceeded"
    """The child would be too deep."""

    UNSPECIFIED = "unspecified"
    """The backend can't tell which; matches every code."""


_THROWN: Final = "thrown:"


@cache
def code(refusal: Refusal) -> Code:
    """Give a refusal as the code that a settlement carries."""
    return Code(refusal.value)


def thrown(tag: Tag) -> Code:
    """Give the code of something that a listener or a setup threw."""
    return Code(f"{_THROWN}{tag}")


def is_thrown(reason: Code) -> bool:
    """Tell whether a code is of something that a listener or a setup threw."""
    return reason.startswith(_THROWN)


def is_code(text: str) -> bool:
    """Tell whether ``text`` is a code of the alphabet."""
    if text.startswith(_THROWN):
        return len(text) > len(_THROWN)
    return text in Refusal._value2member_map_
