"""Say why something was refused: one small class per reason.

A caller has to tell "somebody else has this id" from "you were too late" without parsing prose, and
a program in another language has to tell them apart by a word. So every refusal is a class of its
own, and every class carries a ``code`` that never changes. A failure that is *not* ours, such as an
exception raised by a setup or by a vetoing listener, is never wrapped: the caller gets the very
object that was raised.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = (
    "Aborted",
    "Disposed",
    "IdExists",
    "Inactive",
    "InvalidContent",
    "LifecycleDisposed",
    "LogExists",
    "NoPersistence",
    "NotFound",
    "NotInjected",
    "OwnerDisposed",
    "OwnerInactive",
    "ProviderInactive",
    "Refusal",
    "ServiceExists",
    "SessionLive",
    "WouldDeadlock",
)


class Refusal(Exception):
    """The base of every refusal; ``code`` names the reason in one stable word."""

    code: ClassVar[str] = "refused"


class OwnerInactive(Refusal):
    """Raised when an owner that is not active, or an agent that began to end, is asked to own something new."""

    code = "owner-inactive"


class ProviderInactive(Refusal):
    """Raised when the agent provider is not active, or was unloaded while the creation was pending."""

    code = "provider-inactive"


class Aborted(Refusal):
    """Raised when the creation signal was aborted before the creation had settled."""

    code = "aborted"


class IdExists(Refusal):
    """Raised when a live session already has this id."""

    code = "id-exists"


class OwnerDisposed(Refusal):
    """Raised when the owner began to end while the creation was pending."""

    code = "owner-disposed"


class LifecycleDisposed(Refusal):
    """Raised when this one lifecycle was withdrawn or disposed while the creation was pending."""

    code = "lifecycle-disposed"


class Disposed(Refusal):
    """Raised when input is offered to an agent that has been disposed."""

    code = "disposed"


class InvalidContent(Refusal):
    """Raised when a text cannot be stored without loss: it is no string, or it is not valid Unicode."""

    code = "invalid-content"


class NoPersistence(Refusal):
    """Raised when an agent is to be resumed and the runtime keeps no logs."""

    code = "no-persistence"


class NotFound(Refusal):
    """Raised when there is no stored log with this id."""

    code = "not-found"


class LogExists(Refusal):
    """Raised when a log is to be made, or written, under an id that has a log of another life."""

    code = "log-exists"


class SessionLive(Refusal):
    """Raised when a stored log is to be deleted whose session is live."""

    code = "session-live"


class Inactive(Refusal):
    """Raised when a fiber that is failed, unloading or disposed is asked to take something on, or to give a service."""

    code = "inactive"


class ServiceExists(Refusal):
    """Raised when another fiber provides a service of this name."""

    code = "service-exists"


class NotInjected(Refusal):
    """Raised when a fiber uses a service that neither it nor an ancestor declares or provides."""

    code = "not-injected"


class WouldDeadlock(RuntimeError):
    """Raised when code that a call waits for awaits that very call, for example a cleanup that awaits its own teardown.

    The call itself is not harmed: it goes on, and others may still await it.
    """
