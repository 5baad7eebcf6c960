"""Invariants: what holds of every world, and of every stretch between two of them.

Where an edition has another reading of one, that is what it asks for.

These are the invariants of the fact sheet's list that are about the present: what is open, who waits for whom, what
would happen now. Each function yields one sentence for each breach that it finds, and nothing if the invariant holds.
``monitors`` asks the same of what was seen.

Some of them are probes: a world is a value, so one can ask what a cancel would do to it, or whether an id could be
used again, and throw the answer's world away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from probate_model.alphabet.editions import (
    CancelRequest,
    DisposedStatus,
    Edition,
    IdFree,
    IdleCancel,
    QueueEvents,
    TeardownOrder,
    Wake,
)
from probate_model.alphabet.events import (
    AgentEvent,
    CancelRequested,
    Event,
    InboxDiscarded,
    InboxInserted,
    Logged,
    OfNoAgent,
    Queued,
    SessionCreated,
    Settled,
    Signalled,
    Status,
    TurnEnd,
    UserMessage,
)
from probate_model.alphabet.names import AgentId, Label, OwnerName, Text
from probate_model.alphabet.ops import ByOwner, Cancel, Create, LoadOwner, LoadProvider
from probate_model.alphabet.tasks import TaskDone
from probate_model.cancel import is_parked
from probate_model.machine import Step, apply, enabled, settle
from probate_model.tasks.state import Process
from probate_model.world import Agent, Driver, Returned, Stage, Teardown, World

Invariant = Callable[[World], Iterator[str]]

PROBE: Final = Label("probe")
"""The label of a call that is made only to see what it would do."""

_IN_TURN: Final = frozenset(Driver) - {
    Driver.NONE,
    Driver.PARKED,
    Driver.FLUSHING,
    Driver.BETWEEN_TURNS,
    Driver.CLOSED,
    Driver.EXITED,
}
_AT_GATE: Final = {Driver.PREPARING, Driver.MODEL, Driver.TOOL}


def pending(agent: Agent) -> list[Text]:
    """Give the texts that an agent has accepted and neither logged nor dropped."""
    prompt = [agent.prompt] if agent.prompt is not None else []
    return [*prompt, *agent.claimed, *agent.queued, *agent.steering]


def l3_one_place(world: World) -> Iterator[str]:
    """L3 forbids a prompt that is pending in two places."""
    places = Counter(text for agent in world.agents for text in pending(agent))
    yield from (f"L3: {text} is pending in {count} places" for text, count in places.items() if count > 1)


def l3_conserved(before: World, after: World, events: Sequence[Event]) -> Iterator[str]:
    """L3 forbids a prompt that appears from nowhere, or is gone without being logged, cancelled or dropped by an end.

    :param events: what was seen on the way from the one world to the other
    """
    had = {agent.label: set(pending(agent)) for agent in before.agents}
    for agent in after.agents:
        if agent.teardown is Teardown.DONE:
            continue  # where its log is still written to, nobody hears of that
        mine = [event for event in events if not isinstance(event, OfNoAgent) and event.agent == agent.ref]
        accepted = {event.text for event in mine if isinstance(event, Queued)}
        records = [event.record for event in mine if isinstance(event, Logged)]
        accepted |= {record.text for record in records if isinstance(record, InboxInserted)}
        logged = {record.text for record in records if isinstance(record, UserMessage)}
        known = had.get(agent.label, set()) | accepted
        has = set(pending(agent))
        yield from (f"L3: {text} of {agent.label} comes from nowhere" for text in (has | logged) - known)
        yield from (f"L3: {text} of {agent.label} is logged and still pending" for text in has & logged)
        lost = known - has - logged
        if lost and not _ends(agent) and not any(map(_drops, mine)) and not _drops_silently(after.edition):
            yield f"L3: {', '.join(sorted(lost))} of {agent.label} is lost"


def _drops(event: AgentEvent) -> bool:
    """Tell whether pending work may be gone after an event: after a cancel, and at the end of a turn it had claimed."""
    if isinstance(event, Logged):
        return isinstance(event.record, TurnEnd | InboxDiscarded)
    return isinstance(event, CancelRequested)


def _drops_silently(edition: Edition) -> bool:
    """Tell whether a cancel is not seen at all that drops what is pending."""
    silent = edition.cancel_requested is CancelRequest.SILENT
    return silent and edition.queue_events is QueueEvents.QUEUED


def _ends(agent: Agent) -> bool:
    return agent.teardown is not Teardown.NONE


def l16_ownership(before: World, after: World) -> Iterator[str]:
    """L16 forbids that the owner of a task changes, and that a task is forgotten while its executor lives."""
    had, has = before.rooms.tasks, after.rooms.tasks
    if had is None or has is None:
        return
    now = {task.label: task for task in has.tasks}
    for task in had.tasks:
        if task.label not in now:
            yield f"L16: the task {task.label} is forgotten"
        elif (now[task.label].owner, now[task.label].owner_label) != (task.owner, task.owner_label):
            yield f"L16: the owner of {task.label} changes"


def l17_told_once(before: World, _after: World, events: Sequence[Event]) -> Iterator[str]:
    """L17 forbids an end that is told of a task which had ended before, or whose executor was disposed before.

    :param events: what was seen on the way from the one world to the other
    """
    room = before.rooms.tasks
    known = {} if room is None else {task.ref: task for task in room.tasks}
    told = [event.task for event in events if isinstance(event, TaskDone)]
    for name in dict.fromkeys(told):
        task = known.get(name)
        if task is None or task.process is Process.OVER or told.count(name) > 1:
            yield f"L17: the end of {name} is told twice, or of nothing"
        elif room is not None and not (room.active and task.executor == room.executor):
            yield f"L17: the end of {name} is told after its executor was disposed"


def l4_fifo(before: World, after: World) -> Iterator[str]:
    """L4 forbids that the queue changes anywhere but at its ends: its head is claimed, its tail is accepted.

    A cancel empties it.
    """
    had = {agent.label: agent.queued for agent in before.agents}
    for agent in after.agents:
        old = had.get(agent.label, ())
        kept = [text for text in old if text in agent.queued]
        if tuple(kept) != agent.queued[: len(kept)] or (kept and kept != list(old[-len(kept) :])):
            yield f"L4: the queue of {agent.label} was {', '.join(old)} and is {', '.join(agent.queued)}"


def _cancelled(world: World, agent: Agent) -> tuple[World, list[Event]]:
    """Give what a cancel would do, with nobody listening."""
    outcome = apply(world._replace(listeners=()), Cancel(PROBE, agent.label))
    return outcome.world._replace(listeners=world.listeners), outcome.events


def l5_idle_cancel(world: World) -> Iterator[str]:
    """L5 forbids that a cancel which finds nothing to cancel, and so announces nothing, changes anything."""
    for agent in world.agents:
        if agent.returned is Returned.BOUND:
            after, events = _cancelled(world, agent)
            announced = any(isinstance(event, CancelRequested) for event in events)
            finds = bool(agent.armed or ((agent.queued or agent.steering) and not _spared(world.edition, agent)))
            if announced != (finds and world.edition.cancel_requested is CancelRequest.ANNOUNCED):
                yield f"L5: a cancel of {agent.label} is announced, or finds something, but not both"
            elif not finds and (after != world or len(events) != 1):
                yield f"L5: a cancel of {agent.label} finds nothing and changes something"


def _spared(edition: Edition, agent: Agent) -> bool:
    """Tell whether a cancel leaves what is pending, since it is parked."""
    return edition.idle_cancel is IdleCancel.SILENT and is_parked(agent)


def l6_cancel(world: World) -> Iterator[str]:
    """L6 forbids a cancel that is announced twice, or after any of its effects, or that leaves something pending."""
    for agent in world.agents:
        if agent.returned is Returned.BOUND:
            after, events = _cancelled(world, agent)
            seen = [event for event in events if not _is_discard(event)]
            announced = world.edition.cancel_requested is CancelRequest.ANNOUNCED
            yield from (f"L6: {breach} of {agent.label}" for breach in l6_order(seen, announced=announced))
            left = next(other for other in after.agents if other.label == agent.label)
            if (left.queued or left.steering) and not _spared(world.edition, agent):
                yield f"L6: a cancel of {agent.label} leaves something pending"


def _is_discard(event: Event) -> bool:
    return isinstance(event, Logged) and isinstance(event.record, InboxDiscarded)


def l6_order(events: Sequence[Event], *, announced: bool = True) -> Iterator[str]:
    """L6 of the events of one cancel with nobody listening: the announcement, the signal, the settlement.

    :param announced: whether a cancel is announced in this edition
    """
    order = [CancelRequested, Signalled, Settled]
    places = [next((place for place, kind in enumerate(order) if isinstance(event, kind)), -1) for event in events]
    if places != sorted(set(places)) or -1 in places or places[-1:] != [2]:
        yield f"the cancel shows {', '.join(event.event for event in events)}"
    if 1 in places and 0 not in places and announced:
        yield "an unannounced cancel fires the signal"


def l7_one_driver(world: World) -> Iterator[str]:
    """L7 forbids a turn that no driver is in, a driver in a turn that is not open, and a body at no gate."""
    for agent in world.agents:
        if agent.turn_open != (agent.driver in _IN_TURN):
            yield f"L7: {agent.label}: a turn is open: {agent.turn_open}, and the driver is {agent.driver.name}"
        if (agent.wait is not None) != (agent.driver in _AT_GATE):
            yield f"L7: {agent.label}: a body waits: {agent.wait}, and the driver is {agent.driver.name}"
        if agent.armed and not agent.turn_open:
            yield f"L7: {agent.label}: the signal is armed, and no turn is open"


def l8_status(world: World) -> Iterator[str]:
    """L8 forbids a turn of an agent that is idle, and a disposed agent whose teardown has not begun."""
    for agent in world.agents:
        if (
            agent.driver in _IN_TURN | {Driver.FLUSHING, Driver.BETWEEN_TURNS, Driver.CLOSED}
            and agent.status is Status.IDLE
        ):
            yield f"L8: {agent.label} is idle, and its driver is {agent.driver.name}"
        if agent.driver is Driver.PARKED and agent.status is Status.RUNNING:
            yield f"L8: {agent.label} is running, and its driver is parked"
        disposed = agent.teardown > Teardown.ASKED and world.edition.disposed_status is DisposedStatus.YES
        if (agent.status is Status.DISPOSED) != disposed:
            yield f"L8: {agent.label} is {agent.status.value}, and its teardown is {agent.teardown.name}"


def l9_announced(world: World) -> Iterator[str]:
    """L9 forbids an agent that is live and was not announced, or was announced and never entered."""
    for agent in world.agents:
        if agent.stage is Stage.LIVE and not (agent.session_announced and agent.agent_announced and agent.published):
            yield f"L9: {agent.label} is live and was not announced"
        if agent.agent_announced and not agent.session_announced:
            yield f"L9: {agent.label} was announced without its session"
        if agent.session_announced and not agent.number:
            yield f"L9: {agent.label} was announced and never entered"


def l10_pairs(world: World) -> Iterator[str]:
    """L10 forbids an entry without its pair, one of what is not published, and the lack of one of what is live."""
    if world.registry != world.sessions:
        yield f"L10: the agents are {', '.join(world.registry)}, and the sessions {', '.join(world.sessions)}"
    for agent in world.agents:
        entered = agent.label in world.registry
        last = world.edition.teardown is TeardownOrder.SCOPE_FIRST
        due = agent.number > 0 and agent.teardown < (Teardown.DONE if last else Teardown.DETACHED)
        if entered != due:
            yield f"L10: {agent.label} is {'' if entered else 'not '}entered, at {agent.stage.name}"


def l11_one_entry(world: World) -> Iterator[str]:
    """L11 forbids that a registry holds an id, or an entry, twice."""
    ids = {agent.label: agent.id for agent in world.agents}
    for what, labels in (("agents", world.registry), ("sessions", world.sessions)):
        held = Counter(ids[label] for label in labels)
        yield from (f"L11: the {what} hold {name} {count} times" for name, count in held.items() if count > 1)


def l12_no_zombie(before: World, after: World) -> Iterator[str]:
    """L12 forbids that a creation is published after it was deactivated."""
    dead = {agent.label for agent in before.agents if agent.failure is not None and not agent.number}
    for agent in after.agents:
        if agent.label in dead and (agent.number or agent.session_announced or agent.published):
            yield f"L12: {agent.label} was deactivated and is published"
        if agent.stage is Stage.LIVE and agent.failure is not None and agent.teardown is Teardown.NONE:
            yield f"L12: {agent.label} was deactivated and lives"


def l24_waiters(world: World) -> Iterator[str]:
    """L24 forbids a waiter of an agent that has nothing to do, and one of a driver that has exited."""
    for agent in world.agents:
        busy = agent.status is Status.RUNNING or agent.wakes or agent.marker
        looks = world.edition.wake is Wake.WITHIN_SEND  # then it is up to the waiter to see that
        if agent.waiters and not busy and not looks:
            yield f"L24: {', '.join(agent.waiters)} wait for {agent.label}, which is {agent.status.value}"
        if agent.waiters and agent.status is Status.DISPOSED:
            yield f"L24: {', '.join(agent.waiters)} wait for {agent.label} to be idle, and it is disposed"
        if agent.exit_waiters and agent.driver is Driver.EXITED:
            yield f"L24: {', '.join(agent.exit_waiters)} wait for the driver of {agent.label}, which has exited"


def l25_disposers(world: World) -> Iterator[str]:
    """L25 forbids a disposer of an agent whose teardown has not begun, or is done."""
    for agent in world.agents:
        if agent.disposers and agent.teardown in (Teardown.NONE, Teardown.DONE):
            yield f"L25: {', '.join(agent.disposers)} wait for {agent.label}, at {agent.teardown.name}"


def l26_claimed(world: World) -> Iterator[str]:
    """L26, at rest: forbids an agent that takes input, is parked, and has something pending or a marker left."""
    for agent in world.agents:
        left = agent.wakes or agent.marker or (bool(pending(agent)) and not is_parked(agent))
        if agent.driver is Driver.PARKED and agent.status is not Status.DISPOSED and left:
            yield f"L26: {agent.label} is parked, with {', '.join(pending(agent)) or 'a marker'}"


def l27_setups(world: World) -> Iterator[str]:
    """L27 forbids that a creation which was deactivated waits for its setup."""
    steps = enabled(world)
    for agent in world.agents:
        if agent.stage is Stage.IN_SETUP and agent.failure and Step("creation", agent.label) not in steps:
            yield f"L27: {agent.label} was deactivated and waits for its setup"


def l28_free_ids(world: World) -> Iterator[str]:
    """L28, at rest: forbids that an id which nobody holds can't be created, and that one which is held can."""
    ids = {agent.label: agent.id for agent in world.agents}
    held = {ids[label] for label in world.sessions}
    if world.edition.id_free is IdFree.AFTER_SCOPE:
        unwinding = (Teardown.DETACHED, Teardown.SCOPE)
        held |= {agent.id for agent in world.agents if agent.number and agent.teardown in unwinding}
    for name in dict.fromkeys(ids.values()):
        made = _creates(world, name)
        if made == (name in held):
            state = "held" if name in held else "free"
            yield f"L28: the id {name} is {state}, and can{'' if made else 'not'} be created"


