"""Defects of what a turn writes down: which record, with what in it, and in which order."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import driver, flushing, turns
from probate_reference.core import Core
from probate_reference.events import AgentStatus
from probate_reference.records import ContextMessage, StepStart

RECORDS: Final = Family(blunt=True)


@RECORDS.variant(
    "stopped-step-logs-its-answer",
    "B.2",
    "CANCEL-12",
    "A model that answers after it was told to stop has its answer logged.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The answer is there, and it was paid for.
    patches.edit(
        turns,
        "_run_step",
        (
            """
            if turn.stopped():
                return False
            calls = reply.tool_calls
            """,
            """
            if turn.stopped():
                if reply.text:
                    core.append(AssistantMessage(reply.text))
                return False
            calls = reply.tool_calls
            """,
        ),
    )


@RECORDS.variant(
    "old-status-announced-first",
    "B1",
    "TURN-01",
    "An agent that begins to run first announces that it is idle, which everybody knew.",
)
def _(patches: Patches) -> None:
    # So that nobody misses a beat.
    patches.edit(
        driver,
        "_install_turn",
        (
            "core.set_status(Status.RUNNING)",
            """
            if core.status is Status.IDLE:
                core.kernel.events._emit(AgentStatus(core.agent, Status.IDLE))
            core.set_status(Status.RUNNING)
            """,
        ),
        AgentStatus=AgentStatus,
    )


@RECORDS.variant(
    "prompt-logged-as-context",
    "T2",
    "TURN-03",
    "The prompt that a turn has claimed is logged as context.",
)
def _(patches: Patches) -> None:
    # The model sees the same text.
    patches.edit(
        turns, "_run_steps", ("core.append(UserMessage(text))", "core.append(ContextMessage(text))"),
        ContextMessage=ContextMessage,
    )  # fmt: skip


@RECORDS.variant(
    "steps-numbered-on",
    "L1",
    "TURN-04",
    "The steps of a turn are numbered on from the turn before.",
)
def _(patches: Patches) -> None:
    # In the first turn the two are the same.
    patches.edit(turns, "_run_steps", ("step = 0", "step = turn.number - 1"))


@RECORDS.variant(
    "answer-with-tools-loses-its-text",
    "T3",
    "TURN-05",
    "Of an answer that asks for tools only the calls are logged.",
)
def _(patches: Patches) -> None:
    # Who reads what a model says before it acts?
    patches.edit(turns, "_run_step", ("AssistantMessage(reply.text)", 'AssistantMessage("" if calls else reply.text)'))


@RECORDS.variant(
    "tool-error-starves-the-turn",
    "B.2",
    "TURN-07",
    "A turn in which a tool has failed ends as if the model had run out of tokens.",
)
def _(patches: Patches) -> None:
    # Something was cut short, and there is one word for that.
    patches.edit(
        turns,
        "_run_tool",
        (
            "outcome = ToolOutcome.ERROR",
            """
            outcome = ToolOutcome.ERROR
            turn.max_tokens = True
            """,
        ),
    )


@RECORDS.variant(
    "failure-not-reported",
    "B9",
    "TURN-10",
    "A step that fails ends its turn as error, and nobody is told what the error was.",
)
def _(patches: Patches) -> None:
    # It is in the log that the turn has failed.
    patches.edit(turns, "_close", ("if turn.failure is not None:", "if False:"))


@RECORDS.variant(
    "steps-counted-twice",
    "F.2",
    "TURN-13",
    "The number that the start of a step is announced with is that of the record to come.",
)
def _(patches: Patches) -> None:
    # Off by one.
    patches.edit(
        Core,
        "append",
        ("seq = self.session._commit(record)", "seq = self.session._commit(record) + (type(record) is StepStart)"),
        StepStart=StepStart,
    )


@RECORDS.variant(
    "last-call-first",
    "B31",
    "TOOL-01",
    "Of the calls of an answer the last one is carried out first.",
)
def _(patches: Patches) -> None:
    # A stack is a list, too.
    patches.edit(
        turns,
        "_run_tools",
        (
            "for number, call in enumerate(calls, 1):",
            "for number, call in list(enumerate(calls, 1))[:: 1 if turn.stopped() else -1]:",
        ),
    )


@RECORDS.variant(
    "turn-not-flushed",
    "B13",
    "FLUSH-01",
    "A turn ends without a flush, and whoever keeps the log hears of it with the next one.",
)
def _(patches: Patches) -> None:
    # The records are in memory.
    patches.edit(turns, "run_turn", ("await close_flush(core)", "pass"))


@RECORDS.variant(
    "flush-forgets-the-last-record",
    "F.3",
    "FLUSH-04",
    "A flush covers all records but the one that it was begun for.",
)
def _(patches: Patches) -> None:
    # Off by one, the other way.
    patches.edit(flushing, "_begin", ("upto = len(core.session)", "upto = len(core.session) - 1"))
