"""A home belongs to one process: another one is kept out, and its end, however it ends, lets the next one in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probate_reference import HomeLocked, ModelRequest, Reply, Runtime, Signal
from probate_reference.persistence import Header
from tests.reference.persistence.holder import MAKERS
from tests.reference.persistence.test_stores import TURN

ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def held(kind: str, home: Path) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold a home, for as long as the block lasts or until it is killed."""
    program = [sys.executable, "-m", "tests.reference.persistence.holder", kind, str(home)]
    with subprocess.Popen(
        program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


async def answer(request: ModelRequest, signal: Signal) -> Reply:
    return Reply("answer")


@pytest.mark.parametrize("how", ["leaves", "is killed"])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_home_is_kept_from_another_process_until_its_holder_ends(kind: str, how: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = MAKERS[kind](home)
    with held(kind, home) as process:
        for _ in range(2):
            with pytest.raises(HomeLocked) as refused:
                store.open()
        holder = f"process {process.pid}" if kind == "jsonl" else "another process"
        assert str(refused.value) == f"{str(home)!r} is in use by {holder}; end it, or name another home for this one"
        if how == "leaves":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.kill()
        process.wait()
        store.open()
        store.create(Header("a"), TURN)
        store.close()


@pytest.mark.anyio
async def test_a_runtime_does_not_start_on_the_home_of_another_process(tmp_path: Path) -> None:
    with held("jsonl", tmp_path):
        runtime = Runtime(answer, home=tmp_path)
        with pytest.raises(HomeLocked, match="in use by"):
            await runtime.__aenter__()
    async with runtime:
        """The other one is gone."""
