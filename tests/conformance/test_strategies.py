import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.errors import InvalidArgument

from probate_conformance.asserting import Diverged, Undecided, assert_conforms
from probate_conformance.backends.base import Backend
from probate_conformance.backends.model import ModelBackend
from probate_conformance.backends.reference import ReferenceBackend
from probate_conformance.backends.reference.known_bad import backend as known_bad
from probate_conformance.errors import BackendBroke
from probate_conformance.lockstep import Examined, Verdict
from probate_conformance.manifest import Manifest
from probate_conformance.strategies import Palette, trace_of, traces
from probate_conformance.trace import Trace, dump, faults, ops_of
from probate_conformance.wire import Burst, Command, Conversation, Quiet, Reply
from probate_model.alphabet.events import Event
from probate_model.alphabet.items import React, Settle
from probate_model.alphabet.ops import Cancel
from probate_model.clauses import CLAUSES

# Many runs through what other tests cover as well; tracing them would take more than twice as long.
pytestmark = pytest.mark.no_cover

T = TypeVar("T")

quickly = settings(max_examples=60, database=None)
"""Few examples, and nothing left in a folder: other tests look for the bugs of the reference."""


reproducibly = settings(
    max_examples=500,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class LyingBackend(ModelBackend):
    """The model, but for what it leaves out."""

    def __init__(self, hides: Callable[[Event], bool]) -> None:
        super().__init__()
        self._hides = hides
        self.bursts: list[Burst] = []

    def answer(self, command: Command) -> Reply:
        reply = super().answer(command)
        if isinstance(command, Burst):
            self.bursts.append(command)
        if isinstance(reply, Quiet):
            return Quiet(events=tuple(e for e in reply.events if not self._hides(e)), snapshot=reply.snapshot)
        return reply


def hides_cancels(event: Event) -> bool:
    return event.event == "settled" and event.call.startswith("x")


def hides_nothing(event: Event) -> bool:
    return False


def smallest(backend: Backend, strategy: st.SearchStrategy[Trace], setting: settings = reproducibly) -> Diverged:
    """Give the failure that Hypothesis ends with."""

    @setting
    @given(strategy)
    def conforms(trace: Trace) -> None:
        assert_conforms(backend, trace)

    with pytest.raises(Diverged) as raised:
        conforms()
    return raised.value


@quickly
@given(traces(schedules=st.integers(0, 9)))
def test_every_drawn_trace_is_valid(trace: Trace) -> None:
    assert list(faults(trace.items)) == []
    assert Trace.model_validate_json(dump(trace)) == trace
    assert len(trace.items) <= 60


@quickly
@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 17), min_size=40, max_size=40))
def test_every_form_that_shrinking_can_come_to_is_valid(seed: int, kept: list[int]) -> None:
    # Bytes below 17 leave items out and simplify them; at random they are rare.
    trace = trace_of(seed, bytes(kept))
    assert list(faults(trace.items)) == []


@quickly
@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 39)))
def test_what_is_left_out_changes_nothing_else(seed: int, left_out: set[int]) -> None:
    whole = trace_of(seed, bytes([255]) * 40)
    kept = trace_of(seed, bytes(0 if place in left_out else 255 for place in range(40)))
    rest = iter(whole.items)
    assert all(item in rest for item in kept.items)  # the same items, in the same order
    assert len(whole.items) - len(kept.items) <= len(left_out)


@quickly
@given(traces(Palette(ops=frozenset({"create", "send", "look"}), features=frozenset({"react"}))))
def test_a_palette_is_kept_to(trace: Trace) -> None:
    assert {op.item for item in trace.items for op in ops_of(item)} <= {"create", "send", "look"}


@quickly
@given(traces(min_items=0, max_items=3))
def test_a_trace_is_as_short_as_asked_for(trace: Trace) -> None:
    assert len(trace.items) <= 3


def test_drawn_traces_are_long_and_varied() -> None:
    drawn: list[Trace] = []

    @settings(quickly, phases=[Phase.generate])
    @given(traces())
    def draw(trace: Trace) -> None:
        drawn.append(trace)

    draw()
    lengths = [len(trace.items) for trace in drawn]
    assert sum(lengths) / len(lengths) > 25
    assert {len(trace.world.owners) for trace in drawn} == {1, 2}
    kinds = {item.item for trace in drawn for item in trace.items}
    assert {"create", "send", "cancel", "dispose", "react", "hold", "release", "settle"} <= kinds


