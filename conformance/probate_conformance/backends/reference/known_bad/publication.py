"""Defects of creation and publication."""

from __future__ import annotations

from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import creation, teardown
from probate_reference.lifecycle import Lifecycle
from probate_reference.owners import Provider
from probate_reference.refusals import IdExists, LifecycleDisposed, Refusal
from probate_reference.reports import is_failure

PUBLICATION: Final = Family()


@PUBLICATION.variant(
    "called-off-setup-is-published",
    "M39",
    "CREATE-14",
    "A creation that was called off during its setup, by whoever it was, is announced all the same.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Whether it is still wanted is asked before the setup, and not again after it.
    patches.edit(
        Lifecycle,
        "run",
        ("if self.wanted():", "if self.wanted() or (self.setup and isinstance(self.failure, _Refusal)):"),
        _Refusal=Refusal,
    )


@PUBLICATION.variant(
    "dying-agent-is-returned",
    "M41",
    "CREATE-11",
    "A creation that is ended in agent/session-start returns its agent.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # After the last announcement nothing can go wrong any more.
    patches.edit(
        creation,
        "publish",
        (
            "if lifecycle.wanted():",
            """
            if lifecycle.core.published and isinstance(lifecycle.failure, _Disposed):
                lifecycle.core.stop()
                lifecycle.settle_creation()
            if lifecycle.wanted():
            """,
        ),
        _Disposed=LifecycleDisposed,
    )


@PUBLICATION.variant(
    "session-starts-for-the-dead",
    "C19",
    "PUBLISH-06",
    "A creation that is ended in agent/created still announces agent/session-start.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The second of the two checks is missing.
    patches.edit(
        creation,
        "_show",
        (
            """
            if not lifecycle.wanted():
                return
            lifecycle.core.published = True
            """,
            "lifecycle.core.published = True",
        ),
    )


@PUBLICATION.variant(
    "creation-signal-ends-live-agent",
    "M43",
    "CREATE-07",
    "The signal of a creation ends the agent also when the creation has long returned.",
)
def _(patches: Patches) -> None:
    # Nobody takes the subscription back.
    abort = Lifecycle.abort

    def aborting(lifecycle: Lifecycle) -> None:
        abort(lifecycle)
        if not lifecycle.pending:
            lifecycle.begin_teardown()

    patches.replace(Lifecycle, "abort", aborting)
    patches.edit(Lifecycle, "_forget_request", ("self.signal._unsubscribe(self)", "pass"))


@PUBLICATION.variant(
    "loser-leaks-its-scope",
    "M44",
    "CREATE-13",
    "Of two creations of one id, the one that loses raises without cleaning up.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # Nothing was entered, so there is nothing to unwind.
    patches.edit(
        teardown,
        "unwind",
        (
            "await _end_scope(lifecycle)",
            """
            if not isinstance(lifecycle.failure, _IdExists):
                await _end_scope(lifecycle)
            """,
        ),
        _IdExists=IdExists,
    )


@PUBLICATION.variant(
    "unannounced-agent-is-announced-as-disposed",
    "M46",
    "PUBLISH-04",
    "A creation that ends in session/created announces agent/disposed of an agent that nobody was told of.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # It goes by the registry's entry, which is there before anything is announced.
    patches.edit(teardown, "_detach", (" and lifecycle.agent_announced", ""))


@PUBLICATION.variant(
    "vetoed-agent-vanishes-silently",
    "M46",
    "PUBLISH-05",
    "A creation that ends in agent/created does not announce agent/disposed.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # It was never published, so it has no end.
    patches.edit(teardown, "_detach", ("lifecycle.agent_announced", "lifecycle.core.published"))


@PUBLICATION.variant(
    "veto-wedges-the-id",
    "M47",
    "REGISTRY-02",
    "A session whose creation a listener vetoed stays in the store, and its id is taken for ever.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The end is announced, and the entry forgotten.
    detach = teardown._detach

    def detaching(lifecycle: Lifecycle) -> None:
        detach(lifecycle)
        session = lifecycle.core.session
        vetoed = lifecycle.session_announced and lifecycle.failure is not None
        if vetoed and not isinstance(lifecycle.failure, Refusal) and session.id not in lifecycle.kernel.sessions:
            lifecycle.kernel.sessions._enter(session)

    patches.replace(teardown, "_detach", detaching)


@PUBLICATION.variant(
    "rollback-hides-the-failure",
    "M48",
    "CREATE-08",
    "A creation that a listener vetoes raises lifecycle-disposed, and not what was thrown.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # Ending the lifecycle has a reason of its own, and it comes first.
    fail = creation._fail

    def failing(lifecycle: Lifecycle, raised: BaseException, place: str) -> None:
        if place == "publication" and is_failure(raised) and not isinstance(raised, Refusal):
            lifecycle.deactivate(LifecycleDisposed("vetoed"))
        fail(lifecycle, raised, place)

    patches.replace(creation, "_fail", failing)


@PUBLICATION.variant(
    "announced-before-stored",
    "M51",
    "REGISTRY-01",
    "A session is announced before it is in the store.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # Who looks from inside the announcement does not find it.
    patches.edit(
        creation,
        "_show",
        (
            "kernel.events._announce(SessionCreated(agent))",
            """
            del kernel.sessions._sessions[agent.id]
            try:
                kernel.events._announce(SessionCreated(agent))
            finally:
                kernel.sessions._sessions.setdefault(agent.id, agent.session)
            """,
        ),
    )


@PUBLICATION.variant(
    "id-is-checked-in-the-wrong-registry",
    "M53",
    "CREATE-05",
    "Whether an id is free is asked of the agents and not of the sessions, and between the two detaches they differ.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # One id for both, so either will do.
    patches.edit(Provider, "_begin_creation", ("if id in kernel.sessions:", "if id in kernel.agents:"))
