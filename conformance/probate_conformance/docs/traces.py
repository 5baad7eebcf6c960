"""The traces that the pictures show, each with its story."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from probate_conformance.docs.scene import Scene, scene_of
from probate_conformance.docs.writing import (
    await_idle,
    cancel,
    create,
    dispose,
    hold,
    inject,
    look,
    open_gate,
    plan,
    react,
    release,
    send,
    steer,
    throw,
    trace,
    unload,
    withdraw,
)
from probate_conformance.trace import Trace
from probate_model.alphabet.gates import GateKind
from probate_model.alphabet.names import THIS


@dataclass(frozen=True, slots=True)
class Shown:
    """A trace as it is shown: the name of its files, what it is about, what to see in it."""

    name: str
    title: str
    story: str
    trace: Trace
    silences: tuple[str, ...] = ()
    """The clauses whose silence is part of what is to be seen."""
    skip: int = 0
    """How many bursts of the trace only lead up to what is to be seen."""

    @property
    def scene(self) -> Scene:
        """What the picture shows."""
        return scene_of(self.trace, self.silences, self.skip)


LIFE: Final = Shown(
    "life",
    "A whole life",
    "An agent is created, answers one prompt, and is disposed. The caller waits three times, and each of the three "
    "calls comes back only when what it stands for is complete: the agent is published, nothing is left to do, "
    "everything is gone.",
    trace(
        (create("c", cleanup=True),),
        (send("A"), await_idle()),
        (dispose(),),
    ),
)

CREATE: Final = Shown(
    "create",
    "Private until it is published",
    "Setup may take as long as it likes: nobody hears of the agent, and the registries do not hold it. When setup "
    "returns, all of the publication happens in one stretch. The call returns after it.",
    trace(
        (hold(GateKind.SETUP), create("c", setup=True)),
        (release(GateKind.SETUP),),
    ),
)

RACE: Final = Shown(
    "race-for-an-id",
    "Two creations of one id",
    "Both may prepare, since neither is seen. The one that publishes first has the id. The other one announces "
    "nothing, unwinds what it had prepared, and only then raises.",
    trace(
        (
            hold(GateKind.SETUP, "c"),
            hold(GateKind.SETUP, "d"),
            create("c", setup=True, cleanup=True),
            create("d", setup=True, cleanup=True),
        ),
        (release(GateKind.SETUP, "d"),),
        (release(GateKind.SETUP, "c"),),
    ),
    ("CREATE-12",),
)

VETO: Final = Shown(
    "veto",
    "A listener says no",
    "A throw in `agent/created` ends the creation. Both halves were announced by then, so both are announced as "
    "disposed; the agent was never published, so nobody hears a status. The caller gets exactly what was thrown.",
    trace((react("r1", "agent/created", throw("no")), create("c", cleanup=True))),
    ("PUBLISH-08",),
)

ENDED_WITHIN: Final = Shown(
    "ended-while-announced",
    "Ended from inside its own announcement",
    "The first listener of `session/created` ends the lifecycle. The second one still finds the entry, for they stay "
    "until the publication on the stack has unwound. Nothing more of the publication is announced.",
    trace(
        (
            react("r1", "session/created", withdraw(THIS)),
            react("r2", "session/created", look()),
            create("c", cleanup=True),
        )
    ),
    ("PUBLISH-06",),
)

TWO_PROMPTS: Final = Shown(
    "two-prompts",
    "Two prompts are two turns",
    "Both are accepted at once, before anything runs. Each is a turn of its own, in order of acceptance, and between "
    "the turns the agent does not say idle.",
    trace((create("c"),), (send("A"), send("B"))),
    ("TURN-09",),
    skip=1,
)

STEERING: Final = Shown(
    "steering",
    "Steering joins the turn that runs",
    "While the model is held, a message is steered into the turn. It is announced at once, and joins the log before "
    "the step closes; the turn goes on with one more step.",
    trace(
        (create("c"),),
        (hold(GateKind.MODEL), send("A")),
        (steer("S"),),
        (open_gate(GateKind.MODEL),),
    ),
    skip=1,
)

CANCEL_EARLY: Final = Shown(
    "cancel-before-the-turn",
    "Cancelled before it was claimed",
    "The three calls begin in one tick, so the driver has not woken up when the cancel comes. The prompt is announced "
    "as cancelled and vanishes: no turn, no status, and the waiter is freed. A prompt sent after the cancel runs as "
    "if nothing had been.",
    trace(
        (create("c"),),
        (send("A"), await_idle(), cancel()),
        (send("B"),),
    ),
    ("CANCEL-03",),
    skip=1,
)

CANCEL_STEP: Final = Shown(
    "cancel-in-a-step",
    "Cancelled in the middle of a step, with a queue",
    "The announcement comes first, while everything is still there to be seen. Then the queue is cleared (`B` never "
    "runs), then the signal fires, and the model, which honours it, stops waiting. What is open in the log is closed "
    "from the inside out: step, turn, flush.",
    trace(
        (create("c"),),
        (hold(GateKind.MODEL), send("A")),
        (send("B"), cancel()),
    ),
    ("CANCEL-03", "CANCEL-12"),
    skip=1,
)

CANCEL_IDLE: Final = Shown(
    "cancel-when-idle",
    "Nothing to stop, nothing to say",
    "A cancel of an idle agent is silent and leaves nothing behind. The prompt after it runs.",
    trace((create("c"),), (cancel(),), (send("A"),)),
    ("CANCEL-02",),
    skip=1,
)

ERROR: Final = Shown(
    "error",
    "An error ends the turn, not the agent",
    "The first answer fails. The step closes, the failure is reported once, the turn ends as an error and is flushed "
    "like any other. The driver goes on with the next prompt.",
    trace((create("c"),), (plan(GateKind.MODEL, "error"), send("A"), send("B"))),
    skip=1,
)

TOOLS: Final = Shown(
    "tools",
    "Two tool calls, one after the other",
    "The answer asks for two tools. Each call is logged when it begins, and the second begins after the first one's "
    "result. An error of a tool is a result like another; the model sees it in the next step.",
    trace((create("c"),), (plan(GateKind.MODEL, "tools:2"), plan(GateKind.TOOL, "ok", "error"), send("A"))),
    skip=1,
)

TOOLS_CUT: Final = Shown(
    "cancel-in-a-tool",
    "Cancelled while the first of two tools runs",
    "The tool that runs hears the signal; its result is logged as aborted. The second call never begins, and is logged "
    "all the same, with its result, so that no call of an answer is left open.",
    trace(
        (create("c"),),
        (plan(GateKind.MODEL, "tools:2"), hold(GateKind.TOOL), send("A")),
        (cancel(),),
    ),
    skip=1,
)

INJECT_IDLE: Final = Shown(
    "inject-when-idle",
    "Injected with no turn open",
    "The record gets a turn of its own, opened and closed in one stretch. The call has returned long before the flush "
    "has; no status changes, since no driver runs.",
    trace((create("c"),), (hold(GateKind.FLUSH), inject("X")), (release(GateKind.FLUSH),)),
    skip=1,
)

INJECT_BATCH: Final = Shown(
    "inject-in-a-batch",
    "Injected while a tool runs",
    "Nothing may stand between a call and its result. So what is injected meanwhile is held back, and logged when the "
    "batch is through.",
    trace(
        (create("c"),),
        (plan(GateKind.MODEL, "tools:1"), hold(GateKind.TOOL), send("A")),
        (inject("X"),),
        (release(GateKind.TOOL),),
    ),
    ("INJECT-04",),
    skip=1,
)

FLUSH: Final = Shown(
    "closing-flush",
    "Not idle before the flush has ended",
    "The turn has ended, but whoever keeps the log is still at it. A cancel now has nothing to stop and says nothing: "
    "the turn's outcome is in the log. When the flush is through, the agent says idle, and the waiter returns after "
    "that.",
    trace(
        (create("c"),),
        (hold(GateKind.FLUSH), send("A"), await_idle()),
        (cancel(),),
        (release(GateKind.FLUSH),),
    ),
    ("CANCEL-08",),
    skip=1,
)

DISPOSE: Final = Shown(
    "dispose-in-a-step",
    "Disposed in the middle of a turn, twice",
    "Both calls join one teardown. The signal fires and the last status is announced at once. Then the turn closes and "
    "its flush begins, and here it is held: nothing is detached while the closing record is on its way. After the "
    "flush the two entries go, then the scope unwinds, and only then both calls return.",
    trace(
        (create("c", cleanup=True),),
        (hold(GateKind.MODEL), hold(GateKind.FLUSH), send("A"), await_idle()),
        (dispose(label="d1"), dispose(label="d2")),
        (release(GateKind.FLUSH),),
    ),
    skip=1,
)

UNLOAD: Final = Shown(
    "unload",
    "An owner is unloaded",
    "Two agents, one of them in a turn. Their teardowns begin newest first and then run side by side: the idle one is "
    "gone at once, the other one when its turn has closed. The unload returns when both are gone.",
    trace(
        (create("c", "a"), create("d", "b")),
        (hold(GateKind.MODEL, "c"), hold(GateKind.FLUSH, "c"), send("A", "c")),
        (unload(),),
        (release(GateKind.FLUSH, "c"),),
    ),
    skip=1,
)

CHILD: Final = Shown(
    "child",
    "A child ends with its parent",
    "Agent `b` was created on behalf of `a`. When `a` is disposed, its own entries go first, as always; the child is "
    "torn down in the parent's scope step, as a part of it. The one dispose returns when both are gone.",
    trace(
        (create("p", "a", cleanup=True),),
        (create("k", "b", parent="p", cleanup=True),),
        (dispose("p"),),
    ),
    skip=1,
)

REUSE: Final = Shown(
    "reuse-of-an-id",
    "The same id again, while the old scope unwinds",
    "The first agent's cleanup is held, so its dispose can't return. Its entries are gone, and with them its claim to "
    "the id: a second `a` is created beside it. When the old scope is through, the new agent is still there, because a "
    "detach removes only its own entry.",
    trace(
        (create("c", cleanup=True),),
        (hold(GateKind.CLEANUP), dispose("c")),
        (create("d"),),
        (release(GateKind.CLEANUP), look()),
    ),
    skip=1,
)
