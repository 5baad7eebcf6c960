"""Read what ``probate acp`` and ``probate run`` are told: a file of TOML, with one clear sentence for each mistake.

::

    home = "~/.local/state/probate"    # where sessions are kept; without it they end with the process
    tools = true                       # whether the model may run shell commands
    permission = "ask"                 # ask | allow | deny
    grace = 2.0                        # seconds that a command has to end when it is told to

    [model]
    kind = "openai-compatible"         # echo | scripted | openai-compatible
    base-url = "http://127.0.0.1:8080/v1"
    name = "some-model"
    key-variable = "SOME_API_KEY"      # the name of the variable that holds the key, never the key

A scripted model has ``[[model.replies]]``: ``text``, ``tools`` (each with ``name`` and ``arguments``),
``hangs`` and ``fails``.

The agents that ``probate run`` starts are tables, too. ``probate acp`` leaves them alone: an editor starts its own. ::

    [[agents]]
    label = "helper"                   # what you call it; its id is new at every start
    folder = "."                       # where it works

    [[agents]]
    label = "notes"
    session = "my-notes"               # exactly this id: resumed if there is a log of it, else created

    [[agents]]
    label = "old"
    resume = "old-session-1"           # exactly this id, and there must be a log of it

Everything is checked before anything starts. A name that nobody knows is a mistake, not an extension.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from probate_reference.configured import AgentEntry, check_entries
from probate_reference.models import ScriptedReply
from probate_reference.seams import Reply, StopReason, ToolCall
from probate_reference.tables import ConfigError, Table, read_toml

from .library import FOLDER

__all__ = ("Config", "ConfigError", "Echo", "OpenAICompatible", "PermissionPolicy", "Scripted", "read_config")

MAX_GRACE: Final = 5.0


class PermissionPolicy(StrEnum):
    """Who decides whether a tool is called."""

    ASK = "ask"
    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Echo:
    """The model that says what it was told."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """The model that plays a script."""

    replies: tuple[ScriptedReply, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenAICompatible:
    """A model behind an endpoint.

    :ivar key_variable: which variable of the environment holds the key, or ``None`` if the endpoint wants none
    :ivar system: what the model is told before everything else
    """

    base_url: str
    name: str
    key_variable: str | None = None
    system: str = ""


ModelConfig: TypeAlias = Echo | Scripted | OpenAICompatible


@dataclass(frozen=True, slots=True)
class Config:
    """What is served.

    :ivar home: where sessions are kept, or ``None``
    :ivar tools: whether the model may run shell commands
    :ivar grace: how many seconds a command has to end when it is told to
    :ivar agents: whom ``probate run`` starts
    """

    model: ModelConfig = Echo()
    home: Path | None = None
    tools: bool = False
    permission: PermissionPolicy = PermissionPolicy.ASK
    grace: float = 2.0
    agents: tuple[AgentEntry, ...] = ()


def read_config(path: Path) -> Config:
    """Read a configuration.

    :raises ConfigError: if it cannot be read, or there is a mistake in it
    """
    return _Settings(*read_toml(path)).config(path.parent)


class _Settings(Table):
    """A table of this file, and what it means."""

    def config(self, folder: Path) -> Config:
        self.only("home", "tools", "permission", "grace", "model", "agents")
        home = self.path("home", folder) if "home" in self.values else None
        policy = self.choice("permission", PermissionPolicy.ASK, [policy.value for policy in PermissionPolicy])
        model = self.table("model").model() if "model" in self.values else Echo()
        agents = self.agents(folder, kept=home is not None)
        grace = self.seconds("grace", 2.0)
        return Config(model, home, self.truth("tools", False), PermissionPolicy(policy), grace, agents)

    def path(self, name: str, folder: Path) -> Path:
        try:
            return folder / Path(self.text(name)).expanduser()
        except RuntimeError as failure:
            raise self.wrong(name, f"cannot be found: {failure}") from None

    def agents(self, folder: Path, *, kept: bool) -> tuple[AgentEntry, ...]:
        agents = tuple(table.agent(folder, kept=kept) for table in self.tables("agents"))
        labels = [agent.label for agent in agents]
        for number, label in enumerate(labels, 1):
            if label in labels[: number - 1]:
                raise self.wrong(f"agents[{number}].label", f"{label!r} is another agent's too; give each its own")
        try:
            check_entries(agents)
        except ConfigError as failure:
            raise self.wrong("agents", str(failure)) from None
        return agents

    def agent(self, folder: Path, *, kept: bool) -> AgentEntry:
        self.only("label", "session", "resume", "folder")
        label = self.text("label")
        if any(character.isspace() for character in label) or not label.isprintable() or label.startswith("@"):
            raise self.wrong("label", f"must be one word without @ in front, for you to call it by, not {label!r}")
        session = self.text("session") if "session" in self.values else None
        resume = self.text("resume", "") or None
        if session is not None and resume is not None:
            raise self.wrong("resume", "and session exclude each other: keep session to resume or create, or resume")
        if resume is not None and not kept:
            raise self.wrong("resume", "needs a home, where the session was kept; name one with home, at the top")
        if resume is not None and "folder" in self.values:
            raise self.wrong("folder", "is remembered with the session that is resumed; leave it out")
        metadata = {FOLDER: str(self.path("folder", folder).absolute())} if "folder" in self.values else {}
        return AgentEntry(label, session, resume, metadata)

    def seconds(self, name: str, default: float) -> float:
        value = self.values.get(name, default)
        # More, and the server could not be gone within the time that it states.
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_GRACE:
            raise self.wrong(name, f"must be a number of seconds above 0 and up to {MAX_GRACE:g}, not {value!r}")
        return float(value)

    def model(self) -> ModelConfig:
        kind = self.choice("kind", None, ["echo", "scripted", "openai-compatible"])
        if kind == "echo":
            self.only("kind")
            return Echo()
        if kind == "scripted":
            self.only("kind", "replies")
            return Scripted(tuple(table.reply() for table in self.tables("replies")))
        self.only("kind", "base-url", "name", "key-variable", "system")
        key = self.text("key-variable") if "key-variable" in self.values else None
        if key is not None and not (key.replace("_", "a").isalnum() and key.isascii()):
            raise self.wrong("key-variable", "must be the name of a variable of the environment, not the key itself")
        return OpenAICompatible(self._url("base-url"), self.text("name"), key, self.text("system", ""))

    def _url(self, name: str) -> str:
        url = self.text(name)
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            usable = False
        if not usable:
            raise self.wrong(name, f"must be a URL such as http://127.0.0.1:8080/v1, not {url!r}")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise self.wrong(name, "must hold no user, password, query or fragment; the key goes into key-variable")
        return url

    def reply(self) -> ScriptedReply:
        self.only("text", "tools", "stop", "hangs", "fails")
        stop = self.choice("stop", StopReason.END, [stop.value for stop in StopReason])
        reply = Reply(self.text("text", ""), tuple(table.call() for table in self.tables("tools")), StopReason(stop))
        fails = self.text("fails") if "fails" in self.values else None
        return ScriptedReply(reply, self.truth("hangs", False), fails)

    def call(self) -> ToolCall:
        self.only("name", "arguments")
        arguments = self.values.get("arguments", {})
        if isinstance(arguments, dict):
            try:
                arguments = json.dumps(arguments)
            except TypeError:
                raise self.wrong("arguments", "must hold nothing but what JSON has") from None
        if not isinstance(arguments, str):
            raise self.wrong("arguments", "must be a table, or a string of JSON")
        return ToolCall(self.text("name"), arguments)
