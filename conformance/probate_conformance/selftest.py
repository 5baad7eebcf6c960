"""The kit put to the test: whether what is known to be wrong is found, by the clause that speaks of it.

A kit that reports nothing may be blind. In edition ``2026-06`` there are the known-bad backends, each the reference
with one defect; in ``2026-08``, which nothing of ours but the model follows, there is a lie for each clause (see
``lying``). Each is checked as any other backend would be, up to its first failure, from begin to end by one worker of a
crew. Where that failure is of a neighbouring clause, which depends on the seed, it is checked once more with only its
own clause judged; if that reports it, it is found, and what came first is told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from probate_conformance.backends.lying import EDITION, LIES, Lie, LyingBackend
from probate_conformance.backends.reference import known_bad
from probate_conformance.backends.reference.known_bad import VARIANTS, Variant
from probate_conformance.backends.reference.known_bad.variant import Loop
from probate_conformance.checking import check
from probate_conformance.crew import Crew, Gone, Link
from probate_conformance.errors import BackendBroke, ProbateError
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.view import view_of
from probate_conformance.wire import Conversation

THOROUGH: Final = 200
"""How many traces tell what share of all a defect passes."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one known-bad backend."""

    name: str
    clause: str | None
    """The clause that reported it; none if it survived."""
    traces: int
    """How many traces that took."""
    length: int
    """How many items the shrunk trace has."""
    story: str
    """Of the shrunk trace."""
    passed: float | None
    """The share of all traces that it passes, if that was asked for."""
    before: str | None = None
    """The clause that it was reported by before its own was reached, if there was one."""

    @property
    def defect(self) -> Variant | Lie:
        """What was wrong with it."""
        return VARIANTS[self.name] if self.name in VARIANTS else LIES[self.name]

    @property
    def fault(self) -> str | None:
        """Tell what is wrong with how it was found, if anything is."""
        defect = self.defect
        if self.clause is None:
            return "survived"
        if self.clause != defect.clause:
            return "reported by another clause"
        if self.passed is not None and self.passed < 0.5 and not (isinstance(defect, Lie) or defect.blunt):
            return "passes less than half of all traces"
        return None


@dataclass(frozen=True, slots=True)
class Trial:
    """How each is tried."""

    seed: int
    cases: int
    """The most traces."""
    loop: Loop | None
    """Which loop they run on; for each the first on which it shows, if none is given."""
    thorough: bool
    """Whether to tell what share of all traces each passes."""


def selftest(names: Sequence[str], trial: Trial, jobs: int, interrupt: Interrupt) -> Iterator[Tried]:
    """Try known-bad backends, and give what became of each, in order.

    :param jobs: over how many processes
    :raises BackendBroke: if a process ends before its work is done
    :raises KeyboardInterrupt: if interrupted
    """
    left = deque(names)
    done: dict[str, Tried] = {}
    with Crew(min(jobs, len(names)), partial(_work, trial), interrupt) as crew:
        for name in names:
            while name not in done:
                for worker in crew.idle:
                    if left:
                        worker.give(left.popleft())
                for worker, message in crew.hear():
                    match message:
                        case Tried():
                            done[message.name] = message
                            worker.idle = True
                        case ProbateError():
                            raise message
                        case Gone() | _:
                            raise BackendBroke(f"a process of the selftest {message}")
            yield done.pop(name)


def _work(trial: Trial, link: Link) -> None:
    for name in link.tasks():
        assert isinstance(name, str)
        link.say(_tried(name, trial))


def _tried(name: str, trial: Trial) -> Tried:
    if name in LIES:
        return _lied(LIES[name], trial)
    variant = VARIANTS[name]
    loop = trial.loop or variant.loops[0]
    before = None
    (result,) = known_bad.selftest([variant], trial.cases, seed=trial.seed, loop=loop)
    if result.clause is not None and not result.passed:
        # What is wrong in one place may show in another first; then its own clause has to report it nonetheless.
        (due,) = known_bad.selftest([variant], trial.cases, seed=trial.seed, loop=loop, only_due=True)
        if due.passed:
            before, result = result.clause, due
    passed = None
    if trial.thorough:
        with known_bad.backend(name, loop) as backend:
            passed = backend.converse(_share(backend.manifest, Plan(trial.seed, THOROUGH, profile=variant.profile)))
    return Tried(name, result.clause, result.runs, result.length, result.story, passed, before)


def _lied(lie: Lie, trial: Trial) -> Tried:
    plan = Plan(trial.seed, trial.cases, EDITION.name, stop_at_first=True, only=(lie.clause,))
    with LyingBackend(lie) as backend:
        checked = backend.converse(check(backend.manifest, plan, lambda _: None))
    if not checked.cases:
        return Tried(lie.clause, None, checked.traces, 0, "", None)
    case = checked.cases[0]
    return Tried(lie.clause, case.clause, case.number + 1, case.trace.length, case.story, None)


def _share(manifest: Manifest, plan: Plan) -> Conversation[float]:
    """Tell what share of its traces a backend passes."""
    view = view_of(manifest)
    passed = 0
    for number in range(plan.runs):
        examined = yield from examine(plan.trace(number, manifest), view)
        passed += examined.verdict is Verdict.PASS
    return passed / plan.runs
