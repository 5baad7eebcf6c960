"""How many traces of at least 20 items a run covers: 5,000 on the reference, with two processes."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from bench.conversing import now, run
from bench.results import Goal, Section, check
from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.generation import generate

PROCESSES = 2
LONG = 20
"""The items of a trace that counts."""
WANTED = 5000
LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """What one process did."""

    seconds: float
    cpu: float
    steps: int


def _part(seed: int, cases: int) -> Part:
    clock = run(ReferenceBackend(), seed, cases)
    return Part(clock.total, clock.cpu, clock.steps)


def _lengths(seed: int, cases: int) -> list[int]:
    return [len(generate(seed, number).items) for number in range(cases)]


def volume(*, quick: bool) -> Section:
    """Check as many traces as it takes, start of the processes included."""
    cases = (600 if quick else WANTED) // PROCESSES
    seeds = range(PROCESSES)
    began = now()
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        parts = [job.result() for job in [pool.submit(_part, seed, cases) for seed in seeds]]
        seconds = now() - began
        lengths = [job.result() for job in [pool.submit(_lengths, seed, cases) for seed in seeds]]
    traces = [items for part in lengths for items in part]
    long = [items for items in traces if items >= LONG]
    check(quick or len(long) >= WANTED, f"{len(long)} traces were long enough")
    steps = sum(part.steps for part in parts)
    for_wanted = seconds * WANTED / len(long)
    section = Section(f"Coverage rate: traces of at least {LONG} items on the reference, {PROCESSES} processes")
    section.table(
        ("traces", "long", "items each", "steps", "seconds", "long per second", "steps per second"),
        [
            (
                f"{len(traces):,}",
                f"{len(long):,}",
                f"{sum(long) / len(long):.1f}",
                f"{steps:,}",
                f"{seconds:.1f}",
                f"{len(long) / seconds:.0f}",
                f"{steps / seconds:,.0f}",
            )
        ],
    )
    if quick:
        section.note(f"{WANTED:,} of them would take {for_wanted:.1f} s, by proportion")
    section.goals.append(Goal(f"{WANTED:,} traces of {LONG} items or more", for_wanted, LIMIT, at_most=True, unit=" s"))
    section.figures = {
        "seconds": seconds,
        "traces": len(traces),
        "long": len(long),
        "steps": steps,
        "parts": [{"seconds": part.seconds, "cpu": part.cpu, "steps": part.steps} for part in parts],
    }
    return section
