"""Transitions looked at in a second: our explorer, naive search, a checker from the index, and SPIN as the limit.

All take the same small model, and must come to the same numbers of states and transitions. Times are processor time,
since the machine may not be ours alone. SPIN is a program of its own that is only there if somebody installed it, with
a compiler; without it that row is not measured. musil needs Python 3.12 or newer, and is run by one if there is one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from minicheck import Protocol, check_safety  # type: ignore[import-untyped]

from bench.agents import Counts, State, holds, naive, successors
from bench.components import Components
from bench.conversing import metered, worked
from bench.results import Goal, Section, check
from probate_conformance.backends.base import Backend
from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.errors import BackendAbsent
from probate_conformance.exploring.bounds import SMALLEST
from probate_conformance.exploring.caching import CachedSpace
from probate_conformance.exploring.plain import PlainSpace
from probate_conformance.exploring.searching import Limits, search
from probate_conformance.exploring.touring import tour

MODEL: Final = Path(__file__).with_name("agents.pml")
MUSIL: Final = PipRuntime("musil", Path(__file__).with_name("musil.lock"), ("3.13", "3.12"))
TEN_MILLION: Final = 10_000_000


class Took(NamedTuple):
    """What an explorer found, and how many seconds of processor time it took."""

    counts: Counts
    seconds: float

    @property
    def rate(self) -> float:
        """Transitions in a second."""
        return self.counts.transitions / self.seconds


def ours(most: int) -> Took:
    """Search with our explorer."""
    began = worked()
    searched = search(Components(most))
    check(not searched.findings, "an invariant of the small model does not hold")
    return Took(Counts(len(searched.states), searched.transitions), worked() - began)


def naively(most: int) -> Took:
    """Search as one does."""
    began = worked()
    counts = naive(most)
    return Took(counts, worked() - began)


def peer(most: int) -> Took:
    """Search with minicheck, over the same functions."""
    transitions = 0

    def moves(wrapped: tuple[State]) -> list[tuple[str, tuple[State]]]:
        nonlocal transitions
        following = [(name, (after,)) for name, after in successors(wrapped[0], most)]
        transitions += len(following)
        return following

    model = Protocol(
        name="agents",
        candidate=False,
        fields=("state",),
        initial=(State(),),
        transitions=moves,
        invariants={"all": lambda named: holds(named["state"])},
    )
    began = worked()
    found: dict[str, Any] = check_safety(model, max_states=TEN_MILLION)
    seconds = worked() - began
    check(found["exhaustive"] and found["properties"]["all"]["holds"], "the peer did not look at all, or found a fault")
    return Took(Counts(found["reachable_states"], transitions), seconds)


def musil(most: int) -> Took | None:
    """Search with musil, in a child; none if no Python is here that it runs on, or it can't be fetched."""
    try:
        MUSIL.install()
        python, folder = MUSIL.found()
    except BackendAbsent:
        return None
    child = Path(__file__).with_name("musil_child.py")
    path = os.pathsep.join((str(folder), str(child.parent.parent)))
    command = [str(python), str(child), str(most)]
    done = subprocess.run(command, env={"PYTHONPATH": path}, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout)
    check(told["whole"], "musil did not look at all, or found a fault")
    return Took(Counts(told["states"], told["transitions"]), told["seconds"])


