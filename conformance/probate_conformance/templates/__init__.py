"""Templates: an adapter that works, with a toy runtime that it drives, to start from.

Each is a folder beside this module, in the form in which it is written out: nothing is filled in, so what the tests run
is what a user gets. The toy keeps all that its manifest claims, and leaves unclaimed what a small runtime lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from probate_conformance.errors import ReportError, UsageError

_HERE: Final = Path(__file__).resolve().parent
_CHECK: Final = "check"
"""The file that is a command."""


@dataclass(frozen=True, slots=True)
class Template:
    """The files of an adapter in one language."""

    language: str
    files: tuple[str, ...]
    command: str
    """What starts the adapter, in its folder."""

    def write(self, folder: Path) -> None:
        """Write the files into a folder, which is made.

        :raises UsageError: if it holds something already, or can't be made
        :raises ReportError: if a file can't be written
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            full = any(folder.iterdir())
        except OSError as error:
            raise UsageError(
                f"can't be made: {error.strerror}", where=str(folder), mend="name a folder that is not there yet"
            ) from error
        if full:
            raise UsageError("is not empty", where=str(folder), mend="name a folder that is not there yet")
        for name in self.files:
            file = folder / name
            try:
                file.write_bytes((_HERE / self.language / name).read_bytes())
                file.chmod(0o755 if name == _CHECK else 0o644)
            except OSError as error:
                raise ReportError(f"can't be written: {error.strerror}", where=str(file)) from error


TEMPLATES: Final = MappingProxyType(
    {
        "python": Template("python", ("adapter.py", "toy.py", "README.md", _CHECK), "python3 adapter.py"),
        "typescript": Template(
            "typescript", ("adapter.ts", "toy.ts", "package.json", "README.md", _CHECK), "node adapter.ts"
        ),
    }
)
"""The templates, by language."""
