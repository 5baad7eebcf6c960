"""Rooms: how a later profile joins the one world, the one machine and the one alphabet.

A profile beyond ``core`` is not a second model. Tools start tasks from inside a turn, a bridge prompts agents, a fiber
owns them: what goes wrong is between the parts, so they must be parts of one machine. But a chapter that is not spoken
of must cost nothing, neither to the reader nor to the machine. So each profile is a *room*, which is empty unless a
trace is of that profile:

* its ops, events and gates are a module of ``alphabet`` and join the unions there (``Op``, ``HeardEvent``,
  ``GateKind``); an event that is about something else than an agent is an ``InRoom``;
* its state is a named tuple in ``<profile>/state.py``, and a field of ``Rooms``, none by default: like all of the
  world it holds counters and what is open, never a history; ``furnished`` makes what is there before the first item;
* its rules are the package ``<profile>``, written against a ``Run``, one topic a file; where a rule of the core meets
  the room (a tool call that starts a task), the core calls it;
* its clauses are a chapter of ``clauses``; its windows, in ``windows``, are marked by its rules;
* a ``Room`` hands its ops, its steps and its gates to the machine, which lists it in ``ROOMS``.

A step of a room changes an agent only through ``Run.update``, so that the machine asks that agent again. A room that
can make an agent able to run without changing it must touch it (``Run.touched``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from probate_model.alphabet.bridge import BRIDGE_OWNER
from probate_model.alphabet.subagents import RUN_OWNER
from probate_model.sessions.state import Sessions

if TYPE_CHECKING:
    from probate_model.alphabet.events import Settlement
    from probate_model.alphabet.gates import Gate, GateKind, GateOutcome
    from probate_model.alphabet.items import WorldSpec
    from probate_model.alphabet.names import Label, OwnerName
    from probate_model.bridge.state import BridgeRoom
    from probate_model.fibers.state import FibersRoom
    from probate_model.run import Run
    from probate_model.subagents.state import SubagentsRoom
    from probate_model.tasks.state import TasksRoom
    from probate_model.world import Agent


class Rooms(NamedTuple):
    """The state of every room, in the order of the profiles; none of a room that the trace does not enter."""

    sessions: Sessions | None = None
    fibers: FibersRoom | None = None
    tasks: TasksRoom | None = None
    bridge: BridgeRoom | None = None
    subagents: SubagentsRoom | None = None

    @property
    def hearing(self) -> list[BridgeRoom | SubagentsRoom]:
        """Those that hear of what is dispatched, and may wait for a call to settle."""
        return [room for room in (self.bridge, self.subagents) if room is not None]


NO_ROOMS: Final = Rooms()
"""The rooms of a trace of profile ``core``: all empty."""


def furnished(profile: str, spec: WorldSpec) -> Rooms:
    """Give the rooms as they are before the first item of a trace of ``profile``."""
    del spec
    if profile == "sessions":
        return Rooms(sessions=Sessions())
    if profile == "fibers":
        from probate_model.fibers.state import FibersRoom  # noqa: PLC0415 - what a room holds is made of parts of the world

        return Rooms(fibers=FibersRoom())
    if profile == "tasks":
        from probate_model.tasks.state import TasksRoom  # noqa: PLC0415 - what a room holds is made of parts of the world

        return Rooms(tasks=TasksRoom())
    if profile == "bridge":
        from probate_model.bridge.state import BridgeRoom  # noqa: PLC0415 - what a room holds is made of parts of the world

        return Rooms(sessions=Sessions(), bridge=BridgeRoom())
    if profile == "subagents":
        from probate_model.subagents.state import SubagentsRoom  # noqa: PLC0415 - as above

        return Rooms(subagents=SubagentsRoom())
    return NO_ROOMS


_OWNERS: Final = {"bridge": BRIDGE_OWNER, "subagents": RUN_OWNER}
"""The owner that a room has, by its profile."""


def owners_in(profile: str, spec: WorldSpec) -> tuple[OwnerName, ...]:
    """Give the owners that exist before the first item: those of the world, and the one of a room."""
    own = _OWNERS.get(profile)
    return spec.owners if own is None or own in spec.owners else (*spec.owners, own)


class Inside(NamedTuple):
    """What a step of a room is about: the profile, and what the room knows it by."""

    profile: str
    what: Hashable


class Room(NamedTuple):
    """What a profile hands to the machine."""

    profile: str
    begins: Mapping[type[Any], Callable[[Run, Any], bool]]
    """The rule of each of its ops; false if the op is void."""
    steps: Callable[[Rooms, Collection[Agent]], Sequence[Hashable]]
    """Lists what could run now, in the canonical order."""
    fire: Callable[[Run, Any], None]
    """Runs one of these to its next wait."""
    gates: frozenset[GateKind]
    """The kinds of gate that are its own."""
    release: Callable[[Run, Gate, GateOutcome], bool]
    """Lets the oldest arrival at one of its gates go on; tells whether one waited."""
    waits: Callable[[Rooms, Gate], bool]
    """Tells whether something waits at one of its gates."""
    bind: Callable[[Rooms], Rooms]
    """Lets what has returned be named from here on: what a settle does at its end."""
    timeless: Callable[[Rooms, Any], bool] = lambda _rooms, _what: False
    """Tells whether it makes no difference when one of these runs."""
    concerns: Callable[[Rooms, Any, Label], bool] = lambda _rooms, _what, _name: True
    """Tells whether one of these may lead to an event of an agent, or to the settlement of a call, of this label."""
    foretold: Callable[[Rooms, Any, Mapping[Label, Settlement]], bool | None] = lambda _rooms, _what, _settled: None
    """Tells of one of these, where it is known how calls settle later, that it must run now, or that it must not."""
    prompt: Callable[[Rooms, Any], bool] = lambda _rooms, _what: False
    """Tells whether one of these mostly runs before others, though nothing says that it must."""
