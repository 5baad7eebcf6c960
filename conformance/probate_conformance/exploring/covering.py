"""Covering: what an exploration came to, and what it was to come to and did not.

A search that finds nothing may have looked at nothing. So it counts, stretch by stretch, what the choices were and in
which state of their agent they were taken, which clauses were carried out, and which windows were reached. *Goals* are
what must be reached sometimes: a bound in which no cancel ever hits a queued prompt has not shown that cancels do no
harm. A clause that no stretch within a bound carries out is told; one that none within any bound does is a rule that
can't be reached, which is a defect of the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from probate_conformance.exploring.menu import Replacing
from probate_conformance.exploring.walking import SETTLE, Choice, Taken
from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.events import (
    AgentError,
    CancelRequested,
    ErrorSource,
    Logged,
    Raised,
    Settled,
    Signalled,
    StopCause,
    ToolResult,
    TurnEnd,
    TurnOutcome,
)
from probate_model.alphabet.names import Label
from probate_model.clauses import CLAUSES, SETTLES_ONCE
from probate_model.machine import Step
from probate_model.rooms import Inside
from probate_model.windows import FiberWindow, SubagentWindow, TaskWindow, Window
from probate_model.world import Agent


class Kind(NamedTuple):
    """The state of an agent, as far as it matters which ops it has met."""

    stage: str
    driver: str
    status: str
    teardown: str

    def __str__(self) -> str:
        return " ".join(self).lower()


NOBODY: Final = Kind("-", "-", "-", "-")


def _raised(taken: Taken, code: str) -> bool:
    return any(
        isinstance(event, Settled) and isinstance(event.outcome, Raised) and event.outcome.code.startswith(code)
        for event in taken.events
    )


def _ended(taken: Taken, outcome: TurnOutcome) -> bool:
    return any(
        isinstance(event, Logged) and isinstance(event.record, TurnEnd) and event.record.outcome is outcome
        for event in taken.events
    )


Goal = Callable[[Taken], bool]

GOALS: Final[dict[str, Goal]] = {
    **{window.value: (lambda taken, mark=f"window:{window.value}": mark in taken.marks) for window in Window},  # type: ignore[misc]
    "a cancel sweeps two prompts": lambda taken: (
        any(
            len(one.queued) + len(one.steering) > 1 and not (other.queued or other.steering)
            for one, other in zip(taken.before.agents, taken.after.agents, strict=False)
        )
        and any(isinstance(event, CancelRequested) for event in taken.events)
    ),
    "a turn ends completed": lambda taken: _ended(taken, TurnOutcome.COMPLETED),
    "a turn ends aborted": lambda taken: _ended(taken, TurnOutcome.ABORTED),
    "a turn ends disposed": lambda taken: _ended(taken, TurnOutcome.DISPOSED),
    "a turn ends by an error": lambda taken: _ended(taken, TurnOutcome.ERROR),
    "a body hears a cancel": lambda taken: any(
        isinstance(event, Signalled) and event.cause is not StopCause.DISPOSED for event in taken.events
    ),
    "a body hears a disposal": lambda taken: any(
        isinstance(event, Signalled) and event.cause is StopCause.DISPOSED for event in taken.events
    ),
    "a tool ends": lambda taken: any(
        isinstance(event, Logged) and isinstance(event.record, ToolResult) for event in taken.events
    ),
    "a flush fails": lambda taken: any(
        isinstance(event, AgentError) and event.source is ErrorSource.FLUSH for event in taken.events
    ),
    "a creation is vetoed": lambda taken: _raised(taken, "thrown:veto"),
    "a setup throws": lambda taken: _raised(taken, "thrown:setup"),
    "a creation is aborted": lambda taken: _raised(taken, "aborted"),
    "a creation is withdrawn": lambda taken: _raised(taken, "lifecycle-disposed"),
    "a creation ends with its owner": lambda taken: _raised(taken, "owner-disposed"),
    "a creation ends with the provider": lambda taken: _raised(taken, "provider-inactive"),
    "an id is taken": lambda taken: _raised(taken, "id-exists"),
    "input is refused by a disposed agent": lambda taken: _raised(taken, "disposed"),
    "two calls wait for one teardown": lambda taken: any(len(one.disposers) > 1 for one in taken.after.agents),
    "a dispose joins an owner's unload": lambda taken: any(
        unload.awaited and any(one.label in unload.awaited and one.disposers for one in taken.after.agents)
        for unload in taken.after.unloads
    ),
    "a child is taken along": lambda taken: any(entry.demand.clause == "OWNER-06" for entry in taken.expected),
}
"""What must be reached sometimes."""


_ROOM_WINDOWS: Final[dict[str, type[TaskWindow] | type[FiberWindow] | type[SubagentWindow]]] = {
    "tasks": TaskWindow,
    "fibers": FiberWindow,
    "subagents": SubagentWindow,
}


@cache
def goals_of(profile: str) -> dict[str, Goal]:
    """Give what must be reached sometimes in bounds of a profile: of a later one, its windows."""
    if profile not in _ROOM_WINDOWS:
        return GOALS
    marks = {window.value: f"window:{window.value}" for window in _ROOM_WINDOWS[profile]}
    return {name: (lambda taken, mark=mark: mark in taken.marks) for name, mark in marks.items()}  # type: ignore[misc]


@cache
def reachable(edition: Edition = EDITION_2026_06, profile: str = "core") -> tuple[str, ...]:
    """Give the clauses that an exploration can come to: those of a profile, but for what asks to look at registries."""
    own = (name for name, clause in CLAUSES.items() if clause.profile == profile and clause.holds_in(edition))
    return tuple(name for name in own if name not in ("REGISTRY-01", "REGISTRY-02"))


@dataclass(slots=True)
class Coverage:
    """What stretches came to, in how many of them that differ."""

    edition: Edition = EDITION_2026_06
    profile: str = "core"

    choices: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    """Which choice was taken in which state of its agent."""
    clauses: Counter[str] = field(default_factory=Counter)
    goals: Counter[str] = field(default_factory=Counter)

    def add(self, choice: Choice, taken: Taken) -> None:
        """Add a stretch."""
        self.choices[kind_for(choice, taken), name_of(choice)] += 1
        for entry in taken.expected:
            for clause in entry.demand.clauses:
                self.clauses[clause] += 1
            if isinstance(entry.event, Settled):
                self.clauses[SETTLES_ONCE] += 1
        for silence in taken.silences:
            self.clauses[silence.clause] += 1
        for name, goal in goals_of(self.profile).items():
            if goal(taken):
                self.goals[name] += 1

    def missed(self) -> list[str]:
        """Give the goals that were not reached."""
        return [name for name in goals_of(self.profile) if not self.goals[name]]

    def unreached(self) -> list[str]:
        """Give the clauses that were not carried out, of those that a rule could carry out here."""
        return [name for name in reachable(self.edition, self.profile) if not self.clauses[name]]

    def join(self, other: Coverage) -> None:
        """Add what another exploration came to."""
        self.choices.update(other.choices)
        self.clauses.update(other.clauses)
        self.goals.update(other.goals)


def name_of(choice: Choice) -> str:
    """Name the sort of a choice."""
    match choice:
        case Replacing():
            return "create"
        case Step(subject=Inside(profile=profile, what=what)):
            return f"step {profile} {getattr(what, 'activity', '')}"
        case Step():
            return f"step {choice.activity}"
        case _:
            return choice.item


def kind_for(choice: Choice, taken: Taken) -> Kind:
    """Give the state of the agent that a choice is about; that of nobody if it is about none."""
    label = subject(choice)
    agent = next((agent for agent in taken.before.agents if agent.label == label), None)
    return NOBODY if agent is None else kind_of(agent)


def kind_of(agent: Agent) -> Kind:
    """Give the state of an agent."""
    return Kind(agent.stage.name, agent.driver.name, agent.status.value, agent.teardown.name)


def subject(choice: Choice) -> Label | None:
    """Name the agent that a choice is about, if it is about one."""
    if choice is SETTLE or isinstance(choice, Replacing):
        return None
    if isinstance(choice, Step):
        return choice.subject if isinstance(choice.subject, str) else None
    gate = getattr(choice, "gate", None)
    label: Label | None = gate.creation if gate else getattr(choice, "agent", None) or getattr(choice, "creation", None)
    return label


def covered(stretches: Iterable[tuple[Choice, Taken]], edition: Edition = EDITION_2026_06) -> Coverage:
    """Give what stretches came to."""
    coverage = Coverage(edition)
    for choice, taken in stretches:
        coverage.add(choice, taken)
    return coverage
