"""Say why a model gave no answer."""

from __future__ import annotations

__all__ = ("ModelFailed",)


class ModelFailed(Exception):
    """Raised when a model gives no answer that can be used; its text says why, and holds no secret."""
