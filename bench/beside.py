"""The reference beside dsh as it is published on npm: the same questions to both, in turn."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.conversing import now
from bench.results import Goal, Section, check
from probate_conformance.backends.dsh import PACKAGES
from probate_conformance.backends.install import find_node
from probate_conformance.environment import child_environment
from probate_conformance.errors import BackendAbsent

Answer = dict[str, Any]

_HERE = Path(__file__).resolve().parent
REFERENCE, TRIO, DSH = "reference", "reference-trio", "dsh"
WITHOUT: Final = ", no collector"


class Child:
    """A process that measures: a line of JSON in, a line of JSON out."""

    def __init__(self, command: Sequence[str], home: str) -> None:
        overlay: dict[str, str | None] = {"HOME": home, "NODE_OPTIONS": None, "NODE_PATH": None}
        self._process = subprocess.Popen(
            command,
            cwd=_HERE.parent,
            env=child_environment(os.environ, overlay),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.gone = False

    def ask(self, question: dict[str, Any], seconds: float) -> Answer | None:
        """Give the answer; none if it is not there in time, and then the child is gone."""
        if self.gone:
            return None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        line = b""
        end = now() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, end - now())):
                    self.end()
                    return None
                read = os.read(self._process.stdout.fileno(), 65536)
                check(bool(read), f"the child died of {question}")
                line += read
        answer: Answer = json.loads(line)
        return answer

    def end(self) -> None:
        """End it, whatever it does."""
        self.gone = True
        self._process.kill()
        self._process.communicate()


@contextmanager
def _children(section: Section) -> Iterator[dict[str, Child]]:
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="probate-bench-"))
        commands: dict[str, tuple[str, ...]] = {
            REFERENCE: (sys.executable, "-m", "bench.reference_child", "asyncio"),
            TRIO: (sys.executable, "-m", "bench.reference_child", "trio"),
        }
        try:
            node = find_node()
            if not PACKAGES.installed:
                raise BackendAbsent("the packages of dsh are not installed", mend="probate backends install dsh")
            commands[DSH] = (
                str(node.executable),
                "--expose-gc",
                str(_HERE / "dsh_bench.mjs"),
                str(PACKAGES.folder),
            )
        except BackendAbsent as absent:
            section.note(f"dsh is left out: {absent}")
        children: dict[str, Child] = {}
        for name, command in commands.items():
            children[name] = child = Child(command, home)
            stack.callback(child.end)
        yield children


def beside(*, quick: bool) -> Section:
    """Ask all of them, in rounds."""
    section = Section("The reference beside dsh")
    rounds = 2 if quick else 4
    with _children(section) as children:
        one = {
            kind: _one_by_one(children, kind, count, rounds)
            for kind, count in (
                ("create-dispose", 300 if quick else 1000),
                ("create-prompt-dispose", 200 if quick else 600),
            )
        }
        memory = _memory(children, 300 if quick else 1000)
        unloads = _unloads(children, quick=quick)
    section.figures = {"one by one": one, "memory": memory, "unload": unloads}
    _rates(section, one)
    _heaps(section, memory)
    _ends(section, unloads)
    return section


def _one_by_one(children: dict[str, Child], kind: str, count: int, rounds: int) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in children}
    for number in range(rounds + 1):
        for name, child in children.items():
            answer = child.ask({"do": kind, "count": count}, 60)
            if answer is None:
                continue
            warmed, prompts = answer["warmed"], kind == "create-prompt-dispose"
            check(answer["left"] == 0, f"{name} has {answer['left']} entries left")
            check(warmed["created"] == warmed["disposed"] == warmed["of"], f"{name} told of {warmed}")
            check(warmed["turns"] == prompts * warmed["of"], f"{name} told of {warmed}")
            check(answer["calls"] == prompts * count, f"{name} called the model {answer['calls']} times")
            if number:  # the first round warms up
                rates[name].append(count / answer["seconds"])
    return rates


def _memory(children: dict[str, Child], count: int) -> dict[str, Answer]:
    answers = {}
    for name, child in children.items():
        answer = child.ask({"do": "memory", "count": count, "cycles": 3}, 120)
        if answer is not None:
            check(answer["left"] == 0, f"{name} has {answer['left']} entries left")
            check(answer["calls"] == 4 * count, f"{name} called the model {answer['calls']} times")
            answers[name] = answer
    return answers


SIZES: Final = ((1000, 3, 30.0), (2000, 2, 30.0), (10_000, 2, 20.0), (20_000, 2, 30.0))
"""So many agents, in so many rounds, each within so many seconds. dsh takes minutes to bring 10,000 into a turn."""
FEW, MANY, TWICE = 1000, 10_000, 20_000
"""The sizes that show whether the time is linear."""


def _unloads(children: dict[str, Child], *, quick: bool) -> dict[str, dict[int, list[Answer]]]:
    """Ask for more and more agents; whoever is too slow is not asked again.

    The reference is asked twice, with Python's garbage collector and without: what that adds grows with all that lives.
    """
    answers: dict[str, dict[int, list[Answer]]] = {}
    for count, rounds, seconds in SIZES:
        for _ in range(1 if quick else rounds):
            for name, child in children.items():
                for collector in (True,) if name == DSH else (True, False):
                    if name == DSH and count > (FEW if quick else MANY):
                        continue
                    answer = child.ask({"do": "unload", "count": count, "collector": collector}, seconds)
                    if answer is None:
                        continue
                    ended = {answer[key] for key in ("running", "disposed", "turns")}
                    check(ended == {count}, f"{name} did not end {count} turns: {answer}")
                    check(answer["left"] == 0, f"{name} has {answer['left']} entries left")
                    key = name if collector else name + WITHOUT
                    answers.setdefault(key, {}).setdefault(count, []).append(answer)
    return answers


def _rates(section: Section, one: dict[str, dict[str, list[float]]]) -> None:
    rows = []
    for kind, rates in one.items():
        theirs = rates.get(DSH, [])
        for name, ours in rates.items():
            ratio = median(a / b for a, b in zip(ours, theirs, strict=True)) if theirs else None
            beside = "" if ratio is None else f"{ratio:.1f}"
            rows.append((f"{kind}, {name}", f"{max(ours):,.0f}", f"{median(ours):,.0f}", beside))
            if name != DSH:
                section.goals.append(Goal(f"{kind}: {name} to dsh", ratio, 2))
    section.table(("per second", "best", "median", "x dsh"), rows)


def _heaps(section: Section, memory: dict[str, Answer]) -> None:
    rows = []
    each: dict[str, float] = {}
    for name, answer in memory.items():
        count, idle, live = answer["count"], answer["idle"], answer["live"]
        each[name] = median(now - before for before, now in zip(idle, live, strict=False)) / count
        left = (idle[-1] - idle[0]) / (len(live) * count)
        rows.append((name, f"{each[name]:,.0f}", f"{left:,.1f}", f"{100 * left / each[name]:.2f} %"))
        if name != DSH:
            section.goals.append(
                Goal(f"memory left of an ended agent, {name}", 100 * left / each[name], 1, at_most=True, unit="%")
            )
    for name in (REFERENCE, TRIO):
        ratio = each[DSH] / each[name] if DSH in each else None
        section.goals.append(Goal(f"memory of a live agent: dsh to {name}", ratio, 2))
    section.table(("bytes of heap", "per live agent", "left of one that ended", "share"), rows)


def _ends(section: Section, unloads: dict[str, dict[int, list[Answer]]]) -> None:
    rows = []
    each: dict[tuple[str, int], float] = {}
    for name, by_count in unloads.items():
        for count, _, _ in SIZES:
            answers = by_count.get(count, [])
            if not answers:
                rows.append((f"{count:,}, {name}", "not done", "", ""))
                continue
            best = min(answer["seconds"] for answer in answers)
            each[name, count] = best / count
            making = min(answer["making"] for answer in answers)
            rows.append((f"{count:,}, {name}", f"{best:.3f}", f"{1e6 * best / count:.0f}", f"{making:.2f}"))
    section.table(("unload of the provider, agents in a turn", "s, best", "us each", "s to make them"), rows)

    def ratio(one: tuple[str, int], other: tuple[str, int]) -> float | None:
        return each[one] / each[other] if one in each and other in each else None

    for name in (REFERENCE, TRIO):
        section.goals += [
            Goal(f"unload of {count:,}: dsh's time to {name}'s", ratio((DSH, count), (name, count)), 2)
            for count, _, _ in SIZES
            if count < TWICE
        ]
        section.goals += [
            Goal(f"time per agent at {more:,} to {less:,}, {one}", ratio((one, more), (one, less)), 1.5, at_most=True)
            for one in (name, name + WITHOUT)
            for less, more in ((FEW, MANY), (MANY, TWICE))
        ]
