"""One test for each clause: what the pytest plug-in does once a backend is named.

The tests are collected without a file, as ``probate::CANCEL-03``, or as ``probate::CANCEL-03[NAME]`` if there are
several backends. The first that runs has all traces run on its backend, and the others read the same report. A clause
that the backend does not claim is a skip. One that no trace demanded fails, for nobody saw it hold; so does one that
lies behind another failure.

``probate::run`` speaks for what has no clause: a trace that neither passed nor failed, a backend that broke or on
which nothing was demanded, a divergence that no clause explains.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from probate_conformance.backends.base import Backend
from probate_conformance.backends.registry import make_backend
from probate_conformance.cli.casefiles import slug, write_case
from probate_conformance.cli.check import CASES
from probate_conformance.cli.options import require_edition, require_profile
from probate_conformance.errors import ProbateError, ReportError, UsageError, unknown_name
from probate_conformance.interrupts import Interrupt
from probate_conformance.lockstep import Verdict
from probate_conformance.plan import Plan
from probate_conformance.report import ClauseResult, Report
from probate_conformance.running import check_backend
from probate_conformance.tally import Checked
from probate_model.alphabet.editions import EDITIONS
from probate_model.clauses import CLAUSES

ROOT: Final = "probate"
RUN: Final = "run"
"""The test that speaks for the run as a whole."""


@dataclass(slots=True)
class Campaign:
    """All traces on one backend, run when somebody first asks what they showed."""

    name: str
    backend: Backend
    plan: Plan
    folder: Callable[[], Path] | None
    """Gives where cases are written, if anywhere."""
    ran: Report | None = field(default=None, init=False)
    """What the run showed, if it took place."""

    def report(self) -> Report:
        """Give what the run shows.

        :raises KeyboardInterrupt: if it is interrupted
        """
        if self.ran is None:
            interrupt = Interrupt()
            report = check_backend(self.name, self.backend, self.plan, interrupt, _say_nothing)
            if interrupt.requested:
                raise KeyboardInterrupt
            self.ran = report
        return self.ran

    def result(self, clause: str) -> ClauseResult | None:
        """Give what became of a clause; none if the backend never came to say whether it claims it."""
        return next((result for result in self.report().clauses if result.id == clause), None)

    def failure(self, result: ClauseResult) -> str:
        """Tell how a clause failed."""
        report = self.report()
        lines = [f"{self.name} breaks it in {result.failed} of {report.totals.traces} traces"]
        if result.id in CLAUSES:
            lines += ["", CLAUSES[result.id].sentence]
        for failure in report.failures:
            if failure.clause == result.id:
                lines += ["", failure.story, "", f"again: {shlex.join(self._again(failure.clause))}"]
        return "\n".join(lines)

    def _again(self, clause: str) -> list[str]:
        plan = self.plan
        if self.folder is not None:
            with contextlib.suppress(ReportError, OSError):
                case = next(failure.case for failure in self.report().failures if failure.clause == clause)
                path = write_case(self.folder(), f"{slug(self.name)}-{clause}-seed{plan.seed}", case)
                return ["probate", "replay", os.path.relpath(path)]
        return ["probate", "check", self.name, "--seed", str(plan.seed), "--cases", str(plan.cases)]

    def faults(self) -> Iterator[str]:
        """Tell what is wrong with the run, and is no clause's."""
        report = self.report()
        for trouble in report.troubles:
            where = "before the first trace" if trouble.number is None else f"trace {trouble.number}"
            yield f"{where}: {trouble.verdict}: {trouble.reason}"
        if report.totals.ended:
            yield f"not all was run: {report.totals.ended}"
        for result in report.clauses:
            if result.failed and result.id not in CLAUSES:
                yield f"{result.id}: {self.failure(result)}"
        if all(result.verdict not in (Verdict.PASS, Verdict.FAIL) for result in report.clauses):
            yield "no clause was put to the test"

    def summary(self) -> str:
        """Tell in one line what the run came to; nothing if it did not take place."""
        if self.ran is None:
            return f"{self.name}: not run"
        totals = self.ran.totals
        counts = ", ".join(f"{count} {verdict}" for verdict, count in totals.clauses.items())
        return f"{self.name}: {totals.traces} traces, {totals.steps} steps; clauses: {counts or 'none'}"


def _say_nothing(checked: Checked) -> None:
    del checked


class NotPassed(Exception):
    """Raised by a test that did not pass. Its message is all there is to say."""


@dataclass(frozen=True, slots=True)
class _Crash:
    """What pytest shows of a failure in its summary."""

    message: str

    def __str__(self) -> str:
        return self.message


class _Told(str):
    """A message that pytest shows as it is."""

    __slots__ = ("reprcrash",)
    reprcrash: _Crash


