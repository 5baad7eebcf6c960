"""Ask whether a tool may be called, and take everything but a clear yes for a no.

Whoever can reach a person answers: the bridge for the agents of its clients, another surface for its own.
Each is asked in turn whether the question is its business, and the first that takes it decides. If nobody
takes it, if whoever took it fails, or if the turn is over before the answer is there, the tool is not
called. There is no default that allows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from .reports import contained, is_failure, log_report

if TYPE_CHECKING:
    from .reports import Report
    from .seams import Tool, ToolContext

__all__ = ("Answerer", "GuardedTool", "NotPermitted", "Permission", "PermissionRequest", "Permissions")


class Permission(StrEnum):
    """What was answered; only one of them lets the tool be called."""

    ALLOWED = "allowed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"
    """Nobody was there to answer, or asking failed."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """The question whether a tool may be called with these arguments.

    :ivar context: who calls
    """

    tool: str
    arguments: Mapping[str, object]
    context: ToolContext


Answerer: TypeAlias = Callable[[PermissionRequest], Awaitable[Permission] | None]
"""Takes a question and gives what there is to await, or ``None`` if it is not its business."""


class NotPermitted(Exception):
    """Raised in place of a call that was not allowed; the model reads its text."""


class Permissions:
    """Those who may be asked, the newest first."""

    __slots__ = ("_answerers", "_report")

    def __init__(self, report: Report = log_report) -> None:
        self._answerers: dict[object, Answerer] = {}
        self._report = contained(report)

    def add(self, answerer: Answerer) -> Callable[[], None]:
        """Ask somebody too, before all others.

        :return: a function that takes it back
        """
        key = object()
        self._answerers[key] = answerer

        def remove() -> None:
            self._answerers.pop(key, None)

        return remove

    async def ask(self, request: PermissionRequest) -> Permission:
        """Ask. When the turn's signal fires, the answer is not waited for any more."""
        signal = request.context.signal
        if signal is None:
            return await self._ask(request)
        if not signal.aborted:
            with signal.scope():
                return await self._ask(request)
        return Permission.CANCELLED

    async def _ask(self, request: PermissionRequest) -> Permission:
        for answerer in reversed(tuple(self._answerers.values())):
            try:
                answer = answerer(request)
                if answer is not None:
                    return await answer
            except BaseException as raised:
                if not is_failure(raised):
                    raise
                self._report("permission", raised)
                return Permission.UNAVAILABLE
        return Permission.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class GuardedTool:
    """A tool that is called only with permission; see :class:`Tool`."""

    tool: Tool
    permissions: Permissions

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    @property
    def description(self) -> str:
        """The tool's description."""
        return self.tool.description

    @property
    def parameters(self) -> Mapping[str, object]:
        """The tool's parameters."""
        return self.tool.parameters

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        """Call the tool if that is allowed.

        :raises NotPermitted: if it is not
        """
        permission = await self.permissions.ask(PermissionRequest(self.tool.name, arguments, context))
        if permission is not Permission.ALLOWED:
            raise NotPermitted(f"{self.tool.name!r} was not called: permission {permission}")
        return await self.tool.call(arguments, context)
