"""Items in a few words, and events told in a few."""

from __future__ import annotations

from probate_model.alphabet.events import (
    AgentError,
    Event,
    Logged,
    Raised,
    Returned,
    ScopeCleanup,
    SessionStarted,
    Settled,
    Signalled,
    Snapshot,
    StatusChanged,
)
from probate_model.alphabet.gates import OK, Gate, GateKind, GateOutcome
from probate_model.alphabet.items import Action, Hold, Pattern, React, Release, WorldSpec
from probate_model.alphabet.names import AgentId, Label, OwnerName, Text
from probate_model.alphabet.ops import (
    Abort,
    By,
    ByOwner,
    Cancel,
    Cause,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    Look,
    Send,
    Setup,
    Steer,
    Withdraw,
)
from probate_model.alphabet.rooms import InRoom

HOST, SIDE = OwnerName("host"), OwnerName("side")
WORLD = WorldSpec(owners=(HOST, SIDE))


def create(
    label: str,
    agent_id: str = "x",
    by: str | By = HOST,
    *,
    setup: bool = False,
    cleanup: bool = False,
    signal: CreationSignal = CreationSignal.NONE,
) -> Create:
    by = ByOwner(OwnerName(by)) if isinstance(by, str) else by
    return Create(Label(label), AgentId(agent_id), by, Setup.PLAIN if setup else Setup.NONE, cleanup, signal)


def gate(kind: str, creation: str) -> Gate:
    return Gate(GateKind(kind), Label(creation))


def hold(kind: str, creation: str) -> Hold:
    return Hold(gate(kind, creation))


def release(kind: str, creation: str, outcome: GateOutcome = OK) -> Release:
    return Release(gate(kind, creation), outcome)


def react(label: str, event: str, *actions: Action, nth: int = 1, **where: str) -> React:
    return React(Label(label), Pattern(event, tuple(where.items())), actions, nth)


def look(label: str) -> Look:
    return Look(Label(label))


def dispose(label: str, agent: str) -> Dispose:
    return Dispose(Label(label), Label(agent))


def withdraw(label: str, creation: str) -> Withdraw:
    return Withdraw(Label(label), Label(creation))


def abort(label: str, creation: str) -> Abort:
    return Abort(Label(label), Label(creation))


def send(label: str, agent: str, text: str) -> Send:
    return Send(Label(label), Label(agent), Text(text))


def steer(label: str, agent: str, text: str) -> Steer:
    return Steer(Label(label), Label(agent), Text(text))


def inject(label: str, agent: str, text: str) -> Inject:
    return Inject(Label(label), Label(agent), Text(text))


def cancel(label: str, agent: str, cause: Cause = Cause.USER) -> Cancel:
    return Cancel(Label(label), Label(agent), cause)


def told(event: Event) -> str:
    """Tell an event in a few words."""
    match event:
        case Settled(call, Raised(code)):
            return f"{call} raised {code}"
        case Settled(call, outcome):
            value = outcome.value if isinstance(outcome, Returned) else None
            return f"{call} returned {told_look(value) if isinstance(value, Snapshot) else value or ''}".rstrip()
        case ScopeCleanup(creation):
            return f"cleanup {creation}"
        case SessionStarted(agent, source):
            return f"session-start {agent} {source}"
        case StatusChanged(status=status):
            return status
        case AgentError(step=step, source=source):
            return f"error {step} {source}"
        case Signalled(turn=turn, cause=cause):
            return f"signal {turn} {cause}"
        case Logged(record=record):
            fields = (getattr(record, name) for name in record.__slots__ if name != "record")
            return " ".join((record.record, *(str(field) for field in fields if field is not None)))
        case InRoom():
            return f"{event.event} {event.about}"
        case _:
            return f"{event.event} {event.agent}"


def told_look(look: Snapshot) -> str:
    agents = [entry.agent if entry.owner is None else f"{entry.agent} of {entry.owner}" for entry in look.agents]
    parts = {"agents": agents, "roots": look.roots, "sessions": look.sessions}
    return "; ".join(f"{name} {', '.join(names) or '-'}" for name, names in parts.items())


def published(agent: str, call: str) -> list[str]:
    return [
        f"session/created {agent}",
        f"agent/created {agent}",
        f"session-start {agent} startup",
        f"{call} returned {agent}",
    ]


def gone(agent: str, *calls: str) -> list[str]:
    return [f"agent/disposed {agent}", f"session/disposed {agent}", *(f"{call} returned" for call in calls)]