def spin(most: int) -> Took | None:
    """Search with SPIN, which does it depth first; none if it or a compiler is not there. Its building is not timed."""
    if not (shutil.which("spin") and shutil.which("gcc")):
        return None
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            ["spin", f"-DMOST={most}", "-o2", "-a", str(MODEL)],
            ["gcc", "-w", "-O3", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
        ):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = subprocess.run(["./pan", "-m4000000", "-w24"], cwd=folder, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    states = re.search(r"(\d+) states, stored", shown.stdout)
    transitions = re.search(r"(\d+) transitions", shown.stdout)
    assert states is not None
    assert transitions is not None
    check("errors: 0" in shown.stdout, "SPIN found a fault")
    # It counts the start as a transition.
    counts = Counts(int(states[1]), int(transitions[1]) - 1)
    return Took(counts, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def exploring(*, quick: bool) -> Section:
    """Measure in rounds, everything once in each."""
    section = Section("Explore: transitions looked at per second")
    _small(section, 1 if quick else 2, rounds=2 if quick else 3)
    _real(section, quick=quick)
    _growth(section, quick=quick)
    _replay(section, ("brief",) if quick else ("brief", "creation"))
    return section


def _small(section: Section, most: int, rounds: int) -> None:
    measured: dict[str, Callable[[int], Took | None]] = {
        "ours": ours,
        "naive search": naively,
        "minicheck": peer,
        "musil": musil,
        "SPIN": spin,
    }
    runs: dict[str, list[Took]] = {name: [] for name in measured}
    for _ in range(rounds):
        for name, measure in measured.items():
            if (took := measure(most)) is not None:
                runs[name].append(took)
    counts = {took.counts for all_ in runs.values() for took in all_}
    check(len(counts) == 1, f"the explorers do not agree: {counts}")
    rate = {name: median(took.rate for took in all_) for name, all_ in runs.items() if all_}
    section.table(
        (f"the small model, queues of {most}", "transitions/s", "ours to it", "states", "transitions"),
        [
            (
                name,
                f"{rate[name]:,.0f}" if name in rate else "not there",
                f"{rate['ours'] / rate[name]:.2f}" if name in rate else "-",
                *(f"{number:,}" for number in (all_[0].counts if all_ else ("", ""))),
            )
            if all_
            else (name, "not run: not installed", "-", "-", "-")
            for name, all_ in runs.items()
        ],
    )
    section.figures["small"] = {name: [took._asdict() for took in all_] for name, all_ in runs.items()}
    section.goals += [
        Goal("ours to naive search", rate["ours"] / rate["naive search"], 8),
        Goal("ours to minicheck", rate["ours"] / rate["minicheck"], 8),
        Goal("ours to musil", rate["ours"] / rate["musil"] if "musil" in rate else None, 8),
        Goal("million transitions a second, ours", rate["ours"] / 1e6, 1, unit=""),
        Goal("SPIN to ours", rate["SPIN"] / rate["ours"] if "SPIN" in rate else None, 4, at_most=True),
    ]


def _real(section: Section, *, quick: bool) -> None:
    """Measure the real model, within a bound that the plain way can take."""
    without = replace(SMALLEST, holds=0, reactions=0)
    bound = replace(without, prompts=1, ops=SMALLEST.ops - {"cancel"}) if quick else without
    began = worked()
    space = CachedSpace(bound)
    quickly = search(space)
    cached = worked() - began
    began = worked()
    slowly = search(PlainSpace(bound))
    plain = worked() - began
    same = (len(quickly.states), quickly.transitions) == (len(slowly.states), slowly.transitions)
    check(same and not quickly.findings and not slowly.findings, "the two ways of exploring the model do not agree")
    transitions = quickly.transitions
    section.table(
        ("the real model", "transitions/s", "states", "transitions", "by the rules", "looked up"),
        [
            (
                "part by part",
                f"{transitions / cached:,.0f}",
                f"{len(quickly.states):,}",
                f"{transitions:,}",
                f"{100 * space.misses / transitions:.1f} %",
                f"{100 * space.anew / transitions:.1f} %",
            ),
            ("plain", f"{transitions / plain:,.0f}", f"{len(slowly.states):,}", f"{transitions:,}", "100 %", "-"),
        ],
    )
    section.figures["real"] = {"cached": cached, "plain": plain, "transitions": transitions}
    section.goals.append(Goal("part by part to plain, on the real model", plain / cached, 3))


_STATES: Final = 1_500_000
"""After how many states a search of the growth is given up: at ten million transitions."""


class Grown(NamedTuple):
    """How much one bound took."""

    name: str
    states: int
    transitions: int
    seconds: float
    megabytes: float


def _resident() -> int:
    """Give how many bytes of memory this process has now; 0 where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * resource.getpagesize() if told.exists() else 0


def _grow(task: tuple[str, int]) -> Grown:
    """Search one bound; in a process of its own, so that its memory is told."""
    what, number = task
    before = _resident()
    began = worked()
    if what == "small":
        searched = search(Components(number), Limits(states=_STATES))
    else:
        searched = search(CachedSpace(replace(SMALLEST, holds=number > 0, reactions=number > 1)))
    seconds = worked() - began
    after = _resident()
    name = f"small, queues of {number}" if what == "small" else f"real, {number} of a held gate and a reaction"
    name += "" if searched.limit is None else ", not whole"
    return Grown(name, len(searched.states), searched.transitions, seconds, (after - before) / 1e6)


def _growth(section: Section, *, quick: bool) -> None:
    tasks = [
        *(("small", number) for number in range(1, 3 if quick else 5)),
        *(("real", n) for n in range(2 if quick else 3)),
    ]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        grown = pool.map(_grow, tasks, chunksize=1)
    section.table(
        ("growth with the bound", "states", "transitions", "seconds", "MB", "bytes per state"),
        [
            (
                one.name,
                f"{one.states:,}",
                f"{one.transitions:,}",
                f"{one.seconds:.1f}",
                f"{one.megabytes:,.0f}",
                f"{1e6 * one.megabytes / one.states:,.0f}",
            )
            for one in grown
        ],
    )
    section.figures["growth"] = [one._asdict() for one in grown]


def _replay(section: Section, names: Sequence[str]) -> None:
    """Take the reference on tours, and tell how much of the time is not its own."""
    rows = []
    for name in names:
        planned = tour(name)
        backends: dict[str, Backend] = {"asyncio": ReferenceBackend(), "trio": ReferenceBackend("trio")}
        for loop, backend in backends.items():
            clock, parts = metered(backend, 0, 0, planned)
            shares = [clock.own, parts["the model's run"], parts["another order"]]
            rows.append(
                (
                    f"{name}, on {loop}",
                    f"{planned.transitions:,}",
                    f"{clock.steps:,}",
                    f"{clock.steps / clock.cpu:,.0f}",
                    f"{1e6 * clock.own / clock.steps:.0f}",
                    *(f"{100 * share / clock.cpu:.0f} %" for share in shares),
                )
            )
            section.figures[f"replay, {name}, {loop}"] = {"cpu": clock.cpu, "own": clock.own, "steps": clock.steps}
    head = (
        "replay on the reference",
        "transitions",
        "steps",
        "steps/s",
        "us ours",
        "ours",
        "its model's run",
        "orders",
    )
    section.table(head, rows)