@pytest.mark.parametrize("sizes", [(-1, 5), (6, 5)])
def test_impossible_sizes_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(InvalidArgument, match=r"min_items=-?\d and max_items=5"):
        traces(min_items=sizes[0], max_items=sizes[1])


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_reference_conforms(loop: str) -> None:
    backend = ReferenceBackend("trio" if loop == "trio" else "asyncio")
    demanded: set[str] = set()

    @settings(quickly, max_examples=30)
    @given(traces(schedules=st.integers(0, 9)))
    def conforms(trace: Trace) -> None:
        demanded.update(assert_conforms(backend, trace).demanded)

    conforms()
    assert len(demanded) > 40


def test_a_lie_is_found_and_shrunk() -> None:
    error = smallest(LyingBackend(hides_cancels), traces(schedules=st.integers(0, 99)))
    assert error.trace.schedule == "fifo"
    assert len(error.trace.items) <= 4
    assert any(isinstance(op, Cancel) for item in error.trace.items for op in ops_of(item))
    assert str(error).startswith(f"{error.clause}: {CLAUSES[error.clause].sentence}\n")
    assert "       because  " in str(error)


def test_a_known_defect_is_found_and_shrunk() -> None:
    error = smallest(known_bad("unannounced-agent-is-announced-as-disposed"), traces())
    assert error.clause == "PUBLISH-04"
    assert len(error.trace.items) <= 5
    assert all(len(item.do) == 1 for item in error.trace.items if isinstance(item, React))
    assert list(faults(error.trace.items)) == []


def test_the_database_replays_the_smallest_trace() -> None:
    database = InMemoryExampleDatabase()
    backend = LyingBackend(hides_cancels)
    ran: list[Trace] = []

    @settings(reproducibly, derandomize=False, database=database)
    @given(traces())
    def conforms(trace: Trace) -> None:
        ran.append(trace)
        assert_conforms(backend, trace)

    with pytest.raises(Diverged) as first:
        conforms()
    ran.clear()
    with pytest.raises(Diverged):
        conforms()
    assert ran[0] == first.value.trace


def test_each_clause_has_its_own_type_of_failure() -> None:
    hidden: list[Callable[[Event], bool]] = [
        hides_cancels,
        lambda event: event.event == "agent/created",
        lambda event: event.event == "agent/created",
    ]
    found = settings(reproducibly, phases=[Phase.generate])
    errors = [smallest(LyingBackend(hides), traces(), found) for hides in hidden]
    assert errors[0].clause != errors[1].clause
    assert type(errors[0]) is not type(errors[1])
    assert type(errors[1]) is type(errors[2])
    assert isinstance(errors[0], AssertionError)
    assert errors[0].clause in type(errors[0]).__name__


A_CREATION = Trace.model_validate(
    {"items": [{"item": "create", "label": "c1", "id": "a", "by": {"owner": "host"}}]}, strict=False
)


class StubBackend(ModelBackend):
    """A backend that gives what it was told to."""

    def __init__(self, examined: Examined) -> None:
        super().__init__()
        self._examined = examined

    def converse(self, conversation: Conversation[T]) -> T:
        conversation.close()
        return cast(T, self._examined)


def test_what_neither_passed_nor_failed_is_no_success() -> None:
    with pytest.raises(Undecided, match="too many worlds"):
        assert_conforms(StubBackend(Examined(Verdict.INCONCLUSIVE, reason="too many worlds")), A_CREATION)


def test_a_broken_backend_is_no_success() -> None:
    broke = BackendBroke("died")
    with pytest.raises(BackendBroke, match="died"):
        assert_conforms(StubBackend(Examined(Verdict.BROKEN, broke=broke)), A_CREATION)


@settings(quickly, max_examples=10)
@given(traces())
def test_a_backend_without_bursts_gets_none(trace: Trace) -> None:
    backend = LyingBackend(hides_nothing)
    backend.manifest = Manifest(name="apart", version="1", language="python", bursts="no")
    examined = assert_conforms(backend, trace)
    *bursts, _epilogue = backend.bursts
    assert all(len(burst.items) <= 1 for burst in bursts)
    assert examined.steps + examined.voids >= sum(not isinstance(item, Settle) for item in trace.items)


def test_missing_hypothesis_is_one_clear_error() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; import probate_conformance.strategies"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    *_, last = done.stderr.splitlines()
    assert last == (
        "ImportError: probate_conformance.strategies needs Hypothesis, which is not installed: "
        "pip install 'hypothesis>=6.115'"
    )
