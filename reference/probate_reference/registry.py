"""Know which agents live, and who owns them.

The registry is for observers: it hands out bare agents, with which one can talk to an agent but not
end it. It remembers the direct owner of each agent as an object, so that a later agent with the
same id inherits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .refusals import IdExists

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ("AgentRegistry", "AgentRegistryStatistics")


@dataclass(frozen=True, slots=True)
class AgentRegistryStatistics:
    """The registry at one moment.

    :ivar agents: how many agents are registered
    :ivar roots: how many of them no agent owns
    """

    agents: int
    roots: int


class AgentRegistry:
    """Holds the live agents, in the order in which they entered."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[str, tuple[Agent, Agent | None]] = {}

    def get(self, id: str) -> Agent | None:
        """Return the registered agent with this id, or ``None``."""
        entry = self._entries.get(id)
        return None if entry is None else entry[0]

    def list(self) -> tuple[Agent, ...]:
        """Return the registered agents in the order in which they entered."""
        return tuple(agent for agent, _ in self._entries.values())

    def roots(self) -> tuple[Agent, ...]:
        """Return the registered agents that no agent owns, in order."""
        return tuple(agent for agent, owner in self._entries.values() if owner is None)

    def owner_of(self, id: str) -> Agent | None:
        """Return the agent that directly owns the one with this id, or ``None``."""
        entry = self._entries.get(id)
        return None if entry is None else entry[1]

    def is_owned_by(self, id: str, owner: Agent) -> bool:
        """Return whether exactly this agent directly owns the one with this id."""
        entry = self._entries.get(id)
        return entry is not None and entry[1] is owner

    def __contains__(self, id: object) -> bool:
        return id in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    def statistics(self) -> AgentRegistryStatistics:
        """Return the state of the registry at this moment."""
        return AgentRegistryStatistics(agents=len(self._entries), roots=len(self.roots()))

    def _enter(self, agent: Agent, owner: Agent | None) -> None:
        """Register an agent.

        :raises IdExists: if another agent has its id
        """
        if agent.id in self._entries:
            raise IdExists(f"agent {agent.id!r} already exists")
        self._entries[agent.id] = (agent, owner)

    def _detach(self, agent: Agent) -> bool:
        """Take exactly this agent out; return false if it is not in."""
        entry = self._entries.get(agent.id)
        if entry is None or entry[0] is not agent:
            return False
        del self._entries[agent.id]
        return True
