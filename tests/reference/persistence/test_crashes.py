"""Real processes are killed, and what they had acknowledged is there afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference.persistence.crash_child import Order
from tests.reference.persistence.crashes import GATES, Forge, campaign


def test_crashes_are_survived(tmp_path: Path) -> None:
    count = campaign(tmp_path, 40)
    assert count.survived == 40
    assert min(count.stores["jsonl"], count.stores["sqlite"]) > 10
    assert min(count.unsynced["jsonl"], count.unsynced["sqlite"])
    assert 3 * count.unsynced.total() >= count.survived, "too few died between a write and its fsync"
    assert count.power
    assert count.resumed
    assert count.records > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_many_crashes_are_survived(tmp_path: Path, seed: int) -> None:
    assert campaign(tmp_path, 500, seed).survived == 500


@pytest.mark.parametrize("store", ["jsonl", "sqlite"])
def test_a_worker_is_killed_at_every_gate_and_operation(tmp_path: Path, store: str) -> None:
    with Forge() as forge:
        for point in ("write", "torn", "other", *(gate for gate in GATES if gate != "load")):
            orders = (
                Order(str(tmp_path / f"{point}{seed}"), "asyncio", seed, point, 1, False, store) for seed in range(4)
            )
            assert any(forge.work(order)["killed"] for order in orders), point
