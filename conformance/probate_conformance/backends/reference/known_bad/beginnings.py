"""Defects of creations: what refuses them, what they announce, and what their callers get."""

from __future__ import annotations

from typing import Final

from anyio.lowlevel import checkpoint

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import creation
from probate_reference.core import Core
from probate_reference.events import AgentCreated, SessionCreated, SessionStart, StartSource
from probate_reference.lifecycle import Lifecycle
from probate_reference.owners import Provider
from probate_reference.refusals import Aborted
from probate_reference.session import SessionStore

BEGINNINGS: Final = Family(blunt=True)


@BEGINNINGS.variant(
    "create-never-returns",
    "C.2",
    "CREATE-01",
    "The agent lives, and whoever created it waits for the handle for ever.",
)
def _(patches: Patches) -> None:
    # The last line of the happy path.
    patches.edit(Lifecycle, "settle_creation", ("self.creation._return(Handle(self.core.agent))", "pass"))


@BEGINNINGS.variant(
    "ended-owner-told-as-provider",
    "C31",
    "CREATE-02",
    "An owner that was unloaded refuses to create, and says that the provider is gone.",
)
def _(patches: Patches) -> None:
    # Something is not active.
    patches.edit(
        Provider,
        "_begin_creation",
        ("return refused(OwnerInactive(", "return refused(ProviderInactive("),
    )


@BEGINNINGS.variant(
    "pre-abort-told-as-taken-id",
    "C.2",
    "CREATE-04",
    "A create whose signal had fired before is refused as if the id were taken.",
)
def _(patches: Patches) -> None:
    # Nothing was entered, so the id can't be had.
    patches.edit(
        Provider,
        "_begin_creation",
        ('return refused(Aborted(f"creation of {id!r} was aborted"))', 'return refused(IdExists(f"session {id!r}"))'),
    )


@BEGINNINGS.variant(
    "abort-told-as-disposal",
    "C2",
    "CREATE-06",
    "A creation that its signal has called off says that somebody had disposed it.",
)
def _(patches: Patches) -> None:
    # One way out for all.
    patches.edit(Lifecycle, "abort", ("Aborted(", "LifecycleDisposed("))


@BEGINNINGS.variant(
    "lost-race-told-as-abort",
    "C6",
    "CREATE-12",
    "The loser of two creations of one id says that it was aborted, and not that the id is taken.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # It is what happened to it, in a way.
    patches.edit(SessionStore, "_enter", ("raise IdExists(", "raise Aborted("), Aborted=Aborted)


@BEGINNINGS.variant(
    "session-not-announced",
    "T1",
    "PUBLISH-01",
    "An agent is announced, and its session never is.",
)
def _(patches: Patches) -> None:
    # An agent is its session.
    patches.edit(creation, "_show", ("kernel.events._announce(SessionCreated(agent))", "pass"))


@BEGINNINGS.variant(
    "publication-comes-in-parts",
    "C.2",
    "PUBLISH-02",
    "The agent is announced a step after its session, so others come between.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # Announcements that are awaited one by one.
    async def publish(lifecycle: Lifecycle) -> None:
        lifecycle.publishing = True
        try:
            await _show_in_parts(lifecycle)
        except Exception as raised:
            creation._fail(lifecycle, raised, "publication")
        finally:
            lifecycle.publishing = False
        if lifecycle.wanted():
            lifecycle.settle_creation()

    patches.edit(Lifecycle, "run", ("publish(self)", "await publish(self)"))
    patches.replace(creation, "publish", publish)


async def _show_in_parts(lifecycle: Lifecycle) -> None:
    kernel, agent = lifecycle.kernel, lifecycle.core.agent
    kernel.sessions._enter(agent.session)
    kernel.agents._enter(agent, None if lifecycle.parent is None else lifecycle.parent.core.agent)
    lifecycle.session_announced = True
    kernel.events._announce(SessionCreated(agent))
    await checkpoint()
    if not lifecycle.wanted():
        return
    lifecycle.agent_announced = True
    kernel.events._announce(AgentCreated(agent))
    if not lifecycle.wanted():
        return
    lifecycle.core.published = True
    kernel.events._emit(SessionStart(agent, StartSource.STARTUP))


@BEGINNINGS.variant(
    "start-not-announced",
    "T1",
    "PUBLISH-03",
    "An agent is published without saying that its session starts.",
)
def _(patches: Patches) -> None:
    # Two announcements must do.
    patches.edit(
        creation,
        "_show",
        (
            """
            kernel.events._emit(SessionStart(agent, StartSource.RESUME if lifecycle.resumes else StartSource.STARTUP))
            """,
            "pass",
        ),
    )


@BEGINNINGS.variant(
    "unpublished-agent-announces-its-end",
    "C18",
    "PUBLISH-08",
    "An agent whose publication was vetoed announces that it is disposed, although nobody saw it live.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # Its session was announced, after all.
    patches.edit(Core, "stop", ("if self.published:", "if self.lifecycle.session_announced:"))
