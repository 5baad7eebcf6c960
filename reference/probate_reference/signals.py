"""Tell work that it is no longer wanted.

There are two authorities to stop something, and they are kept apart. A :class:`Signal` belongs to
one turn. The agent alone can fire it, work in flight can only hear it, and it dies with the turn. A
:class:`CreationSignal` belongs to whoever asks for an agent and ends its power when the creation
has settled: it never touches a live agent.

Both are cooperative. Firing does not cancel a task, because a model call or a tool may have
something to put in order first, and because an agent that abandons its tools would lie about
quiescence. Work that wants to be cancelled says so with ``with signal.scope():``; work that does
not listen is waited for, and what it then returns is discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from anyio import CancelScope

if TYPE_CHECKING:
    from .reports import Report

__all__ = ("AbortCause", "CancelCause", "CreationSignal", "Signal")


class CancelCause(StrEnum):
    """Who asked for a cancel."""

    USER = "user"
    PARENT = "parent"


class AbortCause(StrEnum):
    """Why a turn's signal fired: a cancel by one of the two, or the disposal of the agent."""

    USER = "user"
    PARENT = "parent"
    DISPOSED = "disposed"


class Signal:
    """The abort authority of one turn, as model and tools see it."""

    __slots__ = ("_callbacks", "_cause", "_contain")

    def __init__(self, contain: Report) -> None:
        self._cause: AbortCause | None = None
        self._callbacks: dict[object, Callable[[AbortCause], object]] | None = None
        self._contain = contain

    @property
    def aborted(self) -> bool:
        """Whether the signal has fired."""
        return self._cause is not None

    @property
    def cause(self) -> AbortCause | None:
        """Why it fired, or ``None``. The first cause stays."""
        return self._cause

    def subscribe(self, callback: Callable[[AbortCause], object]) -> Callable[[], None]:
        """Call something at the moment the signal fires, synchronously; at once if it has fired already.

        A callback that raises is reported and harms nobody.

        :param callback: called with the cause, at most once
        :return: a function that takes the subscription back
        """
        if self._cause is not None:
            self._call(callback, self._cause)
            return _nothing
        if self._callbacks is None:
            self._callbacks = {}
        key = object()
        self._callbacks[key] = callback

        def unsubscribe() -> None:
            if self._callbacks is not None:
                self._callbacks.pop(key, None)

        return unsubscribe

    @contextmanager
    def scope(self) -> Iterator[CancelScope]:
        """Open a cancel scope that is cancelled when the signal fires, or at once if it has.

        As with any cancel scope, the code after the ``with`` block goes on.
        """
        with CancelScope() as scope:
            unsubscribe = self.subscribe(lambda _cause: scope.cancel())
            try:
                yield scope
            finally:
                unsubscribe()

    def _fire(self, cause: AbortCause) -> None:
        if self._cause is not None:
            return
        self._cause = cause
        callbacks = self._callbacks
        if callbacks is None:
            return
        for key in tuple(callbacks):
            callback = callbacks.pop(key, None)
            if callback is not None:
                self._call(callback, cause)
        self._callbacks = None

    def _call(self, callback: Callable[[AbortCause], object], cause: AbortCause) -> None:
        try:
            callback(cause)
        except BaseException as raised:
            self._contain("signal", raised)


class CreationSignal:
    """Lets a caller call creations off while they are pending. One signal may serve many of them."""

    __slots__ = ("_aborted", "_callbacks")

    def __init__(self) -> None:
        self._aborted = False
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def aborted(self) -> bool:
        """Whether :meth:`abort` was called."""
        return self._aborted

    def abort(self) -> None:
        """Call off every pending creation that was given this signal; agents that exist already are not touched."""
        for callback in tuple(self._callbacks.values()):
            callback()
        self._aborted = True

    def _subscribe(self, key: object, callback: Callable[[], None]) -> None:
        self._callbacks[key] = callback

    def _unsubscribe(self, key: object) -> None:
        self._callbacks.pop(key, None)


def _nothing() -> None:
    """Do nothing: what is left of a subscription whose signal has fired."""
