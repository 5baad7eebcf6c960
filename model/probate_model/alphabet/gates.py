"""Gates: the points where the tester decides when and how an activity goes on.

A gate is named by its kind and by the creation whose agent arrives at it. It is open unless a trace holds it. An
arrival at an open gate takes the next planned outcome, or the default, and does not wait. An arrival at a held gate
waits until it is released with an outcome, or until the gate is opened.

The *temper* of a hold says whether the body that waits listens to its turn's signal: one that honours it ends its
wait by itself when the signal fires; a deaf one waits on, and what it then returns is discarded. Gates are why no
race here is left to luck and why no test sleeps.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NewType

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Label
from probate_model.alphabet.values import value

GateOutcome = NewType("GateOutcome", str)
"""How an activity goes on from a gate; which ones a gate knows depends on its kind."""


@plain
class GateKind(StrEnum):
    """Where an activity can be held."""

    SETUP = "setup"
    """A creation's setup, before it returns."""

    PREPARE = "prepare"
    """The moment before a step. Optional: a backend may not have it."""

    MODEL = "model"
    """A model call, before it shows anything."""

    TOOL = "tool"
    """A tool's body."""

    FLUSH = "flush"
    """A flush listener, before it returns."""

    CLEANUP = "cleanup"
    """A scope cleanup, before it returns."""

    LOAD = "load"
    """The load of a stored log (profiles ``sessions`` and ``bridge``)."""

    PERMISSION = "permission"
    """A client's answer to the question whether a tool may be called (profile ``bridge``). It hears the signal."""

    EXIT = "exit"
    """The process of a background task, before it ends (profile ``tasks``)."""

    BODY = "body"
    """A plug-in's body, after it has set everything up and before it returns (profile ``fibers``)."""

    EFFECT = "effect"
    """The setup of an effect, after its last member (profile ``fibers``)."""

    DISPOSER = "disposer"
    """A disposer of an effect, before it returns (profile ``fibers``)."""

    INITIALIZE = "initialize"
    """The program of a subagent, before it answers ``initialize`` (profile ``subagents``, as are the next)."""

    NEW_SESSION = "new-session"
    """The program, before it answers ``session/new``."""

    ANSWER = "answer"
    """The program, before it answers its prompt."""

    LEAVE = "leave"
    """The program, before it goes, when it was told to."""


@plain
class Temper(StrEnum):
    """Whether a held body listens to its turn's signal."""

    HONOURS = "honours"
    DEAF = "deaf"


@value(frozen=True, slots=True)
class Gate:
    """One gate: its kind, and the creation whose agent arrives at it; of a process, the start of its task or run."""

    kind: GateKind
    creation: Label


OK: Final = GateOutcome("ok")
THROW: Final = GateOutcome("throw")
FAIL: Final = GateOutcome("fail")
ERROR: Final = GateOutcome("error")
TEXT: Final = GateOutcome("text")
MAX_TOKENS: Final = GateOutcome("max-tokens")
NOT_FOUND: Final = GateOutcome("not-found")
SIGNAL: Final = GateOutcome("signal")
END_TURN: Final = GateOutcome("end-turn")
REFUSAL: Final = GateOutcome("refusal")
CANCELLED: Final = GateOutcome("cancelled")
MAX_REQUESTS: Final = GateOutcome("max-turn-requests")
UNKNOWN: Final = GateOutcome("unknown")
DIES: Final = GateOutcome("dies")
ALLOW: Final = GateOutcome("allow")
REJECT: Final = GateOutcome("reject")

_FIXED: Final[dict[GateKind, tuple[GateOutcome, ...]]] = {
    GateKind.SETUP: (OK, THROW),
    GateKind.PREPARE: (OK, THROW),
    GateKind.MODEL: (TEXT, MAX_TOKENS, ERROR),
    GateKind.TOOL: (OK, ERROR),
    GateKind.FLUSH: (OK, FAIL),
    GateKind.CLEANUP: (OK, FAIL),
    GateKind.LOAD: (OK, NOT_FOUND, THROW),
    GateKind.PERMISSION: (ALLOW, REJECT, CANCELLED, UNKNOWN, ERROR),
    GateKind.BODY: (OK, THROW),
    GateKind.EFFECT: (OK, THROW),
    GateKind.DISPOSER: (OK, FAIL),
    GateKind.EXIT: (OK, FAIL, SIGNAL),
    GateKind.INITIALIZE: (OK, ERROR, DIES),
    GateKind.NEW_SESSION: (OK, ERROR, DIES),
    GateKind.ANSWER: (END_TURN, MAX_TOKENS, REFUSAL, CANCELLED, MAX_REQUESTS, UNKNOWN, ERROR, DIES),
    GateKind.LEAVE: (OK,),
}

MOST_TOOLS: Final = 8
"""The most tool calls that one model answer can ask for."""


def default_outcome(kind: GateKind) -> GateOutcome:
    """Give the outcome of an arrival at an open gate with nothing planned."""
    return _FIXED[kind][0]


def fixed_outcomes(kind: GateKind) -> tuple[GateOutcome, ...]:
    """Give the outcomes of a kind that take no number."""
    return _FIXED[kind]


def tool_count(outcome: GateOutcome) -> int:
    """Give how many tool calls a model outcome asks for: ``K`` in ``tools:K`` and ``max-tokens+tools:K``, else 0."""
    _, separator, number = outcome.partition("tools:")
    return int(number) if separator else 0


def hits_max_tokens(outcome: GateOutcome) -> bool:
    """Tell whether a model outcome stops for want of tokens."""
    return outcome.startswith(MAX_TOKENS)


def knows(kind: GateKind, outcome: str) -> bool:
    """Tell whether a gate of ``kind`` knows ``outcome``."""
    if outcome in _FIXED[kind]:
        return True
    if kind is not GateKind.MODEL:
        return False
    prefix, separator, number = outcome.partition("tools:")
    if not separator or prefix not in ("", "max-tokens+"):
        return False
    return number.isascii() and number.isdigit() and number[0] != "0" and int(number) <= MOST_TOOLS
