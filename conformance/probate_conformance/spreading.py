"""Spreading: a run of many traces over several processes, with the report that one process would give.

Each worker has a backend of its own, made by its name, and runs stretches of numbers as they are handed out. What comes
back is put in order of number and counted in that order, so a trace that was run ahead of one that ends the run is
never counted. Shrinking goes to whichever worker is free, and changes nothing but the case. So the report does not
depend on how many workers there are, nor on how fast each is.

A trace is run ahead with the reading of the contract that there is then. If another one has been learnt by the time
that it is counted, and that may matter to it, it was run in vain and is run again; see ``drift``. So little is run
ahead at first, and after each change.

What a worker ends by stands at the number that it was to run next: it ends the run if the run comes to that.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from probate_conformance import garbage
from probate_conformance.backends.process import DEADLINE
from probate_conformance.backends.registry import BAD, BUILT_IN, make_backend
from probate_conformance.checking import Progress, Stop
from probate_conformance.crew import GRACE, Crew, Gone, Link, Worker
from probate_conformance.drift import Reading
from probate_conformance.errors import BackendBroke, ProbateError
from probate_conformance.interrupts import Interrupt
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.report import INTERRUPTED
from probate_conformance.runner import Case, Ran, Runner
from probate_conformance.running import carry_out, entered, manifest_of, not_claimed
from probate_conformance.tally import Checked, Tally
from probate_conformance.wire import Command, Reply

STRETCH: Final = 16
"""How many traces a worker is given at once, when the reading of the contract has been the same for as many."""
WORTH_IT: Final = 200
"""How many traces one process must have to run before it is worth its start."""
MOST: Final = 4
"""How many processes there are at the most, unless somebody asks for more."""


class Stretch(NamedTuple):
    """Traces to run, and how the contract is read when they begin."""

    numbers: range
    reading: Reading


Task: TypeAlias = Stretch | Case


def jobs_for(name: str, plan: Plan, asked: int | None = None) -> int:
    """Give how many processes a plan is to be run in.

    :param name: of the backend; whether one that is not ours can be there twice, only its author knows
    :param asked: how many are wanted; as many as help if none is given
    """
    if asked is not None:
        return max(1, min(asked, plan.runs))
    if name not in BUILT_IN and not name.startswith(BAD):
        return 1
    return max(1, min(processors(), MOST, plan.runs // WORTH_IT))


def processors() -> int:
    """Give how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    jobs: int,
    name: str,
    plan: Plan,
    interrupt: Interrupt,
    stop: Stop,
    progress: Progress,
    checked: Checked,
    *,
    deadline: float = DEADLINE,
) -> None:
    """Run a plan in several processes.

    :param jobs: how many
    :param name: what the backend is made by
    :param checked: what the results are written into
    :param deadline: how many seconds one answer of a backend may take that lives in a process of its own
    :raises BackendBroke: if the backend, or a process that it was in, ended the run
    :raises KeyboardInterrupt: if interrupted
    """
    with Crew(jobs, partial(_work, name, plan, deadline), interrupt) as crew:
        _Spread(name, plan, stop, progress, checked, crew).run()


def _work(name: str, plan: Plan, deadline: float, link: Link) -> None:
    """Do a worker's work: have the backend carry out one conversation, in which every task is done."""
    backend = make_backend(name, deadline=deadline)
    with entered(backend, link.interrupt, name):
        manifest = manifest_of(backend, name)
        link.say(manifest)
        if plan.profile in manifest.profiles:
            with garbage.seldom_looked_for():
                carry_out(backend, _doing(Runner(manifest, plan, name), link), link.interrupt, name)


def _doing(runner: Runner, link: Link) -> Generator[Command, Reply, None]:
    def go_on() -> bool:
        return not link.interrupt.requested

    for task in link.tasks():
        if isinstance(task, Case):
            link.say((yield from runner.shrink(task, go_on)))
            continue
        assert isinstance(task, Stretch)
        for number in task.numbers:
            link.say((yield from runner.run(number, task.reading)))
            if not go_on():
                return


