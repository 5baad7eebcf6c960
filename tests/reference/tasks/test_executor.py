"""An executor keeps tasks and their owners, tells each end once, and is gone when its processes are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import anyio
import pytest

from probate_reference import Aborted
from probate_reference.tasks import (
    AbortSignal,
    Executor,
    ExecutorInactive,
    InvalidRequest,
    Request,
    SpawnFailed,
    Spec,
    Task,
    TaskStatus,
    UnknownTask,
)
from tests.reference.tasks.commands import SHELL, Pipe, StandingClock, descriptors

pytestmark = pytest.mark.anyio

MakePipe = Callable[[str], Pipe]


@pytest.fixture
def reports() -> list[tuple[str, str]]:
    """Give what was contained."""
    return []


@pytest.fixture
def executor(reports: list[tuple[str, str]]) -> Executor:
    """Make an executor whose clock stands still."""
    return Executor(
        shell=SHELL, clock=StandingClock(), report=lambda place, failure: reports.append((place, str(failure)))
    )


def start(executor: Executor, command: str = "exit 0", owner: str | None = None) -> Task:
    return executor.start(executor.resolve(Request(command, owner=owner)))


# Requests and specs.


async def test_a_spec_leaves_nothing_open_and_copies_the_owner_as_it_is(tmp_path: Path) -> None:
    async with Executor(shell=SHELL, workdir=tmp_path, timeout=5, most_timeout=9) as executor:
        spec = executor.resolve(Request("x"))
        assert (spec.workdir, spec.timeout, spec.owner, spec.signal) == (tmp_path, 5, None, None)
        spec = executor.resolve(Request("x", workdir="sub", timeout=100, owner=""))
        assert (spec.workdir, spec.timeout, spec.owner) == (tmp_path / "sub", 9, "")
        assert executor.resolve(Request("x", owner=" A\u0130 ")).owner == " A\u0130 "
    assert {field.name for field in fields(Spec)} == {"command", "workdir", "timeout", "owner", "signal"}


def test_a_spec_without_an_owner_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="owner"):
        Spec(command="x", workdir=Path(), timeout=1.0, signal=None)  # type: ignore[call-arg]


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf])
def test_a_timeout_is_a_positive_number(timeout: float) -> None:
    with pytest.raises(InvalidRequest, match="positive number"):
        Executor().resolve(Request("x", timeout=timeout))


# Tasks.


async def test_the_end_is_facts_then_listeners_in_order_then_done(
    executor: Executor, reports: list[tuple[str, str]]
) -> None:
    heard: list[str] = []

    def first(task: Task) -> None:
        heard.append(f"first {task.status} {task.exit} {task.done.done} {executor.read(task.id).text}")
        raise ValueError("no matter")

    async with executor:
        executor.on_done(first)
        executor.on_done(lambda task: heard.append(f"second {task.done.done}"))
        task = start(executor, "echo out; echo err >&2; exit 3", "me")
        await task.done
        heard.append("done")
        assert heard == ["first completed exit code 3 False out\n[stderr]\nerr", "second False", "done"]
        assert reports == [("task listener", "no matter")]
        assert executor.owner_of(task.id) == "me"
        assert not executor.kill(task.id)
        assert task.status is TaskStatus.COMPLETED
        assert executor.read(task.id).text == ""
        assert (executor.get(task.id), executor.list()) == (task, (task,))
        assert executor.statistics().processes == 0


async def test_a_listener_that_was_removed_hears_nothing(executor: Executor) -> None:
    heard: list[Task] = []
    async with executor:
        executor.on_done(heard.append)()
        await start(executor).done
    assert heard == []


async def test_nobody_knows_an_unknown_task(executor: Executor) -> None:
    async with executor:
        with pytest.raises(UnknownTask, match="unknown bash task 'bash-1'"):
            executor.read("bash-1")
        with pytest.raises(UnknownTask):
            executor.kill("bash-1")
        assert executor.owner_of("bash-1") is None
        assert executor.get("bash-1") is None


async def test_a_signal_kills_its_task_and_knows_no_more_of_it_afterwards(executor: Executor) -> None:
    signal = AbortSignal()
    async with executor:
        task = executor.start(executor.resolve(Request("sleep 1000", signal=signal)))
        ended = executor.start(executor.resolve(Request("exit 0", signal=signal)))
        await ended.done
        signal.abort()
        signal.abort()
        assert (task.status, ended.status) == (TaskStatus.KILLED, TaskStatus.COMPLETED)
        await task.done


async def test_a_signal_that_has_fired_starts_nothing_and_uses_no_id(executor: Executor) -> None:
    signal = AbortSignal()
    signal.abort()
    async with executor:
        spec = executor.resolve(Request("exit 0", signal=signal))
        with pytest.raises(Aborted, match="aborted before spawn"):
            executor.start(spec)
        with pytest.raises(Aborted):
            await executor.run(spec)
        assert executor.list() == ()
        assert start(executor).id == "bash-1"


@pytest.mark.parametrize(
    ("request_", "says"), [(Request("x", workdir="/no/such/place"), "/no/such/place"), (Request("a\0b"), "null byte")]
)
async def test_a_command_that_cannot_be_run_is_a_killed_task_that_says_why(
    executor: Executor, request_: Request, says: str
) -> None:
    heard: list[Task] = []
    async with executor:
        executor.on_done(heard.append)
        task = executor.start(executor.resolve(request_))
        assert task.status is TaskStatus.RUNNING
        await task.done
        assert (task.status, task.exit) == (TaskStatus.KILLED, None)
        assert heard == [task]
        assert says in executor.read(task.id).stderr
        with pytest.raises(SpawnFailed, match=says):
            await executor.run(executor.resolve(request_))


async def test_a_task_that_cannot_be_run_can_be_killed_before_that_is_known(executor: Executor) -> None:
    async with executor:
        task = executor.start(executor.resolve(Request("a\0b")))
        assert executor.kill(task.id)
        await task.done
        assert task.status is TaskStatus.KILLED


async def test_much_output_is_in_a_file_until_the_executor_ends(executor: Executor) -> None:
    async with executor:
        task = start(executor, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
        await task.done
        output = executor.read(task.id)
        assert output.lossy
        (path,) = output.spilled
        assert path.read_text().splitlines() == [f"line {number}" for number in range(20000)]
        assert path.read_text().endswith(output.stdout)
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()


# Foreground.


async def test_a_foreground_run_tells_how_it_ended(executor: Executor) -> None:
    async with executor:
        ran = await executor.run(executor.resolve(Request("echo out; exit 3")))
        assert (ran.exit.code, ran.timed_out, ran.aborted, ran.output.text) == (3, False, False, "out")
        assert executor.list() == ()


async def test_a_command_that_traps_the_end_of_its_time_still_returns_its_code(pipe: MakePipe) -> None:
    clock = StandingClock()
    said = pipe("said")
    async with Executor(shell=SHELL, clock=clock) as executor:
        command = f"sleep 1000 & trap 'exit 0' TERM; echo ready >{said.path}; wait"
        async with anyio.create_task_group() as group:

            async def time_out() -> None:
                await said.line()
                await clock.sleeper()
                clock.move(3)

            group.start_soon(time_out)
            ran = await executor.run(executor.resolve(Request(command, timeout=3)))
        assert (ran.exit.code, ran.timed_out, ran.aborted) == (0, True, False)


async def test_a_foreground_run_can_be_called_off(executor: Executor, pipe: MakePipe) -> None:
    signal, said = AbortSignal(), pipe("said")
    async with executor, anyio.create_task_group() as group:

        async def call_off() -> None:
            await said.line()
            signal.abort()

        group.start_soon(call_off)
        ran = await executor.run(executor.resolve(Request(f"echo x >{said.path}; sleep 1000", signal=signal)))
        assert (ran.exit.signal, ran.timed_out, ran.aborted) == (15, False, True)


async def test_a_foreground_run_whose_caller_is_cancelled_leaves_nothing(executor: Executor, pipe: MakePipe) -> None:
    said = pipe("said")
    async with executor:
        async with anyio.create_task_group() as group:
            group.start_soon(executor.run, executor.resolve(Request(f"trap '' TERM; echo x >{said.path}; sleep 1000")))
            await said.line()
            group.cancel_scope.cancel()
        assert executor.statistics().processes == 0


# Its own life.


async def test_disposal_forgets_at_once_tells_nobody_and_waits_for_every_exit(pipe: MakePipe) -> None:
    clock = StandingClock()
    said, told = pipe("said"), pipe("told")
    heard: list[Task] = []
    async with Executor(shell=SHELL, clock=clock) as executor:
        executor.on_done(heard.append)
        easy = start(executor, "sleep 1000", "me")
        hard = start(executor, f"trap '' TERM; echo x >{said.path}; cat {told.path}", "me")
        await said.line()
        disposal = executor.dispose()
        assert executor.dispose() is disposal
        assert [task.status for task in (easy, hard)] == [TaskStatus.KILLED, TaskStatus.KILLED]
        assert executor.list() == ()
        assert executor.owner_of(easy.id) is None
        with pytest.raises(UnknownTask):
            executor.read(easy.id)
        with pytest.raises(ExecutorInactive):
            start(executor)
        with pytest.raises(ExecutorInactive):
            await executor.run(executor.resolve(Request("exit 0")))
        with pytest.raises(ExecutorInactive):
            executor.on_done(heard.append)
        await easy.done
        assert not disposal.done
        await clock.sleeper()
        assert executor.statistics().processes == 1
        clock.move(10)
        await disposal
        assert hard.done.done
        assert executor.statistics().processes == 0
    assert heard == []


async def test_disposal_waits_for_foreground_runs_too(executor: Executor, pipe: MakePipe) -> None:
    said = pipe("said")
    async with executor, anyio.create_task_group() as group:
        group.start_soon(executor.run, executor.resolve(Request(f"echo x >{said.path}; sleep 1000")))
        await said.line()
        await executor.dispose()
        assert executor.statistics().processes == 0


async def test_with_nothing_running_disposal_returns(executor: Executor) -> None:
    async with executor:
        await start(executor).done
        await executor.dispose()
        await executor.dispose()


async def test_an_executor_that_was_never_loaded_is_disposed() -> None:
    executor = Executor()
    assert not executor.active
    assert executor.dispose().done
    assert executor.statistics().tasks == 0
    assert executor.list() == ()
    with pytest.raises(RuntimeError, match="not running"):
        executor.load()


async def test_it_may_be_loaded_again_while_old_processes_end_and_uses_no_id_twice(pipe: MakePipe) -> None:
    clock = StandingClock()
    said, told = pipe("said"), pipe("told")
    async with Executor(shell=SHELL, clock=clock) as executor:
        old = start(executor, f"trap '' TERM; echo x >{said.path}; cat {told.path}", "me")
        await said.line()
        disposal = executor.dispose()
        executor.load()
        executor.load()
        heard: list[Task] = []
        executor.on_done(heard.append)
        assert executor.owner_of(old.id) is None
        new = start(executor)
        assert new.id == "bash-2"
        await new.done
        assert not disposal.done
        assert executor.statistics().processes == 1
        await told.write("end")
        await disposal
        assert heard == [new]


async def test_dependents_come_and_go_with_it(executor: Executor) -> None:
    said: list[str] = []

    def dependent(name: str) -> Callable[[], Callable[[], None]]:
        def activate() -> Callable[[], None]:
            said.append(f"{name} on {executor.active}")
            return lambda: said.append(f"{name} off {executor.active}")

        return activate

    remove_a = executor.depend(dependent("a"))
    async with executor:
        remove_b = executor.depend(dependent("b"))
        assert said == ["a on True", "b on True"]
        said.clear()
        await executor.dispose()
        assert said == ["b off True", "a off True"]
        remove_b()
        said.clear()
        executor.load()
        assert said == ["a on True"]
        remove_a()
        remove_a()
        assert said == ["a on True", "a off True"]


async def test_it_runs_once_at_a_time(executor: Executor) -> None:
    async with executor:
        with pytest.raises(RuntimeError, match="running already"):
            await executor.__aenter__()


async def test_no_descriptor_is_left(executor: Executor) -> None:
    async with executor:
        # The first round opens what the event loop keeps.
        await start(executor).done
        before = descriptors()
        tasks = [start(executor, f"echo {number}; exit {number}") for number in range(20)]
        tasks.append(executor.start(executor.resolve(Request("a\0b"))))
        for task in tasks:
            await task.done
        assert descriptors() == before
