"""Keep the tree of fibers, its services, and who watches it.

There is one tree in a runtime. Its root is always active, and everything that is plugged in belongs
to it in the end; leaving the runtime ends it for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from anyio import Event

from .fiber import Fiber, FiberState

if TYPE_CHECKING:
    from probate_reference.kernel import Kernel
    from probate_reference.owners import Provider

    from .services import Provision

__all__ = ("FiberObserver", "FiberTree", "FiberTreeStatistics")

FiberObserver: TypeAlias = Callable[[Fiber, FiberState], object]
"""Called synchronously with a fiber and the state that it has just taken on."""


@dataclass(frozen=True, slots=True)
class FiberTreeStatistics:
    """A tree at one moment.

    :ivar fibers: how many fibers there are, the root not counted
    :ivar active: how many of them are active
    :ivar services: how many services can be found by name, or will be when their provider is active
    """

    fibers: int
    active: int
    services: int


class FiberTree:
    """All fibers of one runtime."""

    __slots__ = ("_changed", "_fibers", "_kernel", "_observers", "_provider", "_services", "root")

    def __init__(self, kernel: Kernel, provider: Provider) -> None:
        self._kernel = kernel
        self._provider = provider
        self._fibers: dict[Fiber, None] = {}
        self._services: dict[str, Provision] = {}
        self._observers: dict[object, FiberObserver] = {}
        self._changed: Event | None = None
        self.root = Fiber(self, None, None, "root", (), None)
        """The fiber that everything belongs to in the end."""

    @property
    def fibers(self) -> tuple[Fiber, ...]:
        """All fibers but the root, in the order in which they were plugged in."""
        return tuple(self._fibers)

    @property
    def services(self) -> dict[str, Fiber]:
        """Who provides which service at this moment, in the order in which they were provided."""
        return {name: provision.fiber for name, provision in self._services.items()}

    def get(self, name: str) -> object:
        """Look a service up by its name, whoever asks.

        :return: the service that is provided at this moment by a fiber that is active, or ``None``
        """
        provision = self._services.get(name)
        return provision.value if provision and provision.fiber.state is FiberState.ACTIVE else None

    def observe(self, observer: FiberObserver) -> Callable[[], None]:
        """Call something at every change of a fiber's state; what it raises is reported and harms nobody.

        :return: a function that takes it back
        """
        key = object()
        self._observers[key] = observer

        def remove() -> None:
            self._observers.pop(key, None)

        return remove

    def statistics(self) -> FiberTreeStatistics:
        """Return the state of the tree at this moment."""
        return FiberTreeStatistics(
            fibers=len(self._fibers),
            active=sum(fiber.state is FiberState.ACTIVE for fiber in self._fibers),
            services=len(self._services),
        )

    def _add(self, fiber: Fiber) -> None:
        self._fibers[fiber] = None

    def _remove(self, fiber: Fiber) -> None:
        self._fibers.pop(fiber, None)
        if fiber.parent is not None:
            fiber.parent._life.release(fiber)

    def _refresh(self, names: Sequence[str]) -> None:
        """Let the fibers that declare one of these services look whether they are wanted."""
        for fiber in self.fibers:
            if any(name in fiber.inject for name in names):
                fiber._refresh()

    def _tell(self, fiber: Fiber, state: FiberState) -> None:
        for observer in tuple(self._observers.values()):
            try:
                observer(fiber, state)
            except BaseException as raised:
                self._kernel.contain("fiber observer", raised)
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    async def _change(self) -> None:
        """Wait until a fiber has changed its state."""
        if self._changed is None:
            self._changed = Event()
        await self._changed.wait()

    def _end(self) -> None:
        """Begin to end the root, because the runtime is being left."""
        _ = self.root._dispose()