@dataclass(slots=True)
class _Spread:
    """The one who hands out and counts."""

    name: str
    plan: Plan
    stop: Stop
    progress: Progress
    checked: Checked
    crew: Crew
    tally: Tally = field(init=False)
    ahead: dict[int, Ran | ProbateError] = field(default_factory=dict, init=False)
    """What came back and is not counted yet, by number."""
    tasks: dict[Worker, Task] = field(default_factory=dict, init=False)
    """What each worker has still to do."""
    to_shrink: deque[Case] = field(default_factory=deque, init=False)
    next: int = field(default=0, init=False)
    """The first number that was not handed out."""
    steady: int = field(default=0, init=False)
    """The number since which the contract is read as it is now."""
    again: int | None = field(default=None, init=False)
    """The number of a trace that has to be run again, since it was run in vain."""

    def __post_init__(self) -> None:
        self.tally = Tally(self.plan, self.checked)
        self.checked.planned = self.plan.runs

    def run(self) -> None:
        """Run all.

        :raises BackendBroke: if the backend, or a process that it was in, ended the run
        :raises KeyboardInterrupt: if interrupted
        """
        if not self._greeted():
            return
        try:
            while not self.tally.ended(self.stop()):
                self._hand_out()
                self._hear()
                self._count()
            while self._shrinking() and self.stop() is None:
                self._hand_out(shrink_only=True)
                self._hear()
        except KeyboardInterrupt:
            self.checked.ended = INTERRUPTED
        if self._shrinking():
            self._stop_shrinking()
        elif self.checked.ended is None:
            self._dismiss()

    def _greeted(self) -> bool:
        """Hear of the first worker what the backend says of itself, and whether there is anything to do."""
        while self.checked.manifest is None:
            self._hear()
        if self.plan.profile not in self.checked.manifest.profiles:
            self.checked.ended = not_claimed(self.plan)
        return self.checked.ended is None

    def _hand_out(self, *, shrink_only: bool = False) -> None:
        for worker in self.crew.idle:
            if self.to_shrink:
                self._give(worker, self.to_shrink.popleft())
            elif not shrink_only and self.again is not None:
                self._give(worker, Stretch(range(self.again, self.again + 1), self.tally.reading))
                self.again = None
            elif not shrink_only and self.next < self.plan.runs:
                # A reading that has just changed may change again, and what is run ahead then is run in vain.
                length = min(STRETCH, 1 + self.checked.traces - self.steady)
                start, self.next = self.next, min(self.next + length, self.plan.runs)
                self._give(worker, Stretch(range(start, self.next), self.tally.reading))

    def _give(self, worker: Worker, task: Task) -> None:
        self.tasks[worker] = task
        worker.give(task)

    def _hear(self) -> None:
        for worker, message in self.crew.hear():
            self._take(worker, message)
        self.progress(self.checked)

    def _take(self, worker: Worker, message: object) -> None:
        task = self.tasks.get(worker)
        match message:
            case Manifest():
                self.checked.manifest = self.checked.manifest or message
            case Ran():
                assert isinstance(task, Stretch)
                if message.reading.flipped == self.tally.reading.flipped:
                    self.ahead[message.number] = message
                self.tasks[worker] = task._replace(numbers=task.numbers[1:])
                worker.idle = len(task.numbers) == 1
            case Case():
                self.checked.replace(message)
                del self.tasks[worker]
                worker.idle = True
            case ProbateError() | Gone() if isinstance(task, Stretch) and task.numbers:
                # What it said before is more to the point than that it has gone then.
                self.ahead.setdefault(task.numbers[0], self._error(message))
            case ProbateError() | Gone():
                raise self._error(message)
            case _:
                raise AssertionError(f"a worker said {message!r}")

    def _error(self, message: ProbateError | Gone) -> ProbateError:
        if isinstance(message, ProbateError):
            return message
        return BackendBroke(f"the process that ran it {message}", where=self.name)

    def _count(self) -> None:
        """Count what is next, as far as it is known.

        :raises ProbateError: if that is the end of the backend
        """
        while not self.tally.ended(None) and (ran := self.ahead.pop(self.checked.traces, None)) is not None:
            if isinstance(ran, ProbateError):
                raise ran
            if ran.is_stale(self.tally.reading):
                self.again = ran.number
                return
            self.to_shrink += self.tally.add(ran)
            if ran.drifts:
                self._start_over()
            self.progress(self.checked)

    def _start_over(self) -> None:
        """Have all that was run ahead run again, now that the contract is read in another way."""
        self.ahead = {number: ran for number, ran in self.ahead.items() if isinstance(ran, ProbateError)}
        self.next, self.again, self.steady = self.checked.traces, None, self.checked.traces

    def _shrinking(self) -> bool:
        """Tell whether there is still something to shrink, and note what."""
        cases = [*(task for task in self.tasks.values() if isinstance(task, Case)), *self.to_shrink]
        self.checked.shrinking = cases[0].clause if cases else None
        return bool(cases)

    def _stop_shrinking(self) -> None:
        """Take what shrinking came to so far, of those who stop when they are asked to."""
        self.crew.stop()
        until = time.monotonic() + GRACE
        while any(isinstance(task, Case) for task in self.tasks.values()) and time.monotonic() < until:
            for worker, message in self.crew.hear(breaking_off=False):
                if isinstance(message, Case):
                    self.checked.replace(message)
                if isinstance(message, Case | Gone):
                    self.tasks.pop(worker, None)
        self.checked.shrinking = None

    def _dismiss(self) -> None:
        """Let all go, and hear whether the backend lets them.

        :raises BackendBroke: if it raises
        """
        self.tasks.clear()
        self.crew.dismiss()
        while not self.crew.over:
            for _, message in self.crew.hear():
                if isinstance(message, ProbateError):
                    raise message
                if isinstance(message, Gone) and message.code:
                    raise self._error(message)
