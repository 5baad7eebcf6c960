"""Join the parts of one runtime: what each of them needs to know of the others.

There is nothing global in this package. Whatever several parts share hangs on one kernel object,
which the runtime makes and the embedder never sees.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVarTuple, Unpack

from .events import EventBus
from .registry import AgentRegistry
from .reports import is_failure
from .session import SessionStore
from .toolbox import Toolbox

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from .persistence import Persistence
    from .reports import Report
    from .seams import Flush, Model, Prepare

__all__ = ("Kernel",)

Arguments = TypeVarTuple("Arguments")


class Kernel:
    """The shared state of one runtime."""

    __slots__ = (
        "agents",
        "closing",
        "events",
        "flushes",
        "lifecycles",
        "model",
        "persistence",
        "prepare",
        "report",
        "sessions",
        "task_group",
        "thread",
        "tools",
    )

    def __init__(
        self,
        model: Model,
        prepare: Prepare | None,
        persistence: Persistence | None,
        report: Report,
    ) -> None:
        self.model = model
        self.tools = Toolbox()
        self.prepare = prepare
        self.persistence = persistence
        self.report = report
        self.flushes: dict[object, Flush] = {}
        self.events = EventBus(self)
        self.agents = AgentRegistry()
        self.sessions = SessionStore()
        self.lifecycles = 0
        self.closing = False
        self.task_group: TaskGroup | None = None
        self.thread = 0

    def start(self, task_group: TaskGroup) -> None:
        """Take the task group in which everything runs.

        :raises RuntimeError: if there was one before
        """
        if self.task_group is not None or self.closing:
            raise RuntimeError("a runtime can be started only once")
        self.task_group = task_group
        self.thread = get_ident()

    def require_running(self) -> TaskGroup:
        """Return the task group of a runtime that runs and is not being left.

        :raises RuntimeError: if it is not
        """
        if self.task_group is None or self.closing:
            raise RuntimeError("the runtime is not running")
        return self.task_group

    def require_own_thread(self) -> None:
        """Check that we are in the thread in which the runtime runs, for nothing here is locked.

        :raises RuntimeError: if we are not
        """
        if self.thread != get_ident() and self.task_group is not None:
            raise RuntimeError("the runtime runs in another thread: call this there, with anyio.from_thread.run_sync")

    def require_started(self) -> None:
        """Check that the runtime was started, though it may have ended.

        :raises RuntimeError: if it was not
        """
        if self.task_group is None and not self.closing:
            raise RuntimeError("the runtime has not been started")

    def spawn(
        self,
        function: Callable[[Unpack[Arguments]], Coroutine[Any, Any, object]],
        *arguments: *Arguments,
    ) -> bool:
        """Start a task of the runtime; return false if the runtime is not running."""
        if self.task_group is None:
            return False
        self.task_group.start_soon(function, *arguments)
        return True

    def contain(self, place: str, raised: BaseException) -> None:
        """Report what foreign code raised; what is no failure, such as a ``SystemExit``, is raised by the runtime.

        It is not raised here and now, as whoever called the foreign code has something to end.
        """
        if is_failure(raised):
            self.report(place, raised)
        elif not self.spawn(_raise, raised):
            raise raised


async def _raise(raised: BaseException) -> None:
    raise raised
