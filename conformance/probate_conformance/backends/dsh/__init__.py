"""dsh, as it is published on npm: a runtime that nobody here wrote, and the first that the kit is for.

An ES module of ours (``adapter.mjs``) runs in a Node process and drives the published packages through every trace that
needs no prompt. The packages are those of the lock file, installed by ``probate backends install dsh``.

The child is given an empty home, which is its working directory too, and nothing that looks like a credential; no model
is mounted, and the adapter makes every attempt to connect anywhere an error.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from probate_conformance.backends.install import NpmRuntime, find_node
from probate_conformance.backends.process import DEADLINE, ProcessBackend
from probate_conformance.errors import BackendAbsent

_HERE: Final = Path(__file__).resolve().parent
_ADAPTER: Final = _HERE / "adapter.mjs"

PACKAGES: Final = NpmRuntime("dsh", _HERE, ("package.json", "package-lock.json", "packages.mjs"))
"""The packages that the adapter drives."""

_OWN_HOME: Final[dict[str, str | None]] = dict.fromkeys(
    ("NODE_OPTIONS", "NODE_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
)


class DshBackend(ProcessBackend):
    """dsh in a Node process, with a home of its own for as long as the backend is entered."""

    def __init__(self, executable: Path, folder: Path, *, deadline: float = DEADLINE) -> None:
        super().__init__(
            (str(executable), str(_ADAPTER), str(folder)), name="dsh", overlay=_OWN_HOME, deadline=deadline
        )
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        """Make the home, start the child and greet it."""
        self._home = tempfile.TemporaryDirectory(prefix="probate-dsh-", ignore_cleanup_errors=True)
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


def install_dsh() -> Path:
    """Install the packages of dsh, unless they are installed.

    :return: the folder that holds them
    :raises BackendAbsent: if there is no Node that is new enough, or no npm, or if npm fails
    """
    return PACKAGES.install()


def dsh_backend(*, deadline: float = DEADLINE) -> DshBackend:
    """Give the backend for dsh.

    :param deadline: how many seconds one answer may take
    :raises BackendAbsent: if its packages are not installed, or there is no Node that is new enough
    """
    node = find_node()
    if not PACKAGES.installed:
        raise BackendAbsent("the packages of dsh are not installed", mend="install them: probate backends install dsh")
    return DshBackend(node.executable, PACKAGES.folder, deadline=deadline)
