"""The peer's section once more, with the model compiled: in a process of its own, since a process has one model.

Both sides have that model, so the peer gains as much as it can.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.rates import rates
from bench.results import Section, check
from probate_conformance.compiled import is_compiled

_COMPILE: Final = Path(__file__).resolve().parent.parent / "model" / "compile.py"


def compiled(*, quick: bool) -> Section:
    """Compile the model, and measure beside the peer with it."""
    with TemporaryDirectory() as folder:
        if subprocess.run([sys.executable, _COMPILE, folder], check=False).returncode:
            absent = Section("Peer, with the model compiled")
            absent.note("left out: the model can't be compiled here")
            return absent
        # Whatever else is on the path comes behind the compiled model.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((folder, *filter(None, sys.path)))}
        command = [sys.executable, "-m", "bench.compiled", *(["--quick"] if quick else [])]
        measured = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    section: Section = pickle.loads(measured.stdout)  # noqa: S301 - our own child wrote it
    section.title += ", with the model compiled"
    return section


def main() -> None:
    """Measure, and write the section to stdout."""
    parser = argparse.ArgumentParser(prog="python -m bench.compiled", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    arguments = parser.parse_args()
    check(is_compiled(), "the model is not compiled")
    sys.stdout.buffer.write(pickle.dumps(rates(quick=arguments.quick)))


if __name__ == "__main__":
    main()
