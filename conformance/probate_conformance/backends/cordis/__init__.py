"""Plug-in runtimes from PyPI that nobody here wrote, as backends of profile ``fibers``.

All of them follow one design, Cordis, each in its own way. One program drives them (``program``), each through a shim
(``shims``), in a Python of its own, from a cache folder that ``probate backends install NAME`` fills. What a runtime
does otherwise on purpose is a declared variation, and it is held to that; what can't be driven is not claimed, and its
notes say why.

A child is given an empty home, which is its working directory too, and nothing that looks like a credential.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.backends.process import DEADLINE, ProcessBackend

_HERE: Final = Path(__file__).resolve().parent

COMPLETE: Final = (
    "cordis-python", "cordispy", "cordis-ouroboros", "deepseek-cordis", "pi-cordis-py", "cordis-port",
)  # fmt: skip
"""Those that have fibers, effects and services."""

PARTIAL: Final = ("pycardia", "python-cordis", "anvilcore")
"""Those that have some of it."""

RUNTIMES: Final[Mapping[str, PipRuntime]] = MappingProxyType(
    {name: PipRuntime(name, _HERE / "locks" / f"{name}.txt", ("3.13", "3.12")) for name in (*COMPLETE, *PARTIAL)}
)
"""The packages of each. The program needs Python 3.12, whatever the runtime does."""

_OWN_HOME: Final[dict[str, str | None]] = dict.fromkeys(("PYTHONPATH", "PYTHONHOME", "XDG_CACHE_HOME"))


class CordisBackend(ProcessBackend):
    """One of them in a Python process, with a home of its own for as long as the backend is entered."""

    def __init__(self, name: str, python: Path, folder: Path, *, deadline: float = DEADLINE) -> None:
        command = (str(python), "-P", str(_HERE / "program.py"), str(folder), name)
        super().__init__(command, name=name, overlay=dict(_OWN_HOME), deadline=deadline)
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        """Make the home, start the child and greet it."""
        self._home = tempfile.TemporaryDirectory(prefix="probate-cordis-", ignore_cleanup_errors=True)
        self._directory = Path(self._home.name)
        self._overlay["HOME"] = self._home.name
        try:
            return super().__enter__()
        except BaseException:
            self._home.cleanup()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the child and remove its home."""
        super().__exit__(kind, error, traceback)
        if self._home is not None:
            self._home.cleanup()


def cordis_backend(name: str, *, deadline: float = DEADLINE) -> CordisBackend:
    """Give the backend for one of the runtimes.

    :param deadline: how many seconds one answer may take
    :raises BackendAbsent: if it is not installed, or there is no Python that it runs on
    """
    python, folder = RUNTIMES[name].found()
    return CordisBackend(name, python, folder, deadline=deadline)
