"""What profile ``subagents`` adds to a world: the providers, and the runs.

A run stays in the world as long as it can be named. It has two sides. Ours is what is waited for next; the child's is
an agent of the core, or a program. Between us and a program there are two lines of messages, and what was written is
read later. What the room itself waits for in the core (a creation, a rest, an end) is a call of the core as any other,
under a label of the room's own; when such a call would settle, ``SubagentsRoom.takes`` takes it instead.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from probate_model.alphabet.events import HeardEvent, Settlement, TurnOutcome
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.subagents import Delegate, Option, RunProvider, RunSignal, RunStop
from probate_model.world import Returned, Wait

if TYPE_CHECKING:
    from probate_model.run import Run as Stretch

OWN: Final = "run/"
"""What the labels of the room's own calls begin with."""


# A child in this process.


@plain
class Stage(IntEnum):
    """What the run of a child in this process waits for."""

    CREATING = 0
    """Its creation has not settled."""
    CREATED = 1
    """It has; the prompt is to be sent."""
    WORKING = 2
    """The child is to come to rest."""
    AT_REST = 3
    """It has; its log is to be read."""
    READ = 4


class Inside(NamedTuple):
    """What there is to know of a child in this process."""

    stage: Stage = Stage.CREATING
    creation: Settlement | None = None
    said: Text | None = None
    """The last that it has said itself."""
    turn: int | None = None
    """Its last turn that a message has opened."""
    reason: TurnOutcome | None = None
    """Why the last turn ended that a message has opened."""
    ended: bool = False
    """Its agent has ended, as far as a dispose was waiting for that."""


# A child that is a program.


class Said(NamedTuple):
    """What a program has written: an answer, a word, a question, or, if it is gone, the end of its output."""

    kind: Literal["answer", "word", "question", "end"]
    answer: str = ""
    text: Text | None = None
    """None of a word that is no part of the output."""
    question: Label | None = None
    options: tuple[Option, ...] = ()


class Told(NamedTuple):
    """What we have written: a method, or the answer to a question."""

    what: str
    question: Label | None = None
    clause: str = ""


@plain
class Ending(IntEnum):
    """By what a program was told to go."""

    NOT = 0
    EOF = 1
    TERM = 2
    KILL = 3


class Program(NamedTuple):
    """A program, and the two lines of messages."""

    unread: tuple[Told, ...] = ()
    """What we have written and it has not heard."""
    said: tuple[Said, ...] = ()
    """What it has written and we have not read."""
    at: GateKind | None = None
    """What it is about to answer."""
    wait: Wait | None = None
    leaving: Wait | None = None
    """The wait before it goes, once it was told to."""
    told: Ending = Ending.NOT
    grace_over: bool = False
    """The time has passed that it had since it was told."""
    gone: bool = False
    questions: tuple[Label, ...] = ()
    """Those that are not answered."""
    # Our side.
    answer: str | None = None
    """What was answered to what we have asked, and not looked at."""
    lost: bool = False
    """Its output has ended, or what we ask does not arrive."""
    asked: GateKind | None = None
    """What we have asked last."""
    prompted: bool = False
    words: tuple[Text, ...] = ()


# Runs.


class Run(NamedTuple):
    """One run, from its start."""

    label: Label
    provider: RunProvider
    text: Text
    parent: Label | None
    depth: int
    folder: str
    signal: RunSignal
    child: Inside | Program | None
    """None if the program does not exist."""
    cancelled: bool = False
    # The result.
    stop: RunStop | None = None
    output: tuple[Text, ...] = ()
    clauses: tuple[str, str] = ("", "")
    """By which clauses it stopped for that reason, and has that output. Both come with the result, so they decide
    nothing that it does not."""
    announced: bool = False
    """The end was announced."""
    waiters: tuple[Label, ...] = ()
    # The end.
    disposing: bool = False
    gone: bool = False
    disposers: tuple[Label, ...] = ()
    returned: Returned = Returned.NO

    @property
    def idle(self) -> Label:
        """The call by which the room waits for a child to come to rest."""
        return Label(f"{OWN}{self.label}/idle")

    @property
    def end(self) -> Label:
        """The call by which the room waits for a child's end."""
        return Label(f"{OWN}{self.label}/end")


class Call(NamedTuple):
    """A call of the tool that delegates: begun, or waiting for its run."""

    op: Delegate
    by: Label
    begun: bool = False
    ending: bool = False
    """The result has settled, and the run is being disposed."""


Activity: TypeAlias = Literal[
    "call", "creation", "rest", "never was", "hear", "answer", "read", "go on", "tell", "leave", "announce", "end"
]
"""What a step of the room is of."""


class SubagentsRoom(NamedTuple):
    """The room."""

    providers: frozenset[RunProvider] = frozenset(RunProvider)
    runs: tuple[Run, ...] = ()
    calls: tuple[Call, ...] = ()
    turns: tuple[tuple[Label, int, int], ...] = ()
    """For each agent with a complete turn: how many records its log has up to there, and the number of that turn."""

    def hear(self, stretch: Stretch, label: Label | None, event: HeardEvent) -> None:
        """Let the room hear an event, before any other listener."""
        from probate_model.subagents import inside  # noqa: PLC0415 - the rules stand on the run, which calls this

        inside.hear(stretch, label, event)

    def takes(self, stretch: Stretch, call: Label, outcome: Settlement) -> bool:
        """Take the settlement of a call if it is one of the room's own; tells whether it was."""
        from probate_model.subagents import inside  # noqa: PLC0415 - as above

        return inside.take(stretch, call, outcome)
