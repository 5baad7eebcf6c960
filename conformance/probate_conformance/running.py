"""Running: one backend, entered, held to the contract and left, whatever it does meanwhile.

The conversation that judges a backend runs inside of the backend's own ``converse``, so an exception that comes out of
it is either the backend's or ours. Which of the two is noted where the conversation itself ends. The backend's becomes
part of the report; ours goes on to whoever is there to admit it.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from probate_conformance.backends.base import Backend
from probate_conformance.backends.process import ProcessBackend
from probate_conformance.checking import Progress, Stop, check
from probate_conformance.errors import DEBUG, BackendBroke, ProbateError, trace_if_debugging
from probate_conformance.exploring.touring import Tour
from probate_conformance.generation import Palette
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Verdict, examine
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.reached import reached
from probate_conformance.report import (
    INTERRUPTED,
    TIME_UP,
    Drift,
    Driven,
    Failure,
    Replayed,
    Report,
    Setting,
    Totals,
    Trouble,
    clause_results,
    overall,
    replayed_exit,
)
from probate_conformance.story import seen_line, story
from probate_conformance.tally import Checked, Drifted
from probate_conformance.trace import Trace
from probate_conformance.view import claimed_clauses, view_of
from probate_conformance.wire import Burst, Close, Closed, Command, Conversation, Open, Opened, Quiet, Reply
from probate_model.alphabet.editions import EDITIONS, Edition
from probate_model.clauses import CLAUSES

T = TypeVar("T")


@dataclass(slots=True)
class _Watched:
    """A conversation, with a note of what became of it: a backend's word is not taken for that."""

    interrupt: Interrupt
    child: bool
    """Whether the other side is a child process."""
    name: str
    ours: BaseException | None = None
    """What the conversation itself raised."""
    over: bool = False
    """Whether the conversation came to its end."""

    def watch(self, conversation: Conversation[T]) -> Conversation[T]:
        reply: Reply | None = None
        broke: BackendBroke | None = None
        while True:
            try:
                # None, which starts a conversation, is never sent to one that has begun.
                command = conversation.throw(broke) if broke else conversation.send(reply)  # type: ignore[arg-type]
            except StopIteration as stop:
                self.over = True
                result: T = stop.value
                return result
            except BaseException as error:
                self.ours = error
                raise
            reply = broke = None
            try:
                with self.interrupt.breaking_off() if self.child else contextlib.nullcontext():
                    reply = yield command
            except BackendBroke as error:
                broke = error
            else:
                broke = self._mistaken(command, reply)

    def _mistaken(self, command: Command, reply: object) -> BackendBroke | None:
        expected = _REPLIES[type(command)]
        if isinstance(reply, expected):
            return None
        return BackendBroke(
            f"answered `{command.message}` with something of type {type(reply).__name__}",
            where=self.name,
            mend=f"give {'an' if expected is Opened else 'a'} {expected.__name__}",
        )


_REPLIES: Final[dict[type[Command], type[Reply]]] = {Open: Opened, Burst: Quiet, Close: Closed}


def carry_out(backend: Backend, conversation: Conversation[T], interrupt: Interrupt, name: str) -> T:
    """Have an entered backend carry out a conversation.

    :param name: how errors call the backend
    :raises BackendBroke: if the backend raised anything of its own, or did not go on to the end
    :raises KeyboardInterrupt: if interrupted while it waited
    """
    watched = _Watched(interrupt, isinstance(backend, ProcessBackend), name)
    try:
        result = backend.converse(watched.watch(conversation))
    except BaseException as error:
        if watched.ours is not None:
            raise watched.ours from None
        if isinstance(error, ProbateError | KeyboardInterrupt):
            raise
        if interrupt.requested and isinstance(error, BaseExceptionGroup):  # a loop wraps what broke it off
            raise KeyboardInterrupt from error
        raise _blamed(error, "converse", name) from error
    if not watched.over:
        raise BackendBroke(
            "came back from `converse` before the conversation was over",
            where=name,
            mend="send it a reply to every command, until it raises StopIteration",
        )
    return result


