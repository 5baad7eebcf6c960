"""Hold what was accepted and not yet begun.

Two lists in order of arrival. *Queued* prompts are independent: one turn claims exactly one of
them. *Steering* joins the turn that runs, between its steps. Steering that the turn did not take
becomes queued when the turn is over, since an accepted message is run, cancelled or dropped by
disposal, and never simply forgotten.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = ("Inbox", "InboxStatistics")


@dataclass(frozen=True, slots=True)
class InboxStatistics:
    """An inbox at one moment.

    :ivar queued: how many prompts wait for a turn of their own
    :ivar steering: how many messages wait to join the running turn
    """

    queued: int
    steering: int


class Inbox:
    """Two first-in first-out lists; each takes memory only while something is in it."""

    __slots__ = ("_queued", "_steering")

    def __init__(self) -> None:
        self._queued: deque[str] | None = None
        self._steering: deque[str] | None = None

    def has_queued(self) -> bool:
        """Return whether a prompt waits for a turn."""
        return self._queued is not None

    def has_steering(self) -> bool:
        """Return whether a message waits to join the running turn."""
        return self._steering is not None

    def pending(self) -> bool:
        """Return whether anything waits."""
        return self._queued is not None or self._steering is not None

    def queue(self, text: str) -> None:
        """Add a prompt."""
        if self._queued is None:
            self._queued = deque()
        self._queued.append(text)

    def steer(self, text: str) -> None:
        """Add a steering message."""
        if self._steering is None:
            self._steering = deque()
        self._steering.append(text)

    def claim(self) -> str:
        """Take the oldest prompt; there must be one."""
        assert self._queued is not None
        text = self._queued.popleft()
        if not self._queued:
            self._queued = None
        return text

    def take_steering(self) -> str:
        """Take the oldest steering message; there must be one."""
        assert self._steering is not None
        text = self._steering.popleft()
        if not self._steering:
            self._steering = None
        return text

    def requeue_steering(self) -> None:
        """Turn the steering that is left into prompts, behind those that wait already."""
        if self._steering is not None:
            if self._queued is None:
                self._queued = self._steering
            else:
                self._queued.extend(self._steering)
            self._steering = None

    def clear(self) -> None:
        """Forget everything that waits."""
        self._queued = None
        self._steering = None

    def statistics(self) -> InboxStatistics:
        """Return the state of the inbox at this moment."""
        return InboxStatistics(
            queued=0 if self._queued is None else len(self._queued),
            steering=0 if self._steering is None else len(self._steering),
        )
