"""Names for backends: the small language in which a command line says what to check.

    reference, dsh ...       what is built in, or announced by an installed package
    dsh@VERSION              one release of dsh, as packaged for Python
    bad:NAME, bad:NAME@trio  the reference with one known defect
    module:factory           a callable in Python that makes a backend; python:module:factory is the same
    cmd:COMMAND LINE         a program that speaks the line protocol on its standard streams

Packages announce backends by entry points of the group ``probate.backends``: the name, and a callable without
arguments. A built-in name is never taken over by one. A module is looked for in the current directory too, after
everything that is installed.

Making a backend starts nothing; that is done when it is entered.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Final, TypeGuard

from pydantic import ValidationError

from probate_conformance.backends.base import Backend
from probate_conformance.backends.cordis import RUNTIMES as CORDIS
from probate_conformance.backends.cordis import cordis_backend
from probate_conformance.backends.dsh import dsh_backend
from probate_conformance.backends.dsh.releases import RELEASES
from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.ph_core import ph_core_backend
from probate_conformance.backends.process import DEADLINE, ProcessBackend
from probate_conformance.backends.reference import ReferenceBackend, known_bad
from probate_conformance.codec import said_of
from probate_conformance.errors import BackendBroke, UsageError, unknown_name
from probate_model.alphabet.editions import EDITION_2026_08

GROUP: Final = "probate.backends"
"""The entry points by which packages announce backends."""

BAD: Final = "bad:"
COMMAND: Final = "cmd:"
PYTHON: Final = "python:"

DEFAULTS: Final = ("reference", "reference-trio")
"""What is checked if nothing is named."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A backend that comes with the kit."""

    summary: str
    make: Callable[[float], Backend]
    """Makes it, given the deadline for one answer in seconds; who needs none takes no notice of it."""


def _release_of_dsh(version: str) -> BuiltIn:
    return BuiltIn(
        f"release {version} of dsh, as packaged for Python, driven from inside",
        lambda deadline: dsh_backend(f"dsh@{version}", deadline=deadline),
    )


def _plug_in_runtime(name: str) -> BuiltIn:
    return BuiltIn(
        f"the plug-in runtime {name}, as published on PyPI, in a Python of its own",
        lambda deadline: cordis_backend(name, deadline=deadline),
    )


BUILT_IN: Final[Mapping[str, BuiltIn]] = MappingProxyType(
    {
        "reference": BuiltIn("the reference on asyncio", lambda _: ReferenceBackend("asyncio")),
        "reference-trio": BuiltIn(
            "the reference on trio, under a seeded run queue", lambda _: ReferenceBackend("trio")
        ),
        "reference-processes": BuiltIn(
            "the reference on asyncio, where the programs of subagents are processes",
            lambda _: ReferenceBackend("asyncio", processes=True),
        ),
        "reference-processes-trio": BuiltIn("the same on trio", lambda _: ReferenceBackend("trio", processes=True)),
        "model": BuiltIn("the model itself, which the kit must always accept", lambda _: ModelBackend()),
        "model-2026-08": BuiltIn(
            "the model, following edition 2026-08 whatever it is asked for", lambda _: ModelBackend(EDITION_2026_08)
        ),
        "dsh": BuiltIn(
            "the agent loop of dsh, as published on npm, in a Node process",
            lambda deadline: dsh_backend(deadline=deadline),
        ),
        **{f"dsh@{version}": _release_of_dsh(version) for version in RELEASES},
        "ph-core": BuiltIn(
            "the agent loop of ph-core, as published on PyPI, in a Python 3.12 or newer of its own",
            lambda deadline: ph_core_backend(deadline=deadline),
        ),
        **{name: _plug_in_runtime(name) for name in CORDIS},
    }
)


def announced() -> dict[str, EntryPoint]:
    """Give the backends that installed packages announce, by name."""
    found = entry_points(group=GROUP)
    return {name: found[name] for name in sorted(found.names) if name not in BUILT_IN}


