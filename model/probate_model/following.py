"""Following: the quick way to accept what was observed.

The whole set of worlds is only needed when it is unclear which step led to an observation. Mostly it is clear: a
settlement names its call, and every other event names its agent, whose next step it must come from. So this walks one
world along the observations, firing for each the step of its own subject, with the silent steps of that subject that
come before it. How calls settle further on may tell when a silent step was taken. If that works to the end, it *is* a
run of the model that yields exactly what was observed, and the observation is accepted. If it does not, nothing is
said, and the set of worlds is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from probate_model.alphabet.events import AgentEvent, Event, ScopeCleanup, Settled, Settlement
from probate_model.alphabet.names import Label
from probate_model.alphabet.rooms import InRoom
from probate_model.machine import Activity, Step, Walk, fire, room_of
from probate_model.reduction import timeless
from probate_model.rooms import Inside, Rooms
from probate_model.run import Expected, Silence
from probate_model.world import Agent, World

Show = Callable[[tuple[Expected, ...]], tuple[Expected, ...]]
"""Gives what a backend claims to show of some events."""

_SILENT_AT_MOST = 32


class Followed:
    """A run that yields what was observed: what each event was expected as, and the world at the end."""

    __slots__ = ("matched", "walk")

    def __init__(self, world: World) -> None:
        self.walk = Walk(world)
        self.matched: list[Expected] = []

    @property
    def world(self) -> World:
        """The world at the end."""
        return self.walk.run.world

    @property
    def silences(self) -> Sequence[Silence]:
        """What was silent on purpose on the way."""
        return self.walk.run.silences


def follow(world: World, begun: Sequence[Expected], events: Sequence[Event], show: Show) -> Followed | None:
    """Follow one world along what was observed.

    :param world: the world after the begins of a burst
    :param begun: what the begins emit, as far as it is shown
    :param events: what was observed, as far as it is shown
    :return: the run, ending at rest; none if the quick way does not lead there
    """
    if not _agree(begun, events):
        return None
    run = Followed(world)
    run.matched += begun
    settled = {event.call: event.outcome for event in events if isinstance(event, Settled)}
    while len(run.matched) < len(events):
        place = len(run.matched)
        taken = _take(run.walk, events[place], settled, show)
        if not taken or not _agree(taken, events[place:]):
            return None
        run.matched += taken
    return run if _rest(run.walk, show) else None


def _agree(expected: Sequence[Expected], events: Sequence[Event]) -> bool:
    return len(expected) <= len(events) and all(
        entry.event == seen for entry, seen in zip(expected, events, strict=False)
    )


def _take(walk: Walk, event: Event, settled: Mapping[Label, Settlement], show: Show) -> Sequence[Expected]:
    """Fire the step that leads to ``event``, after the silent steps that come before it; nothing if there is none."""
    label = None if isinstance(event, Settled | InRoom) else _label_of(walk.run.agents, event)
    name = event.call if isinstance(event, Settled) else label
    for _ in range(_SILENT_AT_MOST):
        if isinstance(event, Settled):
            due = next((due for due in walk.run.due if due.call == event.call and due.outcome == event.outcome), None)
            if due is not None:
                return show(walk.fire(Step("settlement", due)))
        steps = [step for step in walk.steps() if step.activity != "settlement"]
        timeless_step = next(
            (step for step in steps if timeless(walk.run.agents, step, walk.run.edition, walk.run.rooms)), None
        )
        if timeless_step is not None:
            walk.fire(timeless_step)
            continue
        told = [_foretold(walk.run.rooms, step, settled) for step in steps]
        if True in told:
            shown = show(walk.fire(steps[told.index(True)]))
            if shown:
                return shown
            continue
        steps = [step for step, now in zip(steps, told, strict=True) if now is None]
        step = _choose(walk, [step for step in steps if _concerns(walk.run.rooms, step, label, name)], event, show)
        if step is None:
            return ()
        shown = show(walk.fire(step))
        if shown:
            return shown
    return ()


def _foretold(rooms: Rooms, step: Step, settled: Mapping[Label, Settlement]) -> bool | None:
    if not isinstance(step.subject, Inside):
        return None
    return room_of(step.subject).foretold(rooms, step.subject.what, settled)


def _choose(walk: Walk, steps: Sequence[Step], event: Event, show: Show) -> Step | None:
    """Choose the step that leads to ``event``, or else a silent one, which may lead to it."""
    if len(steps) < 2:
        return steps[0] if steps else None
    silent = None
    for step in steps:
        shown = show(fire(walk.run.world, step).expected)
        if shown and shown[0].event == event:
            return step
        if not shown and silent is None:
            silent = step
    return silent


_OF_AGENT: frozenset[Activity] = frozenset({"creation", "driver", "entry", "flush", "teardown"})


def _concerns(rooms: Rooms, step: Step, label: Label | None, name: Label | None) -> bool:
    """Tell whether a step may lead to an event of the agent; an unload may lead to one of any agent.

    :param name: the agent, or the call that is to settle
    """
    if isinstance(step.subject, Inside):
        return name is None or room_of(step.subject).concerns(rooms, step.subject.what, name)
    return step.activity not in _OF_AGENT or label is None or step.subject == label


def _label_of(agents: Sequence[Agent], event: AgentEvent | ScopeCleanup) -> Label | None:
    if isinstance(event, ScopeCleanup):
        return event.creation
    for agent in agents:
        if agent.ref == event.agent:
            return agent.label
    return None


def _rest(walk: Walk, show: Show) -> bool:
    """Fire what is left, which must be silent; tells whether that leads to rest."""
    while steps := walk.steps():
        if show(walk.fire(steps[0])):
            return False
    return True
