"""What an event of a later profile is: the base of its dataclasses."""

from __future__ import annotations


class InRoom:
    """An event of a later profile, which is about something else than an agent; a base of its dataclass."""

    __slots__ = ()

    @property
    def about(self) -> str:
        """The name of what it is about, in no conflict with that of an agent or a call."""
        raise NotImplementedError