def make_backend(name: str, *, deadline: float = DEADLINE) -> Backend:
    """Make the backend that a name stands for.

    :param deadline: how many seconds one answer may take, if it lives in another process
    :raises UsageError: if the name stands for nothing, or for what can't be imported or called
    :raises BackendAbsent: if it is known and not installed
    :raises BackendBroke: if its factory raises
    """
    if name in BUILT_IN:
        return BUILT_IN[name].make(deadline)
    if name.startswith(BAD):
        return _known_bad(name)
    if name.startswith(COMMAND):
        return _command(name, deadline)
    points = announced()
    if name in points:
        return _announced(name, points[name])
    path = name.removeprefix(PYTHON)
    module, colon, factory = path.partition(":")
    if not (colon and module and factory):
        if _is_module(path):
            raise UsageError(
                "is a module, and no backend by itself",
                where=name,
                mend=f"name what in it makes one, as in {path}:factory",
            )
        mend = "or module:factory, cmd:COMMAND LINE; `probate list --backends` shows all"
        raise unknown_name("backend", name, [*BUILT_IN, *points], also=mend)
    return _called(name, _imported(name, module, factory))


def _known_bad(name: str) -> Backend:
    variant, _, loop = name.removeprefix(BAD).partition("@")
    if variant not in known_bad.VARIANTS:
        raise unknown_name("known-bad backend", variant, known_bad.VARIANTS, also="`probate list --backends` shows all")
    match loop or known_bad.VARIANTS[variant].loops[0]:
        case "asyncio":
            return known_bad.backend(variant, "asyncio")
        case "trio":
            return known_bad.backend(variant, "trio")
        case _:
            raise unknown_name("loop", loop, ("asyncio", "trio"))


def _command(name: str, deadline: float) -> Backend:
    line = name.removeprefix(COMMAND)
    try:
        command = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"can't be split into words: {error}", where=name) from None
    if not command:
        raise UsageError("names no program", where=name, mend="as in cmd:'node adapter.mjs'")
    return ProcessBackend(command, name=line, deadline=deadline)


def _announced(name: str, point: EntryPoint) -> Backend:
    try:
        factory = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{point.value!r}, which an installed package announces, can't be imported: {_say(error)}", where=name
        ) from error
    return _called(name, factory)


def _look_here() -> None:
    """Let modules be found in the current directory too."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)


def _is_module(name: str) -> bool:
    """Tell whether a name is that of a module; one in a package is not looked for, as that would import the package."""
    _look_here()
    found = importlib.util.find_spec(name) if name.isidentifier() else None
    return found is not None and found.origin is not None


def _imported(name: str, module: str, factory: str) -> object:
    _look_here()
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as error:
        mend = "name a module that Python finds from here, as in module:factory"
        raise UsageError(f"can't be imported: {error}", where=name, mend=mend) from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"can't be imported: {_say(error)}", where=name) from error
    for part in factory.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [one for one in dir(found) if not one.startswith("_")]
            raise UsageError(f"module {module!r} has no {factory!r}{_near(part, names)}", where=name) from None
    return found


def _called(name: str, factory: object) -> Backend:
    if not callable(factory):
        raise UsageError(
            f"is no callable but {_a(factory)}",
            where=name,
            mend="name a callable that takes nothing and gives a backend",
        )
    try:
        backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendBroke(f"the factory raised {_say(error)}", where=name) from error
    if not _is_backend(backend):
        raise UsageError(
            f"the factory gave {_a(backend)}, and that is no backend",
            where=name,
            mend="a backend has manifest, converse, __enter__ and __exit__: see probate_conformance.backends.base",
        )
    return backend


def _is_backend(made: object) -> TypeGuard[Backend]:
    """Tell whether it has what a backend has; but for the manifest, which some have only once they are entered."""
    parts = ("converse", "__enter__", "__exit__")
    return not isinstance(made, type) and all(callable(getattr(type(made), part, None)) for part in parts)


def _near(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _a(value: object) -> str:
    return "None" if value is None else f"something of type {type(value).__name__}"


def _say(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return f"{error.title}: {said_of(error)}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
