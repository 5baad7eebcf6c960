"""Planting a defect in the reference, and taking it out again.

A defect is a change of one or two functions of the reference. A small function is replaced; in a long one, some lines
are exchanged, so that all the rest of it stays what the reference has today. Both insist that what they change is
there: a defect that was planted nowhere would be found by nobody, and nobody would know.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import sys
import textwrap
from types import FunctionType, ModuleType, TracebackType
from typing import Self

import probate_reference


class NothingToChange(LookupError):
    """Raised when what a defect would change is not in the reference (any more)."""


def _modules() -> list[ModuleType]:
    package = probate_reference.__name__
    return [module for name, module in sys.modules.items() if name == package or name.startswith(f"{package}.")]


class Patches:
    """Changes of modules and classes that last as long as the context."""

    def __init__(self) -> None:
        self._old: list[tuple[ModuleType | type, str, object]] = []

    def replace(self, holder: ModuleType | type, name: str, new: object) -> None:
        """Let a name of a module or class stand for something else, also in the modules that import it by name.

        :raises NothingToChange: if there is no such name
        """
        old = vars(holder).get(name)
        if old is None:
            raise NothingToChange(f"{holder.__name__} has no {name}")
        holders = [holder] if isinstance(holder, type) else [m for m in _modules() if vars(m).get(name) is old]
        for where in holders:
            self._old.append((where, name, old))
            setattr(where, name, new)

    def edit(self, holder: ModuleType | type, name: str, *changes: tuple[str, str]) -> None:
        """Exchange lines of a function's source, each of which must be there exactly once.

        :param changes: what is there, and what is to be there instead
        :raises NothingToChange: if there is no such function, or no such text in it
        """
        function = vars(holder).get(name)
        if not isinstance(function, FunctionType):
            raise NothingToChange(f"{holder.__name__} has no function {name}")
        source = textwrap.dedent(inspect.getsource(function))
        for old, new in changes:
            if source.count(old) != 1:
                raise NothingToChange(f"{holder.__name__}.{name} has {old!r} not once but {source.count(old)} times")
            source = source.replace(old, new)
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
