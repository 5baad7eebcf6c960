"""Defects of subagents: of the service, of children in this process, of programs, and of the tool that delegates."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import Agent, Record, environment
from probate_reference.calls import returned
from probate_reference.environment import CREDENTIAL_WORDS, names_credential
from probate_reference.subagents import delegation, process, transport
from probate_reference.subagents.inprocess import ForkProvider, InProcessRun, SpawnProvider
from probate_reference.subagents.process import AcpProvider, AcpRun
from probate_reference.subagents.runs import Run, RunResult, RunStop
from probate_reference.subagents.service import Subagents

SUBAGENTS: Final = Family("subagents")


# The service.


@SUBAGENTS.variant(
    "unknown-provider-is-another",
    "K.1",
    "SUBAGENT-03",
    "A start by the name of no provider takes the first that there is.",
)
def _(patches: Patches) -> None:
    # Somebody will do it.
    patches.edit(
        Subagents,
        "start",
        (
            "provider = self._providers.get(name)",
            "provider = self._providers.get(name) or [*self._providers.values()][0]",
        ),
    )


@SUBAGENTS.variant(
    "second-provider-takes-the-name",
    "K.1",
    "SUBAGENT-04",
    "A provider takes the name of another one.",
)
def _(patches: Patches) -> None:
    # The last one wins.
    patches.edit(Subagents, "register", ("if name in self._providers:", "if False:"))


@SUBAGENTS.variant(
    "needs-are-not-looked-at",
    "K16",
    "SUBAGENT-05",
    "A request that needs what its provider can't do is started all the same.",
)
def _(patches: Patches) -> None:
    # It will do what it can.
    patches.edit(Subagents, "start", ("if missing:", "if False:"))


@SUBAGENTS.variant(
    "start-is-announced-twice",
    "N 17",
    "SUBAGENT-01",
    "The start of a run is announced twice.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # Better twice than never.
    patches.edit(
        Subagents,
        "start",
        (
            "self._emit(SubagentStarted(run.id, name, request.parent))",
            """
            self._emit(SubagentStarted(run.id, name, request.parent))
            self._emit(SubagentStarted(run.id, name, request.parent))
            """,
        ),
    )


@SUBAGENTS.variant(
    "lineage-is-forgotten",
    "decision 51",
    "SUBAGENT-02",
    "The start of a run does not say whose it is.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # The id is enough.
    patches.edit(
        Subagents,
        "start",
        (
            "self._emit(SubagentStarted(run.id, name, request.parent))",
            "self._emit(SubagentStarted(run.id, name, None))",
        ),
    )


@SUBAGENTS.variant(
    "end-is-announced-when-the-child-is-gone",
    "N 17",
    "SUBAGENT-06",
    "The end of a run is announced when it is disposed, and not when its result has settled.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # Then it has ended.
    patches.edit(
        Subagents,
        "_follow",
        ("result = await run.result", "result = await run.result; await run.gone"),
    )


@SUBAGENTS.variant(
    "failed-child-is-raised",
    "M111",
    "SUBAGENT-07",
    "The result of a run whose program fails is raised.",
)
def _(patches: Patches) -> None:
    # Somebody has to hear of it.
    settle = Run._settle

    def settling(run: Run, result: RunResult) -> None:
        if result.stop is RunStop.ERROR and not run.result.done:
            run.result._raise(RuntimeError("the child has failed"))
        else:
            settle(run, result)

    patches.replace(Run, "_settle", settling)
    patches.edit(AcpRun, "_live", ("await self.result\n", "await self.result._join()\n"))
    patches.edit(InProcessRun, "_begin_end", ("await self.result\n", "await self.result._join()\n"))


@SUBAGENTS.variant(
    "result-is-told-once",
    "L20",
    "SUBAGENT-08",
    "Whoever asks for a result after its end was announced is told that it was an error.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # It was fetched already.
    patches.edit(
        Subagents,
        "_follow",
        (
            "await run.gone",
            """
            run._result = returned(RunResult(RunStop.ERROR))
            await run.gone
            """,
        ),
        returned=returned,
    )


@SUBAGENTS.variant(
    "removed-provider-ends-its-runs",
    "K15",
    "SUBAGENT-09",
    "A provider that is taken out takes all programs along.",
)
def _(patches: Patches) -> None:
    # Whose should they be?
    patches.edit(
        Subagents,
        "register",
        (
            "    if self._providers.get(name) is provider:",
            """
                for run in self._runs:
                    if isinstance(run, AcpRun):
                        run.dispose()
                if self._providers.get(name) is provider:
            """,
        ),
        AcpRun=AcpRun,
    )


@SUBAGENTS.variant(
    "dispose-does-not-wait",
    "K20",
    "SUBAGENT-10",
    "The dispose of a child in this process returns when its end has begun.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It will go.
    patches.edit(InProcessRun, "_begin_end", ("await end._join()", "pass"))


# Children in this process.


@SUBAGENTS.variant(
    "depth-is-not-counted",
    "K23",
    "INSIDE-01",
    "A child may be as deep as it likes.",
)
def _(patches: Patches) -> None:
    # It will come to an end by itself.
    patches.edit(SpawnProvider, "start", ("if limits and depth > min(limits):", "if False:"))


@SUBAGENTS.variant(
    "fork-knows-the-open-turn",
    "M113",
    "INSIDE-02",
    "A fork begins with all that its parent has logged.",
)
def _(patches: Patches) -> None:
    # The more it knows, the better.
    def seed(_: ForkProvider, parent: Agent | None) -> Sequence[Record]:
        return () if parent is None else parent.session.records

    patches.replace(ForkProvider, "seed", seed)


@SUBAGENTS.variant(
    "fork-borrows-the-last-words",
    "M113",
    "INSIDE-03",
    "A fork that says nothing has the last words of its parent for its output.",
)
def _(patches: Patches) -> None:
    # They stand in its log.
    patches.edit(InProcessRun, "_work", ("agent.session.records[self._seeded :]", "agent.session.records"))


@SUBAGENTS.variant(
    "max-tokens-is-completed",
    "K.3",
    "INSIDE-04",
    "A child that stops for want of tokens has completed.",
)
def _(patches: Patches) -> None:
    # It has said what it could.
    patches.edit(InProcessRun, "_read", ("RunStop.MAX_TOKENS", "RunStop.COMPLETED"))


@SUBAGENTS.variant(
    "cancelled-as-by-a-user",
    "K.3",
    "INSIDE-05",
    "The cancel of a run is recorded as one by a user.",
)
def _(patches: Patches) -> None:
    # Nobody else cancels.
    patches.edit(InProcessRun, "cancel", ("CancelCause.PARENT", "CancelCause.USER"))


@SUBAGENTS.variant(
    "cancel-before-the-turn-is-an-error",
    "M114",
    "INSIDE-06",
    "A run that is cancelled before its child has a turn is an error.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # There is no turn, so something went wrong.
    patches.edit(
        InProcessRun,
        "_read",
        ("if self._cancelled or reason is TurnReason.ABORTED:", "if reason is TurnReason.ABORTED:"),
    )
    patches.edit(InProcessRun, "_work", ("    if self._cancelled:\n        return RunResult(RunStop.ABORTED)\n", ""))


# Programs.


@SUBAGENTS.variant(
    "program-is-started-late",
    "K.2",
    "CHILD-01",
    "The program of a run is started after the run was announced.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # There is time.
    spawn, live = AcpRun._spawn, AcpRun._live

    async def living(run: AcpRun) -> None:
        spawn(run)
        await live(run)

    patches.replace(AcpRun, "_spawn", lambda _: None)
    patches.replace(AcpRun, "_live", living)


def _environment(name: str, says: str, inherits: Callable[[str, str], bool], *, last: bool = False) -> None:
    """Add a variant in which a program inherits what it should not, or not what it should."""

    def plant(patches: Patches) -> None:
        def child_environment(ambient: Mapping[str, str], overlay: Mapping[str, str | None]) -> dict[str, str]:
            configured = {name: value for name, value in overlay.items() if value is not None}
            inherited = {name: value for name, value in ambient.items() if name not in overlay}
            if last:
                inherited, configured = inherited | configured, {}
            return {name: value for name, value in inherited.items() if inherits(name, value)} | configured

        patches.replace(environment, "child_environment", child_environment)

    SUBAGENTS.variant(name, "M107", "CHILD-02", says, blunt=True)(plant)


_environment(
    "configured-credential-is-dropped",
    "What is configured for a program is dropped if its name is that of a credential.",
    lambda name, _: not names_credential(name),
    last=True,
)
_environment(
    "credentials-are-upper-case",
    "A name is that of a credential only in upper case.",
    lambda name, _: not any(word in name for word in CREDENTIAL_WORDS),
)
_environment(
    "credentials-begin-or-end-so",
    "A name is that of a credential only if it begins or ends with one of the words.",
    lambda name, _: not name.upper().startswith(CREDENTIAL_WORDS) and not name.upper().endswith(CREDENTIAL_WORDS),
)
_environment(
    "credentials-are-told-by-their-value",
    "A variable is dropped also for what its value is.",
    lambda name, value: not names_credential(name) and not names_credential(value),
)


@SUBAGENTS.variant(
    "folder-is-ours",
    "decision 51",
    "CHILD-03",
    "A program works in the folder of this process, whoever its parent is.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # It was started from here.
    patches.replace(AcpProvider, "folder_for", lambda *_: os.getcwd())


@SUBAGENTS.variant(
    "initialized-twice",
    "T23",
    "CHILD-04",
    "A program is asked to initialize twice.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # It may not have heard.
    patches.edit(
        AcpRun,
        "_talk",
        (
            "version = _field(await self._initialize,",
            """
            await self._initialize
            version = _field(await peer.request("initialize", {}),
            """,
        ),
    )


@SUBAGENTS.variant(
    "unwanted-run-is-driven",
    "M117",
    "CHILD-05",
    "A program is driven although nobody wanted its run any more when it was started.",
)
def _(patches: Patches) -> None:
    # It is there now.
    patches.edit(AcpRun, "_spawn", ("if not self._aborted_before:", "if True:"))


@SUBAGENTS.variant(
    "cancelled-run-is-prompted",
    "K4",
    "CHILD-06",
    "A run that was cancelled before there was a session prompts its program all the same.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It can be cancelled then.
    patches.edit(AcpRun, "_talk", ("if self._cancelled:", "if False:"))


@SUBAGENTS.variant(
    "program-is-not-told-of-a-cancel",
    "K2",
    "CHILD-07",
    "A cancel is remembered, and the program is not told.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It will be ended anyway.
    patches.edit(AcpRun, "cancel", ("if self._prompted and not self.result.done:", "if False:"))


@SUBAGENTS.variant(
    "unknown-reason-is-completed",
    "M112",
    "CHILD-08",
    "A program that stops for a reason that is not known has completed.",
)
def _(patches: Patches) -> None:
    # At least it has stopped.
    patches.edit(
        AcpRun,
        "_talk",
        ("STOPS.get(reason, RunStop.ERROR)", "STOPS.get(reason, RunStop.COMPLETED)"),
    )


@SUBAGENTS.variant(
    "unheard-cancel-breaks-the-run",
    "K.2",
    "CHILD-07",
    "A cancel that a program can't hear any more ends its run, whatever the program still answers.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The pipe is torn.
    patches.edit(AcpRun, "_spawn", ("hears_out=True,", ""))


@SUBAGENTS.variant(
    "torn-pipe-after-a-cancel-is-an-error",
    "M106",
    "CHILD-09",
    "A program that dies after a cancel is an error.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It has died.
    patches.edit(AcpRun, "_broken", ("RunStop.ABORTED if self._cancelled else RunStop.ERROR", "RunStop.ERROR"))


@SUBAGENTS.variant(
    "torn-pipe-is-an-abort",
    "M106",
    "SUBAGENT-07",
    "A program that dies by itself is an abort.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # Somebody must have wanted that.
    patches.edit(AcpRun, "_broken", ("RunStop.ABORTED if self._cancelled else RunStop.ERROR", "RunStop.ABORTED"))


@SUBAGENTS.variant(
    "signal-is-heard-after-the-dispose",
    "K.2",
    "SUBAGENT-07",
    "A run that is being disposed is aborted by its signal.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # The result has not settled.
    patches.edit(Run, "dispose", ("self._forget_signal()", ""))


@SUBAGENTS.variant(
    "thoughts-are-output",
    "M109",
    "CHILD-10",
    "What a program thinks is part of its output.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It is text.
    patches.edit(AcpRun, "_hear", ('update.get("sessionUpdate") != "agent_message_chunk" or ', ""))


@SUBAGENTS.variant(
    "partial-output-is-dropped",
    "M118",
    "CHILD-11",
    "What a program has said is dropped when its run is aborted or fails.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It is not finished.
    patches.edit(
        AcpRun,
        "_outcome",
        ('"".join(self._said)', '"" if stop in (RunStop.ABORTED, RunStop.ERROR) else "".join(self._said)'),
    )


@SUBAGENTS.variant(
    "everything-is-allowed",
    "K8",
    "CHILD-12",
    "A question for permission is answered with what allows, whatever is configured.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It would not ask if it did not need it.
    patches.edit(AcpRun, "_answer", ("if self._provider.allow and not self._cancelled", "if not self._cancelled"))


@SUBAGENTS.variant(
    "first-option-is-taken",
    "M108",
    "CHILD-13",
    "Where a program may have what it asks for, the first option is taken, whatever it is.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The first is what it would like best.
    patches.edit(process, "_allowing", ('option.get("kind") in ("allow_once", "allow_always")', "option"))


@SUBAGENTS.variant(
    "missing-program-is-raised",
    "M104",
    "CHILD-14",
    "The start of a program that does not exist raises what the system says.",
)
def _(patches: Patches) -> None:
    # It can't be started.
    patches.edit(AcpRun, "_spawn", ("except (OSError, ValueError) as failure:", "except ZeroDivisionError as failure:"))


@SUBAGENTS.variant(
    "program-is-not-told-to-go",
    "K.2",
    "CHILD-15",
    "The input of a program that is disposed does not end.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # There is TERM.
    patches.edit(transport, "end", ("await child.send.aclose()", "pass"))


@SUBAGENTS.variant(
    "program-is-killed-without-a-warning",
    "K26",
    "CHILD-16",
    "A program that does not go in time is killed.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It had its time.
    patches.edit(transport, "end", ("(signal.SIGTERM, signal.SIGKILL)", "(signal.SIGKILL,)"))


# Delegation.


@SUBAGENTS.variant(
    "failed-delegation-leaves-its-child",
    "M116",
    "DELEGATE-01",
    "The tool that delegates disposes its run only if that has completed.",
)
def _(patches: Patches) -> None:
    # Somebody may want to look at it.
    patches.edit(
        delegation,
        "delegate",
        (
            "await run.dispose()",
            """
            if result.stop is RunStop.COMPLETED:
                await run.dispose()
            """,
        ),
    )
