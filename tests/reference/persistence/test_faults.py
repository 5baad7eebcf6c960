"""A disk that fails loses nothing that is still in memory, and says so in one line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from probate_reference import (
    HomeLocked,
    HomeUnusable,
    JsonlStore,
    NotDurable,
    Persistence,
    Runtime,
    SqliteStore,
    StorageError,
)
from tests.reference.kit import line
from tests.reference.persistence.faults import FaultyFiles, no_space, read_only
from tests.reference.persistence.test_resume import answer

pytestmark = pytest.mark.anyio


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


def runtime_on(home: Path, files: FaultyFiles | None = None) -> Runtime:
    return Runtime(answer, persistence=Persistence(JsonlStore(home, files)), report=lambda place, failure: None)


async def stored(home: Path) -> list[int]:
    """Give the seqs of what is stored of session ``a``."""
    async with runtime_on(home) as runtime:
        assert runtime.persistence is not None
        return list(range(len((await runtime.persistence.read("a")).records)))


@pytest.mark.parametrize("operation", ["open_new", "write", "sync", "rename", "sync_directory"])
async def test_a_flush_that_failed_is_made_good_by_the_next(tmp_path: Path, files: FaultyFiles, operation: str) -> None:
    async with runtime_on(tmp_path, files) as runtime:
        failures: list[BaseException] = []
        runtime.events.on(lambda event: failures.append(event.error), "agent/error")  # type: ignore[union-attr]
        handle = await runtime.owner("o").create("a")
        for number in range(3):
            files.faults[operation] = no_space
            files.short = number * 40
            handle.agent.send(f"{number}")
            await handle.agent.idle()
            met = len(failures)
            files.faults.clear()
            handle.agent.send("again")
            await handle.agent.idle()
            assert len(failures) == met, "with room on the disk nothing fails"
        assert failures
        assert all(isinstance(failure, StorageError) for failure in failures)
        assert str(failures[0]) == "cannot write the log of session 'a': [Errno 28] No space left on device"
        records = handle.agent.session.records
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records == records
    assert await stored(tmp_path) == list(range(36))


@pytest.mark.parametrize("operation", ["write", "sync"])
async def test_the_teardown_makes_good_what_the_closing_flush_could_not(
    tmp_path: Path, files: FaultyFiles, operation: str
) -> None:
    async with runtime_on(tmp_path, files) as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.inject("x")
        await handle.agent.idle()
        files.faults[operation] = no_space
        files.short = 30

        def mend(event: object) -> None:
            files.faults.clear()

        handle.agent.send("y")
        runtime.events.on(mend, "agent/error")
        await handle.agent.idle()
        await handle.dispose()
        assert runtime.persistence is not None
        assert (await runtime.persistence.read("a")).records == handle.agent.session.records


async def test_the_end_of_the_runtime_makes_good_what_the_teardown_could_not(
    tmp_path: Path, files: FaultyFiles
) -> None:
    async with runtime_on(tmp_path, files) as runtime:
        handle = await runtime.owner("o").create("a")
        handle.agent.inject("x")
        await handle.agent.idle()
        files.faults["write"] = no_space
        files.short = 60
        handle.agent.send("y")
        await handle.agent.idle()
        await handle.dispose()
        files.faults.clear()
    assert await stored(tmp_path) == list(range(9))


async def test_a_later_life_waits_for_the_records_of_the_earlier(tmp_path: Path, files: FaultyFiles) -> None:
    async with runtime_on(tmp_path, files) as runtime:
        owner = runtime.owner("o")
        first = await owner.create("a")
        first.agent.send("x")
        await first.agent.idle()
        files.faults["sync"] = no_space
        first.agent.send("y")
        await first.agent.idle()
        await first.dispose()
        with pytest.raises(StorageError):
            await owner.resume("a")
        files.faults.clear()
        second = await owner.resume("a")
        assert second.agent.session.records == first.agent.session.records


async def test_records_that_are_lost_are_told(tmp_path: Path, files: FaultyFiles) -> None:
    runtime = await runtime_on(tmp_path, files).__aenter__()
    files.faults["write"] = no_space
    (await runtime.owner("o").create("a")).agent.inject("x")
    with pytest.raises(NotDurable, match=r"records of 'a' could not be written: cannot write .* No space"):
        await runtime.__aexit__(None, None, None)
    files.faults.clear()
    async with runtime_on(tmp_path, files):
        """The home is free."""


async def test_what_the_block_raised_outweighs_lost_records(tmp_path: Path, files: FaultyFiles) -> None:
    runtime = await runtime_on(tmp_path, files).__aenter__()
    files.faults["write"] = no_space
    (await runtime.owner("o").create("a")).agent.inject("x")
    raised = KeyError()
    assert not await runtime.__aexit__(KeyError, raised, None)


async def test_a_home_that_vanished_fails_each_flush_and_nothing_hangs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    runtime = await runtime_on(home).__aenter__()
    lines: list[str] = []
    runtime.events.on(lambda event: lines.append(line(event)), "agent/error")
    handle = await runtime.owner("o").create("a")
    handle.agent.send("x")
    await handle.agent.idle()
    fresh = await runtime.owner("o").create("b")
    shutil.rmtree(home)
    for agent in (handle.agent, fresh.agent):
        agent.send("y")
        await agent.idle()
    assert lines == ["agent/error a 0 flush", "agent/error b 0 flush"]
    with pytest.raises(NotDurable):
        await runtime.__aexit__(None, None, None)


@pytest.mark.parametrize("make", [JsonlStore, SqliteStore])
async def test_a_home_that_cannot_be_made_is_told_before_anything_starts(
    tmp_path: Path, make: Callable[[Path], JsonlStore | SqliteStore]
) -> None:
    (tmp_path / "file").write_text("")
    runtime = Runtime(answer, persistence=Persistence(make(tmp_path / "file" / "home")))
    for _ in range(2):
        with pytest.raises(HomeUnusable, match=r"cannot keep sessions in .*Not a directory; name a directory"):
            await runtime.__aenter__()
    with pytest.raises(RuntimeError, match="not running"):
        runtime.provider._kernel.require_running()


@pytest.mark.parametrize("operation", ["make_directory", "write"])
async def test_a_home_that_is_read_only_is_told(tmp_path: Path, files: FaultyFiles, operation: str) -> None:
    files.faults[operation] = read_only
    runtime = runtime_on(tmp_path, files)
    with pytest.raises(HomeUnusable, match="Read-only file system; name a directory that this user may write to"):
        await runtime.__aenter__()
    files.faults.clear()
    async with runtime:
        pass


async def test_two_runtimes_never_share_a_home(tmp_path: Path) -> None:
    async with Runtime(answer, home=tmp_path):
        with pytest.raises(HomeLocked):
            await Runtime(answer, home=tmp_path).__aenter__()
    async with Runtime(answer, home=tmp_path):
        pass


def test_a_home_and_a_persistence_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not both"):
        Runtime(answer, home=tmp_path, persistence=Persistence(JsonlStore(tmp_path)))
