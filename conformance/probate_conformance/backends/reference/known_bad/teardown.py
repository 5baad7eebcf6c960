"""Defects of teardown."""

from __future__ import annotations

from typing import Final

from anyio import create_task_group

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import creation, driver, owners, teardown, turns
from probate_reference.agent import Handle
from probate_reference.calls import Call, returned
from probate_reference.core import Core
from probate_reference.events import AgentCreated, AgentDisposed, SessionDisposed
from probate_reference.lifecycle import Lifecycle
from probate_reference.owners import Incarnation
from probate_reference.refusals import OwnerDisposed, ProviderInactive, Refusal

TEARDOWN: Final = Family()


def _detach_agent(lifecycle: Lifecycle) -> None:
    if lifecycle.kernel.agents._detach(lifecycle.core.agent):
        lifecycle.kernel.events._emit(AgentDisposed(lifecycle.core.agent))


def _detach_session(lifecycle: Lifecycle) -> None:
    if lifecycle.kernel.sessions._detach(lifecycle.core.session):
        lifecycle.kernel.events._emit(SessionDisposed(lifecycle.core.agent))


@TEARDOWN.variant(
    "handle-detaches-side-by-side",
    "M56",
    "DISPOSE-07",
    "A dispose by the handle leaves agent and session to sibling tasks, so that it is left to chance which goes first.",
    needs="schedule",
    loops=("trio",),
)
def _(patches: Patches) -> None:
    # First in, first out, the sibling that was started first is the first: only another order shows it.
    by_handle: set[Lifecycle] = set()
    dispose, unwind = Handle.dispose, teardown.unwind

    def noting(handle: Handle) -> Call[None]:
        by_handle.add(handle.agent._core.lifecycle)
        return dispose(handle)

    async def detach_agent(lifecycle: Lifecycle) -> None:
        _detach_agent(lifecycle)

    async def detach_session(lifecycle: Lifecycle) -> None:
        _detach_session(lifecycle)

    async def unwinding(lifecycle: Lifecycle) -> None:
        if lifecycle in by_handle:
            by_handle.discard(lifecycle)
            lifecycle.core.exit_driver()
            await lifecycle.core.drain_flushes()
            async with create_task_group() as siblings:
                siblings.start_soon(detach_agent, lifecycle)
                siblings.start_soon(detach_session, lifecycle)
        await unwind(lifecycle)

    patches.replace(Handle, "dispose", noting)
    patches.replace(teardown, "unwind", unwinding)


def _session_is_a_sibling(patches: Patches, ended: type[Refusal]) -> None:
    """Let an unload end the session of an agent beside the agent, and not after it."""
    begin_teardown = Lifecycle.begin_teardown

    def beginning(lifecycle: Lifecycle, cause: Refusal | None = None) -> None:
        core = lifecycle.core
        in_turn = core.session._open_turn is not None and not core.disposed()
        begin_teardown(lifecycle, cause)
        if in_turn and type(cause) is ended:
            _detach_session(lifecycle)

    patches.replace(Lifecycle, "begin_teardown", beginning)