@contextlib.contextmanager
def entered(backend: Backend, interrupt: Interrupt, name: str) -> Iterator[None]:
    """Enter a backend, and leave it whatever happens; it is not asked what to make of that.

    :param name: how errors call the backend
    :raises BackendBroke: if it can't be started, or raises anything of its own
    :raises KeyboardInterrupt: if interrupted while it starts
    """
    with interrupt.breaking_off(), _blaming("__enter__", name):
        backend.__enter__()
    try:
        yield
    finally:
        with _blaming("__exit__", name):
            backend.__exit__(None, None, None)


@contextlib.contextmanager
def _blaming(method: str, name: str) -> Iterator[None]:
    try:
        yield
    except ProbateError:
        raise
    except (Exception, SystemExit) as error:
        raise _blamed(error, method, name) from error


def _blamed(error: BaseException, method: str, name: str) -> BackendBroke:
    said = traceback.format_exception_only(error)[-1].strip()
    return BackendBroke(f"raised out of `{method}`: {said}", where=name, mend=f"{DEBUG}=1 shows the traceback")


def manifest_of(backend: Backend, name: str) -> Manifest:
    """Give what an entered backend says of itself.

    :raises BackendBroke: if that is no manifest, or names what does not exist
    """
    with _blaming("manifest", name):
        manifest: object = backend.manifest
    if not isinstance(manifest, Manifest):
        raise BackendBroke(f"has a manifest of type {type(manifest).__name__}", where=name, mend="give a Manifest")
    return manifest


Spread = Callable[[str, Plan, Interrupt, Stop, Progress, Checked], None]
"""Checks a backend, that is made by its name, elsewhere than here; see ``spreading``."""


def check_backend(
    name: str,
    backend: Backend | BackendBroke,
    plan: Plan,
    interrupt: Interrupt,
    progress: Progress,
    spread: Spread | None = None,
) -> Report:
    """Check one backend.

    :param name: how the command line calls it
    :param backend: the backend, or what making it ended by
    :param progress: called after every trace
    :param spread: checks it instead, if it is given
    :return: the report, whatever the backend did
    :raises Exception: only what is a defect of ours, with a note of the trace that shows it
    """
    checked = Checked()
    broke: BackendBroke | None = None
    began: float | None = None

    def stop() -> str | None:
        nonlocal began
        if interrupt.requested:
            return INTERRUPTED
        now = time.monotonic()
        began = now if began is None else began  # when it is asked first: what starting took is nobody's traces
        up = plan.seconds is not None and now - began > plan.seconds
        return TIME_UP if up and checked.traces else None  # a budget is for traces: one is run, however small it is

    try:
        if isinstance(backend, BackendBroke):
            raise backend
        if spread is not None:
            spread(name, plan, interrupt, stop, progress, checked)
        else:
            with entered(backend, interrupt, name):
                checked.manifest = manifest = manifest_of(backend, name)
                if plan.profile in manifest.profiles:
                    conversation = check(manifest, plan, progress, name=name, stop=stop, checked=checked)
                    carry_out(backend, conversation, interrupt, name)
                else:
                    checked.ended = not_claimed(plan)
    except BackendBroke as error:
        trace_if_debugging(error)
        broke = error
    except KeyboardInterrupt:
        interrupt.requested = True
        checked.ended = INTERRUPTED
    return report_of(name, checked.manifest, plan, checked, broke)


def not_claimed(plan: Plan) -> str:
    """Give why nothing was run on a backend that does not claim the profile."""
    return f"it does not claim profile {plan.profile}"


