"""A report as JUnit XML, for the pages on which CI servers show tests: one test case for each clause of each backend.

Only what held is a success. A clause that is not claimed, or is expected to fail, is skipped, with the reason; one that
was never demanded is an error. The case ``run`` speaks for what has no clause.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from probate_conformance.lockstep import Verdict
from probate_conformance.printable import printable
from probate_conformance.report import TIME_UP, ClauseResult, Report, Run
from probate_model.clauses import CLAUSES

RUN: Final = "run"
"""The test case that speaks for the run as a whole."""

_WHY: Final = {
    Verdict.NOT_REACHED: "never demanded; more traces may reach it",
    Verdict.BLOCKED: "traces ended before it could be judged, and it was never demanded elsewhere",
}


def render(run: Run) -> str:
    """Give a run as JUnit XML."""
    root = Element("testsuites", name="probate")
    for report in run.reports:
        _suite(root, report, run.header.started)
    for part in ("tests", "failures", "errors", "skipped"):
        root.set(part, str(sum(int(suite.get(part, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, report: Report, started: str) -> None:
    name = printable(report.setting.backend)
    date, time, _ = started.split()
    suite = SubElement(root, "testsuite", name=name, timestamp=f"{date}T{time}")
    for result in report.clauses:
        _result(SubElement(suite, "testcase", classname=f"probate.{name}", name=result.id), result, report)
    case = SubElement(suite, "testcase", classname=f"probate.{name}", name=RUN)
    if faults := list(_faults(report)):
        _add(case, "error", str(report.totals.verdict), faults)
    suite.set("tests", str(len(suite)))
    for kind, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(sum(case.find(kind) is not None for case in suite)))


def _result(case: Element, result: ClauseResult, report: Report) -> None:
    clause = CLAUSES.get(result.id)
    sentence = clause.sentence if clause else "the model can't name the clause: a defect of its annotations"
    if result.stale:
        _add(case, "failure", "expected to fail, and does not", [sentence, str(result.expected)])
        return
    match result.verdict:
        case Verdict.PASS:
            return
        case Verdict.FAIL if result.expected is not None:
            _add(case, "skipped", f"expected failure: {result.expected}", ())
        case Verdict.FAIL:
            stories = (line for one in report.failures if one.clause == result.id for line in one.story.splitlines())
            _add(case, "failure", f"failed in {result.failed} of {report.totals.traces} traces", [sentence, *stories])
        case Verdict.NOT_CLAIMED:
            _add(case, "skipped", "not claimed: the backend does not show what it is seen by", ())
        case verdict:
            _add(case, "error", f"{verdict}: {_WHY.get(verdict, '')}", [sentence])


def _faults(report: Report) -> Iterable[str]:
    """Tell what is wrong with a run, and is no clause's."""
    for trouble in report.troubles:
        where = "before any trace" if trouble.number is None else f"trace {trouble.number}"
        yield f"{where}: {trouble.verdict}: {trouble.reason}"
    if report.totals.ended and report.totals.ended != TIME_UP:
        yield f"not all was run: {report.totals.ended}"
    if not report.totals.steps:
        yield "nothing was run"


def _add(case: Element, kind: str, message: str, lines: Iterable[str]) -> None:
    """Say what became of a test case, in what XML can carry of it."""
    told = SubElement(case, kind, message=printable(message))
    told.text = "\n".join(printable(line) for text in lines for line in text.splitlines()) or None
