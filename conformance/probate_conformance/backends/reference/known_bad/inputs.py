"""Defects of what a call does before it returns: input, injections, and the announcement of a cancel."""

from __future__ import annotations

from typing import Final

from anyio.lowlevel import checkpoint

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import injection
from probate_reference.core import Core
from probate_reference.records import UserMessage

INPUTS: Final = Family(blunt=True)


@INPUTS.variant(
    "idle-driver-polls",
    "L24",
    "CALL-01",
    "A driver with nothing to do looks again and again instead of waiting, so the loop never rests.",
)
def _(patches: Patches) -> None:
    # It works, and burns a processor.
    patches.edit(Core, "park", ("await self._parked.wait()", "await checkpoint()"), checkpoint=checkpoint)


@INPUTS.variant(
    "prompt-announced-later",
    "A.2",
    "CALL-02",
    "A prompt is announced in a task of its own, after the call that sent it has returned.",
)
def _(patches: Patches) -> None:
    # An emit that is awaited somewhere else does not block the sender.
    patches.edit(
        Core,
        "send",
        (
            "self.kernel.events._emit(AgentQueued(self.agent, text, steering=False))",
            """
            async def tell() -> None:
                self.kernel.events._emit(AgentQueued(self.agent, text, steering=False))
            self.kernel.spawn(tell)
            """,
        ),
    )


@INPUTS.variant(
    "announces-the-head-of-the-queue",
    "B.2",
    "INBOX-01",
    "What is announced is the prompt that waits longest, and not the one that was accepted.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # With one prompt the two are the same.
    patches.edit(Core, "send", ("AgentQueued(self.agent, text,", "AgentQueued(self.agent, self.inbox._queued[0],"))


@INPUTS.variant(
    "disposed-agent-takes-input",
    "D.2",
    "INBOX-02",
    "An agent that is disposed accepts prompts, which nobody will ever run.",
)
def _(patches: Patches) -> None:
    # The inbox is still there.
    patches.edit(Core, "_accept", ("if self.status is Status.DISPOSED:", "if False:"))


@INPUTS.variant(
    "unstorable-input-accepted",
    "A34",
    "INBOX-03",
    "Input that cannot be kept without loss is accepted, and fails when somebody writes it down.",
)
def _(patches: Patches) -> None:
    # The store will say so.
    patches.edit(Core, "_accept", ("check_text(text)", "pass"))


@INPUTS.variant(
    "steering-announced-as-a-prompt",
    "B3",
    "INBOX-05",
    "What joins the running turn is announced as if it were a prompt.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # One announcement for both.
    patches.edit(Core, "steer", ("steering=True", "steering=False"))


@INPUTS.variant(
    "injection-joins-as-the-user",
    "A33",
    "INJECT-01",
    "Context that is injected into an open turn is logged as if the user had said it.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # A text is a text.
    patches.edit(
        injection,
        "commit_injection",
        (
            """
            else:
                core.append(ContextMessage(text))
            """,
            """
            else:
                core.append(UserMessage(text))
            """,
        ),
        UserMessage=UserMessage,
    )


@INPUTS.variant(
    "injection-not-flushed",
    "F27",
    "INJECT-03",
    "The turn of an injection is not flushed, so it is lost unless another turn follows.",
)
def _(patches: Patches) -> None:
    # The next turn flushes it along.
    patches.edit(injection, "commit_injection", ("start_flush(core)", "pass"))


@INPUTS.variant(
    "signal-fires-after-the-cancel",
    "B30",
    "CANCEL-05",
    "The turn's signal fires in a task of its own, after the cancel has returned.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Callbacks are run where they can't hurt the caller.
    patches.edit(
        Core,
        "cancel",
        (
            "turn.signal._fire(AbortCause(cause.value))",
            """
            async def fire() -> None:
                turn.signal._fire(AbortCause(cause.value))
            if turn.signal._callbacks:
                self.kernel.spawn(fire)
            else:
                turn.signal._fire(AbortCause(cause.value))
            """,
        ),
    )


@INPUTS.variant(
    "cancel-refuses-the-disposed",
    "N3",
    "CANCEL-09",
    "A cancel of an agent that is disposed raises, so whoever calls off all agents stops half-way.",
)
def _(patches: Patches) -> None:
    # As all other input does.
    patches.edit(
        Core,
        "cancel",
        (
            "turn = self.turn",
            """
            if self.disposed():
                raise Disposed("the agent is disposed")
            turn = self.turn
            """,
        ),
    )


@INPUTS.variant(
    "cancel-always-by-the-user",
    "A13",
    "CANCEL-11",
    "A cancel is announced as the user's, whoever asked for it.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # The default, spelled out.
    patches.edit(
        Core,
        "cancel",
        ("CancelRequested(self.agent, cause)", "CancelRequested(self.agent, CancelCause.USER)"),
    )
