"""Let agents have work done by agents: in this process, or in another one that speaks ACP.

Start with :class:`Subagents`, register providers with it, and begin a :class:`Run`. A model gets at it with
:func:`.delegation.delegate`.
"""

from __future__ import annotations

from .delegation import DelegationFailed, delegate
from .inprocess import ForkProvider, SpawnProvider
from .process import AcpProvider
from .runs import Capability, Provider, Run, RunRequest, RunResult, RunStop
from .service import (
    DepthExceeded,
    DuplicateProvider,
    NoProvider,
    SubagentEnded,
    SubagentEvent,
    Subagents,
    SubagentStarted,
    UnsupportedCapability,
)
from .transport import Child, Command, ProcessChild, Spawner, spawn_process

__all__ = (
    "AcpProvider",
    "Capability",
    "Child",
    "Command",
    "DelegationFailed",
    "DepthExceeded",
    "DuplicateProvider",
    "ForkProvider",
    "NoProvider",
    "ProcessChild",
    "Provider",
    "Run",
    "RunRequest",
    "RunResult",
    "RunStop",
    "SpawnProvider",
    "Spawner",
    "SubagentEnded",
    "SubagentEvent",
    "SubagentStarted",
    "Subagents",
    "UnsupportedCapability",
    "delegate",
    "spawn_process",
)
