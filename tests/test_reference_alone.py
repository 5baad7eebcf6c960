"""The reference stands alone: its own tests pass where there is neither model nor kit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WITHOUT = """
import sys
sys.modules["probate_model"] = sys.modules["probate_conformance"] = None
import pytest
alone = ("acp/test_serving.py", "subagents/test_real.py", "terminal/test_program.py")
without = ["--ignore=tests/reference/" + name for name in alone]
sys.exit(pytest.main(["-q", "-p", "anyio", "-p", "no:cacheprovider", "tests/reference", *without]))
"""
"""Importing a module that is None in ``sys.modules`` fails as if it did not exist.

What runs the reference in processes of its own is left out: they would import as they like.
"""


def test_the_reference_needs_neither_the_model_nor_the_kit() -> None:
    # The plug-ins that pytest finds by itself include the kit's own.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