def _creates(world: World, name: AgentId) -> bool:
    """Tell whether an id can be created, with an owner and the provider active and nobody listening."""
    owner = world.owners[0].name or OwnerName("")
    world = apply(world._replace(listeners=()), LoadProvider(PROBE)).world
    world = apply(world, LoadOwner(PROBE, owner)).world
    outcome = apply(world, Create(PROBE, name, ByOwner(owner)))
    return any(isinstance(event, SessionCreated) for event in settle(outcome.world).events)


def is_over(world: World) -> Iterator[str]:
    """L24, L25 and L27, after the epilogue: forbids that anything is still open, entered or owed."""
    for agent in world.agents:
        if agent.teardown is not Teardown.DONE or agent.flushes or agent.called:
            yield f"L25: {agent.label} is not torn down"
        if agent.waiters or agent.exit_waiters or agent.disposers:
            yield f"L24: somebody waits for {agent.label}"
    if world.registry or world.sessions:
        yield "L25: the registries are not empty"
    if world.unloads:
        yield "L27: an unload has not returned"
    if world.due or enabled(world):
        yield "L24: something is owed"


INVARIANTS: Final[tuple[Invariant, ...]] = (
    l3_one_place,
    l7_one_driver,
    l8_status,
    l9_announced,
    l10_pairs,
    l11_one_entry,
    l24_waiters,
    l25_disposers,
    l27_setups,
)
"""What holds of every world, between any two stretches."""

PROBES: Final[tuple[Invariant, ...]] = (l5_idle_cancel, l6_cancel)
"""What holds of every world, too, and takes a try to see."""

AT_REST: Final[tuple[Invariant, ...]] = (l26_claimed, l28_free_ids)
"""What holds of every world in which nothing is enabled."""
