"""Reload plug-ins whose code has changed, or keep what there was.

A plug-in is a Python module with a function ``apply``, which is its body, and perhaps a tuple ``inject``
of the services that it declares. When files change, the new version is imported *first*. An import
that fails changes nothing: the old modules are put back, and the old fibers never hear of it. Only
then is each plug-in swapped. The end of its old fiber is begun, not awaited, and a new fiber is
plugged into the same parent with the same config. So for a while there may be both, and whatever is
kept per fiber has to live with that; names of services are free from the moment the old fiber begins
to end. If a new body fails, all that were swapped are swapped back to the old code, and the failure
is raised.

What has to be imported anew is the changed modules, and those that use them, found by what their
globals refer to. Byte code is never written, and what was cached of a changed file is removed: its
stamp is only good to a second, and an editor is faster than that.

Imports run in the event loop, as all imports do. One reload runs at a time, and what changes
meanwhile is one further reload.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from anyio import TASK_STATUS_IGNORED, Lock

from .fiber import Fiber, FiberState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.abc import TaskStatus

    from .fiber import Body
    from .tree import FiberTree

__all__ = ("Reloader",)

Changes = Iterable[tuple[object, str]]
"""Changes as ``watchfiles`` tells them: of which kind, and the path."""


@dataclass(slots=True)
class Plugged:
    """A plug-in that came from a module, and how to plug it in again."""

    module: str
    parent: Fiber
    config: object
    fiber: Fiber


@dataclass(frozen=True, slots=True)
class Version:
    """What a module had to say of its plug-in at one moment."""

    body: Body
    inject: tuple[str, ...]


class Reloader:
    """Plug-ins that are Python modules in one folder, and the reload of their code.

    :param tree: where they are plugged in
    :param folder: holds the modules; it is put in front of the places where Python looks for modules
    """

    def __init__(self, tree: FiberTree, folder: Path | str) -> None:
        self._tree = tree
        self._folder = Path(folder).resolve()
        self._plugged: list[Plugged] = []
        self._one_at_a_time = Lock()

    def plug(self, module: str, *, parent: Fiber | None = None, config: object = None) -> Fiber:
        """Import a module and plug in what it is.

        :param parent: what it is plugged into; the root if none is given
        :param config: kept for its body, over all reloads
        :return: the fiber; after a reload there is another one, see :meth:`fiber`
        :raises ImportError: if there is no such module in the folder
        :raises TypeError: if it has no function ``apply``, or an ``inject`` that is no sequence of names
        :raises Inactive: if the parent takes nothing on
        :raises BaseException: what the module raises when it is imported
        """
        with self._importing():
            version = _version(importlib.import_module(module))
        within = parent or self._tree.root
        fiber = within.plug(version.body, name=module, inject=version.inject, config=config)
        self._plugged.append(Plugged(module, within, config, fiber))
        return fiber

    def fiber(self, module: str) -> Fiber | None:
        """Return the present fiber of a module that was plugged in last, or ``None``."""
        return next((one.fiber for one in reversed(self._plugged) if one.module == module), None)

    async def reload(self, changed: Iterable[Path | str]) -> tuple[str, ...]:
        """Load the plug-ins that files belong to anew, or leave all as it is.

        Cancelling it while the new bodies run leaves the new plug-ins in place.

        :param changed: the files; those that no module came from are of no interest
        :return: the modules of the plug-ins that were swapped
        :raises BaseException: what an import or a new body raised; all plug-ins are as they were, on their old code
        """
        async with self._one_at_a_time:
            self._plugged = [one for one in self._plugged if one.fiber.state is not FiberState.DISPOSED]
            names = self._affected(changed)
            swapped = [one for one in self._plugged if one.module in names]
            if not swapped:
                return ()
            old = {one.module: _version(sys.modules[one.module]) for one in swapped}
            before = self._import_anew(names)
            new = {one.module: _version(sys.modules[one.module]) for one in swapped}
            await self._swap(swapped, new)
            failure = next((one.fiber.error for one in swapped if one.fiber.error is not None), None)
            if failure is None:
                return tuple(dict.fromkeys(one.module for one in swapped))
            sys.modules.update(before)
            await self._swap(swapped, old)
            raise failure

    async def watch(
        self,
        changes: AsyncIterable[Changes] | None = None,
        *,
        task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
    ) -> None:
        """Reload whenever files change; a reload that fails is reported, and the old code goes on.

        With ``await task_group.start(reloader.watch)`` the files are being watched when that returns. It ends when
        it is cancelled, or when the changes end.

        :param changes: sets of changes; those that ``watchfiles`` sees in the folder if none are given
        :raises RuntimeError: if ``watchfiles`` is needed and not installed
        """
        if changes is not None:
            await self._follow(changes, task_status)
            return
        async with aclosing(_watched(self._folder)) as watched:
            await self._follow(watched, task_status)

    async def _follow(self, changes: AsyncIterable[Changes], task_status: TaskStatus[None]) -> None:
        async for seen in changes:
            task_status.started()
            task_status = TASK_STATUS_IGNORED
            try:
                await self.reload([path for _, path in seen])
            except Exception as failure:
                self._tree._kernel.report("reload", failure)

    def _affected(self, changed: Iterable[Path | str]) -> set[str]:
        """Return the modules that came from these files, and all that use them."""
        files = {Path(path).resolve() for path in changed}
        ours = {name: module for name, module in list(sys.modules.items()) if self._is_ours(module)}
        affected = {name for name, module in ours.items() if Path(str(module.__file__)).resolve() in files}
        while True:
            using = {name for name, module in ours.items() if affected.intersection(_used_by(module))}
            if using <= affected:
                return affected
            affected |= using

    def _is_ours(self, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        return isinstance(file, str) and Path(file).resolve().is_relative_to(self._folder)

    def _import_anew(self, names: set[str]) -> dict[str, ModuleType]:
        """Import modules anew; return the old ones. A failure puts them back and is raised."""
        before = {name: sys.modules.pop(name) for name in sorted(names)}
        try:
            with self._importing():
                for name, module in before.items():
                    with suppress(NotImplementedError):
                        Path(importlib.util.cache_from_source(str(module.__file__))).unlink(missing_ok=True)
                    importlib.import_module(name)
                for one in self._plugged:
                    if one.module in names:
                        _version(sys.modules[one.module])
        except BaseException:
            for name in names:
                sys.modules.pop(name, None)
            sys.modules.update(before)
            raise
        return before

    @contextmanager
    def _importing(self) -> Iterator[None]:
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, str(self._folder))
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(self._folder))
            sys.dont_write_bytecode = written

    async def _swap(self, plugged: list[Plugged], versions: dict[str, Version]) -> None:
        """Begin the end of each fiber and plug its new version in; wait until those have come to rest."""
        for one in plugged:
            _ = one.fiber.dispose()
        for one in plugged:
            if one.parent.open:
                version = versions[one.module]
                one.fiber = one.parent.plug(version.body, name=one.module, inject=version.inject, config=one.config)
        for one in plugged:
            await one.fiber.rest()


def _version(module: ModuleType) -> Version:
    body = getattr(module, "apply", None)
    if not callable(body):
        raise TypeError(f"module {module.__name__!r} is no plug-in: it has no function 'apply'")
    inject = getattr(module, "inject", ())
    if isinstance(inject, str) or not all(isinstance(name, str) for name in inject):
        raise TypeError(f"'inject' of module {module.__name__!r} has to be a sequence of names of services")
    return Version(body, tuple(inject))


def _used_by(module: ModuleType) -> set[str]:
    """Return the modules that the globals of a module refer to."""
    used = set()
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name != module.__name__:
            used.add(name)
    return used


async def _watched(folder: Path) -> AsyncGenerator[Changes, None]:
    """Yield sets of changes in a folder; the first is empty, and says that it is watched."""
    try:
        from watchfiles import awatch  # noqa: PLC0415 - needed by those who watch only
    except ImportError:
        raise RuntimeError("to watch files, install what watches them: pip install 'watchfiles<2'") from None
    async with aclosing(awatch(folder, yield_on_timeout=True, rust_timeout=100)) as watched:
        async for changes in watched:
            yield changes
