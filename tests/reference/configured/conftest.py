"""Run each test of configured agents on both stores, and on both loops."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reference.configured.kit import Stage
from tests.reference.persistence.holder import MAKERS


@pytest.fixture(params=list(MAKERS))
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Stage]:
    """Give a maker of stages that all have the same home."""
    return lambda: Stage(MAKERS[request.param](tmp_path / "home"))


@pytest.fixture
def stage(fresh: Callable[[], Stage]) -> Stage:
    """Give a stage with nothing in its home."""
    return fresh()
