"""Ask SPIN and our explorer the same, and compare: the states and transitions at three bounds, and two planted defects.

``core.pml`` was not made from ``bench/agents.py``: it has processes, channels and one number for two registries where
that has values, tuples and pairs. So what both come to is the core's and not a way of writing it down; and an explorer
that lost states would not be judged by itself alone.

It needs SPIN and a C compiler. Where they are not, that is said, and the exit code is 5: not run is not passed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

from bench import agents, components
from bench.agents import Agent, Shared
from bench.components import Components
from probate_conformance.exploring.searching import search

MODEL: Final = Path(__file__).with_name("core.pml")
BOUNDS: Final = (1, 2, 3)
"""How many prompts an inbox holds."""

Moves = Callable[[Agent, Shared, int], Iterator[tuple[str, Agent, Shared]]]


class Found(NamedTuple):
    """What a search came to; where something is wrong, it ends there, and counts nothing that could be compared."""

    states: int
    transitions: int
    wrong: bool


def by_spin(most: int, defect: int = 0) -> Found:
    """Let SPIN search, depth first and without any reduction, with what it has written kept in the state (``-o2``)."""
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            ["spin", f"-DMOST={most}", f"-DDEFECT={defect}", "-o2", "-a", str(MODEL)],
            ["gcc", "-w", "-O2", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
        ):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        shown = subprocess.run(["./pan", "-m4000000", "-w22"], cwd=folder, check=True, capture_output=True, text=True)
    figures = (r"(\d+) states, stored", r"(\d+) transitions", r"errors: (\d+)")
    states, transitions, errors = (int(re.findall(figure, shown.stdout)[0]) for figure in figures)
    return Found(states, transitions - 1, errors > 0)  # it counts the start as a transition


def by_us(most: int, defect: int = 0) -> Found:
    """Let our explorer search."""
    with patch.object(components, "moves", planted(agents.moves, defect)):
        searched = search(Components(most))
    return Found(len(searched.states), searched.transitions, bool(searched.findings))


def planted(right: Moves, defect: int) -> Moves:
    """Give moves with a defect: who is told to go keeps its prompts, or nobody looks whether an id is taken."""

    def keeps(agent: Agent, shared: Shared, most: int) -> Iterator[tuple[str, Agent, Shared]]:
        for name, after, common in right(agent, shared, most):
            yield name, replace(after, queue=agent.queue) if name == "dispose" else after, common

    def enters(agent: Agent, shared: Shared, most: int) -> Iterator[tuple[str, Agent, Shared]]:
        free = replace(shared, sessions=(False, False)) if agent.phase is agents.PREPARING else shared
        for name, after, common in right(agent, free, most):
            (one, two), (first, second) = common.sessions, shared.sessions
            yield name, after, replace(common, sessions=(one or first, two or second)) if free is not shared else common

    return (right, keeps, enters)[defect]


def named() -> frozenset[str]:
    """Give the names of the actions in SPIN's model."""
    return frozenset(re.findall(r":: d_step \{ /\* (\w+) \*/", MODEL.read_text(encoding="utf-8")))


def main() -> int:
    """Compare; gives the exit code."""
    missing = [program for program in ("spin", "gcc") if shutil.which(program) is None]
    if missing:
        sys.stderr.write(f"not run: {' and '.join(missing)} not found; on Debian, install the packages spin and gcc\n")
        return 5
    agree = named() == frozenset(agents.MOVES)
    sys.stdout.write(f"actions: {len(named())}, {'the same' if agree else 'NOT the same'} in both\n")
    for most in BOUNDS:
        theirs, mine = by_spin(most), by_us(most)
        same = theirs == mine and not mine.wrong
        agree = agree and same
        sys.stdout.write(
            f"inbox of {most}: SPIN {theirs.states:,} states, {theirs.transitions:,} transitions; "
            f"ours {mine.states:,}, {mine.transitions:,}: {'agree' if same else 'DIFFER'}\n"
        )
    for defect, says in ((1, "dispose keeps the inbox"), (2, "a taken id is entered")):
        theirs, mine = by_spin(2, defect), by_us(2, defect)
        same = theirs.wrong and mine.wrong
        agree = agree and same
        verdicts = ["finds it" if found.wrong else "MISSES it" for found in (theirs, mine)]
        sys.stdout.write(f"planted: {says}: SPIN {verdicts[0]}, ours {verdicts[1]}\n")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
