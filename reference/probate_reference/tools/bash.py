"""Let agents run shell commands: the tools ``bash``, ``bash_output`` and ``bash_kill``.

**The fence.** A task that one agent has started is not to be read or killed by another. The tool stamps
the id of the calling agent on the task as its owner, and before it reads or kills it compares what
:meth:`~probate_reference.tasks.Executor.owner_of` says with the id of who asks. It remembers nothing itself:
this module may be loaded anew while tasks run, and an old task then must not look like nobody's. The
comparison is equality, and only the *lack* of an owner opens a task to all. The empty id is an id.
Somebody who is no agent owns nothing, and is not let in either.

What is compared is the id, not the agent. One id belongs to one live agent at a time, so no two can
share a task by accident. But an agent that is created later under the same id takes over what the first
one left, just as it takes over the conversation of that id. That is intended.

**The notice.** When a task ends, its owner is told, in words that become part of its context and wake
nobody. The owner is looked for at that moment, by id, in whatever registry of agents there is then: the
completion is told by the executor, which is no part of the world of agents and must not assume that there
is one. The notice is made once and never again. It is dropped if there is no registry, no such
agent, if the agent ends just then, or if this module is being loaded anew just then. Any other failure
is reported by the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from probate_reference.refusals import Disposed, Refusal
from probate_reference.registry import AgentRegistry
from probate_reference.seams import FunctionTool, ToolContext
from probate_reference.tasks import Executor, Request, Task
from probate_reference.toolbox import Toolbox

__all__ = ("AGENTS", "AccessDenied", "BashTools", "InvalidTaskId", "Lookup", "may_access", "mount", "notice_of")

AGENTS: Final = "agents"
"""The name by which the registry of agents is looked up."""

Lookup = Callable[[str], object]
"""Gives what is mounted under a name at this moment, or ``None``."""


class AccessDenied(Refusal):
    """Raised when a task belongs to somebody else."""

    code = "access-denied"


class InvalidTaskId(Refusal):
    """Raised when a task is named by nothing."""

    code = "invalid-task-id"


def may_access(owner: str | None, caller: str | None) -> bool:
    """Return whether a caller may read and kill a task.

    :param owner: the token on the task; ``None`` if there is no owner
    :param caller: the token of who asks; ``None`` if that is no agent
    """
    return owner is None or (caller is not None and owner == caller)


def notice_of(task: Task) -> str:
    """Return what the owner of a task is told when it has ended."""
    how = str(task.exit) if task.exit is not None else "it could not be run"
    return (
        f"Background task {task.id} has ended: {task.status.value}, {how}. "
        f'Read its output with bash_output, task_id "{task.id}".'
    )


def mount(executor: Executor, toolbox: Toolbox, lookup: Lookup) -> Callable[[], None]:
    """Give the tools to the models, for as long as the executor is loaded.

    :param executor: what runs the commands
    :param toolbox: where the models find their tools
    :param lookup: finds the registry of agents, under :data:`AGENTS`, when a task has ended
    :return: a function that takes the tools away; what runs goes on, and stays whose it is
    """
    return executor.depend(BashTools(executor, toolbox, lookup).activate)


class BashTools:
    """The three tools on one executor. Use :func:`mount`."""

    def __init__(self, executor: Executor, toolbox: Toolbox, lookup: Lookup) -> None:
        self._executor = executor
        self._toolbox = toolbox
        self._lookup = lookup

    def activate(self) -> Callable[[], None]:
        """Add the tools, and listen for the ends of tasks."""
        undo = [self._toolbox.add(tool) for tool in self._tools()]
        undo.append(self._executor.on_done(self._tell))

        def deactivate() -> None:
            for step in reversed(undo):
                step()

        return deactivate

    def _tools(self) -> tuple[FunctionTool, ...]:
        task_id = {"type": "string", "description": "The id that bash returned when it started the task."}
        by_id = {
            "type": "object",
            "properties": {"task_id": task_id},
            "required": ["task_id"],
            "additionalProperties": False,
        }
        return (
            FunctionTool(
                "bash",
                self._bash,
                "Run a shell command and return its output. With background, return at once with the id of a task.",
                {
                    "type": "object",
                    "properties": {
                        "command": {"type": "string", "description": "The command line."},
                        "workdir": {"type": "string", "description": "Where to run it."},
                        "timeout": {"type": "number", "description": "Seconds after which a foreground run is ended."},
                        "background": {"type": "boolean", "description": "Whether to start it as a task."},
                    },
                    "required": ["command"],
                    "additionalProperties": False,
                },
            ),
            FunctionTool("bash_output", self._output, "Return what a task has written since the last call.", by_id),
            FunctionTool("bash_kill", self._kill, "End a task.", by_id),
        )

    async def _bash(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        request = Request(
            command=_text(arguments, "command"),
            workdir=_text(arguments, "workdir") if "workdir" in arguments else None,
            timeout=_number(arguments, "timeout"),
            owner=_token(context),
            signal=context.signal,
        )
        spec = self._executor.resolve(request)
        if arguments.get("background") is True:
            task = self._executor.start(spec)
            return f'Started task {task.id}. Read its output with bash_output, task_id "{task.id}".'
        ran = await self._executor.run(spec)
        facts = [str(ran.exit)]
        if ran.timed_out:
            facts.append(f"ended because it took longer than {spec.timeout:g} seconds")
        if ran.aborted:
            facts.append("called off")
        return "\n".join(part for part in (ran.output.text, f"[{', '.join(facts)}]") if part)

    async def _output(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        task_id = self._admitted(arguments, context)
        output = self._executor.read(task_id).text
        task = self._executor.get(task_id)
        assert task is not None
        state = task.status.value if task.exit is None else f"{task.status.value}, {task.exit}"
        return "\n".join(part for part in (output, f"[{state}]") if part)

    async def _kill(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        task_id = self._admitted(arguments, context)
        return f"Task {task_id} is being ended." if self._executor.kill(task_id) else f"Task {task_id} is not running."

    def _admitted(self, arguments: Mapping[str, object], context: ToolContext) -> str:
        """Return the id of the task that is asked for, if whoever asks may have it.

        An id that nobody knows passes: that it is unknown is for the executor to say.
        """
        task_id = _text(arguments, "task_id")
        if not task_id:
            raise InvalidTaskId("invalid task_id: it is empty")
        if not may_access(self._executor.owner_of(task_id), _token(context)):
            raise AccessDenied(f"task {task_id} belongs to another session")
        return task_id

    def _tell(self, task: Task) -> None:
        """Tell the owner of a task that it has ended, if there is one to be told."""
        owner = self._executor.owner_of(task.id)
        if owner is None:
            return
        registry = self._lookup(AGENTS)
        if registry is None:
            return
        assert isinstance(registry, AgentRegistry)
        for agent in registry.list():
            if agent.id == owner:
                try:
                    agent.inject(notice_of(task))
                except Disposed:
                    # It ends at this moment: as good as gone.
                    return
                return


def _token(context: ToolContext) -> str | None:
    return None if context.agent is None else context.agent.id


def _text(arguments: Mapping[str, object], name: str) -> str:
    value = arguments[name]
    assert isinstance(value, str)
    return value


def _number(arguments: Mapping[str, object], name: str) -> float | None:
    value = arguments.get(name)
    assert value is None or isinstance(value, int | float)
    return value
