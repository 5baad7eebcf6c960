"""Defects of the inbox and of cancel."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import driver, turns
from probate_reference.core import Core, Turn
from probate_reference.inbox import Inbox
from probate_reference.signals import CancelCause, Signal

CANCEL: Final = Family()


@CANCEL.variant(
    "idle-cancel-strands-next-prompt",
    "M1",
    "CANCEL-04",
    "A cancel that finds nothing leaves the marker behind, and the marker swallows the next prompt.",
)
def _(patches: Patches) -> None:
    # The marker is set by every cancel that finds no turn; one that found nothing at all is told apart by its value.
    patches.edit(
        Core,
        "cancel",
        (
            """
            if pre_run:
                self.pre_run_cancelled = True
            """,
            """
            if turn is None:
                self.pre_run_cancelled = pre_run or 0.5
            """,
        ),
    )
    patches.edit(
        driver,
        "drive",
        (
            "core.pre_run_cancelled = False",
            """
            if core.pre_run_cancelled == 0.5:
                inbox.clear()
            core.pre_run_cancelled = False
            """,
        ),
    )


def _poisoned(patches: Patches, *, until_idle: bool) -> None:
    """Let a cancelled turn poison its core, so that the next prompt that is claimed vanishes."""
    poisoned: set[Core] = set()
    close, become_idle, claim = turns._close, Core.become_idle, Inbox.claim

    def closing(core: Core, turn: Turn) -> None:
        if turn.stopped() and not core.disposed():
            poisoned.add(core)
        close(core, turn)

    def idling(core: Core) -> None:
        if until_idle:
            poisoned.discard(core)
        become_idle(core)

    install = driver._install_turn

    def installing(core: Core) -> Turn | None:
        if core not in poisoned:
            return install(core)
        poisoned.discard(core)
        claim(core.inbox)
        if not core.inbox.has_queued():
            core.become_idle()
        return None

    patches.replace(turns, "_close", closing)
    patches.replace(Core, "become_idle", idling)
    patches.replace(driver, "_install_turn", installing)


@CANCEL.variant(
    "cancelled-turn-strands-next-prompt",
    "M2",
    "CANCEL-04",
    "The mark of a cancelled turn outlives the turn, and the next prompt vanishes.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Nobody resets it: the next claim takes it for its own.
    _poisoned(patches, until_idle=False)


@CANCEL.variant(
    "cancel-outlives-closing-flush",
    "M3",
    "CANCEL-04",
    "The mark of a cancelled turn is reset only when the agent is idle, so what was sent during its flush vanishes.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Between two queued turns nothing is idle, so nothing resets it.
    _poisoned(patches, until_idle=True)


@CANCEL.variant(
    "pre-run-cancel-forgets-waiters",
    "M4",
    "IDLE-02",
    "A cancel before the claim drops the prompt, and leaves those waiting who waited for its turn.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # The one who consumes the marker has nothing to announce, and thinks that there is nobody to tell.
    patches.edit(
        driver,
        "drive",
        (
            """
            core.become_idle()
            continue
            """,
            "continue",
        ),
    )


@CANCEL.variant(
    "cancel-in-running-forgets-waiters",
    "M6",
    "IDLE-02",
    "A cancel by who hears of running drops the prompt, and leaves those waiting who waited for its turn.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The status goes back to idle, but by the short way.
    patches.edit(driver, "_install_turn", ("core.become_idle()", "core.set_status(Status.IDLE)"))


@CANCEL.variant(
    "marker-swallows-later-prompts",
    "M7",
    "CANCEL-04",
    "A cancel before the claim also drops what was sent after it, before the driver looked.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # The driver clears what it finds, as if all of it had been there when the cancel came.
    patches.edit(
        driver,
        "drive",
        (
            """
            if not inbox.has_queued():
                core.become_idle()
                continue
            """,
            """
            if not inbox.has_queued():
                core.become_idle()
                continue
            inbox.clear()
            """,
        ),
    )


@CANCEL.variant(
    "cancel-forgets-queue",
    "M8",
    "CANCEL-03",
    "A cancel during a turn stops that turn only: the prompts that wait run.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It aborts the work in flight and thinks that this is all there is.
    patches.edit(
        Core,
        "cancel",
        (
            "self.inbox.clear()",
            """
            self.inbox._steering = None
            if turn is None:
                self.inbox.clear()
            """,
        ),
    )


@CANCEL.variant(
    "cancel-forgets-steering",
    "M9",
    "CANCEL-10",
    "A cancel that finds no prompt leaves the steering, which becomes one when the cancelled turn has ended.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # What waits is looked for where prompts wait.
    patches.edit(
        Core,
        "cancel",
        (
            "self.inbox.clear()",
            """
            if self.inbox.has_queued():
                self.inbox.clear()
            """,
        ),
    )


@CANCEL.variant(
    "cancel-announced-after-abort",
    "M11",
    "CANCEL-01",
    "A cancel during a turn is announced when the signal has already fired.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # "Requested" is told when it is done.
    patches.edit(
        Core,
        "cancel",
        ("if turn is not None or pre_run:", "if pre_run:"),
        (
            "turn.signal._fire(AbortCause(cause.value))",
            """
            turn.signal._fire(AbortCause(cause.value))
            self.kernel.events._emit(CancelRequested(self.agent, cause))
            """,
        ),
    )


@CANCEL.variant(
    "cancel-spares-what-its-observers-send",
    "M11",
    "CANCEL-03",
    "What is to be cleared is decided before the announcement, so what an observer sends then is not swept.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # It clears what it announced.
    patches.edit(
        Core,
        "cancel",
        ("pre_run = turn is None", "before = self.inbox.statistics()\npre_run = turn is None"),
        (
            "self.inbox.clear()",
            """
            now = self.inbox.statistics()
            for _ in range(min(before.queued, now.queued)):
                self.inbox.claim()
            for _ in range(min(before.steering, now.steering)):
                self.inbox.take_steering()
            """,
        ),
    )


@CANCEL.variant(
    "idle-cancel-is-announced",
    "M12",
    "CANCEL-02",
    "A parent's cancel is announced also when there is nothing to stop.",
)
def _(patches: Patches) -> None:
    # Only for a parent, who is thought to want an answer: what every cancel did would fail most traces.
    patches.edit(
        Core,
        "cancel",
        (
            "if turn is not None or pre_run:",
            "if turn is not None or pre_run or (cause == 'parent' and self.status == 'idle'):",
        ),
    )


@CANCEL.variant(
    "throwing-observer-prevents-cancel",
    "M13",
    "EVENT-01",
    "A listener that throws at agent/cancel-requested keeps the cancel from happening.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The announcement is inside the same try as the work.
    patches.edit(
        Core,
        "cancel",
        (
            "self.kernel.events._emit(CancelRequested(self.agent, cause))",
            """
            try:
                self.kernel.events._announce(CancelRequested(self.agent, cause))
            except Exception:
                return
            """,
        ),
    )


@CANCEL.variant(
    "signal-fires-again",
    "M14",
    "CANCEL-06",
    "A second cancel of a turn fires its signal a second time.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The last cause wins, and whoever is still in flight hears of each.
    patches.edit(
        Signal,
        "_fire",
        ("if self._cause is not None:", "if False:"),
        ("callbacks.pop(key, None)", "callbacks.get(key)"),
        ("self._callbacks = None", "pass"),
    )


@CANCEL.variant(
    "turn-can-be-cancelled-after-its-end",
    "M16",
    "CANCEL-08",
    "The turn's holder is taken away after the closing flush, so a cancel in the flush finds a turn to stop.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The holder goes where the turn's function ends.
    patches.edit(turns, "_close", ("core.turn = None", "pass"))
    patches.edit(
        turns,
        "run_turn",
        (
            "await close_flush(core)",
            """
            await close_flush(core)
            core.turn = None
            """,
        ),
    )


@CANCEL.variant(
    "next-turn-begins-aborted",
    "M17",
    "CANCEL-04",
    "The signal of a cancelled turn is used for the next turn too, which ends as soon as it is open.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # One signal for the agent, made anew only when it has not fired.
    fired: dict[Core, Signal] = {}
    run_turn = turns.run_turn

    async def running(core: Core, turn: Turn) -> None:
        turn.signal = fired.pop(core, turn.signal)
        cause = turn.signal._cause
        await run_turn(core, turn)
        if cause is None and turn.stopped() and not core.disposed():
            fired[core] = turn.signal

    patches.replace(turns, "run_turn", running)


@CANCEL.variant(
    "cancel-between-turns-leaves-running",
    "M18",
    "IDLE-01",
    "A cancel in the closing flush that drops the queued rest leaves the status at running.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Whoever consumes the marker expects to be idle already.
    patches.edit(
        driver,
        "drive",
        (
            """
            core.become_idle()
            continue
            """,
            """
            if core.status is not Status.RUNNING:
                core.become_idle()
            continue
            """,
        ),
        (
            "if not inbox.has_queued() and not core.disposed():",
            "if not inbox.has_queued() and not core.disposed() and not core.pre_run_cancelled:",
        ),
    )


@CANCEL.variant(
    "cancel-in-idle-forgets-waiters",
    "M19",
    "IDLE-02",
    "Who hears of idle, sends, waits and cancels is left waiting.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # Idle is idle: a marker that was set in its announcement is thought to be an old one.
    become_idle = Core.become_idle

    def idling(core: Core) -> None:
        become_idle(core)
        core.pre_run_cancelled = False

    patches.replace(Core, "become_idle", idling)


@CANCEL.variant(
    "idle-at-cancel",
    "M22",
    "FLUSH-03",
    "A cancel makes the agent idle at once, while the cancelled turn still unwinds.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # For the user it is over.
    cancel = Core.cancel

    async def idle(core: Core) -> None:
        if not core.disposed():
            core.become_idle()

    def cancelling(core: Core, cause: CancelCause) -> None:
        turn = core.turn
        cancel(core, cause)
        if turn is not None and turn.number:
            core.kernel.spawn(idle, core)

    patches.replace(Core, "cancel", cancelling)


@CANCEL.variant(
    "idle-steering-is-stranded",
    "M23",
    "INBOX-04",
    "Steering an agent that does not run waits for a turn that nobody opens.",
)
def _(patches: Patches) -> None:
    # Steering is steering.
    patches.edit(Core, "steer", ("if self.status is not Status.RUNNING:", "if self.disposed():"))


@CANCEL.variant(
    "prompts-share-a-turn",
    "M24",
    "INBOX-06",
    "A turn takes all prompts that are queued, and not one.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # What waits together is answered together.
    patches.edit(
        turns,
        "_run_steps",
        (
            "core.append(UserMessage(text))",
            """
            core.append(UserMessage(text))
            while core.inbox.has_queued() and not turn.stopped():
                core.append(UserMessage(core.inbox.claim()))
            """,
        ),
    )
