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

from probate_model.alphabet.events import AgentEvent, Event, Returned, ScopeCleanup, SessionCreated, Settled, Settlement
from probate_model.alphabet.names import AgentRef, Label
from probate_model.alphabet.rooms import InRoom
from probate_model.machine import Step, Walk, fire, room_of, steps_of_agents, steps_of_others
from probate_model.owners import made_through
from probate_model.reduction import timeless, timeless_of
from probate_model.rooms import NO_ROOMS, Inside, Rooms
from probate_model.run import Expected, Run, Silence
from probate_model.world import Agent, Due, Teardown, Unload, World

Show = Callable[[tuple[Expected, ...]], tuple[Expected, ...]]
"""Gives what a backend claims to show of some events."""

_SILENT_AT_MOST = 32
_OF_NO_AGENT = (Settled, InRoom)


class Followed:
    """A run that yields what was observed: what each event was expected as, and the world at the end."""

    __slots__ = ("_labels", "_steps", "_walk", "matched", "run")

    def __init__(self, world: World) -> None:
        self._walk = walk = Walk(world)
        self._steps: dict[Label, list[Step]] = {}
        self._labels: dict[AgentRef, Label] = {}
        self.run: Run = walk.run
        self.matched: list[Expected] = []

    @property
    def world(self) -> World:
        """The world at the end."""
        return self.run.world

    @property
    def silences(self) -> Sequence[Silence]:
        """What was silent on purpose on the way."""
        return self.run.silences

    def fire(self, step: Step) -> tuple[Expected, ...]:
        """Run an enabled step to its next wait, and give the events on the way."""
        return self._walk.fire(step)

    def able(self) -> list[tuple[Agent, list[Step]]]:
        """List the agents that could run now, each with its steps; only those that may have changed are asked."""
        run, known = self.run, self._steps
        agents = run.agents.values()
        for agent in run.asked():
            known[agent.label] = steps_of_agents((agent,), agents)
        run.touched.clear()
        return [(agent, steps) for label, agent in run.agents.items() if (steps := known[label])]

    def others(self) -> list[Step]:
        """List the steps of unloads and of rooms."""
        run = self.run
        if not run.unloads and run.rooms is NO_ROOMS:
            return []
        return [step for step in steps_of_others(run, run.agents.values()) if not isinstance(step.subject, Due)]

    def label_of(self, event: AgentEvent | ScopeCleanup) -> Label | None:
        """Give the creation that made the agent that an event is about; none if that has not come up yet."""
        if isinstance(event, ScopeCleanup):
            return event.creation
        label = self._labels.get(event.agent)
        if label is None:
            label = next((agent.label for agent in self.run.agents.values() if agent.ref == event.agent), None)
            if label is not None:
                self._labels[event.agent] = label
        return label


def follow(world: World, begun: Sequence[Expected], events: Sequence[Event], show: Show) -> Followed | None:
    """Follow one world along what was observed.

    :param world: the world after the begins of a burst
    :param begun: what the begins emit, as far as it is shown
    :param events: what was observed, as far as it is shown
    :return: the run, ending at rest; none if the quick way does not lead there
    """
    if not _agree(begun, events):
        return None
    followed = _walked(world, begun, events, show, promptly=False)
    if followed is None and world.rooms.bridge is not None:
        followed = _walked(world, begun, events, show, promptly=True)
    return followed


def _walked(
    world: World, begun: Sequence[Expected], events: Sequence[Event], show: Show, *, promptly: bool
) -> Followed | None:
    """Follow one world; where it is open, take what mostly runs before others first, or last."""
    followed = Followed(world)
    matched = followed.matched
    matched += begun
    settled = {event.call: event.outcome for event in events if isinstance(event, Settled)}
    while len(matched) < len(events):
        place = len(matched)
        taken = _take(followed, events[place], settled, show, promptly=promptly)
        if not taken or not _agree(taken, events[place : place + len(taken)]):
            return None
        matched += taken
    return followed if _rest(followed, show) else None


def _agree(expected: Sequence[Expected], events: Sequence[Event]) -> bool:
    return [entry.event for entry in expected] == list(events[: len(expected)])


