"""The world: everything that decides what can still happen, and nothing else.

A world is one immutable value. It holds counters and what is open, never a log and never a history: a record that was
written is an event, and a question about the past (is the log balanced? did the status alternate?) is asked of the
events by a small monitor beside the machine. That is what keeps the number of worlds small enough to look at all of
them.

The parts are named tuples, because they are made and hashed by the million; no two kinds are ever compared with each
other. An asynchronous activity is a program counter in one of them: a creation (``stage``), a driver (``driver``), a
teardown (``teardown``), a flush (an entry of ``flushes``), an unload, and a settlement that is due. A step advances
exactly one of them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, final

from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.events import Settlement, Status, StopCause
from probate_model.alphabet.gates import Gate, GateOutcome, Temper
from probate_model.alphabet.items import React, WorldSpec
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentId, AgentRef, Code, Label, OwnerName, Text, agent_ref
from probate_model.alphabet.ops import CreationSignal, Setup
from probate_model.rooms import NO_ROOMS, Rooms, furnished, owners_in


@plain
class Stage(IntEnum):
    """How far a creation has come."""

    LOADING = -1
    """A resume: its log is not loaded yet. What it waits for is in the room of profile ``sessions``."""
    BEGUN = 0
    """Prepared privately; its setup has not been entered."""
    IN_SETUP = 1
    """Its setup runs, raced against deactivation."""
    SET_UP = 2
    """Its setup has returned; publication is due."""
    PUBLISHING = 3
    """Its publication is on the stack. Only ever seen from inside a dispatch."""
    LIVE = 4
    """Published and started; the handle is the caller's."""
    FAILED = 5
    """It will raise its failure when the rollback is complete."""


@plain
class Returned(IntEnum):
    """Whether the creation's call has returned, and whether a trace can name it yet."""

    NO = 0
    SINCE_SETTLE = 1
    BOUND = 2


@plain
class Driver(IntEnum):
    """Where an agent's driver is."""

    NONE = 0
    """Not started."""
    PARKED = 1
    """At its idle wait."""
    OPENED = 2
    """A turn is open; its prompt is not logged yet."""
    BEFORE_STEP = 3
    """About to take in steering and prepare a step."""
    PREPARING = 4
    """At the gate before a step."""
    STEPPING = 5
    """A step is open; the model is not called yet."""
    MODEL = 6
    """In the model's body."""
    ANSWERED = 7
    """The answer and the results of its tools are logged; the step is to be closed."""
    TOOL = 8
    """In a tool's body."""
    NEXT_TOOL = 9
    """A tool call ended and another one is to come."""
    FAILING = 10
    """A failed step is closed; its failure is not reported."""
    FAILED = 11
    """A failure is reported; its turn is still open."""
    BETWEEN_STEPS = 12
    """A step ended; whether another one follows is undecided."""
    FLUSHING = 13
    """In the closing flush of a turn."""
    BETWEEN_TURNS = 14
    """The closing flush failed and was reported; whether another turn follows is undecided."""
    EXITED = 15
    """Will never run again."""
    CLOSED = 16
    """A turn has ended and is not flushed, or was never opened; whether another one follows is undecided."""
    ENTERING = 17
    """A step is open; what it has taken in is not logged yet."""
    CALLING = 18
    """A tool call is logged; its body is not entered yet."""


@plain
class Teardown(IntEnum):
    """How far the one teardown of an agent has come."""

    NONE = 0
    ASKED = 1
    """Deactivated; it waits for the publication on the stack to unwind."""
    STOPPED = 2
    """The driver was told to stop; its exit and the idle flushes are awaited."""
    DETACHED = 3
    """Both entries are gone; the scope is still whole."""
    SCOPE = 4
    """The scope unwinds: children first started, newest first, then the cleanup; all awaited."""
    DONE = 5


class Wait(NamedTuple):
    """A body at a gate. It goes on once it has an outcome, or once it heard the signal and honours it."""

    outcome: GateOutcome | None = None
    held: bool = False
    temper: Temper = Temper.HONOURS
    aborted: bool = False
    asks: bool = False
    """Whether it is somebody's permission that is waited for, and the body has not begun."""

    @property
    def over(self) -> bool:
        """Whether the wait has ended."""
        return self.outcome is not None or self.aborted


class Flush(NamedTuple):
    """A flush whose listeners were entered and have not all returned; in order of arrival."""

    closing: bool
    outcome: GateOutcome | None = None


class Origin(NamedTuple):
    """On whose behalf a creation was made: an owner's incarnation, or (with a parent) an agent."""

    owner: OwnerName | None
    incarnation: int
    parent: Label | None


