"""Provide services under a name, and know who uses them.

A service is what one fiber offers to all others. It can be had in two ways, and they answer different
questions. A fiber that *declares* a service lives only while there is one: it is bound to one
provider from its load to the end of its unload, so its disposers can still use what its body used.
Anybody may also *look up* a name, and gets what is offered at that very moment, or nothing.

A provider that ends says so first. From the moment its unload is asked for, its services are found
under their names no more, and each name is free; those bound to it are told, and begin to unload.
The provider's own effects may end beside theirs, but its end waits for them, so that nothing is
taken from under the hands of who still uses it. Nobody waits in a circle, though: a dependent that
itself waits for the provider is not waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CancelScope

from probate_reference.calls import Call, Frame, leave_frames, returned

if TYPE_CHECKING:
    from probate_reference.refusals import Refusal

    from .fiber import Fiber

__all__ = ("Provision",)


class ProvisionEnd(Call[None]):
    """Returns when a service is withdrawn and all who were bound to it have unloaded."""

    __slots__ = ("_provision",)

    def __init__(self, provision: Provision) -> None:
        super().__init__()
        self._provision = provision

    def _waits_for(self, frame: Frame) -> bool:
        return any(fiber in self._provision.told for fiber in frame.fibers())


class Provision:
    """One service that a fiber provides.

    :ivar fiber: the provider
    :ivar name: the name of the service
    :ivar value: the service itself
    :ivar told: the dependents that were told of its end and have not unloaded yet
    """

    __slots__ = ("_end", "_withdrawn", "fiber", "name", "told", "value")

    def __init__(self, fiber: Fiber, name: str, value: object) -> None:
        self.fiber = fiber
        self.name = name
        self.value = value
        self.told: dict[Fiber, None] = {}
        self._withdrawn = False
        self._end: Call[None] | None = None

    def dispose(self) -> Call[None]:
        """Withdraw the service: its name is free at once, and those bound to it begin to unload.

        :return: a call that returns when they have unloaded; every disposal shares it
        """
        if self._end is None:
            self._end = end = ProvisionEnd(self)
            self.withdraw()
            if not self.fiber._kernel.spawn(self._wait, end):
                self._finish(end)
        return self._end

    def withdraw(self) -> None:
        """Take the service from its name and tell those that are bound to it."""
        if self._withdrawn:
            return
        self._withdrawn = True
        services = self.fiber.tree._services
        if services.get(self.name) is self:
            del services[self.name]
        dependents = [fiber for fiber in self.fiber.tree.fibers if fiber._uses(self.name, self.fiber)]
        for fiber in dependents:
            self.told[fiber] = None
            fiber._holding.append(self)
        self.fiber.tree._refresh([self.name])

    def call_off(self, cause: Refusal) -> None:  # noqa: ARG002
        """Hear that the provider is to unload."""
        self.withdraw()

    def begin_end(self, cause: Refusal) -> None:
        """End with the provider, which can use it until its own end."""

    async def join_end(self) -> None:
        """Wait until it has ended."""
        if self._end is not None:
            await self._end._join()
            return
        await self._unused()
        if self._end is None:
            self._end = returned(None)

    async def _unused(self) -> None:
        """Wait until nobody is left who has to unload first."""
        while any(not dependent.waits_for(self.fiber) for dependent in self.told):
            await self.fiber.tree._change()

    async def _wait(self, end: ProvisionEnd) -> None:
        leave_frames()
        with CancelScope(shield=True):
            await self._unused()
        self._finish(end)

    def _finish(self, end: ProvisionEnd) -> None:
        self.fiber._forget(self)
        end._return(None)
