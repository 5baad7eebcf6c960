"""Planting a defect in the reference, and taking it out again.

A defect is a change of one or two functions of the reference. A small function is replaced; in a long one, some lines
are exchanged, so that all the rest of it stays what the reference has today. Both insist that what they change is
there: a defect that was planted nowhere would be found by nobody, and nobody would know.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import re
import sys
import textwrap
from types import FunctionType, ModuleType, TracebackType
from typing import Any, Self

import probate_reference


class NothingToChange(LookupError):
    """Raised when what a defect would change is not in the reference (any more)."""


def modules() -> list[ModuleType]:
    """Give the modules of the reference."""
    package = probate_reference.__name__
    return [module for name, module in sys.modules.items() if name == package or name.startswith(f"{package}.")]


def _part(text: str) -> str:
    return textwrap.dedent(text).strip("\n").rstrip()


def _exchanged(source: str, old: str, new: str) -> str:
    """Exchange one part of a source for another, at the indentation where it is."""
    found = []
    for indent in sorted({len(line) - len(line.lstrip()) for line in source.splitlines()}):
        part = old.replace("\n", "\n" + " " * indent)
        places = [match.start() for match in re.finditer(re.escape(part), source)]
        for place in places:
            line = source[source.rfind("\n", 0, place) + 1 :]
            if len(line) - len(line.lstrip()) == indent:
                found.append((place, part, new.replace("\n", "\n" + " " * indent)))
    if len(found) != 1:
        raise NothingToChange(f"{old!r} is not there once, but {len(found)} times")
    place, part, instead = found[0]
    return source[:place] + instead + source[place + len(part) :]


class Patches:
    """Changes of modules and classes that last as long as the context."""

    def __init__(self) -> None:
        self._old: list[tuple[ModuleType | type, str, object]] = []
        self._added: list[tuple[dict[str, Any], str]] = []

    def replace(self, holder: ModuleType | type, name: str, new: object) -> None:
        """Let a name of a module or class stand for something else, also in the modules that import it by name.

        :raises NothingToChange: if there is no such name
        """
        old = vars(holder).get(name)
        if old is None:
            raise NothingToChange(f"{holder.__name__} has no {name}")
        importing = () if isinstance(holder, type) else (m for m in modules() if vars(m).get(name) is old)
        for where in dict.fromkeys((holder, *importing)):
            self._old.append((where, name, old))
            setattr(where, name, new)

    def edit(self, holder: ModuleType | type, name: str, *changes: tuple[str, str], **names: object) -> None:
        """Exchange parts of a function's source, each of which must be there exactly once.

        A part of several lines is written without the indentation that it has there; what replaces it gets the same.

        :param changes: what is there, and what is to be there instead
        :param names: what else the new lines can name
        :raises NothingToChange: if there is no such function, or no such part of it
        """
        function = vars(holder).get(name)
        if not isinstance(function, FunctionType):
            raise NothingToChange(f"{holder.__name__} has no function {name}")
        source = textwrap.dedent(inspect.getsource(function))
        for old, new in changes:
            source = _exchanged(source, _part(old), _part(new))
        for new_name, value in names.items():
            if new_name in function.__globals__:
                raise ValueError(f"{holder.__name__} has a {new_name} of its own")
            self._added.append((function.__globals__, new_name))
            function.__globals__[new_name] = value
        tree = ast.parse(source)
        ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
        flags = __future__.annotations.compiler_flag
        made: dict[str, object] = {}
        code = compile(tree, function.__code__.co_filename, "exec", flags, dont_inherit=True)
        exec(code, function.__globals__, made)  # noqa: S102 - the reference's own lines and ours
        self.replace(holder, name, made[name])

    @property
    def changed(self) -> int:
        """How many names stand for something else now."""
        return len(self._old)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._old:
            setattr(*self._old.pop())
        while self._added:
            names, name = self._added.pop()
            del names[name]
