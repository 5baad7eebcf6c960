"""Worlds for the inductive step, built of a few small values.

A world is built around one or two agents, of the values that its rules branch on. Most of what can be built so is no
world that an invariant would let stand; it is the model's own invariants that say which are. Of what is left, many
can't be come to. That is what an inductive step is about: it asks no history.

What an invariant does not speak of, but every rule keeps, is said in ``is_sound``. It is part of the hypothesis, so it
is also part of what is to be shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate_model.alphabet.editions import EDITION_2026_06
from probate_model.alphabet.events import Status, StopCause
from probate_model.alphabet.gates import TEXT
from probate_model.alphabet.items import BurstItem
from probate_model.alphabet.names import AgentId, Label, OwnerName, Text
from probate_model.alphabet.ops import (
    AwaitIdle,
    ByOwner,
    Cancel,
    Create,
    CreationSignal,
    Dispose,
    Inject,
    LoadOwner,
    Look,
    Send,
    Setup,
    Steer,
    UnloadOwner,
    Withdraw,
)
from probate_model.alphabet.refusals import Refusal, code
from probate_model.invariants import INVARIANTS, l3_conserved, l4_fifo, l12_no_zombie
from probate_model.run import Outcome
from probate_model.world import Agent, Driver, Flush, Origin, Owner, Returned, Stage, Teardown, Wait, World

HOST = OwnerName("host")
CALL = Label("call")
_ENDED = code(Refusal.LIFECYCLE_DISPOSED)

AT_GATE = (Driver.PREPARING, Driver.MODEL, Driver.TOOL)
BETWEEN = (Driver.NONE, Driver.PARKED, Driver.FLUSHING, Driver.BETWEEN_TURNS, Driver.EXITED, Driver.CLOSED)


class Shape(NamedTuple):
    """What an agent is built of."""

    driver: Driver
    status: Status
    teardown: Teardown
    entered: bool = True
    armed: bool = False
    fired: StopCause | None = None
    queued: int = 0
    steering: int = 0
    marker: bool = False
    waiter: bool = False
    exit_waiter: bool = False
    disposer: bool = False


def agent(place: int, name: str, shape: Shape) -> Agent:
    """Build an agent that was published."""
    label = f"c{place}"
    driver = shape.driver
    in_turn = driver not in BETWEEN
    return Agent(
        label=Label(label),
        id=AgentId(name),
        origin=Origin(HOST, 0, None),
        provider=0,
        setup=Setup.NONE,
        cleanup=False,
        signal=CreationSignal.NONE,
        stage=Stage.LIVE,
        returned=Returned.BOUND,
        failure=None if shape.teardown is Teardown.NONE else _ENDED,
        number=place + 1,
        session_announced=True,
        agent_announced=True,
        published=True,
        status=shape.status,
        queued=tuple(Text(f"{label}.q{number}") for number in range(shape.queued)),
        steering=tuple(Text(f"{label}.s{number}") for number in range(shape.steering)),
        marker=shape.marker,
        driver=driver,
        armed=shape.armed,
        fired=shape.fired,
        prompt=Text(f"{label}.p") if driver is Driver.OPENED else None,
        turn=1,
        turn_open=in_turn,
        step=1 if in_turn else 0,
        wait=Wait(TEXT, held=True) if driver in AT_GATE else None,
        tool=1 if driver in (Driver.CALLING, Driver.TOOL) else 0,
        tools=2 if driver in (Driver.CALLING, Driver.TOOL, Driver.NEXT_TOOL) else 0,
        flushes=(Flush(closing=True),) if driver is Driver.FLUSHING else (),
        waiters=(Label(f"{label}.w"),) if shape.waiter else (),
        exit_waiters=(Label(f"{label}.e"),) if shape.exit_waiter else (),
        disposers=(Label(f"{label}.d"),) if shape.disposer else (),
        teardown=shape.teardown,
    )


def world(*agents: Agent, entered: tuple[bool, ...]) -> World:
    """Build a world of agents, those of which are in the registries that have entered."""
    labels = tuple(one.label for one, holds in zip(agents, entered, strict=True) if holds)
    ids = dict.fromkeys(one.id for one in agents)
    return World(
        edition=EDITION_2026_06,
        owners=(Owner(HOST),),
        provider=Owner(None),
        agents=agents,
        registry=labels,
        sessions=labels,
        numbers=tuple((name, len(agents)) for name in ids),
    )


def breaches(before: World) -> Iterator[str]:
    """Give what forbids a world: the model's own invariants, and what they take for granted."""
    for invariant in INVARIANTS:
        yield from invariant(before)
    yield from is_sound(before)


def is_sound(of: World) -> Iterator[str]:
    """Give what no rule ever lets be, and no invariant speaks of."""
    for one in of.agents:
        if one.fired is not None and not one.armed:
            yield f"{one.label} was stopped by a signal that nobody armed"
        if one.driver is Driver.EXITED and one.status is not Status.DISPOSED:
            yield f"the driver of {one.label} has exited, and it is {one.status.value}"


def ops(place: int, name: str) -> tuple[BurstItem, ...]:
    """Give each kind of op once, on one agent or on an id."""
    label = Label(f"c{place}")
    return (
        Send(CALL, label, Text("new")),
        Steer(CALL, label, Text("new")),
        Inject(CALL, label, Text("new")),
        Cancel(CALL, label),
        AwaitIdle(CALL, label),
        Dispose(CALL, label),
        Withdraw(CALL, label),
        UnloadOwner(CALL, HOST),
        LoadOwner(CALL, HOST),
        Create(CALL, AgentId(name), ByOwner(HOST)),
        Look(CALL),
    )


def wrong(before: World, outcome: Outcome) -> Iterator[str]:
    """Give what is wrong with what an op or a step leads to."""
    after = outcome.world
    yield from breaches(after)
    yield from l3_conserved(before, after, outcome.events)
    yield from l4_fifo(before, after)
    yield from l12_no_zombie(before, after)
