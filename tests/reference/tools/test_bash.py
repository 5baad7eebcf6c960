"""The bash tools: whose a task is, who may touch it, and who is told that it has ended."""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate_reference import (
    Agent,
    InvalidArguments,
    Reply,
    Signal,
    ToolCall,
    ToolContext,
    UnknownTool,
    log_report,
)
from probate_reference.refusals import Aborted
from probate_reference.tasks import Executor, Task, TaskStatus, UnknownTask
from probate_reference.tools import bash
from probate_reference.tools.bash import AGENTS, AccessDenied, InvalidTaskId, may_access, mount
from tests.reference.kit import World
from tests.reference.tasks.commands import SHELL, Pipe, StandingClock

pytestmark = pytest.mark.anyio


class Bench:
    """A runtime, an executor, and the tools between them."""

    def __init__(self, world: World, executor: Executor, directory: Path) -> None:
        self.world = world
        self.executor = executor
        self.told = Pipe(directory / "told")
        self.services: dict[str, Any] = {AGENTS: world.runtime.agents}
        self.unmount = self.mount(bash)

    def mount(self, module: ModuleType) -> Callable[[], None]:
        """Mount the tools of a module, which may be a newer one than ours."""
        unmount: Callable[[], None] = module.mount(self.executor, self.world.runtime.tools, self.services.get)
        return unmount

    async def agent(self, id: str) -> Agent:
        return (await self.world.runtime.owner("o").create(id)).agent

    async def call(self, agent: Agent | None, name: str, **arguments: object) -> str:
        """Let an agent call a tool, outside any turn."""
        return await self.world.runtime.tools.call(ToolCall(name, json.dumps(arguments)), ToolContext(agent))

    async def start(self, agent: Agent | None, command: str = "") -> Task:
        """Let an agent start a task; without a command one that waits to be told how to end."""
        await self.call(agent, "bash", command=command or f"read code <{self.told.path}; exit $code", background=True)
        return self.executor.list()[-1]

    async def end(self, task: Task, code: int = 0) -> None:
        await self.told.write(str(code))
        await task.done


@pytest.fixture
async def bench(world: World, tmp_path: Path) -> AsyncIterator[Bench]:
    """Give a bench that stands while the test runs."""
    async with standing(world, tmp_path) as made:
        yield made


@asynccontextmanager
async def standing(world: World, directory: Path) -> AsyncIterator[Bench]:
    report = world._report
    async with world.runtime, Executor(shell=SHELL, clock=StandingClock(), report=report) as executor:
        yield Bench(world, executor, directory)


def nothing(name: str) -> object:
    return None


# The fence.


@pytest.mark.parametrize(
    ("owner", "caller", "may"),
    [
        (None, None, True),
        (None, "a", True),
        (None, "", True),
        ("a", "a", True),
        ("a", "b", False),
        ("a", None, False),
        ("", "", True),
        ("", None, False),
        ("", "a", False),
        ("a", "", False),
        ("a", "a ", False),
        ("a", "A", False),
        ("\u00e9", "e\u0301", False),
        ("a", "\u0430", False),
    ],
)
def test_access_is_equality_and_only_the_lack_of_an_owner_opens(
    owner: str | None, caller: str | None, may: bool
) -> None:
    assert may_access(owner, caller) is may


TOKENS = st.one_of(
    st.none(),
    st.sampled_from(["", " ", "a", "a ", " a", "A", "\u0430", "\u00e9", "e\u0301", "\0", "a\0", "a" * 10_000]),
    st.text(),
)


@given(TOKENS, TOKENS)
def test_no_token_opens_the_task_of_another(owner: str | None, caller: str | None) -> None:
    assert may_access(owner, caller) == (owner is None or owner == caller)


async def test_a_task_belongs_to_the_agent_that_started_it(bench: Bench) -> None:
    a, b = await bench.agent("a"), await bench.agent("b")
    task = await bench.start(a)
    assert bench.executor.owner_of(task.id) == "a"
    for stranger in (b, None):
        for name in ("bash_output", "bash_kill"):
            with pytest.raises(AccessDenied, match="belongs to another session"):
                await bench.call(stranger, name, task_id=task.id)
    assert task.status is TaskStatus.RUNNING
    assert await bench.call(a, "bash_output", task_id=task.id) == "[running]"
    assert "being ended" in await bench.call(a, "bash_kill", task_id=task.id)
    await task.done
    assert "not running" in await bench.call(a, "bash_kill", task_id=task.id)
    with pytest.raises(AccessDenied):
        await bench.call(b, "bash_output", task_id=task.id)
    assert await bench.call(a, "bash_output", task_id=task.id) == "[killed, signal 15]"


