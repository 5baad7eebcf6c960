"""Defects of owners and of the provider."""

from __future__ import annotations

from typing import Final

from anyio import create_task_group

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference import teardown
from probate_reference.lifecycle import Lifecycle
from probate_reference.owners import Incarnation, Member, Provider
from probate_reference.refusals import OwnerDisposed, ProviderInactive

OWNERS: Final = Family()


@OWNERS.variant(
    "unload-loses-waiters",
    "M32",
    "IDLE-04",
    "An owner's unload takes along those who wait for one of its agents to be idle.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # A waiter is a listener of the owner, and goes with it.
    begin_teardown = Lifecycle.begin_teardown

    def beginning(lifecycle: Lifecycle, cause: OwnerDisposed | None = None) -> None:
        if type(cause) is OwnerDisposed:
            lifecycle.core._waiters = None
        begin_teardown(lifecycle, cause)

    patches.replace(Lifecycle, "begin_teardown", beginning)


@OWNERS.variant(
    "provider-waits-for-setups",
    "M49",
    "CREATE-10",
    "The provider's unload lets setups go on, and waits for one that never returns.",
    needs="gate",
)
def _(patches: Patches) -> None:
    # It calls the creations off, and leaves what they are in the middle of.
    patches.edit(
        Lifecycle,
        "deactivate",
        (
            "if self.private_scope is not None:",
            "if self.private_scope is not None and not isinstance(cause, ProviderInactive):",
        ),
    )


@OWNERS.variant(
    "provider-ends-oldest-first",
    "D.2",
    "OWNER-01",
    "The provider's unload ends its agents in the order in which they were made.",
)
def _(patches: Patches) -> None:
    # The order of the list.
    patches.edit(
        Incarnation,
        "_end_members",
        (
            "members = tuple(reversed(self._members))",
            """
            members = tuple(self._members)
            if self._ended is not ProviderInactive:
                members = members[::-1]
            """,
        ),
    )


@OWNERS.variant(
    "provider-starts-teardowns-in-tasks",
    "D.2",
    "OWNER-01",
    "The provider's unload starts each teardown in a task of its own, so that it is left to chance which comes first.",
    needs="schedule",
    loops=("trio",),
)
def _(patches: Patches) -> None:
    # First in, first out, the tasks start in the order that is asked for.
    async def begin(member: Member, cause: ProviderInactive) -> None:
        member.begin_end(cause)

    end_members = Incarnation._end_members

    async def ending(incarnation: Incarnation) -> None:
        if incarnation._ended is ProviderInactive:
            async with create_task_group() as group:
                for member in reversed(incarnation.members):
                    group.start_soon(begin, member, ProviderInactive("unloaded"))
        await end_members(incarnation)

    patches.replace(Incarnation, "_end_members", ending)


@OWNERS.variant(
    "parent-waits-for-its-children",
    "C32",
    "OWNER-06",
    "An agent that ends waits for the agents that were created on its behalf, and does not end them.",
)
def _(patches: Patches) -> None:
    # Whoever made them will end them.
    patches.edit(teardown, "_end_scope", ("child.begin_teardown(OwnerDisposed", "_ = (OwnerDisposed"))


@OWNERS.variant(
    "owner-publishes-what-is-pending",
    "C7",
    "CREATE-09",
    "An owner's unload does not call off pending creations at once, and they are announced.",
    needs="burst",
)
def _(patches: Patches) -> None:
    # They are ended with the rest, a step later.
    patches.edit(
        Incarnation,
        "call_off",
        ("for member in tuple(self._members):", "for member in () if self._ended is OwnerDisposed else self.members:"),
    )


@OWNERS.variant(
    "inactive-provider-creates",
    "C31",
    "CREATE-03",
    "An agent can be created while the provider is not active.",
)
def _(patches: Patches) -> None:
    # Whoever has the object can use it.
    patches.edit(Provider, "_begin_creation", ("if not self.active:", "if False:"))


@OWNERS.variant(
    "provider-unload-returns-early",
    "C24",
    "OWNER-05",
    "The provider's unload returns as soon as all of its agents were told to end.",
)
def _(patches: Patches) -> None:
    # They will, soon enough.
    patches.edit(
        Incarnation,
        "_end_members",
        (
            """
            for member in members:
                await member.join_end()
            """,
            """
            for member in members if self._ended is not ProviderInactive else ():
                await member.join_end()
            """,
        ),
    )
