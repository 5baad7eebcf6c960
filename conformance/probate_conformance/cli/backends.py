"""``probate backends``: what is installed, what could be, and the installing."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from probate_conformance.backends.cordis import RUNTIMES as CORDIS
from probate_conformance.backends.dsh import install_dsh
from probate_conformance.backends.ph_core import RUNTIME as PH_CORE
from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.backends.process import DEADLINE
from probate_conformance.backends.registry import BUILT_IN, GROUP, announced
from probate_conformance.cli.options import add_color
from probate_conformance.cli.output import emit
from probate_conformance.errors import BackendAbsent, Exit, UsageError, unknown_name
from probate_conformance.render.layout import table, wrapped
from probate_conformance.render.style import Ink, Style, style_for

NAME: Final = "backends"
SUMMARY: Final = "tell which backends are installed, and install others"
DESCRIPTION: Final = """\
Without more, tell which backends are installed, which could be, and how. `install NAME` fetches a
foreign runtime, exactly as its lock file says, into a cache folder of yours; it changes nothing
else and runs no script of any package.
"""


def _install(runtime: PipRuntime, release: str | None) -> Path:
    if release is not None:
        raise UsageError(f"of {runtime.name} there is one release, the one that is locked", mend="leave --version out")
    return runtime.install()


_INSTALLERS: Final[Mapping[str, Callable[[str | None], Path]]] = {
    "dsh": install_dsh,
    **{runtime.name: partial(_install, runtime) for runtime in (PH_CORE, *CORDIS.values())},
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_color(parser)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action")
    install = actions.add_parser(
        "install", help="fetch a foreign runtime", description="Fetch a foreign runtime, unless it is there."
    )
    install.add_argument("name", metavar="NAME", help=", ".join(_INSTALLERS))
    install.add_argument(
        "--version",
        dest="release",
        metavar="V",
        help="a release of the packaged runtime of dsh; without it, the packages from npm",
    )


def run(arguments: argparse.Namespace) -> Exit:
    """Tell what is installed, or install.

    :raises UsageError: if what is to be installed is unknown
    :raises BackendAbsent: if it can't be installed
    """
    if arguments.action == "install":
        if arguments.name not in _INSTALLERS:
            raise unknown_name("runtime", arguments.name, _INSTALLERS)
        emit(f"{arguments.name} is installed in {_INSTALLERS[arguments.name](arguments.release)}\n")
        return Exit.PASS
    style = style_for(sys.stdout, os.environ, no_color=arguments.no_color)
    emit("".join(f"{line}\n" for line in _told(style)))
    return Exit.PASS


def _told(style: Style) -> Iterator[str]:
    missing = _missing()
    yield style.ink("installed", Ink.BOLD)
    rows = [(name, one.summary) for name, one in BUILT_IN.items() if name not in missing]
    rows += [(name, f"announced by an installed package: {point.value}") for name, point in announced().items()]
    yield from table(rows, style)
    if missing:
        yield ""
        yield style.ink("not installed", Ink.BOLD)
        rows = [(name, f"{BUILT_IN[name].summary}: {one.what}; {one.mend}") for name, one in missing.items()]
        yield from table(rows, style)
    yield ""
    yield from wrapped(f"A package announces its own by an entry point of the group {GROUP!r}.", 0)


def _missing() -> dict[str, BackendAbsent]:
    """Give the backends that could be here and are not. Making one starts nothing, but finds what it needs."""
    missing = {}
    for name, one in BUILT_IN.items():
        try:
            one.make(DEADLINE)
        except BackendAbsent as absent:
            missing[name] = absent
    return missing
