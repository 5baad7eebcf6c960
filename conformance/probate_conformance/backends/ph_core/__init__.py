"""ph-core: an agent harness in Python, from PyPI, that nobody here wrote.

It needs Python 3.12 or newer and packages of its own, so it runs in a child, under a Python that is found, from a cache
folder that ``probate backends install ph-core`` fills. The adapter drives it in that process.

The child is given an empty home, which is its working directory too, and nothing that looks like a credential; the
adapter is the model.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from probate_conformance.backends.pip_runtime import PipRuntime
from probate_conformance.backends.process import DEADLINE, ProcessBackend

_HERE: Final = Path(__file__).resolve().parent

RUNTIME: Final = PipRuntime("ph-core", _HERE / "lock.txt", ("3.13", "3.12"))
"""The packages that the adapter drives."""

_OWN_HOME: Final[dict[str, str | None]] = dict.fromkeys(
    (
        "PYTHONPATH",
        "PYTHONHOME",
        "PH_HOME",
        "PH_CACHE",
        "PH_RUNTIME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    )
)


class PhCoreBackend(ProcessBackend):
    """ph-core in a Python process, with a home of its own for as long as the backend is entered."""

    def __init__(self, python: Path, folder: Path, *, deadline: float = DEADLINE) -> None:
        command = (str(python), "-P", str(_HERE / "adapter.py"), str(folder))
        super().__init__(command, name="ph-core", overlay=_OWN_HOME, deadline=deadline)
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        """Make the home, start the child and greet it."""
        self._home = tempfile.TemporaryDirectory(prefix="probate-ph-core-", ignore_cleanup_errors=True)
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


def ph_core_backend(*, deadline: float = DEADLINE) -> PhCoreBackend:
    """Give the backend for ph-core.

    :param deadline: how many seconds one answer may take
    :raises BackendAbsent: if it is not installed, or there is no Python that it runs on
    """
    python, folder = RUNTIME.found()
    return PhCoreBackend(python, folder, deadline=deadline)
