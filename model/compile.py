"""The model, compiled: the same source, made into extension modules by mypyc.

    python model/compile.py build/compiled
    PYTHONPATH=build/compiled probate check reference

Most of what the kit itself costs is the model's run, and the model is strictly typed, pure and synchronous, which is
what mypyc wants. It stays Python: what is compiled is a copy beside the checkout, with the source in it, that runs when
it is found first on the path. The alphabet and the clauses are left as they are, since they are made once and only
looked at.

A compiled model can't be looked into while it runs, nor can a part of it be replaced. So ``probate explore`` refuses
it, and the few tests that replace a part of the model are not for it.

Needs mypy, setuptools and a C compiler. Takes a minute.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from mypyc.build import mypycify
from setuptools import setup  # type: ignore[import-untyped] # it carries no types

SOURCE: Final = Path(__file__).resolve().parent / "probate_model"
LEFT: Final = ("alphabet", "clauses")
_SHARED: Final = "*__mypyc.*"
"""What the modules have in common, beside the package."""


def compile_into(folder: Path) -> None:
    """Make a compiled copy of the model in a folder, in place of the one that is there.

    :raises SystemExit: if a compiler refuses it; what it says is on stderr
    """
    with TemporaryDirectory() as temporary:
        made = Path(temporary)
        shutil.copytree(SOURCE, made / SOURCE.name, ignore=shutil.ignore_patterns("__pycache__"))
        with contextlib.chdir(made):
            _compile()
        # Only what an earlier run has left is taken away: the folder is somebody's.
        shutil.rmtree(folder / SOURCE.name, ignore_errors=True)
        for old in folder.glob(_SHARED):
            old.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        for one in (made / SOURCE.name, *made.glob(_SHARED)):
            shutil.move(one, folder)


def _compile() -> None:
    """Compile the copy in the current directory."""
    package = Path(SOURCE.name)
    modules = sorted(str(path) for path in package.rglob("*.py") if path.parts[1] not in LEFT)
    # One file of C for each module, and few optimisations: anything else takes minutes, and gains nothing.
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            extensions = mypycify(
                ["--config-file=", *modules], opt_level="1", debug_level="0", multi_file=True, target_dir="build"
            )
        except SystemExit:
            sys.exit(said.getvalue())
    setup(name="probate-model", ext_modules=extensions, script_args=["--quiet", "build_ext", "--inplace"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {os.path.relpath(__file__)} FOLDER")
    compile_into(Path(sys.argv[1]))