@final
class Aside:
    """What is remembered of an agent only to name the clause by which something is due or silent.

    It decides nothing, so all asides are equal: worlds that differ in nothing else are one world.
    """

    __slots__ = ("cancelled", "swept")

    def __init__(self, *, cancelled: bool = False, swept: str = "") -> None:
        self.cancelled = cancelled
        """A cancel came since the last turn began."""
        self.swept = swept
        """The clause by which what that cancel swept may not run."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aside)

    def __hash__(self) -> int:
        return 0


class Agent(NamedTuple):
    """One creation and the agent that came of it, from the begin of the call to the end of its scope."""

    label: Label
    id: AgentId
    origin: Origin
    provider: int
    setup: Setup
    cleanup: bool
    signal: CreationSignal
    # the creation
    stage: Stage = Stage.BEGUN
    in_setup: Wait | None = None
    failure: Code | None = None
    returned: Returned = Returned.NO
    # the entries
    number: int = 0
    session_announced: bool = False
    agent_announced: bool = False
    published: bool = False
    # the inbox
    status: Status = Status.IDLE
    queued: tuple[Text, ...] = ()
    steering: tuple[Text, ...] = ()
    marker: bool = False
    woken: bool | None = None
    """Whether something has woken the driver; none where what is queued decides that. See ``Edition.latches``."""
    aside: Aside = Aside()
    """What names the clauses of what comes next; see ``Aside``."""
    # the driver and its turn
    driver: Driver = Driver.NONE
    armed: bool = False
    fired: StopCause | None = None
    ends: bool = False
    """The driver ends with the turn, whatever is pending."""
    prompt: Text | None = None
    claimed: tuple[Text, ...] = ()
    """What the step to come has taken in beside the prompt, and is not logged."""
    records: int = 0
    turn: int = 0
    turn_open: bool = False
    step: int = 0
    more: bool = False
    max_tokens: bool = False
    answers: int = 0
    wait: Wait | None = None
    tool: int = 0
    tools: int = 0
    deferred: tuple[Text, ...] = ()
    called: int = 0
    """Flushes of injections that were announced and whose listeners are not entered yet."""
    flushes: tuple[Flush, ...] = ()
    # who waits
    waiters: tuple[Label, ...] = ()
    exit_waiters: tuple[Label, ...] = ()
    disposers: tuple[Label, ...] = ()
    # the teardown
    teardown: Teardown = Teardown.NONE
    children: tuple[Label, ...] = ()
    in_cleanup: Wait | None = None

    @property
    def ref(self) -> AgentRef:
        """The agent as events name it."""
        return agent_ref(self.id, self.number)

    @property
    def wakes(self) -> bool:
        """Whether the driver is about to wake."""
        return bool(self.queued) if self.woken is None else self.woken

    @property
    def stopping(self) -> bool:
        """Whether the turn in progress is to end: its signal fired, or the agent is disposed."""
        return self.fired is not None or self.status is Status.DISPOSED

    @property
    def ending(self) -> bool:
        """Whether the lifecycle was deactivated, so that nothing may be created on its behalf."""
        return self.failure is not None or self.teardown is not Teardown.NONE


class Owner(NamedTuple):
    """An owner and its current incarnation. The provider is one without a name."""

    name: OwnerName | None
    active: bool = True
    incarnation: int = 0


class Unload(NamedTuple):
    """An unload under way: the teardowns still to be started, and those that are awaited."""

    owner: OwnerName | None
    incarnation: int
    callers: tuple[Label, ...]
    begun: bool = False
    to_start: tuple[Label, ...] = ()
    awaited: tuple[Label, ...] = ()


class Due(NamedTuple):
    """A settlement whose boundary was reached and which has not been delivered."""

    call: Label
    outcome: Settlement
    clause: str


class Listener(NamedTuple):
    """A reaction that has not fired yet, and how many matches it still lets pass."""

    react: React
    skip: int


class GateState(NamedTuple):
    """A gate that was spoken of: what is planned, and whether it is held."""

    gate: Gate
    held: bool = False
    temper: Temper = Temper.HONOURS
    plan: tuple[GateOutcome, ...] = ()


class World(NamedTuple):
    """The whole state. Agents are in order of creation; the registries hold labels in order of entry."""

    edition: Edition
    owners: tuple[Owner, ...]
    provider: Owner
    agents: tuple[Agent, ...] = ()
    registry: tuple[Label, ...] = ()
    sessions: tuple[Label, ...] = ()
    numbers: tuple[tuple[AgentId, int], ...] = ()
    unloads: tuple[Unload, ...] = ()
    due: tuple[Due, ...] = ()
    listeners: tuple[Listener, ...] = ()
    gates: tuple[GateState, ...] = ()
    rooms: Rooms = NO_ROOMS


def new_world(spec: WorldSpec | None = None, edition: Edition = EDITION_2026_06, profile: str = "core") -> World:
    """Make the world before the first item of a trace of ``profile``."""
    spec = spec or WorldSpec()
    return World(
        edition=edition,
        owners=tuple(Owner(name) for name in owners_in(profile, spec)),
        provider=Owner(None, active=spec.provider),
        rooms=furnished(profile, spec),
    )
