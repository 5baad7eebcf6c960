"""The invariants of the bridge: L18, L19 and L29 of the fact sheet's list, asked of worlds and of recordings.

Each function yields one sentence for each breach that it finds, and nothing if the invariant holds. L29 is a probe: a
world at rest is a value, so one can let its client cancel, or go away, and see whether the prompt is still waited for,
with all gates as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from probate_model.alphabet.bridge import BRIDGE_OWNER, CancelSession, CloseBridge, Disconnect, Prompt, StopReason
from probate_model.alphabet.events import Logged, Raised, Returned, Settled, Trigger, TurnEnd, TurnStart, UserMessage
from probate_model.alphabet.names import AgentRef, Label, Text
from probate_model.alphabet.refusals import Refusal, code
from probate_model.bridge.state import Closing, Holding, Link
from probate_model.machine import apply, settle
from probate_model.monitors import Recording
from probate_model.world import World

_PROBE = Label("probe")
_NOTHING = Text("")
_OF_A_TURN = (
    Returned(Label(StopReason.END_TURN)),
    Returned(Label(StopReason.MAX_TOKENS)),
    Raised(code(Refusal.TURN_FAILED)),
)


def l18_one_slot(world: World) -> Iterator[str]:
    """L18 forbids a prompt in flight of a session that its client does not hold, and one in two places."""
    room = world.rooms.bridge
    if room is None:
        return
    for session in room.sessions:
        if session.slot is not None and session.holding is not Holding.HELD:
            yield f"L18: {session.slot.call} is in flight, and {session.label} is {session.holding.name}"
    slots = Counter(session.slot.call for session in room.sessions if session.slot is not None)
    due = Counter(due.call for due in world.due)
    yield from (f"L18: {call} is in flight {count} times" for call, count in slots.items() if count > 1)
    yield from (f"L18: {call} is answered, and in flight" for call in slots if due[call])


def l18_own_turn(recording: Recording) -> Iterator[str]:
    """L18 forbids a prompt that is answered twice, or by a turn that was another prompt's."""
    prompts = {label: call.op for label, call in recording.calls.items() if isinstance(call.op, Prompt)}
    answers = Counter(event.call for event in recording.events if isinstance(event, Settled))
    yield from (f"L18: {label} is answered {answers[label]} times" for label in prompts if answers[label] > 1)
    texts = {op.text: label for label, op in prompts.items()}
    for label, op in prompts.items():
        place = recording.settled.get(label)
        agent = recording.made.get(op.session)
        if place is None or agent is None:
            continue
        settled = recording.events[place]
        if isinstance(settled, Settled) and settled.outcome in _OF_A_TURN:
            ended = _turns(recording, agent, recording.begun.get(label, 0), place)
            if not any(owner in (None, label) for owner in (texts.get(text) for text in ended)):
                yield f"L18: {label} is answered, and no turn of its own has ended"


def _turns(recording: Recording, agent: AgentRef, begun: int, place: int) -> Iterator[Text]:
    """Give what the user had said in each turn that a message opened and that ended meanwhile."""
    said: Text | None = None
    for position, event in enumerate(recording.events[:place]):
        if not isinstance(event, Logged) or event.agent.partition("#")[0] != agent.partition("#")[0]:
            continue
        match event.record:
            case TurnStart(trigger=trigger):
                said = _NOTHING if trigger is Trigger.MESSAGE else None
            case UserMessage(text=text) if said == _NOTHING:
                said = text
            case TurnEnd() if said is not None and position >= begun:
                yield said


def l19_nothing_left(world: World) -> Iterator[str]:
    """L19 forbids an agent of the bridge in a registry once the bridge, or its connection, has ended."""
    room = world.rooms.bridge
    if room is None:
        return
    gone = {one.label for one in room.connections if one.link >= Link.CLOSED}
    for session in room.sessions:
        if session.connection in gone and session.holding is Holding.HELD:
            yield f"L19: {session.label} is held, and {session.connection} has ended"
    if room.closing is Closing.DONE:
        made = {one.label for one in room.sessions}
        made |= {one.label for one in world.agents if one.origin.owner == BRIDGE_OWNER}
        for label in made & {*world.registry, *world.sessions}:
            agent = next(one for one in world.agents if one.label == label)
            if agent.origin.incarnation == 0:
                yield f"L19: {label} is registered, and the bridge has ended"


def l29_always_answered(world: World) -> Iterator[str]:
    """L29, at rest: forbids a prompt in flight that its client's cancel, its going, or the bridge's end leaves so."""
    room = world.rooms.bridge
    if room is None:
        return
    for session in room.sessions:
        if session.slot is None:
            continue
        for op in (
            CancelSession(_PROBE, session.label),
            Disconnect(_PROBE, session.connection),
            CloseBridge(_PROBE),
        ):
            outcome = apply(world, op)
            after = settle(outcome.world)
            events = (*outcome.expected, *after.expected)
            calls = [entry.event.call for entry in events if isinstance(entry.event, Settled)]
            if not outcome.void and session.slot.call not in calls:
                yield f"L29: {session.slot.call} is not answered after {op.item}"
