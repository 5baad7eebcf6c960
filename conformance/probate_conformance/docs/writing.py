"""Items as one writes them by hand: short functions, calls named by what they do."""

from __future__ import annotations

from dataclasses import replace

from probate_conformance.trace import Trace
from probate_model.alphabet.gates import Gate, GateKind, GateOutcome, Temper, default_outcome
from probate_model.alphabet.items import (
    Action,
    BurstItem,
    Hold,
    Item,
    Open,
    Pattern,
    Plan,
    React,
    Reject,
    Release,
    Scalar,
    Settle,
    Throw,
)
from probate_model.alphabet.names import THIS, AgentId, Label, OwnerName, Tag, Text
from probate_model.alphabet.ops import (
    AwaitIdle,
    ByAgent,
    ByOwner,
    Cancel,
    Create,
    Dispose,
    Inject,
    Look,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    Withdraw,
)


def trace(*bursts: tuple[BurstItem, ...]) -> Trace:
    """Give the trace of these bursts, with a settle after each."""
    items: list[Item] = []
    for burst in bursts:
        items += [*burst, Settle()]
    return Trace(items=tuple(items))


def create(label: str, agent_id: str = "a", *, parent: str = "", setup: bool = False, cleanup: bool = False) -> Create:
    """Create an agent for the owner ``host``, or on behalf of a parent."""
    by = ByAgent(Label(parent)) if parent else ByOwner(OwnerName("host"))
    return Create(Label(label), AgentId(agent_id), by, Setup.PLAIN if setup else Setup.NONE, cleanup)


def send(text: str, agent: str = "c") -> Send:
    """Send a prompt; the call is named like its text."""
    return Send(Label(text), Label(agent), Text(text))


def steer(text: str, agent: str = "c") -> Steer:
    """Steer; the call is named like its text."""
    return Steer(Label(text), Label(agent), Text(text))


def inject(text: str, agent: str = "c") -> Inject:
    """Inject context; the call is named like its text."""
    return Inject(Label(text), Label(agent), Text(text))


def cancel(agent: str = "c", label: str = "cancel") -> Cancel:
    """Cancel, as the user."""
    return Cancel(Label(label), Label(agent))


def await_idle(agent: str = "c", label: str = "idle") -> AwaitIdle:
    """Wait for idle."""
    return AwaitIdle(Label(label), Label(agent))


def dispose(agent: str = "c", label: str = "dispose") -> Dispose:
    """Dispose through the handle."""
    return Dispose(Label(label), Label(agent))


def withdraw(creation: str = THIS, label: str = "withdraw") -> Withdraw:
    """End one lifecycle, as its owner."""
    return Withdraw(Label(label), Label(creation))


def unload(owner: str = "host", label: str = "unload") -> UnloadOwner:
    """Unload an owner."""
    return UnloadOwner(Label(label), OwnerName(owner))


def look(label: str = "look") -> Look:
    """Look at the registries."""
    return Look(Label(label))


def hold(kind: GateKind, creation: str = "c", temper: Temper = Temper.HONOURS) -> Hold:
    """Hold a gate."""
    return Hold(Gate(kind, Label(creation)), temper)


def release(kind: GateKind, creation: str = "c", outcome: str = "") -> Release:
    """Release the oldest arrival at a gate, with the default outcome if none is named."""
    return Release(Gate(kind, Label(creation)), GateOutcome(outcome) if outcome else default_outcome(kind))


def open_gate(kind: GateKind, creation: str = "c") -> Open:
    """End the hold of a gate."""
    return Open(Gate(kind, Label(creation)))


def plan(kind: GateKind, *outcomes: str, creation: str = "c") -> Plan:
    """Plan the outcomes of the next arrivals at an open gate."""
    return Plan(Gate(kind, Label(creation)), tuple(map(GateOutcome, outcomes)))


def throw(tag: str = "no") -> Throw:
    """Throw, from inside the dispatch."""
    return Throw(Tag(tag))


def react(label: str, event: str, *do: Action, where: tuple[tuple[str, Scalar], ...] = ()) -> React:
    """Install a listener that acts at the first match; its calls are named after it."""
    actions = tuple(
        action if isinstance(action, Throw | Reject) else replace(action, label=Label(f"{label}.{place}"))
        for place, action in enumerate(do)
    )
    return React(Label(label), Pattern(event, where), actions)
