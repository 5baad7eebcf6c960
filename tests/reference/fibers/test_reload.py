"""Plug-ins are reloaded from real files: a new version, or what there was."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from probate_reference import FiberState, Reloader
from tests.reference.fibers.kit import Tree

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give a folder of plug-ins; what was imported from it is forgotten afterwards."""
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write(folder: Path, name: str, version: str, more: str = "", inject: str = "()") -> Path:
    """Write a plug-in that notes its version when it is loaded and when it is unloaded."""
    path = folder / f"{name}.py"
    path.write_text(
        f"inject = {inject}\n{more}\n"
        "def apply(fiber):\n"
        f"    fiber.config(f'{name} {version} loaded')\n"
        f"    fiber.effect(lambda: lambda: fiber.config(f'{name} {version} undone'))\n"
        f"    {'raise ValueError(version)' if version == 'broken' else 'pass'}\n".replace("version)", f"'{version}')")
    )
    return path


def byte_code(folder: Path) -> list[Path]:
    """Give the byte code that was written into a folder."""
    return list(folder.rglob("*.pyc"))


async def test_a_new_version_takes_the_place_of_the_old_one(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        path = write(folder, "plug_one", "A")
        old = reloader.plug("plug_one", config=tree.note)
        await old.rest()
        write(folder, "plug_one", "B")
        assert await reloader.reload([path]) == ("plug_one",)
        new = reloader.fiber("plug_one")
        assert new is not None
        assert new is not old
        await old.dispose()
        assert new.state is FiberState.ACTIVE
        assert {"plug_one A undone", "plug_one B loaded"} <= set(tree.lines)
        assert byte_code(folder) == []


async def test_an_import_that_fails_changes_nothing(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        path = write(folder, "plug_two", "A")
        fiber = reloader.plug("plug_two", config=tree.note)
        await fiber.rest()
        module = sys.modules["plug_two"]
        for broken, raised in (
            ("def apply(:", SyntaxError),
            ("import no_such_thing", ImportError),
            ("x = 1", TypeError),
        ):
            path.write_text(broken)
            tree.take()
            with pytest.raises(raised):
                await reloader.reload([path])
            assert tree.take() == []
            assert reloader.fiber("plug_two") is fiber
            assert sys.modules["plug_two"] is module
        assert fiber.state is FiberState.ACTIVE


async def test_a_body_that_fails_brings_all_of_them_back(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        paths = [write(folder, "plug_three", "A"), write(folder, "plug_four", "A")]
        for name in ("plug_three", "plug_four"):
            await reloader.plug(name, config=tree.note).rest()
        write(folder, "plug_three", "B")
        write(folder, "plug_four", "broken")
        tree.take()
        with pytest.raises(ValueError, match="broken"):
            await reloader.reload(paths)
        lines = tree.take()
        assert {"plug_three B loaded", "plug_three B undone", "plug_three A loaded", "plug_four A loaded"} <= set(lines)
        for name in ("plug_three", "plug_four"):
            fiber = reloader.fiber(name)
            assert fiber is not None
            assert fiber.state is FiberState.ACTIVE
        assert await reloader.reload([]) == ()


async def test_a_module_that_plug_ins_use_reloads_them_and_nobody_else(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        shared = folder / "plug_shared.py"
        shared.write_text("WORD = 'one'\ndef word(): return WORD\n")
        write(folder, "plug_five", "{word()}", "from plug_shared import word")
        write(folder, "plug_six", "A")
        for name in ("plug_five", "plug_six"):
            await reloader.plug(name, config=tree.note).rest()
        other = reloader.fiber("plug_six")
        shared.write_text("WORD = 'two'\ndef word(): return WORD\n")
        assert await reloader.reload([shared]) == ("plug_five",)
        assert "plug_five two loaded" in tree.lines
        assert reloader.fiber("plug_six") is other


async def test_a_provider_is_swapped_and_its_dependents_follow(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        path = write(folder, "plug_seven", "A")
        path.write_text(path.read_text() + "    fiber.provide('s', 'A')\n")
        reloader.plug("plug_seven", config=tree.note)
        user = tree.root.plug(tree.body("c"), name="c", inject=("s",))
        await tree.until("c active")
        path.write_text(path.read_text().replace("'A'", "'B'"))
        await reloader.reload([path])
        await tree.until("c loading")
        await user.rest()
        assert user.use("s") == "B"


async def test_what_is_no_plug_in_is_refused(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        write(folder, "plug_eight", "A", inject="'s'")
        with pytest.raises(TypeError, match="sequence of names"):
            reloader.plug("plug_eight")
        with pytest.raises(ImportError):
            reloader.plug("plug_nothing")
        assert reloader.fiber("plug_eight") is None


async def test_what_is_disposed_or_has_lost_its_parent_is_not_plugged_in_again(tree: Tree, folder: Path) -> None:
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        path = write(folder, "plug_nine", "A")
        parent = await tree.plugged("parent")
        fiber = reloader.plug("plug_nine", parent=parent, config=tree.note)
        await fiber.rest()
        await parent.dispose()
        assert await reloader.reload([path]) == ()


async def test_changes_are_reloaded_as_they_come_and_failures_reported(tree: Tree, folder: Path) -> None:
    path = write(folder, "plug_ten", "A")

    async def changes() -> AsyncIterator[set[tuple[object, str]]]:
        write(folder, "plug_ten", "B")
        yield {(1, str(path))}
        path.write_text("def apply(:")
        yield {(1, str(path)), (1, str(folder / "notes.txt"))}
        write(folder, "plug_ten", "C")
        yield {(1, str(path))}

    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        await reloader.plug("plug_ten", config=tree.note).rest()
        await reloader.watch(changes())
        assert [line for line in tree.lines if line.endswith("loaded")] == [
            f"plug_ten {version} loaded" for version in "ABC"
        ]
        assert [(place, type(failure)) for place, failure in tree.reports] == [("reload", SyntaxError)]


async def test_a_file_that_is_written_is_seen(tree: Tree, folder: Path) -> None:
    write(folder, "plug_eleven", "A")
    async with tree.runtime:
        reloader = Reloader(tree.runtime.fibers, folder)
        await reloader.plug("plug_eleven", config=tree.note).rest()
        async with anyio.create_task_group() as group:
            await group.start(reloader.watch)
            write(folder, "plug_eleven", "B")
            await tree.until("plug_eleven B loaded")
            group.cancel_scope.cancel()


async def test_without_a_watcher_it_is_said_how_to_get_one(
    tree: Tree, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    async with tree.runtime:
        with pytest.raises(RuntimeError, match="pip install 'watchfiles<2'"):
            await Reloader(tree.runtime.fibers, folder).watch()
