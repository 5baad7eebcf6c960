"""``python -m probate_conformance.docs FOLDER`` writes the page, its pictures and its traces there."""

from __future__ import annotations

import sys
from pathlib import Path

from probate_conformance.docs.page import PICTURES, TRACES, files


def write(folder: Path) -> None:
    """Write the files, and remove what an earlier run wrote and this one does not."""
    made = {folder / name: text for name, text in files().items()}
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (*(folder / PICTURES).glob("*.svg"), *(folder / TRACES).glob("*.json")):
        if path not in made:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m probate_conformance.docs FOLDER")
    write(Path(sys.argv[1]))
