"""The words of profile ``subagents``: runs of agents by agents, in this process and in others.

A run is started by a provider, which has a name. Two make a child in this process, a fresh one or a fork of its parent;
the others start a program that speaks the Agent Client Protocol, with us as its client. The label of a start names the
run and is the run's id; a child in this process is an agent with that id, and its creation has that label too.

A program is scripted: it waits at a gate before each of its answers (``initialize``, ``new-session``, ``answer``), and
at ``leave`` before it goes once it was told to. What it says in between, and asks, are ops. That a prompt is held with
a temper says whether the program heeds a cancel; a program that leaves deaf heeds nothing but a kill.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentRef, Label, OwnerName, Text
from probate_model.alphabet.rooms import InRoom
from probate_model.alphabet.values import value

RUN_OWNER: Final = OwnerName("runs")
"""The owner of the children of runs that have no parent. A world of the profile has it."""


@plain
class RunProvider(StrEnum):
    """The providers that there can be, by name. All are there before the first item."""

    SPAWN = "spawn"
    """Makes a fresh child in this process."""
    FORK = "fork"
    """Makes a child in this process that begins with the complete turns of its parent."""
    ACP = "acp"
    """Starts a program, and allows it nothing."""
    TRUSTING = "trusting"
    """Starts a program, and allows it what it asks for."""
    MISSING = "missing"
    """Starts a program that does not exist."""


IN_PROCESS: Final = (RunProvider.SPAWN, RunProvider.FORK)
"""The providers whose children are agents of this process."""


@plain
class RunStop(StrEnum):
    """Why a run stopped."""

    COMPLETED = "completed"
    MAX_TOKENS = "max-tokens"
    REFUSAL = "refusal"
    ABORTED = "aborted"
    ERROR = "error"


@plain
class RunSignal(StrEnum):
    """The signal that a run was given. It works until the result has settled."""

    NONE = "none"
    ARMED = "armed"
    PRE_ABORTED = "pre-aborted"


@plain
class Need(StrEnum):
    """What a request may need of its provider, besides a limit of the depth. No provider here has any of it."""

    NONE = "none"
    OUTPUT_SCHEMA = "output-schema"
    TOOL_FILTER = "tool-filter"


@plain
class Saying(StrEnum):
    """What a program says while it works."""

    MESSAGE = "message"
    THOUGHT = "thought"
    TOOL_CALL = "tool-call"
    IMAGE = "image"


@plain
class Option(StrEnum):
    """What a program offers to choose from when it asks for permission."""

    ALLOW_ONCE = "allow-once"
    ALLOW_ALWAYS = "allow-always"
    REJECT_ONCE = "reject-once"
    REJECT_ALWAYS = "reject-always"


ALLOWING: Final = (Option.ALLOW_ONCE, Option.ALLOW_ALWAYS)
"""The options that allow."""

NOT_SELECTED: Final = Label("cancelled")
"""How a question for permission is answered if no option is selected."""

AMBIENT: Final = (
    ("PATH", "/bin"),
    ("HOME", "/home/me"),
    ("KEYBOARD", "qwerty"),
    ("monkey_business", "1"),
    ("MY_API_KEY_FILE", "/k"),
    ("Auth_Token", "t"),
    ("tokenizer", "bpe"),
    ("AWS_SECRET_ACCESS_ID", "s"),
    ("DB_PASSWORD", "p"),
    ("PASSWD_FILE", "/p"),
    ("GCP_CREDENTIALS", "c"),
    ("LANG", "my-secret-token-key"),
    ("EDITOR", "ambient"),
    ("PAGER", "less"),
)
"""The environment in which every program is started."""

OVERLAY: Final = (("CHILD_API_KEY", "configured"), ("DB_PASSWORD", "given"), ("EDITOR", "overlaid"), ("PAGER", None))
"""What is configured for every program; none removes a name."""


# The ops.


@value(frozen=True, slots=True)
class StartRun:
    """Start a run. Returns its id."""

    label: Label
    provider: RunProvider
    text: Text
    parent: Label | None = None
    signal: RunSignal = RunSignal.NONE
    depth: int | None = None
    """How deep below an agent without a parent the child may be."""
    needs: Need = Need.NONE
    item: Literal["start_run"] = "start_run"


@value(frozen=True, slots=True)
class Delegate:
    """Have an agent call the tool that delegates. Returns what became of the run, when nothing is left of it."""

    label: Label
    provider: RunProvider
    text: Text
    by: Label
    signal: RunSignal = RunSignal.NONE
    item: Literal["delegate"] = "delegate"


@value(frozen=True, slots=True)
class CancelRun:
    """Ask a run to stop, as its parent. Bound from the start on."""

    label: Label
    run: Label
    item: Literal["cancel_run"] = "cancel_run"


@value(frozen=True, slots=True)
class AbortRun:
    """Fire the signal that a run was started with. Bound from the start on; void if there is none, or it has fired."""

    label: Label
    run: Label
    item: Literal["abort_run"] = "abort_run"


@value(frozen=True, slots=True)
class AwaitRun:
    """Wait for the result of a run. Returns why it stopped."""

    label: Label
    run: Label
    item: Literal["await_run"] = "await_run"


@value(frozen=True, slots=True)
class DisposeRun:
    """End a run and its child. Returns when nothing of it is left; never raises; joined when repeated."""

    label: Label
    run: Label
    item: Literal["dispose_run"] = "dispose_run"


@value(frozen=True, slots=True)
class AddProvider:
    """Register a provider."""

    label: Label
    provider: RunProvider
    item: Literal["add_provider"] = "add_provider"


@value(frozen=True, slots=True)
class RemoveProvider:
    """Take a provider out, as the reload of its plug-in does. Void if it is not there."""

    label: Label
    provider: RunProvider
    item: Literal["remove_provider"] = "remove_provider"


@value(frozen=True, slots=True)
class ChildSays:
    """Let a program say something while it works at its prompt. Void if it does not."""

    label: Label
    run: Label
    says: Saying
    text: Text
    item: Literal["child_says"] = "child_says"


@value(frozen=True, slots=True)
class ChildAsks:
    """Let a program ask for permission while it works at its prompt. Returns the option, or ``cancelled``."""

    label: Label
    run: Label
    options: tuple[Option, ...]
    item: Literal["child_asks"] = "child_asks"


@value(frozen=True, slots=True)
class PassGrace:
    """Let the time pass that a program has to go. Void if nobody waits for that."""

    label: Label
    run: Label
    item: Literal["pass_grace"] = "pass_grace"


SubagentOp: TypeAlias = (
    StartRun
    | Delegate
    | CancelRun
    | AbortRun
    | AwaitRun
    | DisposeRun
    | AddProvider
    | RemoveProvider
    | ChildSays
    | ChildAsks
    | PassGrace
)
"""All ops of the profile."""

OnRun: TypeAlias = CancelRun | AbortRun | AwaitRun | DisposeRun | ChildSays | ChildAsks | PassGrace
"""Ops that name a run."""

# What they return.


@value(frozen=True, slots=True)
class Delegated:
    """What became of a run that was delegated to, and what its child has said."""

    stop: RunStop
    output: tuple[Text, ...]


# The events.


@value(frozen=True, slots=True)
class RunStarted(InRoom):
    """A run has begun."""

    run: Label
    provider: RunProvider
    parent: AgentRef | None
    """On whose behalf: the lineage, which no id tells."""
    seeded: int
    """How many records the log of the child begins with."""
    event: Literal["subagent/start"] = "subagent/start"

    @property
    def about(self) -> str:
        """The run."""
        return f"run:{self.run}"


@value(frozen=True, slots=True)
class RunEnded(InRoom):
    """The result of a run has settled."""

    run: Label
    stop: RunStop
    output: tuple[Text, ...]
    """What the child has said."""
    event: Literal["subagent/end"] = "subagent/end"

    @property
    def about(self) -> str:
        """The run."""
        return f"run:{self.run}"


@value(frozen=True, slots=True)
class ChildSpawned(InRoom):
    """The program of a run is started. Seen by the program, so nobody can react to it."""

    run: Label
    folder: str
    """The working directory; empty for that of this process."""
    environment: tuple[str, ...]
    """What it finds in its environment, each as ``NAME=VALUE``, sorted."""
    event: Literal["child/spawned"] = "child/spawned"

    @property
    def about(self) -> str:
        """The program."""
        return f"child:{self.run}"


@value(frozen=True, slots=True)
class ChildHears(InRoom):
    """The program of a run hears a message of the protocol, the end of its input, or a signal."""

    run: Label
    what: str
    """The method; or ``eof``, ``term``, ``kill``."""
    event: Literal["child/hears"] = "child/hears"

    @property
    def about(self) -> str:
        """The program."""
        return f"child:{self.run}"


@value(frozen=True, slots=True)
class ChildGone(InRoom):
    """The program of a run has ended."""

    run: Label
    event: Literal["child/gone"] = "child/gone"

    @property
    def about(self) -> str:
        """The program."""
        return f"child:{self.run}"


SubagentEvent: TypeAlias = RunStarted | RunEnded
"""Events that an ordinary listener can hear."""

ChildEvent: TypeAlias = ChildSpawned | ChildHears | ChildGone
"""What happens to a program: no dispatch, so nothing can react to it."""

SUBAGENT_EVENTS: Final = ("subagent/start", "subagent/end")
"""The kinds that can be heard."""

CHILD_EVENTS: Final = ("child/spawned", "child/hears", "child/gone")
"""The others."""
