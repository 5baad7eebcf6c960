"""The reference stands alone: its own tests pass where there is neither model nor kit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WITHOUT = """
import importlib, pathlib, pkgutil, sys
sys.modules["probate_model"] = sys.modules["probate_conformance"] = None
import pytest
core = sorted(map(str, pathlib.Path("tests/reference").glob("test_*.py")))
code = pytest.main(["-q", "-p", "anyio", "-p", "no:cacheprovider", *core])
import probate_reference
for module in pkgutil.walk_packages(probate_reference.__path__, "probate_reference."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
sys.exit(code)
"""
"""Importing a module that is None in ``sys.modules`` fails as if it did not exist.

Every module is imported; the tests that run are those of the core, since those of the rooms take minutes.
"""


def test_the_reference_needs_neither_the_model_nor_the_kit() -> None:
    # The plug-ins that pytest finds by itself include the kit's own.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
