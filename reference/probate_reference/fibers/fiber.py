"""Run a plug-in in its place in the tree: one fiber, from pending to disposed.

A fiber has a *body*, which sets things up, and it wants to be loaded while every service that it
declares has an active provider. Whether it is wanted changes at any time and as often as it likes,
but only one transition runs at a time, and what changes meanwhile is only noted: when the
transition has ended the fiber compares what is wanted with what it has. So a provider that goes and
comes back while its dependents still load costs them nothing, and one that is replaced costs them
exactly one reload. Which *fiber* provides is compared, not what it provides.

A load begins to be seen at once and runs its body a step later; should nothing be wanted any more
by then, the body never runs. A body is never interrupted. One that fails leaves the fiber
``failed``, with everything undone that it had set up, until a dependency changes or somebody
restarts it.

An unload takes nothing more on from the moment it is asked for. A step later everything that belongs
to the fiber begins to end in one go, the newest first: effects, children, and the agents that were
created through it. The unload waits for all of them, and for everybody who uses its services.

A disposed fiber is never loaded again. Everybody who disposes it shares one end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeAlias

from anyio import CancelScope
from anyio.lowlevel import cancel_shielded_checkpoint

from probate_reference.calls import Call, Frame, enter_fiber, leave_frames, raised, returned
from probate_reference.owners import Incarnation
from probate_reference.refusals import Inactive, NotInjected, OwnerDisposed, ServiceExists
from probate_reference.reports import is_failure

from .effects import Effect
from .services import Provision

if TYPE_CHECKING:
    from probate_reference.creation import Creation
    from probate_reference.kernel import Kernel
    from probate_reference.refusals import Refusal
    from probate_reference.seams import Cleanup, Setup
    from probate_reference.signals import CreationSignal

    from .effects import EffectSetup
    from .tree import FiberTree

__all__ = ("Body", "Fiber", "FiberState")

Body: TypeAlias = Callable[["Fiber"], object]
"""What a plug-in does when it is loaded; what it returns is awaited if it can be."""


class FiberState(StrEnum):
    """How a fiber is; ``disposed`` is never left."""

    PENDING = "pending"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    UNLOADING = "unloading"
    DISPOSED = "disposed"


_IN_TRANSITION = (FiberState.LOADING, FiberState.UNLOADING)
_OPEN = (FiberState.PENDING, FiberState.LOADING, FiberState.ACTIVE)


class FiberEnd(Call[None]):
    """Returns when a fiber is disposed and everything that belonged to it has ended."""

    __slots__ = ("_fiber",)

    def __init__(self, fiber: Fiber) -> None:
        super().__init__()
        self._fiber = fiber

    def _waits_for(self, frame: Frame) -> bool:
        awaited = (self._fiber, *self._fiber._dependents())
        return any(fiber in awaited for fiber in frame.fibers())


class Rest(Call[None]):
    """Returns when a fiber has no transition left."""

    __slots__ = ("_fiber",)

    def __init__(self, fiber: Fiber) -> None:
        super().__init__()
        self._fiber = fiber

    def _waits_for(self, frame: Frame) -> bool:
        return any(fiber is self._fiber for fiber in frame.fibers())


class Fiber:
    """One plug-in in its place in the tree. The root of the tree is one without a body.

    :ivar tree: the tree that it is part of
    :ivar parent: the fiber that it belongs to; ``None`` for the root
    :ivar name: what it is called in reports
    :ivar inject: the names of the services that it declares
    :ivar config: what the body was to be given
    :ivar error: why the body failed last, or ``None``
    """

    __slots__ = (
        "_body",
        "_bound",
        "_end",
        "_holding",
        "_kernel",
        "_life",
        "_own",
        "_resting",
        "_running",
        "_state",
        "config",
        "error",
        "inject",
        "name",
        "parent",
        "tree",
    )

    def __init__(
        self,
        tree: FiberTree,
        parent: Fiber | None,
        body: Body | None,
        name: str,
        inject: Sequence[str],
        config: object,
    ) -> None:
        self.tree = tree
        self.parent = parent
        self.name = name
        self.inject = tuple(inject)
        self.config = config
        self.error: BaseException | None = None
        self._kernel: Kernel = tree._kernel
        self._body = body
        self._state = FiberState.ACTIVE if parent is None else FiberState.PENDING
        self._life = Incarnation(self._kernel, OwnerDisposed, self)
        self._bound: dict[str, Provision] | None = None
        self._own: dict[str, Provision] = {}
        self._holding: list[Provision] = []
        self._resting: list[Rest] = []
        self._running = False
        self._end: FiberEnd | None = None

    @property
    def state(self) -> FiberState:
        """How it is at this moment."""
        return self._state

    @property
    def children(self) -> tuple[Fiber, ...]:
        """The fibers that belong to it, oldest first."""
        return tuple(member for member in self._life.members if isinstance(member, Fiber))

    @property
    def open(self) -> bool:
        """Whether anything can still be added to it: it is pending, loading or active, and nobody disposes it."""
        return self._end is None and self._state in _OPEN

    def line(self) -> Iterator[Fiber]:
        """Yield this fiber and its ancestors, the nearest first."""
        fiber: Fiber | None = self
        while fiber is not None:
            yield fiber
            fiber = fiber.parent

    def __repr__(self) -> str:
        return f"<Fiber {self.name!r} {self._state}>"

    # What belongs to it

    def plug(self, body: Body, *, name: str = "", inject: Sequence[str] = (), config: object = None) -> Fiber:
        """Plug in a plug-in, as a child of this fiber.

        Nothing of its body runs before a later step; await :meth:`rest` to know how it went.

        :param body: sets the plug-in up each time it is loaded; called with its fiber
        :param name: what to call it in reports; the body's own name if none is given
        :param inject: the services without which it is not loaded
        :param config: kept for the body
        :return: the new fiber
        :raises Inactive: if this fiber is failed, unloading or disposed
        """
        self._kernel.require_started()
        self._require_open()
        child = Fiber(self.tree, self, body, name or getattr(body, "__name__", "plug-in"), inject, config)
        self._life.adopt(child)
        self.tree._add(child)
        child._refresh()
        return child

    def effect(self, setup: EffectSetup) -> Effect:
        """Set something up that has to be undone when this fiber unloads.

        :param setup: does it, and gives one disposer, several, or a generator of them; a disposer that a generator
            has yielded is run even if the generator fails later. Another effect of a fiber may be given instead of a
            disposer, and belongs to this effect from then on
        :return: the effect; await its ``ready`` if the setup is an asynchronous generator
        :raises Inactive: if this fiber is failed, unloading or disposed
        :raises BaseException: what a synchronous setup raises; what it had set up is undone in later steps
        """
        self._require_open()
        effect = Effect(self)
        self._life.adopt(effect)
        effect._set_up(setup)
        return effect

    def provide(self, name: str, value: object) -> Provision:
        """Provide a service; it can be had once this fiber is active, and until it unloads.

        :return: the provision, whose ``dispose`` withdraws the service before that
        :raises Inactive: if this fiber is failed, unloading or disposed
        :raises ServiceExists: if somebody provides a service of that name
        """
        self._require_open()
        services = self.tree._services
        if name in services:
            raise ServiceExists(f"service {name!r} is provided by {services[name].fiber.name!r}")
        services[name] = self._own[name] = provision = Provision(self, name, value)
        self._life.adopt(provision)
        if self._state is FiberState.ACTIVE:
            self.tree._refresh([name])
        return provision

    def create(
        self,
        id: str,
        *,
        setup: Setup | None = None,
        signal: CreationSignal | None = None,
        cleanups: tuple[Cleanup, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Creation:
        """Begin to create an agent that belongs to this fiber, as :meth:`Owner.create` does for an owner.

        The agent, its session and its scope are one member of the fiber, and end in their own order inside it.
        """
        return self.tree._provider._begin_creation(self._life, id, setup, signal, cleanups, metadata)

    def resume(
        self,
        id: str,
        *,
        setup: Setup | None = None,
        signal: CreationSignal | None = None,
        cleanups: tuple[Cleanup, ...] = (),
    ) -> Creation:
        """Begin to create an agent that goes on with a stored log and belongs to this fiber; see :meth:`create`."""
        return self.tree._provider._begin_creation(self._life, id, setup, signal, cleanups, resumes=True)

    # Services

    def use(self, name: str) -> object:
        """Return a service that this fiber or an ancestor declares or provides.

        What was declared is the service of the provider that it is bound to, until its own unload has ended. What it
        provides itself it can use until everybody else has done with it.

        :raises NotInjected: if nobody in its line declares or provides it
        :raises Inactive: if who declares it is not loaded
        """
        for fiber in self.line():
            if name in fiber._own:
                return fiber._own[name].value
            if name in fiber.inject:
                if fiber._bound is None or fiber._state not in (FiberState.ACTIVE, *_IN_TRANSITION):
                    raise Inactive(f"{fiber.name!r} is not loaded, so it has no service {name!r}")
                return fiber._bound[name].value
        raise NotInjected(f"neither {self.name!r} nor an ancestor declares service {name!r}")

    # Its end

    def rest(self) -> Call[None]:
        """Return a call that returns when no transition is left; it never raises, see ``error`` and ``state``."""
        if self._state not in _IN_TRANSITION:
            return returned(None)
        rest = Rest(self)
        self._resting.append(rest)
        return rest

    def restart(self) -> Call[None]:
        """Unload it and load it again, or try again if it has failed.

        A transition under way is not disturbed: while the fiber still loads there is nothing to restart.

        :return: a call that returns when no transition is left, or raises :class:`Inactive` if it is disposed
        :raises RuntimeError: for the root
        """
        self._require_parent()
        if self._end is not None:
            return raised(Inactive(f"fiber {self.name!r} is disposed"))
        if self._state is FiberState.ACTIVE:
            self._begin_unload()
            self._run()
        elif self._state is FiberState.FAILED:
            self._bound = None
            self._refresh()
        return self.rest()

    def dispose(self) -> Call[None]:
        """End it for good, with everything that belongs to it.

        It begins to unload at once, unless it is in a transition: that is waited for. Cancelling a task that awaits
        the end cancels the waiting only.

        :return: a call that never raises a refusal; every disposal shares it, and the end of an ancestor waits for it
        :raises RuntimeError: for the root, which ends when the runtime is left
        """
        self._require_parent()
        return self._dispose()

    def _dispose(self) -> FiberEnd:
        if self._end is None:
            self._end = FiberEnd(self)
            if self._state is FiberState.LOADING:
                # Its body can't be torn down while it runs, but nothing more is taken on.
                _ = self._life.refuse()
                self._life.call_off()
            self._refresh()
        return self._end

    def call_off(self, cause: Refusal) -> None:
        """Hear that the parent is to unload; the child goes on until it is ended."""

    def begin_end(self, cause: Refusal) -> None:  # noqa: ARG002
        """End with the parent."""
        _ = self._dispose()

    async def join_end(self) -> None:
        """Wait until it has ended."""
        if self._end is not None:
            await self._end._join()

    def waits_for(self, other: Fiber) -> bool:
        """Return whether the end of this fiber waits for another one: for a descendant, or for who uses a service."""
        seen: set[Fiber] = set()
        ahead = [self]
        while ahead:
            fiber = ahead.pop()
            for awaited in (*fiber.children, *fiber._dependents()):
                if awaited is other:
                    return True
                if awaited not in seen:
                    seen.add(awaited)
                    ahead.append(awaited)
        return False

    # Transitions

    def _wanted(self) -> dict[str, Provision] | None:
        """Return the services that it would be loaded with now, or ``None`` if it is not to be loaded."""
        if self._end is not None:
            return None
        wanted = {name: self.tree._services.get(name) for name in self.inject}
        found = {name: one for name, one in wanted.items() if one and one.fiber._state is FiberState.ACTIVE}
        return found if len(found) == len(wanted) else None

    def _refresh(self) -> None:
        """Look at what is wanted now; in a transition that is looked at when it has ended."""
        if self._state in _IN_TRANSITION or self._state is FiberState.DISPOSED:
            return
        wanted = self._wanted()
        if self._end is not None or (self._state is FiberState.ACTIVE and not _same(wanted, self._bound)):
            self._begin_unload()
        elif self._state is not FiberState.ACTIVE and wanted is None:
            self._bound = None
        elif self._state is not FiberState.ACTIVE and wanted is not None and not _same(wanted, self._bound):
            self._begin_load(wanted)
        self._run()

    def _run(self) -> None:
        if self._state in _IN_TRANSITION and not self._running:
            self._running = self._kernel.spawn(self._move)

    async def _move(self) -> None:
        """Carry out transitions until none is left."""
        leave_frames()
        while self._state in _IN_TRANSITION:
            if self._state is FiberState.LOADING:
                await self._load()
            else:
                await self._unload()
            if self._state in _IN_TRANSITION:
                await cancel_shielded_checkpoint()
        self._running = False

    def _begin_load(self, wanted: dict[str, Provision]) -> None:
        self._bound = wanted
        self.error = None
        self._become(FiberState.LOADING)

    async def _load(self) -> None:
        ran = False
        cancelled: BaseException | None = None
        if _same(self._wanted(), self._bound):
            frame = enter_fiber(self)
            ran = True
            try:
                assert self._body is not None
                answer = self._body(self)
                if isawaitable(answer):
                    await answer
            except BaseException as failure:
                self.error = failure
                if is_failure(failure):
                    self._kernel.report(f"plug-in {self.name}", failure)
                else:
                    cancelled = failure
                    self._end = self._end or FiberEnd(self)
            frame.alive = False
        wanted = self._wanted()
        if ran and self.error is None and _same(wanted, self._bound):
            self._bound = wanted
            self._become(FiberState.ACTIVE)
            self._let_go()
            self._settle_rest()
            self.tree._refresh([name for name, one in self._own.items() if not one._withdrawn])
        else:
            self._begin_unload()
        if cancelled is not None:
            with CancelScope(shield=True):
                await self._unload()
            self._running = False
            raise cancelled

    def _begin_unload(self) -> None:
        if self._life.unloading is None:
            _ = self._life.refuse()
        self._become(FiberState.UNLOADING)
        self._life.call_off()

    async def _unload(self) -> None:
        with CancelScope(shield=True):
            await self._life._end_members()
        wanted = self._wanted()
        self._let_go()
        self._own.clear()
        if self._end is not None:
            self._bound = None
            self.tree._remove(self)
            self._become(FiberState.DISPOSED)
            self._settle_rest()
            self._end._return(None)
            return
        self._life = Incarnation(self._kernel, OwnerDisposed, self)
        failed_with = self._bound if self.error is not None else None
        if wanted is not None and not (failed_with is not None and _same(wanted, failed_with)):
            self._begin_load(wanted)
            return
        self._bound = failed_with if wanted is not None else None
        self._become(FiberState.PENDING if self.error is None else FiberState.FAILED)
        self._settle_rest()

    def _become(self, state: FiberState) -> None:
        self._state = state
        self.tree._tell(self, state)

    def _settle_rest(self) -> None:
        """Let those go on who wait for rest, unless an observer has begun the next transition."""
        if self._state not in _IN_TRANSITION:
            resting, self._resting = self._resting, []
            for rest in resting:
                rest._return(None)

    # Who waits for whom

    def _require_open(self) -> None:
        if not self.open:
            raise Inactive(f"fiber {self.name!r} is {self._state}, so nothing can be added to it")

    def _require_parent(self) -> None:
        if self.parent is None:
            raise RuntimeError("the root of the plug-in tree ends when the runtime is left")

    def _uses(self, name: str, provider: Fiber) -> bool:
        """Return whether it is loaded with a service of that provider."""
        if self._bound is None or self._state not in (FiberState.ACTIVE, *_IN_TRANSITION):
            return False
        bound = self._bound.get(name)
        return bound is not None and bound.fiber is provider

    def _dependents(self) -> list[Fiber]:
        """Return the fibers that are loaded with one of its services."""
        return [fiber for fiber in self.tree.fibers if any(fiber._uses(name, self) for name in fiber.inject)]

    def _let_go(self) -> None:
        """Let the providers go on that were waiting for it to unload."""
        holding, self._holding = self._holding, []
        for provision in holding:
            provision.told.pop(self, None)

    def _forget(self, provision: Provision) -> None:
        """Own a provision no longer."""
        self._life.release(provision)
        if self._own.get(provision.name) is provision:
            del self._own[provision.name]


def _same(one: Mapping[str, Provision] | None, other: Mapping[str, Provision] | None) -> bool:
    """Return whether two sets of services come from the same fibers."""
    if one is None or other is None:
        return one is other
    return all(other[name].fiber is provision.fiber for name, provision in one.items())
