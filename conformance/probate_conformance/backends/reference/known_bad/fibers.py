"""Defects of the plug-in tree."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from inspect import iscoroutine
from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference.calls import returned
from probate_reference.events import SessionDisposed
from probate_reference.fibers import fiber as fibers
from probate_reference.fibers.effects import Effect
from probate_reference.fibers.fiber import Fiber, FiberState
from probate_reference.fibers.services import Provision
from probate_reference.fibers.tree import FiberTree
from probate_reference.lifecycle import Lifecycle
from probate_reference.owners import Incarnation
from probate_reference.refusals import OwnerDisposed, ProviderInactive, Refusal

FIBERS: Final = Family("fibers")


def _session_is_a_sibling(patches: Patches, of: type[Refusal], *, at_once: bool = False) -> None:
    begin_end = Lifecycle.begin_end

    def beginning(lifecycle: Lifecycle, cause: Refusal) -> None:
        begin_end(lifecycle, cause)
        kernel, agent = lifecycle.kernel, lifecycle.core.agent

        def end_session() -> None:
            if kernel.sessions._detach(agent.session) and lifecycle.session_announced:
                kernel.events._emit(SessionDisposed(agent))

        async def end_beside() -> None:
            end_session()

        if type(cause) is of and at_once:
            end_session()
        elif type(cause) is of:
            kernel.spawn(end_beside)

    patches.replace(Lifecycle, "begin_end", beginning)


@FIBERS.variant(
    "session-is-a-sibling-of-its-agent",
    "M56",
    "DISPOSE-07",
    "A fiber's unload ends the session of an agent beside the agent, so that its closing record reaches nobody.",
)
def _(patches: Patches) -> None:
    # Two things were set up, so they are two effects; a handle's dispose ends them in order.
    _session_is_a_sibling(patches, OwnerDisposed)


@FIBERS.variant(
    "session-is-a-sibling-at-the-provider",
    "M56",
    "DISPOSE-07",
    "The provider's unload ends the session of an agent beside the agent.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # The provider has its own list of what it made, and it has both in it.
    _session_is_a_sibling(patches, ProviderInactive, at_once=True)


@FIBERS.variant(
    "agent-is-let-go-and-not-awaited",
    "D5",
    "FIBER-11",
    "A fiber's unload begins to end its agents and does not wait for them.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # An agent can look after itself.
    async def join_end(lifecycle: Lifecycle) -> None:
        if lifecycle.owner is None or lifecycle.owner.fiber is None:
            await lifecycle.boundary._join()

    patches.replace(Lifecycle, "join_end", join_end)


@FIBERS.variant(
    "siblings-end-one-by-one",
    "H1",
    "EFFECT-02",
    "The effects of a fiber that unloads end one after the other.",
    needs="gate",
    blunt=True,
)
def _(patches: Patches) -> None:
    # It is what a loop with an await in it does.
    patches.edit(
        Incarnation,
        "_end_members",
        (
            """
            for member in members:
                member.begin_end(self._refusal())
            """,
            """
            effects = [member for member in members if self.fiber is not None and isinstance(member, _Effect)]
            for member in members:
                if member not in effects:
                    member.begin_end(self._refusal())
            for member in effects:
                member.begin_end(self._refusal())
                await member.join_end()
            """,
        ),
        _Effect=Effect,
    )


@FIBERS.variant(
    "effects-end-oldest-first",
    "L23",
    "EFFECT-02",
    "The effects of a fiber begin to end in the order in which they were set up.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # The order of the list.
    patches.edit(
        Incarnation,
        "_end_members",
        (
            "members = tuple(reversed(self._members))",
            "members = tuple(self._members) if self.fiber else tuple(reversed(self._members))",
        ),
    )


@FIBERS.variant(
    "members-end-in-order",
    "L23",
    "EFFECT-03",
    "The members of one effect are undone in the order in which they were set up.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # A queue instead of a stack.
    patches.edit(Effect, "_call_last", ("self._disposers.pop()()", "self._disposers.pop(0)()"))


def _drop(begun: Iterable[Awaitable[object] | None]) -> None:
    """Close what nobody will await, so that Python does not complain of it."""
    for answer in begun:
        if iscoroutine(answer):
            answer.close()


@FIBERS.variant(
    "members-end-side-by-side",
    "H2",
    "EFFECT-03",
    "The members of one effect are all called before the first has ended.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # Every disposer is called, and what they return is gathered; what comes after one that fails is dropped.
    patches.edit(
        Effect,
        "_go_on",
        (
            "frame = enter_fiber(self._fiber, self)",
            """
            frame = enter_fiber(self._fiber, self)
            begun_all = [begun]
            while self._disposers:
                begun_all.append(self._call_last())
            """,
        ),
        (
            "if begun is not None:\n    await begun",
            """
            while begun_all:
                begun = begun_all.pop(0)
                if begun is not None:
                    await begun
            """,
        ),
        ("frame.alive = False", "_drop(begun_all)\nframe.alive = False"),
        _drop=_drop,
    )


@FIBERS.variant(
    "failing-member-is-passed-over",
    "H3",
    "EFFECT-04",
    "A member that fails is reported, and the rest of its effect is undone all the same.",
)
def _(patches: Patches) -> None:
    # Robust, and wrong for whoever relies on the order.
    patches.edit(Effect, "_fail", ("self._disposers.clear()", "pass"))


@FIBERS.variant(
    "failing-member-stops-siblings",
    "M79",
    "EFFECT-05",
    "When a member fails, the effects beside its own are not undone any further.",
)
def _(patches: Patches) -> None:
    # The first failure ends the whole task group.
    fail = Effect._fail

    def failing(effect: Effect, failure: BaseException) -> None:
        fail(effect, failure)
        for member in effect._fiber._life.members:
            if isinstance(member, Effect) and effect._fiber._state is FiberState.UNLOADING:
                member._disposers.clear()

    patches.replace(Effect, "_fail", failing)


@FIBERS.variant(
    "failing-setup-leaves-members",
    "M83",
    "EFFECT-06",
    "A setup that fails leaves what it had set up as it is.",
)
def _(patches: Patches) -> None:
    # What failed was not set up, so there is nothing to undo.
    patches.edit(Effect, "_collect_later", ("await self._go_on(self._call_last())", "self._finish()"))


@FIBERS.variant(
    "second-effect-dispose-returns-early",
    "H9",
    "EFFECT-07",
    "A second disposal of an effect returns at once.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # A flag says that it is done already; in truth it is being done.
    dispose = Effect.dispose
    patches.replace(Effect, "dispose", lambda effect: dispose(effect) if effect._end is None else returned(None))


@FIBERS.variant(
    "end-overtakes-the-setup",
    "H10",
    "EFFECT-08",
    "The end of an effect does not wait for its setup, and undoes what there is so far.",
)
def _(patches: Patches) -> None:
    # Whoever disposes does not want it any more.
    patches.edit(Effect, "_undo", ("await self._ready._join()", "pass"))


@FIBERS.variant(
    "dying-fiber-takes-effects",
    "H6",
    "EFFECT-01",
    "An effect can be registered on a fiber that unloads, and nobody ever undoes it.",
)
def _(patches: Patches) -> None:
    # Only what is disposed is dead.
    patches.edit(
        Fiber, "effect", ("self._require_open()", "if self._state is FiberState.DISPOSED:\n    self._require_open()")
    )


@FIBERS.variant(
    "dying-fiber-takes-children",
    "H6",
    "FIBER-12",
    "A plug-in can be plugged into a fiber that somebody disposes.",
)
def _(patches: Patches) -> None:
    # It is not gone yet.
    patches.edit(
        Fiber, "plug", ("self._require_open()", "if self._state is FiberState.DISPOSED:\n    self._require_open()")
    )


@FIBERS.variant(
    "second-dispose-of-a-fiber-returns-early",
    "H9",
    "FIBER-08",
    "A second disposal of a fiber returns at once.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It was disposed already; in truth it still unloads.
    dispose = Fiber.dispose
    patches.replace(Fiber, "dispose", lambda fiber: dispose(fiber) if fiber._end is None else returned(None))


@FIBERS.variant(
    "parent-does-not-wait-for-children",
    "H11",
    "FIBER-09",
    "A fiber has unloaded while a child of it still does.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The child was told.
    async def join_end(fiber: Fiber) -> None:
        del fiber

    patches.replace(Fiber, "join_end", join_end)


@FIBERS.variant(
    "children-live-on",
    "H11",
    "FIBER-09",
    "A fiber that unloads leaves its children as they are.",
)
def _(patches: Patches) -> None:
    # Each was plugged in by itself; those with agents are ended for their sake, those of a fiber with effects of its
    # own in line with these.
    def begin_end(fiber: Fiber, cause: Refusal) -> None:
        del cause
        assert fiber.parent is not None
        with_agents = any(isinstance(member, Lifecycle) for member in fiber._life.members)
        if with_agents or any(isinstance(member, Effect) for member in fiber.parent._life.members):
            _ = fiber._dispose()

    patches.replace(Fiber, "begin_end", begin_end)


@FIBERS.variant(
    "unwanted-body-runs",
    "H.2",
    "FIBER-01",
    "A body runs although its fiber was disposed, or lost its provider, a moment before.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # It was decided when the load was announced.
    patches.edit(Fiber, "_load", ("if _same(self._wanted(), self._bound):\n    frame", "if True:\n    frame"))


@FIBERS.variant(
    "failed-body-is-active",
    "H11",
    "FIBER-04",
    "A fiber whose body failed is active, with what it had set up.",
)
def _(patches: Patches) -> None:
    # The failure is reported; the rest of it works.
    patches.edit(Fiber, "_load", ("if ran and self.error is None and", "if ran and"))


@FIBERS.variant(
    "flap-reloads",
    "M82",
    "FIBER-05",
    "A service that was withdrawn and provided again while a dependent loads makes it load again.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It is not the very same object.
    patches.edit(
        Fiber,
        "_load",
        ("self.error is None and _same(wanted, self._bound)", "self.error is None and wanted == self._bound"),
    )


@FIBERS.variant(
    "stale-provider-stays-bound",
    "M82",
    "FIBER-05",
    "A fiber whose provider was replaced while it loaded keeps the old one.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # The service is there, so nothing has changed.
    patches.edit(fibers, "_same", ("other[name].fiber is provision.fiber", "name in other"))


@FIBERS.variant(
    "replaced-provider-loads-nobody",
    "M82",
    "SERVICE-04",
    "A fiber that unloads because its provider was replaced stays unloaded.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It will be told when the other one is active; in truth it was told while it unloaded.
    patches.edit(
        Fiber,
        "_unload",
        (
            "wanted = self._wanted()",
            "wanted = self._wanted()\nif self._bound and not _same(wanted, self._bound):\n    wanted = None",
        ),
    )


@FIBERS.variant(
    "provider-ends-before-dependents",
    "M81",
    "SERVICE-03",
    "A provider has unloaded while those that use its service still do.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # They were told.
    async def unused(provision: Provision) -> None:
        del provision

    patches.replace(Provision, "_unused", unused)


@FIBERS.variant(
    "dependents-are-told-at-the-end",
    "H.2",
    "SERVICE-02",
    "A provider tells its dependents when its own unload begins to end things, and not when it is asked for.",
)
def _(patches: Patches) -> None:
    # A service is an effect like any other.
    def call_off(provision: Provision, cause: Refusal) -> None:
        del provision, cause

    def begin_end(provision: Provision, cause: Refusal) -> None:
        del cause
        provision.withdraw()

    patches.replace(Provision, "call_off", call_off)
    patches.replace(Provision, "begin_end", begin_end)


@FIBERS.variant(
    "everybody-waits-in-a-circle",
    "M119",
    "SERVICE-08",
    "A provider waits for a dependent whose own end waits for the provider, and neither ever ends.",
)
def _(patches: Patches) -> None:
    # Whoever was told is waited for; when the runtime is left they are torn apart, so that it can be.
    waits_for = Fiber.waits_for
    patches.replace(
        Fiber, "waits_for", lambda fiber, other: fiber.tree.root._end is not None and waits_for(fiber, other)
    )


@FIBERS.variant(
    "second-provider-takes-over",
    "H14",
    "SERVICE-01",
    "A second provider of a service takes its name from the first.",
)
def _(patches: Patches) -> None:
    # The newest wins, once it is loaded; a body that is refused a name fails, and that is another clause's.
    patches.edit(
        Fiber, "provide", ("if name in services:", "if name in services and self._state is FiberState.LOADING:")
    )


@FIBERS.variant(
    "undeclared-service-can-be-used",
    "H.2",
    "SERVICE-05",
    "A fiber can use what nobody in its line declares, if it is provided.",
)
def _(patches: Patches) -> None:
    # It is there, after all.
    patches.edit(
        Fiber,
        "use",
        (
            "raise NotInjected(",
            """
            if self.tree.get(name) is not None:
                return self.tree.get(name)
            raise NotInjected(
            """,
        ),
    )


@FIBERS.variant(
    "lookup-finds-what-loads",
    "H.2",
    "SERVICE-06",
    "A service can be looked up by its name before its provider is active.",
)
def _(patches: Patches) -> None:
    # It is registered already.
    patches.edit(FiberTree, "get", ("provision and provision.fiber.state is FiberState.ACTIVE", "provision"))


@FIBERS.variant(
    "name-is-taken-until-the-end",
    "H.2",
    "SERVICE-07",
    "The name of a service is free only when its provider has unloaded.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It is still provided, to those who are bound to it.
    patches.edit(
        Fiber,
        "provide",
        ("if name in services:", "if name in services or name in {n for f in self.tree.fibers for n in f._own}:"),
        ("services[name].fiber.name", "name"),
    )


@FIBERS.variant(
    "restart-returns-early",
    "H.2",
    "FIBER-10",
    "A restart returns before the fiber has loaded again.",
)
def _(patches: Patches) -> None:
    # It has begun.
    patches.edit(Fiber, "restart", ("return self.rest()", "return returned(None)"))