def report_of(
    name: str, manifest: Manifest | None, plan: Plan, checked: Checked, broke: BackendBroke | None = None
) -> Report:
    """Give the report on what a run showed.

    :param broke: what the backend ended the whole run by, if it did
    """
    setting = Setting(
        backend=name,
        manifest=manifest,
        edition=plan.edition,
        profile=plan.profile,
        seed=plan.seed,
        cases=plan.cases,
        schedules=plan.schedules,
        seconds=plan.seconds,
        only=plan.only,
        tour=None if plan.tour is None else plan.tour.bound.name,
    )
    troubles = tuple(checked.troubles)
    ended = checked.ended
    if broke is not None:
        number = checked.traces if manifest is not None else None
        troubles += (Trouble(verdict=Verdict.BROKEN, number=number, reason=str(broke)),)
        ended = ended or "the backend broke"
    edition = EDITIONS[plan.edition].flipped(() if manifest is None else manifest.variations)
    claimed = {} if manifest is None else claimed_clauses(manifest, plan.profile, edition)
    if checked.drifts and manifest is not None:
        # What holds in the way in which the contract was read at the end was judged, too.
        claimed |= claimed_clauses(manifest, plan.profile, edition.flipped(_flipped(checked)))
        claimed = {clause: claimed[clause] for clause in CLAUSES if clause in claimed}
    claimed = {clause: claims for clause, claims in claimed.items() if plan.judges(clause)}
    if manifest is not None and plan.profile not in manifest.profiles:
        claimed = dict.fromkeys(claimed, False)
    early = bool(checked.failed or checked.aside or troubles or (ended and ended != TIME_UP and checked.traces))
    clauses = clause_results(claimed, checked.demanded, checked.failed, ended_early=early, expected=plan.expected)
    verdict, code = overall(clauses, troubles, checked.steps, ended=ended, broken=checked.gave_up)
    return Report(
        setting=setting,
        drifts=tuple(_drift(drifted, edition) for drifted in checked.drifts),
        failures=tuple(
            Failure(clause=case.clause, number=case.number, story=case.story, case=case.trace) for case in checked.cases
        ),
        troubles=troubles,
        clauses=clauses,
        reached=None if manifest is None else reached(checked.marks, manifest, plan.profile, edition),
        driven=None if manifest is None or plan.tour is None else _driven(plan.tour, checked, manifest),
        totals=Totals(
            verdict=verdict,
            exit=code,
            traces=checked.traces,
            steps=checked.steps,
            voids=checked.voids,
            bursts=checked.bursts,
            searched=checked.searched,
            failed=sum(checked.failed.values()),
            aside=dict(sorted(checked.aside.items())),
            clauses=dict(Counter(result.verdict for result in clauses)),
            unknown=dict(sorted(checked.unknown.items())),
            ended=ended,
        ),
    )


def _flipped(checked: Checked) -> list[str]:
    return [name for drifted in checked.drifts for name in drifted.drift.choices]


def _drift(drifted: Drifted, edition: Edition) -> Drift:
    drift = drifted.drift
    return Drift(
        choices={name: edition.flipped([name]).choices()[name] for name in drift.choices},
        clause=drift.divergence.clause,
        number=drifted.number,
        seen=seen_line(drift.divergence),
    )


def _driven(tour: Tour, checked: Checked, manifest: Manifest) -> Driven:
    return Driven(
        tour=tour.bound.name,
        burst=tour.burst,
        states=tour.states,
        transitions=tour.transitions,
        driven=len(checked.driven),
        unclaimed=tour.transitions - tour.within(Palette.of(manifest.unclaimed).words),
        walks=len(tour.walks),
        bursts=tour.steps,
    )


def not_run(name: str, plan: Plan, reason: str) -> Report:
    """Give the report on a backend that was not run at all."""
    return report_of(name, None, plan, Checked(ended=reason))


def replay(name: str, backend: Backend, trace: Trace, interrupt: Interrupt) -> Replayed:
    """Run one case once.

    :param name: how the command line calls the backend
    :raises BackendBroke: if the backend can't be started, or raises out of its conversation
    :raises KeyboardInterrupt: if interrupted
    """
    with entered(backend, interrupt, name):
        view = view_of(manifest_of(backend, name))
        examined = carry_out(backend, examine(trace, view), interrupt, name)
    verdict, reason = examined.verdict, examined.reason
    if verdict is Verdict.PASS and not any(exchange.sent for exchange in examined.exchanges[:-1]):
        verdict, reason = Verdict.NOT_REACHED, "no item of the trace was carried out"
    divergence = examined.divergence
    clause = divergence.clause if divergence else None
    return Replayed(
        backend=name,
        case=trace,
        verdict=verdict,
        exit=replayed_exit(verdict, clause),
        story=story(trace, examined),
        clause=clause,
        seen=seen_line(divergence) if divergence else None,
        reason=reason,
    )
