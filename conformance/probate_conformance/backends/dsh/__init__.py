"""dsh, as it is published: a runtime that nobody here wrote, and the first that the kit is for.

There are two ways to it, and one adapter. The packages from npm are driven by an ES module of ours in a Node process
(``adapter.mjs``). The packaged runtime, a wheel with one executable for each release, is driven from inside by the same
module as a plug-in that it mounts (``plugin.mjs``). Either is installed by ``probate backends install dsh``.

The child is given an empty home, which is its working directory too, and nothing that looks like a credential. Where
dsh insists on a key and an address, it gets a dummy and a closed port of this machine; no model of its own is mounted,
and the adapter makes every attempt to connect anywhere an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from probate_conformance.backends.dsh.releases import RELEASES
from probate_conformance.backends.install import NpmRuntime, WheelRuntime, find_node
from probate_conformance.backends.process import DEADLINE, ProcessBackend
from probate_conformance.errors import BackendAbsent, unknown_name

_HERE: Final = Path(__file__).resolve().parent

PACKAGES: Final = NpmRuntime("dsh", _HERE, ("package.json", "package-lock.json", "packages.mjs"))
"""The packages from npm that the adapter drives."""

NAMES: Final = ("dsh", *(f"dsh@{version}" for version in RELEASES))
"""The backends: the packages from npm, and each release of the packaged runtime."""

_OWN_HOME: Final[dict[str, str | None]] = dict.fromkeys(
    ("NODE_OPTIONS", "NODE_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
)
_REACHES_NOTHING: Final = {"DEEPSEEK_API_KEY": "dummy", "DEEPSEEK_BASE_URL": "http://127.0.0.1:9"}

_ROW: Final = f"- id: probate\n  name: {_HERE / 'plugin.mjs'}\n"


class DshBackend(ProcessBackend):
    """dsh in a process, with a home of its own for as long as the backend is entered.

    :param name: how errors call it
    :param command: what starts it
    :param furnish: puts into the home, before the child starts, what it is to find there
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        overlay: Mapping[str, str | None] | None = None,
        furnish: Callable[[Path], None] = lambda _: None,
        deadline: float = DEADLINE,
    ) -> None:
        super().__init__(command, name=name, overlay={**_OWN_HOME, **(overlay or {})}, deadline=deadline)
        self._furnish = furnish
        self._home: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        """Make the home, start the child and greet it."""
        self._home = tempfile.TemporaryDirectory(prefix="probate-dsh-", ignore_cleanup_errors=True)
        self._directory = Path(self._home.name)
        self._overlay["HOME"] = self._overlay["DSH_HOME"] = self._home.name
        try:
            self._furnish(self._directory)
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


def install_dsh(version: str | None = None) -> Path:
    """Install dsh, unless it is installed.

    :param version: a release of the packaged runtime; the packages from npm if none is given
    :return: the folder that holds it
    :raises UsageError: if there is no such release
    :raises BackendAbsent: if it can't be installed here
    """
    return PACKAGES.install() if version is None else _release(version).install()


def dsh_backend(name: str = "dsh", *, deadline: float = DEADLINE) -> DshBackend:
    """Give the backend for dsh.

    :param name: one of ``NAMES``
    :param deadline: how many seconds one answer may take
    :raises UsageError: if there is no such release
    :raises BackendAbsent: if it is not installed, or there is no Node that is new enough
    """
    _, _, version = name.partition("@")
    if version:
        return _packaged(name, _release(version), deadline)
    node = find_node()
    if not PACKAGES.installed:
        raise BackendAbsent("the packages of dsh are not installed", mend="install them: probate backends install dsh")
    command = (str(node.executable), str(_HERE / "adapter.mjs"), str(PACKAGES.folder))
    return DshBackend(name, command, deadline=deadline)


def _release(version: str) -> WheelRuntime:
    if version not in RELEASES:
        raise unknown_name("release of dsh", version, RELEASES)
    return RELEASES[version]


def _packaged(name: str, release: WheelRuntime, deadline: float) -> DshBackend:
    """Give the backend for a release of the packaged runtime: with nothing mounted in it but our plug-in."""
    if not release.installed:
        raise BackendAbsent(
            f"release {release.version} of dsh is not installed",
            mend=f"install it: probate backends install dsh --version {release.version}",
        )
    runtime = release.folder / "deepseek_harness_runtime" / "runtime"
    executable = next(path for path in runtime.iterdir() if path.name.endswith("-linux-x64") and path.is_file())
    if executable.name.startswith("dsh-jsonrpc-agent-pkg"):  # up to 0.1.1 it is told its rows by a file
        return DshBackend(
            name,
            (str(executable), "cordis.yml"),
            overlay=_REACHES_NOTHING,
            furnish=lambda home: _write(home / "cordis.yml", _ROW),
            deadline=deadline,
        )
    return DshBackend(
        name, (str(executable), "--profile", "probate"), overlay=_REACHES_NOTHING, furnish=_profile, deadline=deadline
    )


def _profile(home: Path) -> None:
    """Write a profile of one row: no bundle of the runtime's own, and our plug-in laid over that."""
    folder = home / "profiles" / "probate"
    folder.mkdir(parents=True)
    about = '{"name": "probate", "private": true, "dsh": {"profile": {"bundles": [], "patchReload": "startup"}}}'
    _write(folder / "package.json", about)
    _write(folder / "cordis.yml", "[]\n")
    inserted = "".join(f"    {line}\n" for line in _ROW.splitlines())
    _write(folder / "cordis.patch.yml", f"- insert:\n{inserted}")


def _write(file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
