"""What each package may import, as a list of what is allowed.

The import linter keeps the walls between the packages, but it forbids only what it was told of. A
module that nobody thought of would pass it: here the model can't reach a clock by another name, and
nobody leans on a package that is installed only because something else wants it.
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

STANDARD_LIBRARY = frozenset(sys.stdlib_module_names)

# Values and types only. Add to it what is as pure as these.
PURE = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "enum",
        "functools",
        "heapq",
        "itertools",
        "math",
        "operator",
        "re",
        "string",
        "types",
        "typing",
    }
)

ALLOWED = {
    "probate_model": PURE | {"probate_model"},
    "probate_reference": STANDARD_LIBRARY | {"anyio", "trio", "probate_reference"},
    "probate_conformance": STANDARD_LIBRARY
    | {"anyio", "pydantic", "trio", "probate_conformance", "probate_model", "probate_reference"},
}

# What is there for the users of another tool may import that tool, which is no dependency of ours.
GUESTS = {
    "probate_conformance/strategies.py": frozenset({"hypothesis"}),
    "probate_conformance/pytest_plugin.py": frozenset({"pytest"}),
    "probate_conformance/pytest_clauses.py": frozenset({"pytest"}),
    "fibers/reload.py": frozenset({"watchfiles"}),
    # Programs for another Python; what they import is beside them there.
    **{
        f"shims/{shim}_shim.py": frozenset({"base", package})
        for shim, package in {
            "anvilcore": "anvilcore",
            "cordis_ouroboros": "ouroboros",
            "cordis_port": "cordis_port",
            "cordis_python": "cordis_py",
            "cordispy": "cordispy",
            "deepseek_cordis": "deepseek_cordis",
            "pi_cordis_py": "cordis",
            "pycardia": "pycardia",
            "python_cordis": "python_cordis",
        }.items()
    },
    "models/openai.py": frozenset({"httpx"}),
    "ph_core/adapter.py": frozenset({"ph"}),  # a program for another Python
    "python/adapter.py": frozenset({"toy"}),  # a template, which is written out beside its toy
}


def foreign_imports(source: str, allowed: frozenset[str]) -> Iterator[str]:
    """Yield the imports of a module that are not allowed, with their lines."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                names = [module]
            case _:
                continue
        for name in names:
            if name.partition(".")[0] not in allowed:
                yield f"line {node.lineno}: {name}"


def waits(source: str) -> Iterator[str]:
    """Yield what is asynchronous in a module, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await):
            yield f"line {node.lineno}: {type(node).__name__}"


def modules(package: str) -> list[Path]:
    """Find the source files of a package."""
    (root,) = importlib.import_module(package).__path__
    return sorted(Path(root).rglob("*.py"))


@pytest.mark.parametrize("package", ALLOWED)
def test_package_imports_only_what_it_may(package: str) -> None:
    found = modules(package)
    assert found
    for path in found:
        allowed = ALLOWED[package] | GUESTS.get("/".join(path.parts[-2:]), frozenset())
        assert list(foreign_imports(path.read_text(), allowed)) == [], path


def test_guests_exist() -> None:
    assert GUESTS.keys() <= {"/".join(path.parts[-2:]) for package in ALLOWED for path in modules(package)}


def test_model_never_waits() -> None:
    for path in modules("probate_model"):
        assert list(waits(path.read_text())) == [], path


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("probate_model", "import asyncio"),
        ("probate_model", "import collections, time"),
        ("probate_model", "from random import Random"),
        ("probate_model", "def f():\n    import logging.handlers"),
        ("probate_model", "if TYPE_CHECKING:\n    from anyio.abc import TaskGroup"),
        ("probate_model", "import probate_reference"),
        ("probate_reference", "from probate_model import World"),
        ("probate_reference", "import pydantic"),
        ("probate_conformance", "import attrs"),
    ],
)
def test_planted_import_is_caught(package: str, source: str) -> None:
    assert len(list(foreign_imports(source, ALLOWED[package]))) == 1


def test_planted_wait_is_caught() -> None:
    assert len(list(waits("async def f():\n    await g()"))) == 2


def test_own_and_relative_imports_pass() -> None:
    source = "from . import events\nimport probate_model.events\nfrom dataclasses import dataclass"
    assert list(foreign_imports(source, ALLOWED["probate_model"])) == []
