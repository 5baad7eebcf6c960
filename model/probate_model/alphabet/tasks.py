"""The words of profile ``tasks``: background tasks, the tool that starts them, and the executor that runs them.

A task is started through the tool on behalf of whoever calls it (an agent, or nobody), or directly at the executor
with any token as its owner. An op that goes through the tool is asynchronous, as tools are; with ``turn`` it is kept
until a tool call in a turn of the agent carries it out, and settles there. The executor's own ops are synchronous.

The label of a start is also the name of its task, bound once the start has returned; its gate ``exit`` is where the
process waits to be told how to end. Two names stand for what is no task: one that nobody ever started, and the empty
one. In events a task is named as the executor names it, ``bash-n``: n counts what was started, and no number comes
twice.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, NewType, TypeAlias

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.rooms import InRoom
from probate_model.alphabet.values import value

TaskRef = NewType("TaskRef", str)
"""``bash-n``: the n-th task that was started."""

Token = NewType("Token", str)
"""Who a task belongs to. Compared by equality only; the empty one is one like any other."""

UNKNOWN_TASK: Final = Label("unknown-task")
"""Stands for the name of a task that nobody has started."""

EMPTY_TASK: Final = Label("empty-task")
"""Stands for the empty name."""


@plain
class Via(StrEnum):
    """Whom a call is made to."""

    TOOL = "tool"
    """The tool, which asks whose the task is before it does anything."""

    EXECUTOR = "executor"
    """The executor itself, which does not."""


@plain
class TaskSignal(StrEnum):
    """The signal that a start was given. It works for as long as the task runs."""

    NONE = "none"
    ARMED = "armed"
    PRE_ABORTED = "pre-aborted"


@plain
class TaskStatus(StrEnum):
    """What a task is doing; the last two are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    KILLED = "killed"


@plain
class AgentsRegistry(StrEnum):
    """What the tool finds when it looks for the registry of agents by its name."""

    THERE = "there"
    ABSENT = "absent"
    BROKEN = "broken"
    """The look-up itself fails."""


# The ops.


@value(frozen=True, slots=True)
class StartTask:
    """Start a task through the tool, on behalf of an agent or of nobody. Returns its name."""

    label: Label
    by: Label | None = None
    turn: bool = False
    """Whether it is done by a tool call in a turn of the agent."""
    item: Literal["start_task"] = "start_task"


@value(frozen=True, slots=True)
class LaunchTask:
    """Start a task at the executor, with any owner or none. Returns its name."""

    label: Label
    owner: Token | None = None
    signal: TaskSignal = TaskSignal.NONE
    runs: bool = True
    """Whether the command can be run at all."""
    item: Literal["launch_task"] = "launch_task"


@value(frozen=True, slots=True)
class AbortTask:
    """Fire the signal that a task was started with. Void if there is none, or it has fired."""

    label: Label
    task: Label
    item: Literal["abort_task"] = "abort_task"


@value(frozen=True, slots=True)
class ReadTask:
    """Take what a task has written since it was read last. Returns it, with what the task is doing."""

    label: Label
    task: Label
    via: Via = Via.TOOL
    by: Label | None = None
    turn: bool = False
    item: Literal["read_task"] = "read_task"


@value(frozen=True, slots=True)
class KillTask:
    """End a task. Returns whether it was running."""

    label: Label
    task: Label
    via: Via = Via.TOOL
    by: Label | None = None
    turn: bool = False
    item: Literal["kill_task"] = "kill_task"


@value(frozen=True, slots=True)
class TaskSays:
    """Let the process of a task write something. Void if it can't any more."""

    label: Label
    task: Label
    text: Text
    item: Literal["task_says"] = "task_says"


@value(frozen=True, slots=True)
class OwnerOfTask:
    """Ask the executor whose a task is."""

    label: Label
    task: Label
    item: Literal["owner_of_task"] = "owner_of_task"


@value(frozen=True, slots=True)
class ListTasks:
    """Ask the executor for all tasks, in the order of their start."""

    label: Label
    item: Literal["list_tasks"] = "list_tasks"


@value(frozen=True, slots=True)
class AwaitTask:
    """Wait until a task is done: its process is gone, and whoever listens has been told."""

    label: Label
    task: Label
    item: Literal["await_task"] = "await_task"


@value(frozen=True, slots=True)
class UnloadTool:
    """Take the tool away. What runs goes on. Void if it is not loaded."""

    label: Label
    item: Literal["unload_tool"] = "unload_tool"


@value(frozen=True, slots=True)
class LoadTool:
    """Load the tool. It is there for as long as the executor is. Void if it is loaded."""

    label: Label
    item: Literal["load_tool"] = "load_tool"


@value(frozen=True, slots=True)
class DisposeExecutor:
    """End the executor and every task. Returns when every process is gone; never raises; joined when repeated."""

    label: Label
    item: Literal["dispose_executor"] = "dispose_executor"


@value(frozen=True, slots=True)
class LoadExecutor:
    """Start a new executor, with no tasks; the old one may still be ending. Void while there is one."""

    label: Label
    item: Literal["load_executor"] = "load_executor"


@value(frozen=True, slots=True)
class SetRegistry:
    """Say what the tool finds from now on when it looks for the registry of agents."""

    label: Label
    registry: AgentsRegistry
    item: Literal["set_registry"] = "set_registry"


ToolOp: TypeAlias = StartTask | ReadTask | KillTask
"""Ops that a tool carries out."""

OnTask: TypeAlias = AbortTask | ReadTask | KillTask | TaskSays | OwnerOfTask | AwaitTask
"""Ops that name a task."""

TaskOp: TypeAlias = (
    StartTask
    | LaunchTask
    | AbortTask
    | ReadTask
    | KillTask
    | TaskSays
    | OwnerOfTask
    | ListTasks
    | AwaitTask
    | UnloadTool
    | LoadTool
    | DisposeExecutor
    | LoadExecutor
    | SetRegistry
)
"""All ops of the profile."""

# What they return.


@value(frozen=True, slots=True)
class TaskOutput:
    """What was new, as one line for each that was written, and what the task is doing."""

    text: tuple[Text, ...]
    status: TaskStatus


@value(frozen=True, slots=True)
class TaskOwner:
    """Whose a task is; none of a task that has no owner, and of one that is not known."""

    owner: Token | None


@value(frozen=True, slots=True)
class ListedTask:
    """One task as the list shows it."""

    task: TaskRef
    status: TaskStatus


@value(frozen=True, slots=True)
class TaskList:
    """All tasks, in the order of their start."""

    tasks: tuple[ListedTask, ...]


TaskValue: TypeAlias = TaskOutput | TaskOwner | TaskList
"""What ops of the profile return, besides a name and a truth value."""

# The event.


@value(frozen=True, slots=True)
class TaskDone(InRoom):
    """A task has ended, as the listeners of the executor hear it."""

    task: TaskRef
    status: TaskStatus
    exit: str
    """How its process ended: ``code:N`` or ``signal:N``; ``none`` if there never was one."""
    event: Literal["task/done"] = "task/done"

    @property
    def about(self) -> str:
        """The task."""
        return f"task:{self.task}"


TaskEvent: TypeAlias = TaskDone
"""All events of the profile."""

TASK_EVENTS: Final = ("task/done",)
"""Their kinds."""


def task_ref(number: int) -> TaskRef:
    """Name the ``number``-th task that was started."""
    return TaskRef(f"bash-{number}")


def notice_text(task: TaskRef) -> Text:
    """Give what stands for the notice that a task has ended, whatever words a backend has for it."""
    return Text(f"done:{task}")
