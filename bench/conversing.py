"""Conversations with a clock in them: how long a run takes, and how much of that is the kit's own.

The conversation runs inside of the backend, and is entered and left at each command. So the time between a reply and
the next command is the kit's, all the rest is the backend's, and no sampling is needed to tell them apart.

But for Python's garbage collector: it runs wherever the next object happens to be made, which is mostly in the kit, and
what it finds and frees is the backend's worlds. The kit leaves it nothing, which a run with the null backend shows. So
what it takes is counted as the backend's.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from unittest.mock import patch

from bench.results import check
from probate_conformance import garbage
from probate_conformance.backends.base import Backend
from probate_conformance.checking import check as checking
from probate_conformance.exploring.touring import Tour
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.tally import Checked
from probate_conformance.wire import Conversation, Reply
from probate_model.rehearsal import Rehearsing
from probate_model.world import new_world

T = TypeVar("T")

now = time.perf_counter
worked = time.process_time
"""What this process has used of its processors. Shares are taken of this, so that neighbours move them little."""


class _Collecting:
    """What the garbage collector has taken of that since the first run."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._began = worked()
        else:
            self.seconds += worked() - self._began


_collecting = _Collecting()


def worked_uncollected() -> float:
    """Give the same without what the garbage collector took."""
    return worked() - _collecting.seconds


@dataclass(slots=True)
class Clock:
    """What a run cost."""

    total: float = 0.0
    cpu: float = 0.0
    """Of all threads: what is left of the difference when others use the machine too."""
    own: float = 0.0
    """Of ``cpu``, spent in the conversation: generation, model and comparison; 0 if nobody asked.

    Without the garbage collector."""
    steps: int = 0
    bursts: int = 0

    @property
    def rate(self) -> float:
        """Steps carried out and compared in a second."""
        return self.steps / self.total


def _clocked(conversation: Conversation[T], clock: Clock) -> Conversation[T]:
    reply: Reply | None = None
    while True:
        began = worked_uncollected()
        try:
            command = conversation.send(reply)  # type: ignore[arg-type]
        except StopIteration as stop:
            clock.own += worked_uncollected() - began
            result: T = stop.value
            return result
        clock.own += worked_uncollected() - began
        reply = yield command


def run(backend: Backend, seed: int, cases: int, tour: Tour | None = None, *, split: bool = False) -> Clock:
    """Check so many traces as the kit does, on the clock.

    :param tour: a tour to take then
    :param split: whether to tell what of it is the kit's own, which costs a little
    :raises RuntimeError: if not all of them passed, since then something else was measured
    """
    clock = Clock()
    plan = Plan(seed=seed, cases=cases, tour=tour)
    with backend:
        conversation = checking(backend.manifest, plan)
        if split:
            conversation = _clocked(conversation, clock)
        began, used = now(), worked()
        checked = backend.converse(conversation)
        clock.total, clock.cpu = now() - began, worked() - used
    _passed(checked, plan.runs)
    clock.steps, clock.bursts = checked.steps, checked.bursts
    return clock


def _passed(checked: Checked, cases: int) -> None:
    check(checked.traces == cases, f"{checked.traces} of {cases} traces were run")
    check(not checked.failed and not checked.troubles, f"not all passed: {checked.failed} {checked.troubles}")


class Recorded:
    """The null backend: it answers at once with what another one once answered to the same plan."""

    def __init__(self, manifest: Manifest, replies: list[Reply]) -> None:
        self.manifest = manifest
        self._replies = replies

    @classmethod
    def of(cls, backend: Backend, seed: int, cases: int) -> Recorded:
        """Record what a backend answers."""
        replies: list[Reply] = []

        def recording(conversation: Conversation[T]) -> Conversation[T]:
            reply: Reply | None = None
            while True:
                try:
                    command = conversation.send(reply)  # type: ignore[arg-type]
                except StopIteration as stop:
                    result: T = stop.value
                    return result
                reply = yield command
                replies.append(reply)

        with backend:
            plan = Plan(seed=seed, cases=cases)
            _passed(backend.converse(recording(checking(backend.manifest, plan))), cases)
        return cls(backend.manifest, replies)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def converse(self, conversation: Conversation[T]) -> T:
        """Carry out every command of the conversation and send it the reply."""
        try:
            next(conversation)
            for reply in self._replies:
                conversation.send(reply)
        except StopIteration as stop:
            result: T = stop.value
            return result
        raise RuntimeError("the conversation asks for more than was recorded")


class Meter:
    """Splits the kit's own time into parts, each without what is called from inside of it and is a part itself."""

    PARTS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
        "generation": (("probate_conformance.generation", "generate_rehearsed"),),
        "the model's run": (("probate_model.rehearsal", "rehearse"),),
        "another order": (("probate_model.following", "follow"), ("probate_conformance.lockstep", "search")),
    }
    """The functions that make up each part."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = dict.fromkeys(self.PARTS, 0.0)
        self._open: list[str] = []
        self._since = worked_uncollected()

    @contextmanager
    def on(self) -> Iterator[Self]:
        """Measure as long as this is entered."""
        with ExitStack() as stack:
            for part, functions in self.PARTS.items():
                for home, name in functions:
                    function = vars(sys.modules[home])[name]
                    for module in list(sys.modules.values()):
                        if module.__name__.startswith("probate_conformance.") and vars(module).get(name) is function:
                            stack.enter_context(patch.object(module, name, self._metered(part, function)))
            yield self

    def _metered(self, part: str, function: Any) -> Callable[..., Any]:
        def metered(*arguments: Any, **named: Any) -> Any:
            self._charge()
            self._open.append(part)
            try:
                return function(*arguments, **named)
            finally:
                self._charge()
                self._open.pop()

        return metered

    def _charge(self) -> None:
        instant = worked_uncollected()
        if self._open:
            self.parts[self._open[-1]] += instant - self._since
        self._since = instant


def metered(backend: Backend, seed: int, cases: int, tour: Tour | None = None) -> tuple[Clock, dict[str, float]]:
    """Check so many traces with the meter on; gives what the parts of the kit's own time add up to.

    A trace is rehearsed while it is written, so what that took is found out by rehearsing all of them once more; the
    least of three times, as the run with which it is compared is the least of some.
    """
    with Meter().on() as meter:
        clock = run(backend, seed, cases, tour, split=True)
    parts = meter.parts
    again = min(_rehearsed(Plan(seed=seed, cases=cases), backend.manifest) for _ in range(3))
    parts["generation"] -= again
    parts["the model's run"] += again
    return clock, {**parts, "comparison and the rest": clock.own - sum(parts.values())}


def _rehearsed(plan: Plan, manifest: Manifest) -> float:
    """Tell how long the model's canonical run of all traces of a plan takes."""
    traces = [plan.trace(number, manifest) for number in range(plan.cases)]
    scripts = [(new_world(trace.world, trace.reading, trace.profile), trace.bursts()) for trace in traces]
    began = worked_uncollected()
    with garbage.seldom_looked_for():
        for world, bursts in scripts:
            rehearsing = Rehearsing(world)
            for burst in bursts:
                for item in burst:
                    rehearsing.add(item)
                rehearsing.settle()
    return worked_uncollected() - began