async def test_a_denied_read_takes_nothing_away(bench: Bench) -> None:
    a, b = await bench.agent("a"), await bench.agent("b")
    task = await bench.start(a, "echo mine")
    await task.done
    with pytest.raises(AccessDenied):
        await bench.call(b, "bash_output", task_id=task.id)
    assert (await bench.call(a, "bash_output", task_id=task.id)).startswith("mine\n")


async def test_a_task_that_nobody_owns_is_open_to_all(bench: Bench) -> None:
    a = await bench.agent("a")
    task = await bench.start(None)
    assert bench.executor.owner_of(task.id) is None
    assert await bench.call(a, "bash_output", task_id=task.id) == "[running]"
    assert "being ended" in await bench.call(None, "bash_kill", task_id=task.id)
    await task.done


async def test_an_unknown_task_is_unknown_and_not_forbidden(bench: Bench) -> None:
    a = await bench.agent("a")
    for name in ("bash_output", "bash_kill"):
        with pytest.raises(UnknownTask, match="unknown bash task 'bash-7'"):
            await bench.call(a, name, task_id="bash-7")
        with pytest.raises(InvalidTaskId, match="invalid task_id"):
            await bench.call(a, name, task_id="")
        with pytest.raises(InvalidArguments):
            await bench.call(a, name)


async def test_an_agent_under_a_reused_id_takes_over_what_the_first_one_left(bench: Bench) -> None:
    handle = await bench.world.runtime.owner("o").create("a")
    task = await bench.start(handle.agent)
    await handle.dispose()
    second = await bench.agent("a")
    assert await bench.call(second, "bash_output", task_id=task.id) == "[running]"
    await bench.end(task)
    assert len(second.session) == 3


# Reloading.


async def test_ownership_survives_a_real_reload_of_the_module(bench: Bench) -> None:
    a, b = await bench.agent("a"), await bench.agent("b")
    task = await bench.start(a)
    bench.unmount()
    with pytest.raises(UnknownTool):
        await bench.call(a, "bash_output", task_id=task.id)
    before = bash.BashTools
    module = importlib.reload(bash)
    assert module.BashTools is not before
    bench.mount(module)
    assert task.status is TaskStatus.RUNNING
    assert bench.executor.owner_of(task.id) == "a"
    with pytest.raises(module.AccessDenied):
        await bench.call(b, "bash_output", task_id=task.id)
    assert await bench.call(a, "bash_output", task_id=task.id) == "[running]"
    await bench.end(task)
    assert len(a.session) == 3


async def test_the_new_tools_may_come_before_the_old_ones_have_gone(bench: Bench) -> None:
    a = await bench.agent("a")
    task = await bench.start(a)
    bench.mount(bash)
    bench.unmount()
    assert await bench.call(a, "bash_output", task_id=task.id) == "[running]"
    await bench.end(task)
    assert len(a.session) == 3


async def test_an_end_in_the_gap_is_never_told(bench: Bench) -> None:
    a = await bench.agent("a")
    task = await bench.start(a)
    bench.unmount()
    await bench.end(task)
    bench.mount(bash)
    assert len(a.session) == 0
    assert await bench.call(a, "bash_output", task_id=task.id) == "[completed, exit code 0]"


async def test_the_tools_go_with_the_executor_and_come_back_with_it(bench: Bench) -> None:
    a = await bench.agent("a")
    task = await bench.start(a)
    await bench.executor.dispose()
    assert bench.world.runtime.tools.get("bash") is None
    assert len(a.session) == 0
    bench.executor.load()
    with pytest.raises(UnknownTask):
        await bench.call(a, "bash_output", task_id=task.id)
    await (await bench.start(a, "exit 0")).done
    assert len(a.session) == 3


# The notice.


async def test_the_owner_is_told_once_and_not_woken(bench: Bench) -> None:
    a, b = await bench.agent("a"), await bench.agent("b")
    task = await bench.start(a)
    bench.world.take()
    await bench.end(task, 3)
    text = bash.notice_of(task)
    assert "bash-1" in text
    assert "exit code 3" in text
    assert "bash_output" in text
    assert bench.world.take() == [
        "a: turn/start 1 injection",
        f"a: context/message {text}",
        "a: turn/end 1 completed",
        "session/flush a 3",
    ]
    assert len(b.session) == 0


async def test_nobody_is_told_of_what_nobody_owns(bench: Bench) -> None:
    a = await bench.agent("a")
    await bench.end(await bench.start(None))
    assert len(a.session) == 0
    assert bench.world.reports == []


async def test_a_missing_registry_and_an_owner_that_is_gone_drop_the_notice(bench: Bench) -> None:
    handle = await bench.world.runtime.owner("o").create("a")
    task = await bench.start(handle.agent)
    del bench.services[AGENTS]
    await bench.end(task)
    bench.services[AGENTS] = bench.world.runtime.agents
    task = await bench.start(handle.agent)
    await handle.dispose()
    await bench.end(task)
    assert len(handle.agent.session) == 0
    assert bench.world.reports == []


