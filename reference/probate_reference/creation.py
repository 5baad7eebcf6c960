"""Bring an agent into the world, or leave no trace of it.

A creation prepares in private and publishes in one synchronous go. In between anything may have
happened: the owner or the provider may be gone, the signal may have fired, the lifecycle may have
been withdrawn, or somebody else may have published the same id. So the publication looks again
before it begins and after every announcement, because an observer of the announcement may do any of
these too. A creation that failed is rolled back completely before its call raises, and what it
raises is the first cause, never something that went wrong while rolling back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import CancelScope

from .agent import Handle
from .calls import Call, Frame, returned
from .events import AgentCreated, SessionCreated, SessionStart, StartSource
from .refusals import IdExists
from .reports import is_failure

if TYPE_CHECKING:
    from .agent import Agent
    from .lifecycle import Lifecycle
    from .refusals import Refusal
    from .seams import Setup

__all__ = ("Creation", "publish", "run_load", "run_setup")


class Creation(Call[Handle]):
    """A creation that has begun; await it for the handle."""

    __slots__ = ("_lifecycle",)

    def __init__(self, lifecycle: Lifecycle | None) -> None:
        super().__init__()
        self._lifecycle = lifecycle

    @property
    def agent(self) -> Agent | None:
        """The agent that is being made, also before it is published; ``None`` if refused at once."""
        return None if self._lifecycle is None else self._lifecycle.core.agent

    def withdraw(self) -> Call[None]:
        """End this one lifecycle, whether the agent exists yet or not.

        A pending creation is called off and raises :class:`LifecycleDisposed`; an agent is disposed
        as by its handle. A creation that was refused has nothing to end.

        :return: the call that every other disposal of this agent returns too
        """
        if self._lifecycle is None:
            return returned(None)
        self._lifecycle.begin_teardown()
        return self._lifecycle.boundary

    def _waits_for(self, frame: Frame) -> bool:
        return any(lifecycle is self._lifecycle for lifecycle in frame.line())


def refused(refusal: Refusal) -> Creation:
    """Return a creation that never began."""
    creation = Creation(None)
    creation._raise(refusal)
    return creation


async def run_load(lifecycle: Lifecycle) -> None:
    """Read the stored log until that is done or the lifecycle is deactivated, whichever is first."""
    kernel = lifecycle.kernel
    session = lifecycle.core.session
    assert kernel.persistence is not None
    with CancelScope() as scope:
        lifecycle.private_scope = scope
        try:
            stored = await kernel.persistence.load(lifecycle.core.agent)
            if session.id in kernel.sessions:
                raise IdExists(f"session {session.id!r} already exists")
            session._seed(stored.records, stored.header.metadata)
        except BaseException as raised:
            _fail(lifecycle, raised, "load")
        finally:
            lifecycle.private_scope = None


async def run_setup(lifecycle: Lifecycle, setup: Setup) -> None:
    """Run the setup until it ends or the lifecycle is deactivated, whichever is first."""
    with CancelScope() as scope:
        lifecycle.private_scope = scope
        try:
            await setup(lifecycle.scope)
        except BaseException as raised:
            _fail(lifecycle, raised, "setup")
        finally:
            lifecycle.private_scope = None


def publish(lifecycle: Lifecycle) -> None:
    """Show the agent to the world in one go; on any failure leave the lifecycle inactive."""
    lifecycle.publishing = True
    try:
        _show(lifecycle)
    except BaseException as raised:
        _fail(lifecycle, raised, "publication")
    finally:
        lifecycle.publishing = False
    if lifecycle.wanted():
        lifecycle.settle_creation()


def _show(lifecycle: Lifecycle) -> None:
    kernel = lifecycle.kernel
    agent = lifecycle.core.agent
    kernel.sessions._enter(agent.session)
    if kernel.persistence is not None:
        kernel.persistence.attach(agent.session)
    kernel.agents._enter(agent, None if lifecycle.parent is None else lifecycle.parent.core.agent)
    lifecycle.session_announced = True
    kernel.events._announce(SessionCreated(agent))
    if not lifecycle.wanted():
        return
    lifecycle.agent_announced = True
    kernel.events._announce(AgentCreated(agent))
    if not lifecycle.wanted():
        return
    lifecycle.core.published = True
    kernel.events._emit(SessionStart(agent, StartSource.RESUME if lifecycle.resumes else StartSource.STARTUP))


def _fail(lifecycle: Lifecycle, raised: BaseException, place: str) -> None:
    """Take a failure as the cause, or report it if there is a cause already."""
    if not is_failure(raised):
        raise raised
    if lifecycle.active:
        lifecycle.deactivate(raised)
    else:
        lifecycle.kernel.report(place, raised)
