"""Give the agents of a server their tools: shell commands, in the folder of their session, when they may.

The tools of :mod:`probate_reference.tools.bash` know nothing of clients. Here each call is completed by what
the client has said: a session works in its folder, and a path that a model names is meant from there. Then
the call is put before whoever decides.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probate_reference.permissions import GuardedTool, Permission
from probate_reference.toolbox import Toolbox
from probate_reference.tools.bash import AGENTS, mount

from .config import PermissionPolicy
from .library import FOLDER

if TYPE_CHECKING:
    from probate_reference.permissions import Permissions
    from probate_reference.runtime import Runtime
    from probate_reference.seams import Tool, ToolContext
    from probate_reference.tasks import Executor

__all__ = ("FolderTool", "give_tools")


@dataclass(frozen=True, slots=True)
class FolderTool:
    """A tool that works in the folder of the caller's session, unless it is told otherwise; see :class:`Tool`."""

    tool: Tool

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
        """Call the tool with a whole path."""
        folder = None if context.agent is None else context.agent.session.metadata.get(FOLDER)
        if folder is not None:
            arguments = {**arguments, "workdir": os.path.join(folder, str(arguments.get("workdir", ".")))}
        return await self.tool.call(arguments, context)


def give_tools(runtime: Runtime, executor: Executor, permissions: Permissions, policy: PermissionPolicy) -> None:
    """Let the agents of a runtime run commands.

    :param policy: who decides; if it is the client, the bridge must answer at ``permissions``
    """
    inner = Toolbox()
    mount(executor, inner, lambda name: runtime.agents if name == AGENTS else None)
    if policy is not PermissionPolicy.ASK:
        permissions.add(lambda _request: _decided(policy))
    for tool in inner.list():
        runs = tool.name == "bash"
        # To look at a task of one's own, or to end it, needs no permission: to start it did.
        runtime.tools.add(GuardedTool(FolderTool(tool), permissions) if runs else tool)


async def _decided(policy: PermissionPolicy) -> Permission:
    return Permission.ALLOWED if policy is PermissionPolicy.ALLOW else Permission.REJECTED
