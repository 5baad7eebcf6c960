"""Serve the agents of a runtime to editors and other clients, over the Agent Client Protocol.

Start with :class:`Bridge`, which is given a runtime, and :meth:`Bridge.connect`, which is given two byte
streams. :mod:`.serving` does all of it over standard input and output, as ``probate acp``.
"""

from __future__ import annotations

from .bridge import Bridge
from .connection import Connection

__all__ = ("Bridge", "Connection")
