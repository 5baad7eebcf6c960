import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from probate_conformance.backends.model import ModelBackend
from probate_conformance.manifest import Manifest
from probate_conformance.plan import Plan
from probate_conformance.pytest_clauses import Campaign
from probate_conformance.report import UNEXPLAINED
from probate_conformance.running import report_of
from probate_conformance.tally import Checked
from probate_model.alphabet.editions import EDITIONS
from probate_model.clauses import CLAUSES

pytest_plugins = ["pytester"]

BACKENDS = """
from pathlib import Path

from probate_conformance.backends.model import ModelBackend
from probate_conformance.errors import BackendBroke
from probate_conformance.manifest import Manifest, Unclaimed
from probate_conformance.wire import Open, Quiet


class Counting(ModelBackend):
    def __enter__(self):
        with Path("entered").open("a") as file:
            file.write("entered\\n")
        return super().__enter__()


class Lying(ModelBackend):
    def answer(self, command):
        reply = super().answer(command)
        if not isinstance(reply, Quiet):
            return reply
        kept = tuple(e for e in reply.events if e.event != "settled" or not e.call.startswith("x"))
        return Quiet(events=kept, snapshot=reply.snapshot)


class Breaking(ModelBackend):
    def answer(self, command):
        raise BackendBroke("died of old age")


class Interrupted(ModelBackend):
    def answer(self, command):
        raise KeyboardInterrupt


def modest():
    backend = ModelBackend()
    backend.manifest = Manifest(name="modest", version="1", language="python", unclaimed=Unclaimed(ops=("inject",)))
    return backend


def elsewhere():
    backend = ModelBackend()
    backend.manifest = Manifest(name="elsewhere", version="1", language="python", profiles=("acp",))
    return backend


def unwell():
    raise OSError("no room")
"""

EDITION = EDITIONS["2026-06"]
CORE = [name for name, clause in CLAUSES.items() if clause.profile == "core" and clause.holds_in(EDITION)]


