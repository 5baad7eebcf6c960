"""Run shell commands that end when they are told to, and leave nothing behind.

Start with :class:`Executor`. It starts commands as tasks in the background, or runs them to their end,
and it is the one place that remembers who a task belongs to.
"""

from __future__ import annotations

from .executor import Executor, ExecutorStatistics
from .processes import Clock, SystemClock
from .specs import (
    AbortSignal,
    Completed,
    ExecutorInactive,
    Exit,
    InvalidRequest,
    Request,
    SpawnFailed,
    Spec,
    Stoppable,
    Task,
    TaskOutput,
    TaskStatus,
    UnknownTask,
)

__all__ = (
    "AbortSignal",
    "Clock",
    "Completed",
    "Executor",
    "ExecutorInactive",
    "ExecutorStatistics",
    "Exit",
    "InvalidRequest",
    "Request",
    "SpawnFailed",
    "Spec",
    "Stoppable",
    "SystemClock",
    "Task",
    "TaskOutput",
    "TaskStatus",
    "UnknownTask",
)
