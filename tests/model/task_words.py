"""The words of profile ``tasks``, as typed cases write them."""

from __future__ import annotations

from collections.abc import Sequence

from probate_model.alphabet.names import Label, Text
from probate_model.alphabet.tasks import (
    AbortTask,
    AgentsRegistry,
    AwaitTask,
    DisposeExecutor,
    KillTask,
    LaunchTask,
    ListTasks,
    LoadExecutor,
    LoadTool,
    OwnerOfTask,
    ReadTask,
    SetRegistry,
    StartTask,
    TaskList,
    TaskOp,
    TaskOutput,
    TaskOwner,
    TaskSays,
    TaskSignal,
    Token,
    UnloadTool,
    Via,
)

NAMED = ("start", "launch")
"""The verbs whose first word is the label."""

VERBS = (
    "start", "launch", "say", "fire", "read", "kill", "owner", "tasks", "await", "untool", "retool", "stop_executor",
    "new_executor", "registry",
)  # fmt: skip
"""All verbs of the profile."""


def task_op(verb: str, words: Sequence[str], call: Label) -> TaskOp:
    """Read an op from its words."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    plain = [word for word in words if "=" not in word]
    by = Label(given["by"]) if "by" in given else None
    via = Via.EXECUTOR if "directly" in plain else Via.TOOL
    turn = "turn" in plain
    match verb, plain:
        case "start", _:
            return StartTask(call, by, turn)
        case "launch", _:
            signal = next((one for one in TaskSignal if one.value in plain), TaskSignal.NONE)
            return LaunchTask(call, Token(given["owner"]) if "owner" in given else None, signal, "broken" not in plain)
        case "say", [task, text]:
            return TaskSays(call, Label(task), Text(text))
        case "fire", [task]:
            return AbortTask(call, Label(task))
        case "read", [task, *_]:
            return ReadTask(call, Label(task), via, by, turn)
        case "kill", [task, *_]:
            return KillTask(call, Label(task), via, by, turn)
        case "owner", [task]:
            return OwnerOfTask(call, Label(task))
        case "tasks", []:
            return ListTasks(call)
        case "await", [task]:
            return AwaitTask(call, Label(task))
        case "untool", []:
            return UnloadTool(call)
        case "retool", []:
            return LoadTool(call)
        case "stop_executor", []:
            return DisposeExecutor(call)
        case "new_executor", []:
            return LoadExecutor(call)
        case "registry", [mode]:
            return SetRegistry(call, AgentsRegistry(mode))
        case _:
            raise ValueError(f"no item: {verb} {' '.join(words)}")


def value_words(value: TaskOutput | TaskOwner | TaskList) -> str:
    """Write what an op returned."""
    match value:
        case TaskOutput(text, status):
            return " ".join([*text, status.value])
        case TaskOwner(owner):
            return "nobody" if owner is None else f"owner={owner}"
        case TaskList(tasks):
            return ",".join(f"{entry.task}:{entry.status.value}" for entry in tasks) or "no tasks"
