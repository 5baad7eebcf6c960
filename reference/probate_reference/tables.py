"""Read a file of TOML that a person has written, and say in one clear sentence what is wrong with it.

What a file means is for somebody else to say; they make a subclass of :class:`Table` and ask it for what they want.
Each way of asking either gives what was wanted or raises a :class:`ConfigError`, which tells the file, the place in it,
what stands there and how to mend it. A file is data: it is read to a limit, and nothing in it is run.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

__all__ = ("ConfigError", "Table", "read_toml")

MAX_CONFIG: Final = 1024 * 1024


class ConfigError(Exception):
    """Raised when a configuration cannot be used; its text says what is wrong, where, and how to mend it."""


def read_toml(path: Path) -> tuple[Mapping[str, Any], str, str]:
    """Read a file.

    :return: what a :class:`Table` of all of it is made of
    :raises ConfigError: if it cannot be read, or is no TOML
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
    return values, str(path), ""


class Table:
    """A table of a file, and where it stands. Each method raises :class:`ConfigError` at what it cannot use."""

    def __init__(self, values: Mapping[str, Any], file: str, place: str) -> None:
        self.values = values
        self._file = file
        self._place = place

    def wrong(self, name: str, says: str) -> ConfigError:
        """Return an error about one setting."""
        return ConfigError(f"{self._file}: {self._place}{name} {says}")

    def only(self, *names: str) -> None:
        """Let no other settings be there."""
        for name in self.values:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = (
                    f"did you mean {close[0]}?"
                    if close
                    else f"there {'are' if len(names) > 1 else 'is'} {', '.join(names)}"
                )
                raise self.wrong(name, f"is not known; {hint}")

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text, which says something unless there is a default."""
        value = self.values.get(name, default)
        if value is None:
            raise self.wrong(name, "is missing; give a string")
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(name, f"must be a string that says something, not {value!r}")
        return value

    def truth(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, f"must be true or false, not {value!r}")
        return value

    def choice(self, name: str, default: str | None, choices: list[str]) -> str:
        """Return one of a few words."""
        value = self.values.get(name, default)
        if value not in choices:
            said = "is missing" if value is None else f"cannot be {value!r}"
            raise self.wrong(name, f"{said}; choose one of {', '.join(choices)}")
        assert isinstance(value, str)
        return value

    def tables(self, name: str) -> list[Self]:
        """Return the tables of a list; none if there is no such list."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.wrong(name, "must be a list of tables")
        return [type(self)(one, self._file, f"{self._place}{name}[{number}].") for number, one in enumerate(value, 1)]

    def table(self, name: str) -> Self:
        """Return a table within this one."""
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, f"must be a table; write [{name}] and its settings below")
        return type(self)(value, self._file, f"{self._place}{name}.")
