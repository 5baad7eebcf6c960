from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from probate_conformance.backends.dsh import DshBackend, dsh_backend, install_dsh
from tests.conformance.backends.children import Fifo


@pytest.fixture(scope="session")
def dsh() -> Iterator[DshBackend]:
    """Give the real dsh. It is installed if it is not: a test that is skipped shows nothing."""
    install_dsh()
    with dsh_backend() as backend:
        yield backend


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    made = Fifo(tmp_path / "fifo")
    yield made
    made.close()
