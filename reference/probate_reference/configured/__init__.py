"""Start agents that a configuration names, and let them belong to the tree of plug-ins."""

from __future__ import annotations

from .entries import AgentEntry, check_entries
from .starting import ConfiguredAgents, StartFailed

__all__ = ("AgentEntry", "ConfiguredAgents", "StartFailed", "check_entries")
