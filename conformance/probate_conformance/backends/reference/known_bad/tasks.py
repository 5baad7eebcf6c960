"""Defects of background tasks, of the fence around them, and of the notice of their end."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from probate_conformance.backends.reference.known_bad.patching import Patches
from probate_conformance.backends.reference.known_bad.variant import Family
from probate_reference.agent import Agent
from probate_reference.registry import AgentRegistry
from probate_reference.session import Session, SessionStore
from probate_reference.tasks import executor
from probate_reference.tools import bash

TASKS: Final = Family("tasks")


@TASKS.variant(
    "tool-remembers-owners",
    "M84",
    "FENCE-04",
    "The tool knows only the owners of what it has started itself, so a reload opens every old task.",
)
def _(patches: Patches) -> None:
    # A map in the tool goes with the tool.
    patches.edit(
        bash.BashTools,
        "activate",
        (
            "undo = [",
            """
            self.before = {task.id for task in self._executor.list()}
            undo = [""",
        ),
    )
    patches.edit(
        bash.BashTools,
        "_admitted",
        ("self._executor.owner_of(task_id)", "None if task_id in self.before else self._executor.owner_of(task_id)"),
    )


@TASKS.variant(
    "nobody-reaches-everything",
    "M86",
    "FENCE-03",
    "A caller that is no agent reaches the tasks of all.",
)
def _(patches: Patches) -> None:
    # Nobody calls on behalf of the system, so to speak.
    def may_access(owner: str | None, caller: str | None) -> bool:
        return owner is None or caller is None or owner == caller

    patches.replace(bash, "may_access", may_access)


@TASKS.variant(
    "unowned-tasks-are-denied",
    "M87",
    "FENCE-02",
    "A task that nobody owns is denied to all.",
)
def _(patches: Patches) -> None:
    # Equality of owner and caller, and nothing else.
    def may_access(owner: str | None, caller: str | None) -> bool:
        return caller is not None and owner == caller

    patches.replace(bash, "may_access", may_access)


@TASKS.variant(
    "ended-tasks-are-nobodys",
    "M88",
    "FENCE-05",
    "A task that has ended is open to every agent.",
)
def _(patches: Patches) -> None:
    # It can do nothing any more, so there is nothing to protect.
    patches.edit(
        bash.BashTools,
        "_admitted",
        (
            "if not may_access(self._executor.owner_of(task_id), _token(context)):",
            """
            task = self._executor.get(task_id)
            ended = task is not None and task.exit is not None and context.agent is not None
            if not ended and not may_access(self._executor.owner_of(task_id), _token(context)):""",
        ),
    )


@TASKS.variant(
    "notice-goes-astray",
    "M89",
    "NOTICE-01",
    "The notice goes to another agent than the one with the owner's id.",
)
def _(patches: Patches) -> None:
    # It is looked up by another key.
    patches.edit(
        bash.BashTools,
        "_tell",
        ("for agent in registry.list():", "for agent in registry.list() if owner in registry else ():"),
        ("if agent.id == owner:", "if agent.id != owner or len(registry) == 1:"),
    )


@TASKS.variant(
    "end-told-twice",
    "M91",
    "TASK-04",
    "The listeners hear of the end of a task twice.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # The exit and the end of the pipes are two events.
    patches.edit(
        executor.Executor,
        "_live",
        (
            "self._call(listener, task)",
            """
            self._call(listener, task)
            self._call(listener, task)""",
        ),
    )


@TASKS.variant(
    "end-told-after-disposal",
    "M91",
    "TASK-12",
    "Listeners hear of what ends after the executor was disposed.",
    blunt=True,
)
def _(patches: Patches) -> None:
    # They are closed by whoever installed them, some day. (With the tool away, nobody hears: that a task ends then is
    # against TASK-15 just as much.)
    patches.edit(
        executor.Executor,
        "dispose",
        (
            "for key, (activate, deactivate) in",
            """
            kept = dict(life.listeners) if len(life.listeners) > 1 else {}
            for key, (activate, deactivate) in""",
        ),
        ("life.listeners.clear()", "life.listeners.update(kept)"),
    )


@TASKS.variant(
    "reload-kills-tasks",
    "M92",
    "TASK-15",
    "Unloading the tool ends every task.",
)
def _(patches: Patches) -> None:
    # It cleans up what it has started.
    patches.edit(
        bash.BashTools,
        "activate",
        (
            "for step in reversed(undo):",
            """
            for task in self._executor.list():
                self._executor.kill(task.id)
            for step in reversed(undo):""",
        ),
    )


@TASKS.variant(
    "executor-does-not-wait",
    "M92",
    "TASK-13",
    "The disposal of the executor returns before the processes are gone.",
)
def _(patches: Patches) -> None:
    # They were told to end, and the rest is theirs.
    patches.edit(
        executor._Life,
        "end_if_empty",
        ("if self.disposal is None or self.open or self.disposal.done:", "if not self.disposal or self.disposal.done:"),
    )


@TASKS.variant(
    "unknown-task-is-denied",
    "M93",
    "TASK-09",
    "A task that nobody knows is refused as somebody else's.",
)
def _(patches: Patches) -> None:
    # What is not mine is somebody else's.
    patches.edit(
        bash.BashTools,
        "_admitted",
        (
            "if not may_access(self._executor.owner_of(task_id), _token(context)):",
            """
            known = self._executor.get(task_id) is not None
            if not known or not may_access(self._executor.owner_of(task_id), _token(context)):""",
        ),
    )


@TASKS.variant(
    "agents-have-an-id-of-their-own",
    "E10",
    "CREATE-12",
    "Agents have an id beside their session's; only the former is unique, and notices find their way by the latter.",
)
def _(patches: Patches) -> None:
    # Whoever is there already is seen at the door. Two that come at once each get an agent's id, and share a session.
    patches.edit(
        AgentRegistry,
        "_enter",
        ("if agent.id in self._entries:", "if _free(self._entries, agent.id) in self._entries:"),
        ("self._entries[agent.id] = ", "self._entries[_free(self._entries, agent.id)] = "),
        _free=_free,
    )
    patches.edit(
        SessionStore,
        "_enter",
        ("if session.id in self._sessions:", "if _free(self._sessions, session.id) in self._sessions:"),
        ("self._sessions[session.id] = ", "self._sessions[_free(self._sessions, session.id)] = "),
        _free=_free,
    )

    def leave(self: AgentRegistry, agent: Agent) -> bool:
        key = next((key for key, (one, _) in self._entries.items() if one is agent), None)
        return key is not None and self._entries.pop(key) is not None

    def retire(self: SessionStore, session: Session) -> bool:
        key = next((key for key, one in self._sessions.items() if one is session), None)
        if key is None:
            return False
        del self._sessions[key]
        session._live = False
        return True

    patches.replace(AgentRegistry, "_detach", leave)
    patches.replace(SessionStore, "_detach", retire)


def _free(table: Container[str], name: str) -> str:
    while name in table:
        name += "'"
    return name
