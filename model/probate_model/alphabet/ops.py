"""Ops: all that a caller, an owner or the environment can do.

Each op is one call and has a label. It settles exactly once: a synchronous op at the end of its synchronous part, an
asynchronous one in a step of its own, a refusal too. An op that cannot apply (an ``abort`` with no signal armed, a
``load`` of what is active, a reference that is not bound) is *void*: it does nothing, settles nothing, and does not
count.

The discriminator ``item`` makes an op a trace item as it stands; see ``items``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

from probate_model.alphabet.bridge import BridgeOp
from probate_model.alphabet.fibers import FiberOp
from probate_model.alphabet.members import plain
from probate_model.alphabet.names import AgentId, Label, OwnerName, Text
from probate_model.alphabet.sessions import SessionsOp
from probate_model.alphabet.subagents import SubagentOp
from probate_model.alphabet.tasks import TaskOp
from probate_model.alphabet.values import value


@plain
class Setup(StrEnum):
    """Whether a creation has a setup, which then waits at the ``setup`` gate."""

    NONE = "none"
    PLAIN = "plain"


@plain
class CreationSignal(StrEnum):
    """The signal that a creation was given. It only ever ends the creation, never the live agent."""

    NONE = "none"
    ARMED = "armed"
    PRE_ABORTED = "pre-aborted"


@plain
class Cause(StrEnum):
    """Who asked for a cancel."""

    USER = "user"
    PARENT = "parent"
    HOOK = "hook"
    """Somebody who hooked into the turn; only where a cancel has to name its cause."""


@value(frozen=True, slots=True)
class ByOwner:
    """The creation is made through an owner's context and ends with it."""

    owner: OwnerName


@value(frozen=True, slots=True)
class ByAgent:
    """The creation is made through another agent's context: it is that agent's child and ends with it."""

    agent: Label


By: TypeAlias = ByOwner | ByAgent


@value(frozen=True, slots=True)
class Create:
    """Create an agent. Returns the agent with its handle once it is published."""

    label: Label
    id: AgentId
    by: By
    setup: Setup = Setup.NONE
    cleanup: bool = False
    signal: CreationSignal = CreationSignal.NONE
    item: Literal["create"] = "create"


@value(frozen=True, slots=True)
class Resume:
    """Create an agent from its stored log (profile ``sessions``)."""

    label: Label
    id: AgentId
    by: By
    setup: Setup = Setup.NONE
    cleanup: bool = False
    signal: CreationSignal = CreationSignal.NONE
    item: Literal["resume"] = "resume"


@value(frozen=True, slots=True)
class Abort:
    """Fire the creation's signal. Void if none is armed; nothing once the creation has settled."""

    label: Label
    creation: Label
    item: Literal["abort"] = "abort"


@value(frozen=True, slots=True)
class Withdraw:
    """The owner ends this one lifecycle, pending or live, by the same teardown that ``dispose`` joins."""

    label: Label
    creation: Label
    item: Literal["withdraw"] = "withdraw"


@value(frozen=True, slots=True)
class Send:
    """Put a prompt at the tail of the queue and wake a parked driver."""

    label: Label
    agent: Label
    text: Text
    item: Literal["send"] = "send"


@value(frozen=True, slots=True)
class Steer:
    """Join the running turn between two steps; the same as ``send`` when nothing runs."""

    label: Label
    agent: Label
    text: Text
    item: Literal["steer"] = "steer"


@value(frozen=True, slots=True)
class Inject:
    """Put context into the log: inside the open turn, or as a one-shot turn of its own. Never wakes the driver."""

    label: Label
    agent: Label
    text: Text
    item: Literal["inject"] = "inject"


@value(frozen=True, slots=True)
class Cancel:
    """Stop what is queued and what runs. Never raises, in any state."""

    label: Label
    agent: Label
    cause: Cause = Cause.USER
    item: Literal["cancel"] = "cancel"


@value(frozen=True, slots=True)
class AwaitIdle:
    """Wait until nothing runs and nothing is queued; after disposal, until the driver has exited."""

    label: Label
    agent: Label
    item: Literal["await_idle"] = "await_idle"


@value(frozen=True, slots=True)
class Dispose:
    """Join the one teardown of the agent through the handle that its creation returned."""

    label: Label
    agent: Label
    item: Literal["dispose"] = "dispose"


@value(frozen=True, slots=True)
class UnloadOwner:
    """End an owner and with it all that was created through it."""

    label: Label
    owner: OwnerName
    item: Literal["unload_owner"] = "unload_owner"


@value(frozen=True, slots=True)
class LoadOwner:
    """Start a new incarnation of an owner. Void while it is active."""

    label: Label
    owner: OwnerName
    item: Literal["load_owner"] = "load_owner"


@value(frozen=True, slots=True)
class UnloadProvider:
    """End the agent provider and with it every agent that it made."""

    label: Label
    item: Literal["unload_provider"] = "unload_provider"


@value(frozen=True, slots=True)
class LoadProvider:
    """Start a new incarnation of the agent provider. Void while it is active."""

    label: Label
    item: Literal["load_provider"] = "load_provider"


@value(frozen=True, slots=True)
class Look:
    """Take a snapshot of the registries."""

    label: Label
    item: Literal["look"] = "look"


Op: TypeAlias = (
    Create
    | Resume
    | Abort
    | Withdraw
    | Send
    | Steer
    | Inject
    | Cancel
    | AwaitIdle
    | Dispose
    | UnloadOwner
    | LoadOwner
    | UnloadProvider
    | LoadProvider
    | Look
    | FiberOp
    | SessionsOp
    | TaskOp
    | BridgeOp
    | SubagentOp
)

AgentOp: TypeAlias = Send | Steer | Inject | Cancel | AwaitIdle | Dispose
"""Ops on an agent that a creation returned."""

CreationOp: TypeAlias = Abort | Withdraw
"""Ops on a creation, pending or not."""
