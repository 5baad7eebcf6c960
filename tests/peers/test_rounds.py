"""A few of the rounds that ``python -m bench --only acp`` runs a thousand of."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from bench.acp import crashes, rounds
from tests.reference.acp.programs import HUNG_SECONDS

pytestmark = pytest.mark.anyio


async def test_nothing_is_left_in_one_process(tmp_path: Path) -> None:
    with anyio.fail_after(HUNG_SECONDS):
        counts = await rounds(1, 12, tmp_path)
    assert (counts.rounds, counts.left()) == (12, 0), counts
    assert counts.processes > 1


async def test_nothing_is_left_of_two_processes(tmp_path: Path, anyio_backend: str) -> None:
    with anyio.fail_after(HUNG_SECONDS):
        counts = await crashes(1, 4, tmp_path, anyio_backend)
    assert (counts.rounds, counts.left()) == (4, 0), counts
