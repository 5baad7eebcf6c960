"""A disk that fails when it is told to."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from probate_reference.persistence import Files


def no_space() -> OSError:
    """Give the failure of a disk that is full."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only() -> OSError:
    """Give the failure of a file system that may only be read."""
    return OSError(errno.EROFS, os.strerror(errno.EROFS))


class FaultyFiles(Files):
    """The disk, with faults by the name of the operation; each is raised until it is taken out.

    :ivar short: how many bytes of a write are still written before ``write`` fails
    """

    def __init__(self) -> None:
        self.faults: dict[str, Callable[[], OSError]] = {}
        self.short = 0

    def _meet(self, operation: str) -> None:
        if operation in self.faults:
            fault = self.faults[operation]()
            raise fault

    def make_directory(self, path: Path) -> None:
        self._meet("make_directory")
        super().make_directory(path)

    def open_new(self, path: Path) -> int:
        self._meet("open_new")
        return super().open_new(path)

    def write(self, descriptor: int, data: bytes) -> int:
        if "write" in self.faults:
            if not self.short:
                self._meet("write")
            data, self.short = data[: self.short], 0
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._meet("sync")
        super().sync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        self._meet("rename")
        super().rename(source, target)

    def sync_directory(self, path: Path) -> None:
        self._meet("sync_directory")
        super().sync_directory(path)

    def read(self, path: Path) -> bytes:
        self._meet("read")
        return super().read(path)
