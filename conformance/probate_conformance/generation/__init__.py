"""Generating traces: one writer for each profile. ``core`` says how they write."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from probate_conformance.generation.bridge import BridgeWriter
from probate_conformance.generation.core import EVERYTHING, Palette, Writer
from probate_conformance.generation.fibers import FiberWriter
from probate_conformance.generation.sessions import SessionsWriter
from probate_conformance.generation.subagents import SubagentWriter
from probate_conformance.generation.tasks import TaskWriter
from probate_conformance.randomness import stream_of
from probate_conformance.trace import Trace
from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.rehearsal import Rehearsal

WRITERS: Final[Mapping[str, type[Writer]]] = MappingProxyType(
    {
        writer.profile: writer
        for writer in (Writer, SessionsWriter, FiberWriter, TaskWriter, BridgeWriter, SubagentWriter)
    }
)
"""By profile, who writes its traces."""

__all__ = ["EVERYTHING", "WRITERS", "Palette", "Writer", "generate", "generate_rehearsed"]


def generate(
    seed: int,
    number: int,
    palette: Palette = EVERYTHING,
    profile: str = "core",
    edition: Edition = EDITION_2026_06,
) -> Trace:
    """Generate the ``number``-th trace of a seed."""
    return WRITERS[profile](stream_of(seed, number), palette, edition).trace()


def generate_rehearsed(
    seed: int,
    number: int,
    palette: Palette = EVERYTHING,
    profile: str = "core",
    edition: Edition = EDITION_2026_06,
) -> tuple[Trace, list[Rehearsal]]:
    """Generate the ``number``-th trace of a seed, with its canonical run on the model, the epilogue included."""
    writer = WRITERS[profile](stream_of(seed, number), palette, edition)
    trace = writer.trace()
    return trace, writer.rehearsed(trace)