class ClauseTest(pytest.Item):
    """A test that passes if a clause did: demanded at least once, and never broken."""

    def __init__(self, *, campaign: Campaign, clause: str, **others: Any) -> None:
        super().__init__(**others)
        self.campaign = campaign
        self.clause = clause
        self.skipped = False

    def runtest(self) -> None:
        """Judge the clause by the run.

        :raises NotPassed: if it failed, or nobody saw it hold
        """
        campaign = self.campaign
        result = campaign.result(self.clause)
        if result is None:
            raise NotPassed(f"not judged: {'; '.join(campaign.faults())}")
        match result.verdict:
            case Verdict.PASS:
                return
            case Verdict.FAIL:
                raise NotPassed(campaign.failure(result))
            case Verdict.NOT_CLAIMED:
                self.skipped = True
                pytest.skip("not claimed")
            case Verdict.BLOCKED:
                why = "traces ended early, by a failure or for another reason, and before that none demanded it"
            case _:
                why = f"none of {campaign.report().totals.traces} traces demanded it; more --probate-cases may"
        raise NotPassed(f"{result.verdict}: {why}\n\n{CLAUSES[self.clause].sentence}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Tell what a test has to say; of any other exception, where it was raised."""
        if not isinstance(excinfo.value, NotPassed):
            return super().repr_failure(excinfo, style)
        told = _Told(excinfo.value)
        told.reprcrash = _Crash(told.partition("\n")[0])
        return told

    def reportinfo(self) -> tuple[str, None, str]:
        """Tell where the test is: in no file."""
        return ROOT, None, self.name


class RunTest(ClauseTest):
    """A test that passes if nothing is wrong with the run but what clauses tell."""

    def runtest(self) -> None:
        """Judge the run.

        :raises NotPassed: if something in it was neither shown to hold nor to fail
        """
        faults = list(self.campaign.faults())
        if faults:
            raise NotPassed("\n\n".join(faults))


class Root(pytest.Collector):
    """What the tests stand under, in place of a file."""

    def __init__(self, *, campaigns: list[Campaign], chosen: list[str], **others: Any) -> None:
        super().__init__(**others)
        self.campaigns = campaigns
        self.chosen = chosen

    def collect(self) -> Iterable[ClauseTest]:
        """Give a test for each clause, and one for the run, of each backend."""
        for campaign in self.campaigns:
            end = f"[{campaign.name}]" if len(self.campaigns) > 1 else ""
            for clause in [*_clauses(campaign.plan), RUN]:
                if not self.chosen or clause in self.chosen or clause + end in self.chosen:
                    kind = RunTest if clause == RUN else ClauseTest
                    yield kind.from_parent(self, name=clause + end, campaign=campaign, clause=clause)


def _clauses(plan: Plan) -> list[str]:
    edition = EDITIONS[plan.edition]
    return [name for name, clause in CLAUSES.items() if clause.profile == plan.profile and clause.holds_in(edition)]


class Clauses:
    """The hooks: they collect the tests, and see that skips are no success."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the options.

        :raises pytest.UsageError: if something that is named does not exist
        """
        try:
            self.plan = _plan(config)
            names = dict.fromkeys(config.getoption("probate_backends"))
            folder = _folder(config)
            self.campaigns = [Campaign(name, make_backend(name), self.plan, folder) for name in names]
            self.chosen = self._chosen(config)
        except ProbateError as error:
            raise pytest.UsageError(str(error)) from error
        self.tests: list[ClauseTest] = []
        self.empty = False
        """Whether all tests were skips."""

    def _chosen(self, config: pytest.Config) -> list[str]:
        """Take the node ids that are ours from the arguments, before pytest looks for such a file."""
        start = f"{ROOT}::"
        chosen = [argument.removeprefix(start) for argument in config.args if argument.startswith(start)]
        if chosen:
            config.args[:] = [argument for argument in config.args if not argument.startswith(start)]
        known = [*_clauses(self.plan), RUN]
        known += [f"{name}[{campaign.name}]" for campaign in self.campaigns for name in known]
        for name in chosen:
            if name not in known:
                raise unknown_name("clause", name, known, also="`probate list --clauses` shows all")
        return chosen

    def pytest_report_header(self) -> str:
        """Tell all that the run can be repeated with."""
        plan = self.plan
        names = ", ".join(campaign.name for campaign in self.campaigns)
        return (
            f"probate: {names}; edition {plan.edition}, profile {plan.profile}, seed {plan.seed}, {plan.cases} traces"
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the tests, before anybody selects among them."""
        root = Root.from_parent(session, name=ROOT, nodeid=ROOT, campaigns=self.campaigns, chosen=self.chosen)
        items.extend(session.genitems(root))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests were selected."""
        self.tests = [item for item in session.items if isinstance(item, ClauseTest)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """See that a session in which all our tests were skips fails."""
        self.empty = bool(self.tests) and all(test.skipped for test in self.tests)
        if self.empty and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what the runs came to."""
        if not any(campaign.ran for campaign in self.campaigns):
            return
        terminalreporter.section("probate")
        for campaign in self.campaigns:
            terminalreporter.write_line(campaign.summary())
        if self.empty:
            terminalreporter.write_line(
                "FAILED: no clause that was selected is claimed, so nothing was shown", red=True
            )


def _plan(config: pytest.Config) -> Plan:
    edition = config.getoption("probate_edition") or "2026-06"
    profile = config.getoption("probate_profile") or "core"
    require_edition(edition)
    require_profile(profile, edition)
    seed, cases = config.getoption("probate_seed"), config.getoption("probate_cases")
    if seed is not None and seed < 0:
        raise UsageError(f"--probate-seed {seed} is less than 0")
    if cases is not None and cases < 1:
        raise UsageError(f"--probate-cases {cases} is less than 1")
    return Plan(seed or 0, CASES[profile] if cases is None else cases, edition, profile)


def _folder(config: pytest.Config) -> Callable[[], Path] | None:
    cache = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
    return None if cache is None else lambda: Path(cache.mkdir(ROOT))
