"""A command and all that it has started come to an end, however they resist."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import anyio
import pytest

from probate_reference.tasks import Executor, Request, Task, TaskStatus
from tests.reference.tasks.commands import SHELL, Pipe, StandingClock, Watched

pytestmark = pytest.mark.anyio

MakePipe = Callable[[str], Pipe]


def start(executor: Executor, command: str) -> Task:
    return executor.start(executor.resolve(Request(command)))


async def test_a_command_that_heeds_the_request_ends_without_the_grace(pipe: MakePipe) -> None:
    clock = StandingClock()
    said = pipe("said")
    async with Executor(shell=SHELL, clock=clock) as executor:
        task = start(executor, f"echo ready >{said.path}; sleep 1000")
        await said.line()
        assert executor.kill(task.id)
        assert task.status is TaskStatus.KILLED
        assert not task.done.done
        await task.done
        assert task.exit is not None
        assert task.exit.signal == signal.SIGTERM


async def test_a_command_that_traps_the_request_is_ended_when_the_grace_has_passed(pipe: MakePipe) -> None:
    clock = StandingClock()
    said, told = pipe("said"), pipe("told")
    async with Executor(shell=SHELL, clock=clock, grace=7.0) as executor:
        task = start(executor, f"trap '' TERM; echo ready >{said.path}; cat {told.path}")
        await said.line()
        executor.kill(task.id)
        await clock.sleeper()
        clock.move(6.9)
        assert not task.done.done
        clock.move(0.2)
        await task.done
        assert clock.asked == [7.0]
        assert task.exit is not None
        assert task.exit.signal == signal.SIGKILL


async def test_a_command_may_trap_the_request_and_put_itself_in_order(pipe: MakePipe) -> None:
    clock = StandingClock()
    said = pipe("said")
    async with Executor(shell=SHELL, clock=clock) as executor:
        task = start(executor, f"sleep 1000 & trap 'echo bye; exit 0' TERM; echo ready >{said.path}; wait")
        await said.line()
        executor.kill(task.id)
        await task.done
        assert task.status is TaskStatus.KILLED
        assert task.exit is not None
        assert task.exit.code == 0
        assert executor.read(task.id).stdout == "bye\n"


async def test_what_a_command_leaves_in_its_group_ends_with_it(pipe: MakePipe) -> None:
    said, told = pipe("said"), pipe("told")
    async with Executor(shell=SHELL, clock=StandingClock()) as executor:
        script = f"trap '' TERM; echo $$ >{said.path}; sleep 1000"
        # It is there before the shell ends.
        task = start(executor, f"{SHELL} -c {_quoted(script)} & echo first; read x <{told.path}; exit 4")
        watched = Watched(int(await said.line()))
        await told.write("end")
        await task.done
        await watched.gone()
        assert task.status is TaskStatus.COMPLETED
        assert task.exit is not None
        assert task.exit.code == 4
        assert executor.read(task.id).stdout == "first\n"


async def test_a_child_that_outlives_the_shell_has_the_rest_of_the_grace(pipe: MakePipe) -> None:
    clock = StandingClock()
    said, told = pipe("said"), pipe("told")
    script = f"trap '' TERM; echo $$ >{said.path}; cat {told.path}; echo saved"
    async with Executor(shell=SHELL, clock=clock) as executor:
        task = start(executor, f"{SHELL} -c {_quoted(script)} & wait")
        watched = Watched(int(await said.line()))
        executor.kill(task.id)
        # The shell is gone by now or soon; the child goes on until it has what it waits for.
        await told.write("saved")
        await task.done
        await watched.gone()
        assert executor.read(task.id).stdout == "saved\nsaved\n"
        assert task.exit is not None
        assert task.exit.signal == signal.SIGTERM


async def test_a_child_that_traps_the_request_ends_when_the_grace_has_passed(pipe: MakePipe) -> None:
    clock = StandingClock()
    said, told = pipe("said"), pipe("told")
    script = f"trap '' TERM; echo $$ >{said.path}; cat {told.path}"
    async with Executor(shell=SHELL, clock=clock) as executor:
        task = start(executor, f"{SHELL} -c {_quoted(script)} & wait")
        watched = Watched(int(await said.line()))
        executor.kill(task.id)
        await clock.sleeper()
        clock.move(10)
        await task.done
        await watched.gone()


async def test_a_command_that_closes_its_pipes_and_lives_on_is_still_a_task(pipe: MakePipe) -> None:
    said, told = pipe("said"), pipe("told")
    async with Executor(shell=SHELL, clock=StandingClock()) as executor:
        task = start(executor, f"exec >&- 2>&-; echo ready >{said.path}; cat {told.path} >/dev/null; exit 5")
        await said.line()
        assert task.status is TaskStatus.RUNNING
        await told.write("go on")
        await task.done
        assert task.exit is not None
        assert task.exit.code == 5


async def test_a_child_that_closed_its_pipes_goes_with_the_leader(pipe: MakePipe) -> None:
    said = pipe("said")
    script = f"trap '' TERM; exec >&- 2>&-; echo $$ >{said.path}; sleep 1000"
    async with Executor(shell=SHELL, clock=StandingClock()) as executor:
        task = start(executor, f"{SHELL} -c {_quoted(script)} & wait")
        watched = Watched(int(await said.line()))
        executor.kill(task.id)
        await task.done
        await watched.gone()


async def test_a_process_that_left_the_group_keeps_nobody_waiting(pipe: MakePipe) -> None:
    said, told = pipe("said"), pipe("told")
    script = f"echo $$ >{said.path}; cat {told.path}"
    async with Executor(shell=SHELL, clock=StandingClock()) as executor:
        # The shell waits until the other one has left its group, and shows its number.
        task = start(executor, f"setsid {SHELL} -c {_quoted(script)} & cat {said.path}; exit 0")
        await task.done
        watched = Watched(int(executor.read(task.id).stdout))
        await told.write("done")
        await watched.gone()


async def test_with_a_mark_nothing_is_left_when_the_executor_has_been_left(pipe: MakePipe) -> None:
    said = pipe("said")
    script = f"echo $$ >{said.path}; exec sleep 300"
    async with Executor(shell=SHELL, mark="ours", clock=StandingClock()) as executor:
        task = start(executor, f"setsid {SHELL} -c {_quoted(script)} & cat {said.path}; exit 0")
        await task.done
        watched = Watched(int(executor.read(task.id).stdout))
    await watched.gone()


async def test_a_cancelled_executor_kills_at_once_and_leaves_nothing(pipe: MakePipe) -> None:
    said, told = pipe("said"), pipe("told")
    watched: list[Watched] = []
    there = anyio.Event()

    async def main() -> None:
        async with Executor(shell=SHELL, clock=StandingClock()) as executor:
            start(executor, f"trap '' TERM; echo $$ >{said.path}; cat {told.path}")
            watched.append(Watched(int(await said.line())))
            there.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(main)
        await there.wait()
        group.cancel_scope.cancel()
    await watched[0].gone()


async def test_a_failing_block_is_raised_as_it_is_and_kills_at_once(pipe: MakePipe) -> None:
    said, told = pipe("said"), pipe("told")

    async def main() -> None:
        async with Executor(shell=SHELL, clock=StandingClock()) as executor:
            start(executor, f"trap '' TERM; echo $$ >{said.path}; cat {told.path}")
            await said.line()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await main()


async def test_where_there_are_no_process_descriptors_a_thread_waits(
    pipe: MakePipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(pid: int) -> int:
        raise OSError("no process descriptors")

    monkeypatch.setattr(os, "pidfd_open", none)
    said = pipe("said")
    async with Executor(shell=SHELL, clock=StandingClock()) as executor:
        ended = start(executor, "echo a; exit 3")
        killed = start(executor, f"echo ready >{said.path}; sleep 1000")
        await said.line()
        await ended.done
        assert ended.exit is not None
        assert ended.exit.code == 3
        executor.kill(killed.id)
        await killed.done
        assert killed.exit is not None
        assert killed.exit.signal == signal.SIGTERM


def _quoted(script: str) -> str:
    return "'" + script.replace("'", "'\\''") + "'"
