"""Profile ``tasks`` on the reference: the typed cases with real processes, and the one rule about environments."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.backends.reference.processes import SHELL, Pipes, Process
from probate_conformance.lockstep import Verdict, examine
from probate_conformance.trace import Trace
from probate_conformance.wire import Command, Reply
from probate_model import environment as model
from probate_model.alphabet.events import Event
from probate_model.alphabet.names import Label
from probate_model.worlds import EVERYTHING
from probate_reference import environment as reference
from probate_reference.tasks import Executor, Request
from tests.model.helpers import items, line
from tests.model.task_cases import CASES, of_tasks
from tests.reference.tasks.commands import StandingClock, children, descriptors

LOOPS: tuple[Literal["asyncio", "trio"], ...] = ("asyncio", "trio")

HUNG_MILLISECONDS = 60_000

CRASHING = """
import os, signal, subprocess
from probate_conformance.backends.reference.processes import SHELL, Pipes

pipes = Pipes()
for temper in ("waiting", "asked", "deaf"):
    command, told = pipes.command()
    process = subprocess.Popen([SHELL, "-c", command], stdout=subprocess.DEVNULL)
    pipes.answered()
    if temper == "asked":
        process.terminate()
    elif temper == "deaf":
        os.write(told, b"deaf\\n")
        pipes.answered()
    print(process.pid, flush=True)
input()
os.kill(os.getpid(), signal.SIGKILL)
"""
"""Somebody who starts a process of each kind, and is gone without having ended any."""


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", CASES)
def test_a_case_on_the_reference(name: str, loop: Literal["asyncio", "trio"]) -> None:
    script, _ = CASES[name]
    trace = Trace(profile="tasks", items=items(script))
    with ReferenceBackend(loop) as backend:
        examined = backend.converse(examine(trace, EVERYTHING))
    assert (examined.verdict, examined.divergence) == (Verdict.PASS, None)
    seen: list[Event] = [event for exchange in examined.exchanges for event in exchange.events]
    assert of_tasks([line(event) for event in seen])


@pytest.mark.parametrize("loop", LOOPS)
def test_a_world_that_is_left_in_the_middle_leaves_nothing(loop: Literal["asyncio", "trio"]) -> None:
    before, open_before = children(), descriptors()
    script = "hold exit t deaf\nlaunch t\nhold exit u\nlaunch u\nsettle\nkill t directly\nsettle"
    trace = Trace(profile="tasks", items=items(script))
    with ReferenceBackend(loop) as backend:
        conversation = examine(trace, EVERYTHING)

        def only_the_first_two() -> Generator[Command, Reply, None]:
            command = next(conversation)
            for _ in range(3):
                command = conversation.send((yield command))
            conversation.close()

        backend.converse(only_the_first_two())
    assert [child for child in children() if child not in before] == []
    assert len(descriptors()) == len(open_before)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_process_that_is_asked_to_end_stays_until_it_may_go(loop: Literal["asyncio", "trio"]) -> None:
    pipes = Pipes()

    async def main() -> None:
        async with Executor(shell=SHELL, clock=StandingClock()) as executor:
            command, told = pipes.command()
            task = executor.start(executor.resolve(Request(command)))
            pipes.answered()
            process = Process(Label("t"), task, pipes, told)
            before = process.alive
            executor.kill(task.id)
            assert (before, process.alive) == (True, False)
            for text in ("here", "and here"):
                process.say(text)
            process.let_go()
            process.close()
            await task.done
            assert task.exit is not None
            assert task.exit.signal == signal.SIGTERM
            assert executor.read(task.id).stdout == "here\nand here\n"

    anyio.run(main, backend=loop)
    pipes.close()


def test_no_process_outlives_who_has_started_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CRASHING],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        processes = [os.pidfd_open(int(starter.stdout.readline())) for _ in range(3)]
        starter.stdin.write("\n")
        starter.stdin.flush()
        poll = select.poll()
        left = set(processes)
        for process in processes:
            poll.register(process, select.POLLIN)
        while left and (gone := poll.poll(HUNG_MILLISECONDS)):
            for process, _ in gone:
                poll.unregister(process)
                left.remove(process)
        for process in left:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        for process in processes:
            os.close(process)
    assert left == set()


NAMES = st.one_of(
    st.text(st.characters(exclude_characters="=\0", exclude_categories=["Cs"]), max_size=12),
    st.builds(
        lambda left, word, right: left + word + right,
        st.text("aZ_1\u0131", max_size=3),
        st.sampled_from(["key", "Token", "SECRET", "passWORD", "Passwd", "credential", "KE", "\u212aEY", "\u017fEC"]),
        st.text("aZ_1", max_size=3),
    ),
    st.sampled_from(["PATH", "HOME", "OPENAI_API_KEY", "TERM"]),
)


@pytest.mark.no_cover  # many examples of one line
@given(st.dictionaries(NAMES, st.text(max_size=3)), st.dictionaries(NAMES, st.none() | st.text(max_size=3)))
def test_model_and_reference_have_one_rule_about_environments(
    ambient: dict[str, str], overlay: dict[str, str | None]
) -> None:
    given_to_child = reference.child_environment(ambient, overlay)
    assert given_to_child == model.child_environment(ambient, overlay)
    # L21: what looks like a credential is there only if it is configured.
    for name in given_to_child:
        assert overlay.get(name) is not None or not model.is_credential(name)
    assert {name for name in os.environ if reference.names_credential(name)} == {
        name for name in os.environ if model.is_credential(name)
    }
