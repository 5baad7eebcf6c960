"""The reference as a backend, on asyncio and on trio."""

from __future__ import annotations

from probate_conformance.backends.reference.backend import ReferenceBackend

__all__ = ("ReferenceBackend",)
