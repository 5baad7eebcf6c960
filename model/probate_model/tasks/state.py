"""What the room of profile ``tasks`` holds.

A task stays in the world as long as it can be named. Its process is a program counter: it runs, it waits at its gate,
it is gone and the executor has not seen that, it is over. The status is something else, and that is half of the
profile: a kill changes it at once, whatever the process does.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from probate_model.alphabet.members import plain
from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.tasks import AgentsRegistry, TaskRef, TaskStatus, Token, ToolOp, task_ref
from probate_model.world import Returned, Wait


@plain
class Process(IntEnum):
    """How far the process of a task has come."""

    STARTED = 0
    """It runs, and has not come to its gate."""
    AT_GATE = 1
    """It waits to be told how to end."""
    GONE = 2
    """It is gone, or never was; the executor has not seen that yet."""
    OVER = 3
    """The executor has seen its end, and has told it."""


class Task(NamedTuple):
    """One task, from its start."""

    label: Label
    number: int
    executor: int
    """The incarnation of the executor that runs it."""
    owner: Token | None
    owner_label: Label | None
    """The very agent that started it, for editions in which that is what counts."""
    status: TaskStatus = TaskStatus.RUNNING
    process: Process = Process.STARTED
    wait: Wait | None = None
    exit: str = ""
    said: tuple[Text, ...] = ()
    """What it has written and the executor has not read yet."""
    unread: tuple[Text, ...] = ()
    """What the executor has read and nobody else has."""
    armed: bool = False
    """Whether a signal that it was started with can still fire."""
    turn: tuple[Label, int] | None = None
    """The turn whose signal it was started with."""
    loads: int = 0
    """How often the tool had been loaded when it was started; it only names clauses."""
    waiters: tuple[Label, ...] = ()
    returned: Returned = Returned.NO

    @property
    def ref(self) -> TaskRef:
        """The task as events name it."""
        return task_ref(self.number)


class Call(NamedTuple):
    """A call of the tool that was begun and not carried out."""

    op: ToolOp
    agent: Label | None
    token: Token | None


class Disposal(NamedTuple):
    """An executor that is ending, and who waits for it."""

    executor: int
    callers: tuple[Label, ...]


class TasksRoom(NamedTuple):
    """The room."""

    active: bool = True
    executor: int = 0
    """The incarnation of the executor, the last one if none is active."""
    tool: bool = True
    """Whether the tool is loaded; it is there only while the executor is."""
    loads: int = 0
    registry: AgentsRegistry = AgentsRegistry.THERE
    started: int = 0
    tasks: tuple[Task, ...] = ()
    calls: tuple[Call, ...] = ()
    scripts: tuple[Call, ...] = ()
    """What the next tool calls of agents are to do, oldest first."""
    disposals: tuple[Disposal, ...] = ()

    @property
    def has_tool(self) -> bool:
        """Whether a call of the tool finds it."""
        return self.active and self.tool
