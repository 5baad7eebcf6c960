"""Talk to configured agents on a terminal, or through a pipe, as ``probate run`` does."""

from __future__ import annotations
