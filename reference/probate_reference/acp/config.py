"""Read what ``probate acp`` is told: a file of TOML, and one clear sentence for each mistake in it.

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

Everything is checked before anything starts. A name that nobody knows is a mistake, not an extension.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from probate_reference.models import ScriptedReply
from probate_reference.seams import Reply, StopReason, ToolCall

__all__ = ("Config", "ConfigError", "Echo", "OpenAICompatible", "PermissionPolicy", "Scripted", "read_config")

MAX_CONFIG: Final = 1024 * 1024
MAX_GRACE: Final = 5.0


class ConfigError(Exception):
    """Raised when a configuration cannot be used; its text says what is wrong, where, and how to mend it."""


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
    """

    model: ModelConfig = Echo()
    home: Path | None = None
    tools: bool = False
    permission: PermissionPolicy = PermissionPolicy.ASK
    grace: float = 2.0


def read_config(path: Path) -> Config:
    """Read a configuration.

    :raises ConfigError: if it cannot be read, or there is a mistake in it
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG + 1)
    except OSError as failure:
        raise ConfigError(f"cannot read {str(path)!r}: {failure.strerror or failure}; name a file of TOML") from None
    if len(data) > MAX_CONFIG:
        raise ConfigError(f"{str(path)!r} is larger than {MAX_CONFIG} bytes; it is no configuration")
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as failure:
        raise ConfigError(f"{str(path)!r} is no TOML: {failure}") from None
    return _Table(values, str(path), "").config(path.parent)


class _Table:
    """A table of the file, and where it stands."""

    def __init__(self, values: Mapping[str, Any], file: str, place: str) -> None:
        self._values = values
        self._file = file
        self._place = place

    def wrong(self, name: str, says: str) -> ConfigError:
        return ConfigError(f"{self._file}: {self._place}{name} {says}")

    def only(self, *names: str) -> None:
        for name in self._values:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
                raise self.wrong(name, f"is not known; {hint}")

    def text(self, name: str, default: str | None = None) -> str:
        value = self._values.get(name, default)
        if value is None:
            raise self.wrong(name, "is missing; give a string")
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(name, f"must be a string that says something, not {value!r}")
        return value

    def truth(self, name: str, default: bool) -> bool:
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, f"must be true or false, not {value!r}")
        return value

    def seconds(self, name: str, default: float) -> float:
        value = self._values.get(name, default)
        # More, and the server could not be gone within the time that it states.
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_GRACE:
            raise self.wrong(name, f"must be a number of seconds above 0 and up to {MAX_GRACE:g}, not {value!r}")
        return float(value)

    def choice(self, name: str, default: str | None, choices: list[str]) -> str:
        value = self._values.get(name, default)
        if value not in choices:
            said = "is missing" if value is None else f"cannot be {value!r}"
            raise self.wrong(name, f"{said}; choose one of {', '.join(choices)}")
        assert isinstance(value, str)
        return value

    def tables(self, name: str) -> list[_Table]:
        value = self._values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.wrong(name, "must be a list of tables")
        return [_Table(one, self._file, f"{self._place}{name}[{number}].") for number, one in enumerate(value, 1)]

    def table(self, name: str) -> _Table:
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, f"must be a table; write [{name}] and its settings below")
        return _Table(value, self._file, f"{self._place}{name}.")

    # What the tables mean

    def config(self, folder: Path) -> Config:
        self.only("home", "tools", "permission", "grace", "model")
        home = None
        if "home" in self._values:
            try:
                home = folder / Path(self.text("home")).expanduser()
            except RuntimeError as failure:
                raise self.wrong("home", f"cannot be found: {failure}") from None
        policy = self.choice("permission", PermissionPolicy.ASK, [policy.value for policy in PermissionPolicy])
        model = self.table("model").model() if "model" in self._values else Echo()
        return Config(model, home, self.truth("tools", False), PermissionPolicy(policy), self.seconds("grace", 2.0))

    def model(self) -> ModelConfig:
        kind = self.choice("kind", None, ["echo", "scripted", "openai-compatible"])
        if kind == "echo":
            self.only("kind")
            return Echo()
        if kind == "scripted":
            self.only("kind", "replies")
            return Scripted(tuple(table.reply() for table in self.tables("replies")))
        self.only("kind", "base-url", "name", "key-variable", "system")
        key = self.text("key-variable") if "key-variable" in self._values else None
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
        fails = self.text("fails") if "fails" in self._values else None
        return ScriptedReply(reply, self.truth("hangs", False), fails)

    def call(self) -> ToolCall:
        self.only("name", "arguments")
        arguments = self._values.get("arguments", {})
        if isinstance(arguments, dict):
            try:
                arguments = json.dumps(arguments)
            except TypeError:
                raise self.wrong("arguments", "must hold nothing but what JSON has") from None
        if not isinstance(arguments, str):
            raise self.wrong("arguments", "must be a table, or a string of JSON")
        return ToolCall(self.text("name"), arguments)
