"""Give commands, and see to it that a test leaves none behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reference.tasks.commands import Pipe, children


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[[str], Pipe]:
    """Make pipes with names."""
    return lambda name: Pipe(tmp_path / name)


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    before = children()
    yield
    assert [child for child in children() if child not in before] == []
