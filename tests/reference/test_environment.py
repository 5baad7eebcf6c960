"""No ambient credential reaches a child; what is configured does."""

from __future__ import annotations

import pytest

from probate_reference.environment import child_environment, names_credential
from probate_reference.tasks import Executor, Request
from tests.reference.tasks.commands import SHELL


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "key",
        "MonKeyBusiness",
        "GITHUB_token_2",
        "aToKeNb",
        "AWS_SECRET_ACCESS",
        "DB_PASSWORD",
        "PGPASSWORD",
        "OLD_passwd_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ],
)
def test_a_name_with_one_of_the_words_anywhere_is_a_credential(name: str) -> None:
    assert names_credential(name)
    assert child_environment({name: "x", "PATH": "/bin"}, {}) == {"PATH": "/bin"}


@pytest.mark.parametrize("name", ["PATH", "K_E_Y", "TOKE", "PASS", "", "\u212aEY", "TO\u212aEN", "\u017fECRET"])
def test_other_names_stay_and_only_ascii_is_folded(name: str) -> None:
    assert not names_credential(name)
    assert child_environment({name: "KEY TOKEN SECRET"}, {}) == {name: "KEY TOKEN SECRET"}


def test_what_is_configured_wins_over_both() -> None:
    ambient = {"A": "1", "B": "2", "API_KEY": "ambient"}
    overlay = {"API_KEY": "given", "A": None, "C": "3", "NOT_THERE": None, "TOKEN": None}
    assert child_environment(ambient, overlay) == {"B": "2", "API_KEY": "given", "C": "3"}


@pytest.mark.anyio
async def test_a_real_child_finds_just_that(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROBATE_TEST_KEY", "probate_test_Token", "probateSECRETtest", "PROBATE_PASSWD"):
        monkeypatch.setenv(name, "must not be seen")
    monkeypatch.setenv("PROBATE_TEST_PLAIN", "KEY is in the value")
    monkeypatch.setenv("PROBATE_TEST_GONE", "x")
    overlay = {"PROBATE_TEST_KEY": "given", "PROBATE_TEST_GONE": None, "TERM": "dumb"}
    async with Executor(shell=SHELL, overlay=overlay) as executor:
        ran = await executor.run(executor.resolve(Request("env -0")))
    seen = dict(entry.split("=", 1) for entry in ran.output.stdout.split("\0") if entry)
    assert "must not be seen" not in ran.output.stdout
    assert {name: value for name, value in seen.items() if "PROBATE" in name.upper()} == {
        "PROBATE_TEST_KEY": "given",
        "PROBATE_TEST_PLAIN": "KEY is in the value",
    }
    assert seen["TERM"] == "dumb"


@pytest.mark.anyio
async def test_by_default_a_child_is_told_that_there_is_no_display() -> None:
    async with Executor(shell=SHELL) as executor:
        ran = await executor.run(executor.resolve(Request("echo $NO_COLOR $TERM $PAGER $GIT_PAGER")))
    assert ran.output.text == "1 dumb cat cat"