def _take(
    followed: Followed, event: Event, settled: Mapping[Label, Settlement], show: Show, *, promptly: bool
) -> Sequence[Expected]:
    """Fire the step that leads to ``event``, after the silent steps that come before it; nothing if there is none."""
    run = followed.run
    label = None if isinstance(event, _OF_NO_AGENT) else followed.label_of(event)
    if isinstance(event, SessionCreated) and label is None:
        # Of several creations of one id it is the one that will return what is announced.
        label = next((call for call, end in settled.items() if end == Returned(event.agent)), None)
    name = event.call if isinstance(event, Settled) else label
    for _ in range(_SILENT_AT_MOST):
        if isinstance(event, Settled):
            due = next((due for due in run.due if due.call == event.call and due.outcome == event.outcome), None)
            if due is not None:
                return show(followed.fire(Step("settlement", due)))
        able, others = followed.able(), followed.others()
        step = _timeless(run, able, others)
        if step is not None:
            followed.fire(step)
            continue
        told = [(step, _foretold(run.rooms, step, settled, promptly=promptly)) for step in others]
        step = next((step for step, now in told if now), None)
        if step is None:
            others = [step for step, now in told if now is None and _may_begin_with(run, step, label, name)]
            step = _choose(followed, _concerned(run, label, able, others), event, show)
            if step is None:
                return ()
        shown = show(followed.fire(step))
        if shown:
            return shown
    return ()


def _timeless(run: Run, able: Sequence[tuple[Agent, Sequence[Step]]], others: Sequence[Step]) -> Step | None:
    """Give a step whose time makes no difference; none if there is none."""
    agents, edition, rooms = run.agents.values(), run.edition, run.rooms
    for agent, steps in able:
        for step in steps:
            if timeless_of(agent, step.activity, agents, edition, rooms):
                return step
    return next((step for step in others if timeless(agents, step, edition, rooms)), None)


def _foretold(rooms: Rooms, step: Step, settled: Mapping[Label, Settlement], *, promptly: bool) -> bool | None:
    if not isinstance(step.subject, Inside):
        return None
    room, what = room_of(step.subject), step.subject.what
    if promptly and room.prompt(rooms, what):
        return True
    return room.foretold(rooms, what, settled)


def _may_begin_with(run: Run, step: Step, label: Label | None, name: Label | None) -> bool:
    """Tell whether what a step of no agent leads to may begin with an event of the agent.

    :param name: the agent, or the call that is to settle
    """
    subject = step.subject
    if isinstance(subject, Inside):
        return name is None or room_of(subject).concerns(run.rooms, subject.what, name)
    return label is None or not isinstance(subject, Unload) or _next_of(run, subject) in (None, label)


def _next_of(run: Run, unload: Unload) -> Label | None:
    """Give whose teardown an unload begins next; none if nobody's, and so nobody hears of it."""
    if unload.begun:
        label = unload.to_start[0] if unload.to_start else None
    else:
        made = (agent for agent in reversed(run.agents.values()) if made_through(agent, unload))
        label = next((agent.label for agent in made if agent.teardown is not Teardown.DONE), None)
    return None if label is None or run.agents[label].teardown is not Teardown.NONE else label


def _concerned(
    run: Run, label: Label | None, able: Sequence[tuple[Agent, list[Step]]], others: Sequence[Step]
) -> list[Step]:
    """List the steps that may lead to an event of the agent: its own, those of others, and its parent's teardown."""
    if label is None:
        return [step for _, steps in able for step in steps] + [*others]
    subject = run.agents.get(label)
    parent = None if subject is None else subject.origin.parent
    steps = [step for agent, own in able if agent.label == label for step in own]
    if subject is not None and subject.teardown is not Teardown.NONE:
        # Nobody can begin what has begun.
        return steps + [step for step in others if not isinstance(step.subject, Unload)]
    steps += others
    for agent, own in able:
        if agent.label == parent:
            steps += [step for step in own if step.activity == "teardown"]
    return steps


def _choose(followed: Followed, steps: Sequence[Step], event: Event, show: Show) -> Step | None:
    """Choose the step that leads to ``event``, or else a silent one, which may lead to it."""
    if len(steps) < 2:
        return steps[0] if steps else None
    silent = None
    world = followed.world
    for step in steps:
        shown = show(fire(world, step).expected)
        if shown and shown[0].event == event:
            return step
        if not shown and silent is None:
            silent = step
    return silent


def _rest(followed: Followed, show: Show) -> bool:
    """Fire what is left, which must be silent; tells whether that leads to rest."""
    run = followed.run
    while True:
        steps = [step for _, steps in followed.able() for step in steps]
        steps = steps or steps_of_others(run, run.agents.values())
        if not steps:
            return True
        if show(followed.fire(steps[0])):
            return False
