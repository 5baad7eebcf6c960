"""Following: the quick way to accept what was observed.

The whole set of worlds is only needed when it is unclear which step led to an observation. Mostly it is clear: a
settlement names its call, and every other event names its agent, whose next step it must come from. So this walks one
world along the observations, firing for each the step of its own subject, with the silent steps of that subject that
come before it. If that works to the end, it *is* a run of the model that yields exactly what was observed, and the
observation is accepted. If it does not, nothing is said, and the set of worlds is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probate_model.alphabet.events import AgentEvent, Event, ScopeCleanup, Settled
from probate_model.alphabet.names import Label
from probate_model.machine import Activity, Step, enabled, fire
from probate_model.reduction import hurry
from probate_model.run import Expected, Outcome, Silence
from probate_model.world import World

Show = Callable[[tuple[Expected, ...]], tuple[Expected, ...]]
"""Gives what a backend claims to show of some events."""

_SILENT_AT_MOST = 8


class Followed:
    """A run that yields what was observed: what each event was expected as, and the world at the end."""

    __slots__ = ("matched", "silences", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self.matched: list[Expected] = []
        self.silences: list[Silence] = []


def follow(world: World, begun: Sequence[Expected], events: Sequence[Event], show: Show) -> Followed | None:
    """Follow one world along what was observed.

    :param world: the world after the begins of a burst
    :param begun: what the begins emit, as far as it is shown
    :param events: what was observed, as far as it is shown
    :return: the run, ending at rest; none if the quick way does not lead there
    """
    run = Followed(world)
    run.world = hurry(world, run.silences)
    count = len(begun)
    if len(events) < count or any(entry.event != seen for entry, seen in zip(begun, events, strict=False)):
        return None
    run.matched += begun
    place = count
    while place < len(events):
        taken = _take(run, events[place], show)
        if taken is None:
            return None
        if any(entry.event != seen for entry, seen in zip(taken, events[place : place + len(taken)], strict=False)):
            return None
        run.matched += taken
        place += len(taken)
    if place != len(events):
        return None
    return run if _rest(run, show) else None


def _take(run: Followed, event: Event, show: Show) -> tuple[Expected, ...] | None:
    """Fire the step that leads to ``event``, after the silent steps of its subject that come before it."""
    if isinstance(event, Settled):
        return _settle(run, event, show)
    label = _label_of(run.world, event)
    for _ in range(_SILENT_AT_MOST):
        silent: Outcome | None = None
        for step in enabled(run.world):
            if step.activity == "settlement" or not _concerns(step, label):
                continue
            outcome = fire(run.world, step)
            shown = show(outcome.expected)
            if not shown:
                silent = silent or outcome
            elif shown[0].event == event:
                _go(run, outcome)
                return shown
        if silent is None:
            return None
        _go(run, silent)
    return None


def _settle(run: Followed, event: Settled, show: Show) -> tuple[Expected, ...] | None:
    """Deliver a settlement, after the silent steps without which it is not due."""
    for _ in range(_SILENT_AT_MOST):
        due = next((due for due in run.world.due if due.call == event.call and due.outcome == event.outcome), None)
        if due is not None:
            outcome = fire(run.world, Step("settlement", due))
            _go(run, outcome)
            return show(outcome.expected)
        outcomes = (fire(run.world, step) for step in enabled(run.world) if step.activity != "settlement")
        silent = next((outcome for outcome in outcomes if not show(outcome.expected)), None)
        if silent is None:
            return None
        _go(run, silent)
    return None


_OF_AGENT: frozenset[Activity] = frozenset({"creation", "driver", "entry", "flush", "teardown"})


def _concerns(step: Step, label: Label | None) -> bool:
    """Tell whether a step may lead to an event of the agent; an unload may lead to one of any agent."""
    return step.activity not in _OF_AGENT or label is None or step.subject == label


def _label_of(world: World, event: AgentEvent | ScopeCleanup) -> Label | None:
    if isinstance(event, ScopeCleanup):
        return event.creation
    for agent in world.agents:
        if agent.ref == event.agent:
            return agent.label
    return None


def _go(run: Followed, outcome: Outcome) -> None:
    run.silences += outcome.silences
    run.world = hurry(outcome.world, run.silences)


def _rest(run: Followed, show: Show) -> bool:
    """Fire what is left, which must be silent; tells whether that leads to rest."""
    while steps := enabled(run.world):
        outcome = fire(run.world, steps[0])
        if show(outcome.expected):
            return False
        _go(run, outcome)
    return True
