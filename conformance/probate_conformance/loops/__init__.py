"""The event loops that a subject can be driven on, each with an order to choose and a way to see quiet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from .asyncio_host import AsyncioHost
from .base import TURNS, Host, LoopChanged
from .trio_host import TrioHost

__all__ = ("HOSTS", "TURNS", "AsyncioHost", "Host", "LoopChanged", "TrioHost")

HOSTS: Mapping[str, Callable[[], Host]] = MappingProxyType({"asyncio": AsyncioHost, "trio": TrioHost})
"""Makes a host of each kind, by name."""
