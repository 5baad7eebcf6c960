"""A report as lines of JSON, and what is read from them again."""

from __future__ import annotations

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.errors import UsageError
from probate_conformance.interrupts import Interrupt
from probate_conformance.plan import Plan
from probate_conformance.render.ndjson import read, render
from probate_conformance.report import Header, Run, end_of
from probate_conformance.running import check_backend, not_run

PLAN = Plan(seed=0, cases=3)


@pytest.fixture(scope="module")
def run() -> Run:
    ran = check_backend("model", ModelBackend(), PLAN, Interrupt(), lambda _: None)
    reports = (ran, not_run("dsh", PLAN, "absent"))
    header = Header(version="1", started="now", seconds=1.5, python="CPython", platform="Linux")
    return Run(header=header, reports=reports, end=end_of(reports))


def test_what_was_written_is_read(run: Run) -> None:
    assert read(render(run), where="file") == run


@pytest.mark.parametrize("kept", [slice(0, 0), slice(0, -1), slice(1, None)])
def test_what_is_cut_is_refused(kept: slice, run: Run) -> None:
    with pytest.raises(UsageError, match="is not a whole report"):
        read("\n".join(render(run).splitlines()[kept]), where="file")


def test_line_that_is_torn_is_named(run: Run) -> None:
    lines = render(run).splitlines()
    with pytest.raises(UsageError, match="file: line 3: "):
        read("\n".join((*lines[:2], lines[2][:-1], *lines[3:])), where="file")


def test_backend_without_totals_is_refused(run: Run) -> None:
    lines = render(run).splitlines()
    assert '"totals"' in lines[-2]
    with pytest.raises(UsageError, match="a backend has no totals"):
        read("\n".join((*lines[:-2], lines[-1])), where="file")


def test_backend_without_a_setting_is_refused(run: Run) -> None:
    lines = render(run).splitlines()
    with pytest.raises(UsageError, match="a backend begins with its clause"):
        read("\n".join((lines[0], *lines[2:])), where="file")


def test_two_reports_are_not_one(run: Run) -> None:
    with pytest.raises(UsageError, match="there is another end in between"):
        read(render(run) * 2, where="file")
