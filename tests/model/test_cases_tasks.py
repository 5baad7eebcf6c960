"""The numbered cases I of the contract, and the traces T18 and T19, played on the model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate_model.alphabet.editions import EDITION_2026_06, Edition
from probate_model.alphabet.names import Label
from probate_model.alphabet.tasks import LaunchTask, Token
from probate_model.tasks.fence import may_access
from tests.model.helpers import Play, lines
from tests.model.task_cases import BOTH, CASES, of_tasks

TOKENS = st.one_of(
    st.none(),
    st.sampled_from(["", " ", "a", "a ", " a", "A", "\u0430", "\u00e9", "e\u0301", "\0", "a\0", "a" * 10_000]),
    st.text(),
)


@pytest.mark.parametrize("name", CASES)
def test_a_case(name: str) -> None:
    script, seen = CASES[name]
    assert of_tasks(Play(profile="tasks")(script)) == lines(seen)


@given(TOKENS, TOKENS)
def test_no_token_opens_what_belongs_to_another(owner: str | None, caller: str | None) -> None:
    assert may_access(owner, caller) == (owner is None or owner == caller)


@pytest.mark.parametrize("token", ["A", "a ", " a", "\u0430", "a\u0301", "", "a" * 300])
def test_a_token_that_looks_like_an_id_is_not_that_id(token: str) -> None:
    play = Play(profile="tasks")
    play("create c a\nsettle")
    play.carry_out(LaunchTask(Label("t"), Token(token)))
    assert "settled read raised access-denied" in play("settle\nread t by=c\nsettle")


def test_where_the_exact_owner_counts_a_later_agent_of_the_id_reaches_nothing_and_hears_nothing() -> None:
    edition: Edition = EDITION_2026_06.flipped(["fence"])
    script = f"""{BOTH}
        hold exit t
        start t by=c
        settle
        read t by=c
        settle
        dispose c
        settle
        create e a
        settle
        read t by=e
        release exit t ok
        settle
    """
    assert of_tasks(Play(edition=edition, profile="tasks")(script)) == lines("""
        settled t returned bash-1
        settled read returned running
        settled read2 raised access-denied
        task/done bash-1 completed code:0
    """)