@TEARDOWN.variant(
    "owner-ends-session-beside-agent",
    "M56",
    "DISPOSE-07",
    "An owner's unload detaches the session of an agent that is in a turn at once, and the turn's end reaches nobody.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Agent and session are two effects of one fiber, and effects end side by side.
    _session_is_a_sibling(patches, OwnerDisposed)


@TEARDOWN.variant(
    "provider-ends-session-beside-agent",
    "M56",
    "DISPOSE-07",
    "The provider's unload detaches the session of an agent that is in a turn at once.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The same on the other fiber.
    _session_is_a_sibling(patches, ProviderInactive)


@TEARDOWN.variant(
    "second-dispose-returns-early",
    "M57",
    "DISPOSE-01",
    "A dispose that is not the first returns at once, while the first still waits.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It is disposed already, so there is nothing to do.
    patches.edit(
        Handle,
        "dispose",
        (
            "lifecycle.begin_teardown()",
            """
            if lifecycle.core.disposed():
                return _returned(None)
            lifecycle.begin_teardown()
            """,
        ),
        _returned=returned,
    )


@TEARDOWN.variant(
    "throwing-observer-keeps-session",
    "M58",
    "EVENT-01",
    "A listener that throws at agent/disposed keeps the session in the store.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # The announcement stands between the two detaches.
    patches.edit(
        teardown,
        "_detach",
        (
            "kernel.events._emit(AgentDisposed(agent))",
            """
            try:
                kernel.events._announce(AgentDisposed(agent))
            except Exception:
                return
            """,
        ),
    )


@TEARDOWN.variant(
    "teardown-tears-publication",
    "M59",
    "PUBLISH-07",
    "A creation that is ended in session/created detaches its entries while later listeners are still to be called.",
    needs="reaction",
)
def _(patches: Patches) -> None:
    # It does not look whether a publication is on the stack.
    patches.edit(
        Lifecycle,
        "begin_teardown",
        (
            "if not self.publishing:",
            """
            if self.publishing:
                self.core.stop()
                _detach(self)
            else:""",
        ),
        _detach=teardown._detach,
    )


@TEARDOWN.variant(
    "claimed-after-disposal",
    "M61",
    "DISPOSE-10",
    "A prompt that waits when the agent is disposed still runs.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # The loop ends when there is nothing left to do.
    patches.edit(
        driver,
        "drive",
        ("while not core.disposed():", "while not core.disposed() or inbox.has_queued():"),
    )
    patches.edit(driver, "_install_turn", ("if core.disposed():", "if False:"))


@TEARDOWN.variant(
    "unload-forgets-teardowns-of-others",
    "D5",
    "OWNER-03",
    "An owner's unload does not wait for the agents whose end somebody else had begun.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Who is disposed has left the owner; in truth it is still leaving.
    patches.edit(
        Incarnation,
        "_end_members",
        (
            "members = tuple(reversed(self._members))",
            """
            members = tuple(reversed(self._members))
            if self._ended is OwnerDisposed:
                members = tuple(member for member in members if not member.core.disposed())
            """,
        ),
    )


@TEARDOWN.variant(
    "owner-disposes-what-is-gone",
    "M63",
    "DISPOSE-06",
    "An agent that its handle has ended in a turn still belongs to its owner, whose unload announces its end again.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The owner is told by the shorter of two ways out. What always happened would fail most traces.
    kept: dict[Incarnation, list[Lifecycle]] = {}
    dispose, end_members = Handle.dispose, Incarnation._end_members

    def disposing(handle: Handle) -> Call[None]:
        lifecycle = handle.agent._core.lifecycle
        owner = lifecycle.owner
        if owner is not None and owner.unloading is None and handle.agent.statistics().turn and lifecycle.active:
            kept.setdefault(owner, []).append(lifecycle)
        return dispose(handle)

    async def ending(incarnation: Incarnation) -> None:
        await end_members(incarnation)
        for lifecycle in reversed(kept.pop(incarnation, ())):
            lifecycle.kernel.events._emit(AgentDisposed(lifecycle.core.agent))

    patches.replace(Handle, "dispose", disposing)
    patches.replace(Incarnation, "_end_members", ending)


@TEARDOWN.variant(
    "id-is-free-at-disposal",
    "M64",
    "CREATE-05",
    "An id can be taken as soon as its agent is disposed, while the old session is still stored.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Who is disposed does not count; the newcomer takes the entries over.
    patches.edit(
        owners.Provider,
        "_begin_creation",
        ("if id in kernel.sessions:", "if id in kernel.sessions and not _ending(kernel.agents.get(id)):"),
        _ending=lambda agent: agent is not None and agent._core.disposed() and agent._core.turn is not None,
    )
    patches.edit(
        creation,
        "_show",
        (
            "kernel.sessions._enter(agent.session)",
            """
            old = kernel.agents.get(agent.id)
            if old is not None and old._core.disposed():
                kernel.agents._detach(old)
                kernel.sessions._detach(old.session)
            kernel.sessions._enter(agent.session)
            """,
        ),
    )


@TEARDOWN.variant(
    "id-is-kept-by-the-scope",
    "M64",
    "REGISTRY-03",
    "An id can't be taken before the cleanups of the old agent have ended.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The id is given back at the very end.
    kept: dict[tuple[int, str], int] = {}
    end_scope = teardown._end_scope

    async def ending(lifecycle: Lifecycle) -> None:
        key = id(lifecycle.kernel), lifecycle.scope.id
        announced = lifecycle.session_announced
        kept[key] = kept.get(key, 0) + announced
        await end_scope(lifecycle)
        kept[key] -= announced

    patches.replace(teardown, "_end_scope", ending)
    patches.edit(
        owners.Provider,
        "_begin_creation",
        ("if id in kernel.sessions:", "if id in kernel.sessions or _kept(kernel, id):"),
        _kept=lambda kernel, name: bool(kept.get((id(kernel), name))),
    )


@TEARDOWN.variant(
    "detached-before-injected-flush",
    "B28",
    "DISPOSE-05",
    "A teardown does not wait for the flushes of injections.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Nobody waits for them when they begin, and nobody at the end.
    patches.edit(teardown, "unwind", ("await core.drain_flushes()", "pass"))


@TEARDOWN.variant(
    "disposal-forgets-the-turn",
    "D.2",
    "DISPOSE-02",
    "Disposal does not tell the work of the turn in progress, which goes on.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The turn ends where it looks, but nobody tells those who wait.
    patches.edit(
        Core,
        "stop",
        (
            "self.turn.signal._fire(AbortCause.DISPOSED)",
            "self.turn.signal._cause = self.turn.signal._cause or AbortCause.DISPOSED",
        ),
    )


@TEARDOWN.variant(
    "disposed-turn-says-aborted",
    "D2",
    "DISPOSE-04",
    "A turn that disposal has stopped ends as aborted, as if somebody had cancelled it.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # Its signal has fired; why, nobody asks.
    patches.edit(turns, "_reason", ("if core.disposed():", "if False:"))


@TEARDOWN.variant(
    "end-announced-as-a-beginning",
    "L9",
    "DISPOSE-06",
    "The agent that is detached is announced once more as created.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # Copied from where it is entered.
    patches.edit(
        teardown,
        "_detach",
        ("kernel.events._emit(AgentDisposed(agent))", "kernel.events._emit(AgentCreated(agent))"),
        AgentCreated=AgentCreated,
    )


@TEARDOWN.variant(
    "scope-unwinds-first",
    "N9",
    "DISPOSE-08",
    "What belongs to an agent is cleaned up while the agent is still registered.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # From the inside out. An agent that has had children is left alone, since their end would be reported first.
    parents: set[Lifecycle] = set()
    adopt = Lifecycle.adopt

    def adopting(lifecycle: Lifecycle, child: Lifecycle) -> None:
        parents.add(lifecycle)
        adopt(lifecycle, child)

    async def unwinding(lifecycle: Lifecycle) -> None:
        core = lifecycle.core
        core.exit_driver()
        await core.drain_flushes()
        if lifecycle.agent_announced and lifecycle not in parents:
            await teardown._end_scope(lifecycle)
        teardown._detach(lifecycle)
        await teardown._end_scope(lifecycle)
        lifecycle.finish()

    patches.replace(Lifecycle, "adopt", adopting)
    patches.replace(teardown, "unwind", unwinding)
