"""Runtimes in Python that need another Python than ours, or packages that must not stand beside our own.

They are installed by a Python that they run on, exactly as their lock says, into the same cache folder as all that the
kit fetches (see ``install``), and run by that Python, as a child. Which one that is, is part of the folder's name: what
was compiled for one does not load in another.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from probate_conformance.backends.install import PIP, cache_folder, make_whole, run_installer
from probate_conformance.errors import BackendAbsent

_WORKS: Final = "import sys, pip, venv; print('%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True, slots=True)
class PipRuntime:
    """Packages for a Python: a name, their lock, and the versions of Python that they run on, best first."""

    name: str
    lock: Path
    pythons: tuple[str, ...]

    def folder(self, version: str) -> Path:
        """Where it is, or will be, installed for a version of Python."""
        digest = hashlib.sha256(version.encode() + self.lock.read_bytes()).hexdigest()
        return cache_folder() / self.name / digest[:16]

    def found(self) -> tuple[Path, Path]:
        """Give the Python that runs it, and the folder that holds it.

        :raises BackendAbsent: if it is not installed, or there is no such Python
        """
        for version, python in self._found_pythons():
            if os.path.isdir(self.folder(version)):
                return python, self.folder(version)
        raise BackendAbsent(f"{self.name} is not installed", mend=f"install it: probate backends install {self.name}")

    def install(self) -> Path:
        """Install it for the best Python that is here, unless it is installed.

        :return: the folder that holds it
        :raises BackendAbsent: if there is no such Python, or pip fails
        """
        version, python = next(self._found_pythons())
        folder = self.folder(version)
        if os.path.isdir(folder):
            return folder

        def fill(made: Path) -> None:
            command = (str(python), *PIP, "--target", str(made), "--requirement", str(self.lock))
            run_installer(command, made, self.name, "pip", dict(os.environ))

        make_whole(folder, fill)
        return folder

    def _found_pythons(self) -> Iterator[tuple[str, Path]]:
        """Find Pythons that it runs on, best version first.

        :raises BackendAbsent: at the end, if there was none
        """
        any_found = False
        for version in self.pythons:
            for python in _candidates(version):
                if _is(python, version):
                    any_found = True
                    yield version, python
                    break
        if not any_found:
            raise BackendAbsent(
                f"{self.name} needs Python {' or '.join(self.pythons)}, with pip, and none is found here",
                mend=f"put one on the path, as python{self.pythons[0]}, or install it with pyenv",
            )


def _candidates(version: str) -> Iterator[Path]:
    """Where a Python may be: the one that runs this, the path, and what pyenv has, where that may be looked at."""
    yield Path(sys.executable)
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    # Not by a Path: its glob fails where it may not look.
    found = glob.iglob(f"versions/{version}.*/bin/python{version}", root_dir=pyenv)
    yield from sorted((Path(pyenv, one) for one in found), reverse=True)


@functools.cache
def _is(python: Path, version: str) -> bool:
    """Tell whether a Python works and is of a version: a name on the path proves little."""
    try:
        done = subprocess.run([str(python), "-c", _WORKS], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0 and done.stdout.strip() == version