async def test_an_owner_that_is_ending_drops_the_notice(bench: Bench) -> None:
    handle = await bench.world.runtime.owner("o").create("a")
    task = await bench.start(handle.agent)
    bench.world.flush.hold()
    handle.agent.inject("x")
    flush = await bench.world.flush.arrival()
    disposal = handle.dispose()
    # It is still registered, and takes nothing any more.
    assert bench.world.runtime.agents.get("a") is handle.agent
    await bench.end(task)
    assert len(handle.agent.session) == 3
    assert bench.world.reports == []
    flush.release()
    await disposal


async def test_any_other_failure_is_reported_and_the_task_is_done(bench: Bench) -> None:
    a = await bench.agent("a")
    task = await bench.start(a)

    def broken(name: str) -> object:
        raise LookupError(f"no {name} today")

    bench.unmount()
    mount(bench.executor, bench.world.runtime.tools, broken)
    await bench.end(task)
    assert [(place, str(failure)) for place, failure in bench.world.reports] == [("task listener", "no agents today")]


# The tools in a turn.


async def test_a_turn_starts_a_task_and_reads_it(bench: Bench) -> None:
    world = bench.world
    world.model.plan.append(Reply("start", (ToolCall("bash", '{"command": "echo hi; exit 2", "background": true}'),)))
    a = await bench.agent("a")
    a.send("go")
    await a.idle()
    (task,) = bench.executor.list()
    await task.done
    world.model.plan.append(Reply("read", (ToolCall("bash_output", '{"task_id": "bash-1"}'),)))
    a.send("and?")
    await a.idle()
    assert "a: tool/result 1 ok hi\n[completed, exit code 2]" in world.lines
    assert any(line.startswith("a: context/message Background task bash-1 has ended") for line in world.lines)


async def test_a_denied_call_is_a_result_that_is_an_error(bench: Bench) -> None:
    world = bench.world
    task = await bench.start(await bench.agent("b"))
    a = await bench.agent("a")
    world.model.plan.append(Reply("read", (ToolCall("bash_kill", json.dumps({"task_id": task.id})),)))
    a.send("go")
    await a.idle()
    assert "a: tool/result 1 error task bash-1 belongs to another session" in world.lines
    assert task.status is TaskStatus.RUNNING
    await bench.end(task)


async def test_a_cancel_of_the_turn_kills_what_the_turn_has_started(bench: Bench) -> None:
    world = bench.world
    call = ToolCall("bash", json.dumps({"command": f"cat {bench.told.path}", "background": True}))
    world.model.plan.append(Reply("start", (call, ToolCall("tool1"))))
    world.tool.hold()
    a = await bench.agent("a")
    a.send("go")
    await world.tool.arrival()
    (task,) = bench.executor.list()
    a.cancel()
    assert task.status is TaskStatus.KILLED
    await task.done
    await a.idle()


async def test_a_call_whose_signal_has_fired_starts_nothing(bench: Bench) -> None:
    signal = Signal(log_report)
    signal._fire("user")  # type: ignore[arg-type]
    call = ToolCall("bash", '{"command": "exit 0", "background": true}')
    with pytest.raises(Aborted, match="aborted before spawn"):
        await bench.world.runtime.tools.call(call, ToolContext(await bench.agent("a"), signal))
    assert bench.executor.list() == ()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"command": "echo a; echo b >&2; exit 3"}, "a\n[stderr]\nb\n[exit code 3]"),
        ({"command": "exit 0"}, "[exit code 0]"),
        ({"command": "pwd", "workdir": "/"}, "/\n[exit code 0]"),
    ],
)
async def test_a_foreground_call_returns_output_and_facts(
    bench: Bench, arguments: dict[str, object], says: str
) -> None:
    assert await bench.call(await bench.agent("a"), "bash", **arguments) == says


async def test_a_foreground_call_says_that_its_time_was_up(world: World) -> None:
    async with world.runtime as runtime, Executor(shell=SHELL) as executor:
        mount(executor, runtime.tools, nothing)
        call = ToolCall("bash", '{"command": "sleep 1000", "timeout": 0.01}')
        result = await runtime.tools.call(call, ToolContext())
        assert result == "[signal 15, ended because it took longer than 0.01 seconds]"


async def test_a_call_names_its_parameters() -> None:
    async with Executor(shell=SHELL) as executor:
        box = World().runtime.tools
        unmount = mount(executor, box, nothing)
        assert [tool.name for tool in box.list()][-3:] == ["bash", "bash_output", "bash_kill"]
        assert all(tool.description and tool.parameters["type"] == "object" for tool in box.list()[-3:])
        unmount()
        assert box.get("bash") is None
