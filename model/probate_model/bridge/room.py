"""What profile ``bridge`` hands to the machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal, NamedTuple

from probate_model.alphabet import bridge as alphabet
from probate_model.alphabet.events import Raised, Returned, Settlement
from probate_model.alphabet.names import Label
from probate_model.bridge import connections, prompts, sessions
from probate_model.bridge.access import session_of
from probate_model.bridge.state import Connection, Holding, Link
from probate_model.rooms import Room, Rooms
from probate_model.run import Run
from probate_model.world import Agent


class BridgeStep(NamedTuple):
    """One stretch of a connection's reader, of a session, of a prompt, of a teardown, or of the close of the bridge.

    A reader takes all that there is, or one line: what was written together may arrive apart.
    """

    activity: Literal["read all", "read one", "session", "prompt", "end", "close"]
    label: Label


def _steps(rooms: Rooms, agents: Collection[Agent]) -> list[BridgeStep]:
    room = rooms.bridge
    if room is None:
        return []
    steps: list[BridgeStep] = []
    for connection in room.connections:
        if connection.link is Link.OPEN and connection.lines:
            steps.append(BridgeStep("read all", connection.label))
            if connections.may_arrive_apart(connection):
                steps.append(BridgeStep("read one", connection.label))
    for session in room.sessions:
        if sessions.can_advance(session):
            steps.append(BridgeStep("session", session.label))
        if session.slot is not None and session.slot.turn is None:
            agent = next(agent for agent in agents if agent.label == session.label)
            if prompts.has_vanished(agent, session.slot):
                steps.append(BridgeStep("prompt", session.label))
    steps += [BridgeStep("end", one.label) for one in room.connections if connections.can_advance(room, one)]
    if connections.bridge_can_end(room):
        steps.append(BridgeStep("close", Label("acp")))
    return steps


def _fire(run: Run, step: BridgeStep) -> None:
    match step.activity:
        case "read all" | "read one":
            connections.read(run, step.label, everything=step.activity == "read all")
        case "session":
            sessions.advance(run, session_of(run, step.label))
        case "prompt":
            prompts.rest(run, step.label)
        case "end":
            connections.advance(run, step.label)
        case "close":
            connections.end_bridge(run)


def _is_timeless(rooms: Rooms, step: BridgeStep) -> bool:
    """Tell whether a step does nothing but let something settle, which may always settle later."""
    room = rooms.bridge
    assert room is not None
    if step.activity != "session":
        return step.activity in ("end", "close")
    session = next(one for one in room.sessions if one.label == step.label)
    if session.loads and session.holding is not Holding.CLOSING:
        return False  # it lets go of an id that somebody may ask for
    return (
        session.over
        or session.holding is Holding.DROPPED
        or isinstance(session.outcome, Raised)
        or connections.stays_open(room, session.connection)
    )


def _concerns(rooms: Rooms, step: BridgeStep, name: Label) -> bool:
    """Tell whether a step may lead to an event of an agent, or to the settlement of a call."""
    room = rooms.bridge
    assert room is not None
    match step.activity:
        case "read all" | "read one":
            return name in connections.names(room, step.label)
        case "session" | "prompt":
            return any(one.label == step.label and name in one.names for one in room.sessions)
        case _:
            return True


def _foretold(rooms: Rooms, step: BridgeStep, settled: Mapping[Label, Settlement]) -> bool | None:
    """Tell whether a session must be installed before its connection is closed: whether it is answered with itself."""
    room = rooms.bridge
    assert room is not None
    if step.activity != "session" or step.label not in settled:
        return None
    session = next(one for one in room.sessions if one.label == step.label)
    if session.holding is not Holding.CREATED or not connections.is_open(room, session.connection):
        return None
    return isinstance(settled[step.label], Returned)


def _is_prompt(rooms: Rooms, step: BridgeStep) -> bool:
    """Tell whether a step reads what was written, which a client has mostly done before all else went on."""
    return step.activity == "read all" and not connections.ends(_connection(rooms, step.label))


def _connection(rooms: Rooms, label: Label) -> Connection:
    room = rooms.bridge
    assert room is not None
    return next(one for one in room.connections if one.label == label)


def _bind(rooms: Rooms) -> Rooms:
    room = rooms.bridge
    if room is None:
        return rooms
    known = tuple(one._replace(known=one.known or one.made) for one in room.sessions)
    return rooms._replace(bridge=room._replace(sessions=known))


ROOM: Final = Room(
    profile="bridge",
    begins={
        alphabet.Connect: connections.connect,
        alphabet.NewSession: connections.write,
        alphabet.LoadSession: connections.write,
        alphabet.ResumeSession: connections.write,
        alphabet.Prompt: connections.write,
        alphabet.CancelSession: connections.write,
        alphabet.CloseSession: connections.write,
        alphabet.CallOff: connections.write,
        alphabet.Disconnect: connections.disconnect,
        alphabet.CloseBridge: connections.close_bridge,
    },
    steps=_steps,
    fire=_fire,
    gates=frozenset(),
    release=lambda _run, _gate, _outcome: False,
    waits=lambda _rooms, _gate: False,
    bind=_bind,
    timeless=_is_timeless,
    concerns=_concerns,
    foretold=_foretold,
    prompt=_is_prompt,
)
"""The room."""