@pytest.fixture(autouse=True)
def backends(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(mine=BACKENDS)
    # Hypothesis' own plug-in would import Hypothesis anew in each session, which takes longer than all the rest.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")


def check(pytester: pytest.Pytester, backend: str, *arguments: str, cases: int = 15) -> pytest.RunResult:
    return pytester.runpytest("--probate-backend", backend, "--probate-cases", str(cases), *arguments)


def test_each_clause_is_a_test_without_any_file(pytester: pytest.Pytester) -> None:
    done = check(pytester, "model", "--collect-only", "-q")
    assert done.ret == pytest.ExitCode.OK
    collected = [line for line in done.outlines if line.startswith("probate::")]
    assert collected == [f"probate::{name}" for name in [*CORE, "run"]]


def test_a_clause_that_was_demanded_and_held_passes_and_one_nobody_reached_fails(pytester: pytest.Pytester) -> None:
    done = check(pytester, "model")
    outcomes = done.parseoutcomes()
    assert outcomes["passed"] + outcomes["failed"] == len(CORE) + 1
    assert outcomes["passed"] > len(CORE) / 2
    assert "skipped" not in outcomes
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.re_match_lines(
        [
            r"probate: model; edition 2026-06, profile core, seed 0, 15 traces",
            r"not reached: none of 15 traces demanded it; more --probate-cases may",
            r"=+ probate =+",
            r"model: 15 traces, \d+ steps; clauses: \d+ pass, \d+ not reached",
            r"FAILED probate::\S+ - not reached: none of 15 traces demanded.*",
        ]
    )


def test_the_same_seed_gives_the_same_outcomes_and_another_seed_others(pytester: pytest.Pytester) -> None:
    def steps(seed: int) -> str:
        lines = check(pytester, "model", "--probate-seed", str(seed), "-k", "CREATE-01").outlines
        return next(line for line in lines if line.startswith("model: "))

    assert steps(7) == steps(7) != steps(8)


def test_a_broken_clause_fails_with_its_story_and_a_case_to_replay(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:Lying", "probate::CANCEL-09")
    done.assert_outcomes(failed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.re_match_lines(
        [
            r"_+ CANCEL-09 _+",
            r"mine:Lying breaks it in \d+ of 15 traces",
            CLAUSES["CANCEL-09"].sentence,
            r" +1  create c\d+: id '.' by .*",
            r" +2  cancel c\d+ by user -> (x\d+)",
            r" +allowed  x\d+ returned",
            r" +seen     nothing more",
            r"again: probate replay \.pytest_cache/d/probate/mine-Lying-CANCEL-09-seed0\.json",
            r"FAILED probate::CANCEL-09 - mine:Lying breaks it in \d+ of 15 traces",
        ]
    )
    assert not any("Traceback" in line or "pytest_clauses.py" in line for line in done.outlines)
    # Where CI is set, pytest repeats the whole message in its summary.
    (again,) = {line for line in done.outlines if line.startswith("again: ")}
    program = [sys.executable, "-m", "probate_conformance", *again.split()[2:]]
    replayed = subprocess.run(program, cwd=pytester.path, capture_output=True, text=True, check=False)
    assert replayed.returncode == 1, replayed.stderr
    assert "CANCEL-09" in replayed.stdout


def test_without_a_cache_the_whole_check_is_what_is_run_again(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:Lying", "probate::CANCEL-09", "-p", "no:cacheprovider")
    done.stdout.fnmatch_lines(["again: probate check mine:Lying --seed 0 --cases 15"])
    assert not (pytester.path / ".pytest_cache").exists()


def test_what_lies_behind_a_failure_fails_as_blocked(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:Lying", cases=6)
    done.stdout.fnmatch_lines(["blocked: traces ended early,*", "FAILED probate::* - blocked: *"])


def test_a_run_is_one_for_all_clauses_and_happens_only_if_a_test_runs(pytester: pytest.Pytester) -> None:
    check(pytester, "mine:Counting", "--collect-only")
    assert not (pytester.path / "entered").exists()
    check(pytester, "mine:Counting")
    assert (pytester.path / "entered").read_text() == "entered\n"


def test_several_backends_have_a_run_each(pytester: pytest.Pytester) -> None:
    done = check(pytester, "model", "--probate-backend", "mine:Lying", "-v", "-k", "CANCEL-09")
    done.assert_outcomes(passed=1, failed=1, deselected=2 * len(CORE))
    done.stdout.fnmatch_lines(["probate::CANCEL-09?model? PASSED*", "probate::CANCEL-09?mine:Lying? FAILED*"])
    check(pytester, "model", "--probate-backend", "mine:Lying", "probate::CANCEL-09[model]").assert_outcomes(passed=1)


def test_an_unclaimed_clause_is_a_skip_with_its_reason(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:modest", "-rs", "-k", "INJECT-01 or CREATE-01")
    done.assert_outcomes(skipped=1, passed=1, deselected=len(CORE) - 1)
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["SKIPPED *: not claimed"])


def test_skips_alone_are_no_success(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_mine(): pass")
    done = check(pytester, "mine:modest", "-k", "INJECT-01 or mine")
    done.assert_outcomes(skipped=1, passed=1, deselected=len(CORE))
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["FAILED: no clause that was selected is claimed, so nothing was shown"])


def test_a_backend_that_claims_nothing_fails(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:elsewhere")
    done.assert_outcomes(skipped=len(CORE), failed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["not all was run: it does not claim profile core", "no clause was put to the test"])


def test_a_backend_that_breaks_fails_everywhere(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:Breaking")
    done.assert_outcomes(failed=len(CORE) + 1)
    done.stdout.fnmatch_lines(["*_ run _*", "trace 0: harness error: died of old age"])


def test_a_backend_that_never_starts_fails_everywhere(pytester: pytest.Pytester) -> None:
    done = check(pytester, "cmd:/nonexistent/program", "-k", "CANCEL-01")
    done.assert_outcomes(failed=1, deselected=len(CORE))
    done.stdout.fnmatch_lines(["not judged: before the first trace: harness error: */nonexistent/program*"])


def test_an_interrupt_interrupts_the_session(pytester: pytest.Pytester) -> None:
    done = pytester.inline_run("--probate-backend", "mine:Interrupted", no_reraise_ctrlc=True)
    assert done.ret == pytest.ExitCode.INTERRUPTED


def test_a_failure_that_no_clause_explains_is_the_runs() -> None:
    manifest = Manifest(name="odd", version="1", language="python")
    checked = Checked(traces=3, steps=9, failed=Counter({UNEXPLAINED: 1}))
    campaign = Campaign("odd", ModelBackend(), Plan(0, 3), None)
    campaign.ran = report_of("odd", manifest, campaign.plan, checked)
    assert f"{UNEXPLAINED}: odd breaks it in 1 of 3 traces" in list(campaign.faults())


def test_x_stops_at_the_first_failure(pytester: pytest.Pytester) -> None:
    done = check(pytester, "mine:Lying", "-x")
    assert done.parseoutcomes()["failed"] == 1


def test_junit_has_a_case_for_each_test(pytester: pytest.Pytester) -> None:
    check(pytester, "mine:Lying", "--junitxml=out.xml", "-k", "CANCEL-09 or CREATE-01")
    cases = {case.get("name"): case for case in ElementTree.parse(pytester.path / "out.xml").iter("testcase")}
    assert {case.get("classname") for case in cases.values()} == {"probate"}
    assert cases.keys() == {"CANCEL-09", "CREATE-01"}
    (failure,) = cases["CANCEL-09"]
    assert str(failure.get("message")).startswith("mine:Lying breaks it in")
    assert "allowed" in str(failure.text)
    assert not list(cases["CREATE-01"])


def test_last_failed_runs_what_failed(pytester: pytest.Pytester) -> None:
    check(pytester, "mine:Lying", "-k", "CANCEL-09 or CREATE-01").assert_outcomes(
        passed=1, failed=1, deselected=len(CORE) - 1
    )
    check(pytester, "mine:Lying", "--last-failed").assert_outcomes(failed=1, deselected=len(CORE))


def test_clauses_run_beside_tests_of_ones_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_mine(): pass")
    check(pytester, "model", "-k", "CREATE-01 or test_mine").assert_outcomes(passed=2, deselected=len(CORE))
    check(pytester, "model", "probate::CREATE-01").assert_outcomes(passed=1)
    check(pytester, "model", "test_mine.py", "probate::CREATE-01").assert_outcomes(passed=2)


def test_a_module_is_found_by_pytests_own_path(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\npythonpath = lib")
    pytester.mkdir("lib").joinpath("theirs.py").write_text(BACKENDS)
    check(pytester, "theirs:Counting", "probate::CREATE-01").assert_outcomes(passed=1)


def test_a_module_is_found_in_the_directory_that_pytest_is_started_in(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]")
    folder = pytester.mkdir("below")
    folder.joinpath("theirs.py").write_text(BACKENDS)
    monkeypatch.chdir(folder)
    done = pytester.runpytest_subprocess(
        "--probate-backend", "theirs:Counting", "--probate-cases", "15", "probate::CREATE-01"
    )
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines([f"rootdir: {pytester.path}"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probate-backend", "referense"], "ERROR: unknown backend 'referense'"),
        (["--probate-backend", "absent_module:make"], "ERROR: absent_module:make: can't be imported: *"),
        (["--probate-backend", "mine:absent"], "ERROR: mine:absent: module 'mine' has no 'absent'*"),
        (["--probate-backend", "mine:unwell"], "ERROR: mine:unwell: the factory raised OSError: no room"),
        (["--probate-backend", "model", "--probate-edition", "2025"], "ERROR: unknown edition '2025'"),
        (["--probate-backend", "model", "--probate-profile", "cora"], "ERROR: unknown profile 'cora'"),
        (["--probate-backend", "model", "--probate-profile", "acp"], "ERROR: profile 'acp' is known, but *"),
        (["--probate-backend", "model", "--probate-cases", "0"], "ERROR: --probate-cases 0 is less than 1"),
        (["--probate-backend", "model", "--probate-seed", "-1"], "ERROR: --probate-seed -1 is less than 0"),
        (["--probate-backend", "model", "--probate-cases", "x"], "*--probate-cases: invalid int value: 'x'"),
        (["--probate-backend", "model", "probate::CANCL-03"], "ERROR: unknown clause 'CANCL-03'"),
        (["--probate-seed", "3"], "ERROR: --probate-seed means nothing without --probate-backend NAME"),
    ],
)
def test_what_means_nothing_is_one_message(pytester: pytest.Pytester, arguments: list[str], message: str) -> None:
    done = pytester.runpytest(*arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([message])
    assert not any("Traceback" in line for line in [*done.outlines, *done.errlines])


def test_nothing_of_the_kit_is_loaded_if_no_backend_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine="""
        import sys

        def test_mine():
            ours = {name for name in sys.modules if name.startswith("probate_") or name == "pydantic"}
            assert ours <= {"probate_conformance", "probate_conformance.pytest_plugin"}
            assert "probate_conformance.pytest_plugin" in ours
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_plugin_can_be_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_mine(): pass")
    pytester.runpytest("-p", "no:probate").assert_outcomes(passed=1)
    done = pytester.runpytest("-p", "no:probate", "--probate-backend", "model")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*unrecognized arguments: --probate-backend*"])


def test_help_tells_the_options(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest("--help")
    done.stdout.fnmatch_lines(["*--probate-backend=NAME*", "*--probate-cases=N*", "*--probate-seed=N*"])


def test_the_example_of_the_page_fails_as_it_says(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a person sees at a terminal of usual width: pytest shortens no line of its summary where these say CI.
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    page = Path(__file__).parents[2].joinpath("docs", "pytest.md").read_text()
    files = dict(re.findall(r"```python (\S+)\n(.*?)```", page, re.DOTALL))
    for name, text in files.items():
        pytester.path.joinpath(name).write_text(text)
    command, *shown = re.search(r"```console\n\$ (pytest .*?)```", page, re.DOTALL)[1].splitlines()  # type: ignore[index]
    done = pytester.runpytest_subprocess(*command.split()[1:])
    done.stdout.fnmatch_lines([re.sub(r"[][]", "?", re.sub(r" in [\d.]+s|=+| +$", "*", one)) for one in shown])
    # Without shrinking, since each of the clauses that it breaks would be shrunk.
    pytester.makeconftest(
        """
        from hypothesis import Phase, settings

        settings.register_profile("quick", phases=[Phase.generate], database=None, derandomize=True)
        """
    )
    done = pytester.runpytest_subprocess("test_my_backend.py", "--hypothesis-profile=quick", "-p", "hypothesispytest")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*Diverged?*-??]: *-??: *", "*trace=trace_of(*"])
