"""Defects of turns, injections, flushes and idleness."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import driver, flushing, injection, turns
from probate_reference.core import Core, Turn
from probate_reference.events import AgentStatus, Status
from probate_reference.inbox import Inbox
from probate_reference.records import Record, TurnEnd

TURNS: Final = Family()


@TURNS.variant(
    "cancelled-turn-stays-open",
    "M26",
    "CANCEL-07",
    "A turn that was cancelled gets no turn/end.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The end is written where a turn ends, and not where it is stopped.
    patches.edit(
        turns,
        "_close",
        (
            "core.append(TurnEnd(",
            """
            if not turn.stopped() or core.disposed():
                core.append(TurnEnd(""",
        ),
    )


@TURNS.variant(
    "stopped-step-stays-open",
    "M27",
    "TURN-06",
    "A step that is open when its turn is stopped gets no step/end.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The same, one level down.
    patches.edit(turns, "_close", ("if turn.open_step:", "if turn.open_step and not turn.stopped():"))


@TURNS.variant(
    "cut-calls-have-no-result",
    "M28",
    "TOOL-03",
    "Tool calls that a stop kept from beginning are not logged, and never answered.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Leaving the function is the obvious way to stop.
    patches.edit(
        turns,
        "_run_tools",
        (
            "core.append(ToolCalled(",
            """
            if turn.stopped():
                return
            core.append(ToolCalled(""",
        ),
    )


@TURNS.variant(
    "throwing-observer-prevents-flush",
    "M29",
    "EVENT-01",
    "A listener that throws at turn/end keeps the closing flush from being made.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The append tells that it failed, though the record is in the log.
    unflushed: set[Core] = set()
    patches.edit(Core, "append", ("events._emit(", "events._announce("))
    append, close_flush = Core.append, flushing.close_flush

    def appending(core: Core, record: Record) -> None:
        try:
            append(core, record)
        except Exception:
            if isinstance(record, TurnEnd):
                unflushed.add(core)

    async def flushed(core: Core) -> None:
        if core in unflushed:
            unflushed.discard(core)
        else:
            await close_flush(core)

    patches.replace(Core, "append", appending)
    patches.replace(flushing, "close_flush", flushed)


@TURNS.variant(
    "idle-before-closing-flush",
    "M31",
    "FLUSH-03",
    "An agent announces idle while its closing flush is under way.",
)
def _(patches: Patches) -> None:
    # The turn is over, and so is the work.
    async def close_flush(core: Core) -> None:
        writes = flushing._begin(core)
        if not core.inbox.pending() and not core.disposed():
            core.become_idle()
        if writes:
            flushing._tell(core, await flushing._finish(core, writes, drives=True))

    patches.replace(flushing, "close_flush", close_flush)


@TURNS.variant(
    "throwing-observer-starves-waiters",
    "M33",
    "EVENT-01",
    "A listener that throws at idle leaves those waiting who wait for idle.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The waiters are released after the announcement, which does not return.
    patches.edit(
        Core,
        "become_idle",
        (
            """
            try:
                self.set_status(Status.IDLE)
            finally:
                _release(released)
            """,
            """
            if self.status is Status.RUNNING:
                self.status = Status.IDLE
                try:
                    self.kernel.events._announce(AgentStatus(self.agent, Status.IDLE))
                except Exception:
                    return
            _release(released)
            """,
        ),
    )


@TURNS.variant(
    "idle-at-disposal",
    "M34",
    "IDLE-04",
    "Waiting for a disposed agent to be idle returns at once, while its driver still unwinds.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The status says that nothing runs.
    patches.edit(Core, "idle", ("if self.driver_exited or", "if self.disposed() or"))


@TURNS.variant(
    "failed-flush-kills-driver",
    "M36",
    "FLUSH-02",
    "After a closing flush that failed, the agent neither goes on nor becomes idle.",
)
def _(patches: Patches) -> None:
    # The failure ends the loop; only disposal is still noticed.
    patches.edit(
        flushing,
        "close_flush",
        (
            "_tell(core, await _finish(core, writes, drives=True))",
            """
            failure = await _finish(core, writes, drives=True)
            _tell(core, failure)
            while failure is not None and not core.disposed():
                await core.park()
            """,
        ),
    )


@TURNS.variant(
    "injection-goes-by-status",
    "M37",
    "INJECT-02",
    "Context that is injected while the status is running joins the log, though no turn is open.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Running is taken to mean that a turn is open; in the closing flush, for one, it is not.
    patches.edit(
        injection,
        "commit_injection",
        ("if session._open_turn is None:", "if session._open_turn is None and core.status != 'running':"),
    )


@TURNS.variant(
    "turns-are-counted-apart",
    "M38",
    "TURN-02",
    "The driver counts its own turns, and its numbers collide with those of injections.",
)
def _(patches: Patches) -> None:
    # A counter beside the log.
    counts: dict[Core, int] = {}

    def count(core: Core) -> int:
        counts[core] = counts.get(core, 0) + 1
        return counts[core]

    patches.edit(turns, "run_turn", ("core.session._last_turn + 1", "_count(core)"), _count=count)


@TURNS.variant(
    "half-tool-calls-are-dispatched",
    "B11",
    "TURN-11",
    "The tool calls of an answer that ran out of tokens are carried out.",
)
def _(patches: Patches) -> None:
    # The calls are there.
    patches.edit(turns, "_run_step", ("calls = ()", "pass"))


@TURNS.variant(
    "tool-error-ends-turn",
    "B.2",
    "TOOL-02",
    "A tool that fails is answered as aborted, and not with its error.",
)
def _(patches: Patches) -> None:
    # One word for everything that is no success.
    patches.edit(turns, "_run_tool", ("outcome = ToolOutcome.ERROR", "outcome = ToolOutcome.ABORTED"))


@TURNS.variant(
    "injection-tears-tool-batch",
    "A.2",
    "INJECT-04",
    "Context that is injected while tools run is logged between a call and its result.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # A turn is open, so there it goes.
    patches.edit(injection, "commit_injection", ("elif core.batch_active:", "elif False:"))


@TURNS.variant(
    "idle-between-queued-turns",
    "B1",
    "TURN-09",
    "An agent becomes idle for a moment between two queued turns.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # Every turn ends in idle.
    patches.edit(driver, "drive", ("if not inbox.has_queued() and not core.disposed():", "if not core.disposed():"))


@TURNS.variant(
    "late-steering-is-lost",
    "B7",
    "INBOX-07",
    "Steering that came too late for its turn is dropped.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The turn is over, and its list with it.
    def drop(inbox: Inbox) -> None:
        inbox._steering = None

    patches.replace(Inbox, "requeue_steering", drop)


@TURNS.variant(
    "status-after-disposed",
    "M62",
    "DISPOSE-03",
    "An agent that is disposed during a turn still announces idle when the turn has ended.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Whoever ran the turn says that it is over.
    run_turn = turns.run_turn

    async def running(core: Core, turn: Turn) -> None:
        await run_turn(core, turn)
        if core.disposed():
            core.kernel.events._emit(AgentStatus(core.agent, Status.IDLE))

    patches.replace(turns, "run_turn", running)
