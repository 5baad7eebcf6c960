"""Touch the disk: the few operations that a log needs, each a method of its own.

Durability is a matter of which operations were done before the power went, so the store does all of them through one
object. A test puts another object in its place: one that counts and kills the process after the n-th write, or one on
which the disk is full. Each method is one call of the operating system, and fails as that does.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

__all__ = ("Files",)


class Files:
    """The disk as it is."""

    def make_directory(self, path: Path) -> None:
        """Make a directory, and those above it, for this user only; nothing happens if it is there."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def lock(self, path: Path) -> int:
        """Lock a file for as long as the descriptor that is returned is open.

        :raises BlockingIOError: if somebody else has locked it
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def open_new(self, path: Path) -> int:
        """Open a file to write to, empty, for this user only."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def open_end(self, path: Path) -> int:
        """Open a file that exists, to add to it."""
        return os.open(path, os.O_WRONLY | os.O_APPEND)

    def write(self, descriptor: int, data: bytes) -> int:
        """Write some of the data and return how much."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Wait until what was written to a file is on the disk."""
        os.fsync(descriptor)

    def size(self, descriptor: int) -> int:
        """Return the size of an open file."""
        return os.fstat(descriptor).st_size

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file off."""
        os.ftruncate(descriptor, size)

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Give a file another name."""
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        os.unlink(path)

    def sync_directory(self, path: Path) -> None:
        """Wait until the names in a directory are on the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self, path: Path) -> bytes:
        """Read a whole file."""
        return path.read_bytes()

    def read_line(self, path: Path) -> bytes:
        """Read the first line of a file, with its newline if it has one."""
        with path.open("rb") as file:
            return file.readline()

    def modified(self, path: Path) -> float:
        """Return when a file was written to last, in seconds since the epoch."""
        return path.stat().st_mtime

    def exists(self, path: Path) -> bool:
        """Return whether there is a file."""
        return path.exists()

    def names(self, path: Path) -> list[str]:
        """Return the names in a directory."""
        return os.listdir(path)
