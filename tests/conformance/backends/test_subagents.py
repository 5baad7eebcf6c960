"""Profile ``subagents`` on the reference with programs that are processes: as the model has it, and nothing is left."""

from __future__ import annotations

from collections.abc import Generator
from threading import Thread
from typing import Literal

import pytest

from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.generation import generate
from probate_conformance.lockstep import Examined, Verdict, examine
from probate_conformance.trace import Trace
from probate_conformance.wire import Command, Reply
from probate_model.alphabet.events import Event
from probate_model.alphabet.subagents import ChildHears, ChildSpawned
from probate_model.worlds import EVERYTHING
from tests.model.helpers import items
from tests.reference.tasks.commands import children, descriptors

Loop = Literal["asyncio", "trio"]
LOOPS: tuple[Loop, ...] = ("asyncio", "trio")

STUBBORN = """
    hold answer r deaf
    hold leave r deaf
    run r trusting T
    settle
    says r message half.
    asks r allow-once
    settle
    cancel_run r
    settle
    dispose_run r
    settle
    grace r
    settle
    grace r -> g
"""
"""A program that says something, asks, ignores a cancel, the end of its input and TERM, and is killed."""


def passes(trace: Trace, loop: Loop) -> list[Event]:
    """See that a trace passes; gives what was seen."""
    with ReferenceBackend(loop, processes=True) as backend:
        examined = backend.converse(examine(trace, EVERYTHING))
    assert (examined.verdict, examined.divergence) == (Verdict.PASS, None)
    return [event for exchange in examined.exchanges for event in exchange.events]


@pytest.mark.parametrize("loop", LOOPS)
def test_generated_traces_with_processes(loop: Loop) -> None:
    before, open_before = children(), descriptors()
    seen = [event for number in range(5) for event in passes(generate(11, number, profile="subagents"), loop)]
    assert sum(isinstance(event, ChildSpawned) for event in seen) > 10
    assert [child for child in children() if child not in before] == []
    assert len(descriptors()) == len(open_before)


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("part", range(10))
def test_many_traces_with_processes(loop: Loop, part: int) -> None:
    for number in range(part, 200, 10):
        passes(generate(12, number, profile="subagents"), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_program_that_ignores_everything_is_killed(loop: Loop) -> None:
    seen = passes(Trace(profile="subagents", items=items(STUBBORN)), loop)
    heard = [event.what for event in seen if isinstance(event, ChildHears)]
    assert heard == ["initialize", "session/new", "session/prompt", "session/cancel", "eof", "term", "kill"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_world_that_is_left_in_the_middle_leaves_nothing(loop: Loop) -> None:
    before, open_before = children(), descriptors()
    with ReferenceBackend(loop, processes=True) as backend:
        conversation = examine(Trace(profile="subagents", items=items(STUBBORN)), EVERYTHING)

        def only_the_first_few() -> Generator[Command, Reply, None]:
            command = next(conversation)
            for _ in range(4):
                command = conversation.send((yield command))
            conversation.close()

        backend.converse(only_the_first_few())
    assert [child for child in children() if child not in before] == []
    assert len(descriptors()) == len(open_before)


@pytest.mark.parametrize("loop", LOOPS)
def test_what_is_left_of_a_program_is_not_looked_for_in_other_worlds(loop: Loop) -> None:
    trace = Trace(profile="subagents", items=items(STUBBORN))

    def with_the_same_beside_it() -> Generator[Command, Reply, Examined]:
        conversation = examine(trace, EVERYTHING)
        command = next(conversation)
        for _ in range(2):
            command = conversation.send((yield command))
        other = Thread(target=passes, args=(trace, loop))
        other.start()
        other.join()
        reply = yield command
        while True:
            try:
                command = conversation.send(reply)
            except StopIteration as end:
                examined: Examined = end.value
                return examined
            reply = yield command

    with ReferenceBackend(loop, processes=True) as backend:
        examined = backend.converse(with_the_same_beside_it())
    assert (examined.verdict, examined.divergence) == (Verdict.PASS, None)
