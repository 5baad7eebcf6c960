"""Say which agents are wanted, and under which ids: the policy about the one id.

An agent *is* its session, so its id is also the name of its log, and a log belongs to one life after the other. A
label is therefore no id. It is what people call the agent, and by itself it promises nothing: each start then makes a
new session, ``label-session-uuid``, which collides with nobody's log. Who wants the *same* session again has to say so,
with its exact id, and there are two ways of meaning it. ``session`` means *this one, whether it exists yet or not*;
``resume`` means *this one, which exists*, and its absence is a failure. An entry means one or the other.

An exact id is an identity. Two entries that have the same one, however they mean it, would be two agents for one log,
and which of them gets it would be chance; that is refused before any of them starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probate_reference.tables import ConfigError

__all__ = ("AgentEntry", "check_entries")


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """One agent that is wanted.

    :ivar label: what it is called
    :ivar session: its exact id: resumed if there is a log of it, else created
    :ivar resume: its exact id, of which there must be a log; the empty one is none
    :ivar metadata: what to remember with a log that is created
    """

    label: str
    session: str | None = None
    resume: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str | None:
        """The exact id, or ``None`` if any will do."""
        return self.resume or self.session


def check_entries(entries: Sequence[AgentEntry]) -> None:
    """Check that entries can be meant together.

    :raises ConfigError: if one of them is two things, or two of them are one
    """
    owners: dict[str, str] = {}
    for entry in entries:
        if not entry.label:
            raise ConfigError("an agent has no label; give it one")
        if entry.session == "":
            raise ConfigError(f"{entry.label!r} has an empty session; leave it out for a new one at every start")
        if entry.session is not None and entry.resume:
            raise ConfigError(f"{entry.label!r} has both session and resume, which are mutually exclusive; keep one")
        identity = entry.identity
        if identity is None:
            continue
        if identity in owners:
            raise ConfigError(
                f"{owners[identity]!r} and {entry.label!r} have the same exact identity {identity!r}; "
                "a session has one agent, so give one of them another"
            )
        owners[identity] = entry.label
