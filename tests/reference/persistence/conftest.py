"""Run each test of a store on both stores, and each async one on both loops."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from probate_reference import Store
from tests.reference.persistence.holder import MAKERS


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Give a maker of stores that all have the same home."""
    return lambda: MAKERS[request.param](tmp_path / "home")


@pytest.fixture
def store(make: Callable[[], Store]) -> Iterator[Store]:
    """Give an open store."""
    made = make()
    made.open()
    yield made
    made.close()
