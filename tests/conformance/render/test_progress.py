"""The line about a run that is going on."""

from __future__ import annotations

import io

import pytest

from probate_conformance.manifest import Manifest
from probate_conformance.render.progress import ProgressLine, line
from probate_conformance.tally import Checked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_is_written_over_and_leaves_nothing() -> None:
    stream, clock = Terminal(), Clock()
    progress = ProgressLine("some", stream, {"TERM": "xterm"}, clock)
    checked = Checked(planned=100, traces=10)
    progress(checked)
    assert stream.getvalue() == ""  # too soon
    clock.now = 2.0
    progress(checked)
    progress(checked)
    progress.clear()
    assert stream.getvalue() == "\r\x1b[Ksome core: 10 of 100 traces, 5/s, no failure, 18 s left\r\x1b[K"


@pytest.mark.parametrize(
    ("claimed", "says"),
    [
        (None, "some tasks: "),
        (("tasks",), "some tasks: "),
        (("core", "tasks", "acp"), "some tasks (2 of 2): "),
        (("core", "sessions", "fibers", "tasks"), "some tasks (3 of 3): "),
    ],
)
def test_it_says_which_profile_of_how_many(claimed: tuple[str, ...] | None, says: str) -> None:
    """Of those that were asked for, and that the backend claims: which they are is known when it has been greeted."""
    stream, clock = Terminal(), Clock()
    progress = ProgressLine("some", stream, {}, clock, profile="tasks", profiles=("core", "fibers", "tasks", "bridge"))
    manifest = None if claimed is None else Manifest(name="some", version="1", language="c", profiles=claimed)
    clock.now = 1.0
    progress(Checked(planned=100, traces=10, manifest=manifest))
    assert stream.getvalue().startswith(f"\r\x1b[K{says}10 of 100 traces")


@pytest.mark.parametrize(
    ("stream", "environment"), [(io.StringIO(), {"TERM": "xterm"}), (Terminal(), {"TERM": "dumb"}), (None, {})]
)
def test_it_is_for_terminals_only(stream: io.StringIO | None, environment: dict[str, str]) -> None:
    clock = Clock()
    progress = ProgressLine("some", stream, environment, clock)
    clock.now = 10.0
    progress(Checked(planned=10, traces=5))
    progress.clear()
    assert stream is None or stream.getvalue() == ""


def test_a_stream_that_fails_does_not_end_the_run() -> None:
    class Broken(Terminal):
        def write(self, text: str) -> int:
            raise OSError(text)

    ProgressLine("some", Broken(), {}, Clock()).clear()


def test_what_it_tells() -> None:
    checked = Checked(planned=1000, traces=500, shrinking="CALL-01")
    checked.failed.update({"CALL-01": 2, "CALL-02": 1})
    told = line("some", checked, 10.0)
    assert told == "some: 500 of 1,000 traces, 50/s, 3 failing by CALL-01, CALL-02, shrinking CALL-01"
    assert line("some", Checked(planned=5), 0.0) == "some: 0 of 5 traces, 0/s, no failure"
